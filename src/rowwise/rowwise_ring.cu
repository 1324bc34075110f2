// rowwise_ring: the launches of ring.hpp.
#include <algorithm>
#include <optional>

#include "gpu/clusters_at_once.hpp"
#include "rowwise/gpu_kernels.hpp"
#include "rowwise/ring.hpp"

namespace KW_TARGET {
namespace {

struct RingChoice {
  rowwise::RingCut cut;
  bool is_alone;  // a block a multiprocessor, else two
};

// Slots of a ring of which so many fit a multiprocessor.
int ring_slots(const Device& device, int blocks_per_sm) {
  constexpr std::size_t reserved = 1024;  // of each block
  const std::size_t share =
      std::min(device.shared_bytes_per_sm / static_cast<std::size_t>(blocks_per_sm) - reserved,
               device.shared_bytes_per_block_optin);
  int slots = 0;
  while (slots < ring_most_slots && rowwise::ring_bytes(slots + 1) <= share) ++slots;
  return slots;
}

// The cut of a row by so many blocks a cluster; nothing where a slice does not fit a ring.
std::optional<RingChoice> ring_cut(const Rowwise& p, const Device& device, int blocks) {
  const auto a_pack = rowwise::pack_bytes / static_cast<std::int64_t>(size_of(p.type));
  const std::int64_t slice =
      std::max<std::int64_t>(ceil_div(p.cols / a_pack, std::int64_t{blocks}), 1);
  for (const int blocks_per_sm : {2, 1}) {
    const int slots = ring_slots(device, blocks_per_sm);
    if (ceil_div(slice, std::int64_t{ring_piece}) > slots) continue;
    const int fit = std::max(device.sm_count * blocks_per_sm / blocks, 1);
    return RingChoice{{blocks, static_cast<int>(std::min<std::int64_t>(fit, p.rows)),
                       static_cast<int>(slice), slots},
                      blocks_per_sm == 1};
  }
  return std::nullopt;
}

// In nanoseconds.
double ring_time(const Rowwise& p, const RingChoice& choice, const Device& device) {
  const rowwise::RingCut& cut = choice.cut;
  const double bytes = 2.0 * cut.slice_packs * rowwise::pack_bytes;
  const double each = bytes * device.sm_count * (choice.is_alone ? 1 : 2) / ring_device_gbs;
  const double rounds = static_cast<double>(ceil_div(p.rows, std::int64_t{cut.clusters}));
  const bool is_slower =
      choice.is_alone && (p.op != RowwiseOp::softmax || p.type != DataType::float32);
  return rounds * (each * (is_slower ? ring_alone_slower : 1) +
                   (cut.blocks > 1 ? ring_exchange_ns : ring_row_ns));
}

std::optional<RingChoice> best_ring_cut(const Rowwise& p, const Device& device) {
  std::optional<RingChoice> best;
  for (int blocks = 1; blocks <= ring_most_blocks; blocks *= 2) {
    const std::optional<RingChoice> choice = ring_cut(p, device, blocks);
    if (choice && (!best || ring_time(p, *choice, device) < ring_time(p, *best, device)))
      best = choice;
  }
  return best;
}

template <class Kernel>
Status launch_ring(Kernel* kernel, const Rowwise& p, rowwise::RingCut cut, Stream stream) {
  gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(cut.clusters * cut.blocks)),
                              .block = dim3(ring_threads + warp_lanes),
                              .shared_bytes = rowwise::ring_bytes(cut.slots),
                              .stream = stream,
                              .cluster = cut.blocks};
  // Clusters that have to wait for others to end would double the time.
  if (cut.blocks > 1) {
    int resident = 0;
    Status asked = gpu::clusters_at_once(reinterpret_cast<const void*>(kernel), config, &resident);
    if (!asked.ok()) return asked;
    cut.clusters = std::clamp(resident, 1, cut.clusters);
    config.grid = dim3(static_cast<unsigned>(cut.clusters * cut.blocks));
  }
  return gpu::launch(kernel, config, p, cut);
}

}  // namespace

bool rowwise_ring_supports(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || !rowwise::is_plain(p)) return false;
  const std::int64_t bytes = p.cols * static_cast<std::int64_t>(size_of(p.type));
  return bytes >= ring_least_bytes && (p.rows == 0 || ring_cut(p, device, ring_most_blocks));
}

Status rowwise_ring(const Rowwise& p, const Device& device, Workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const rowwise::RingCut cut = best_ring_cut(p, device)->cut;
  const auto run = [&](auto element) {
    using T = decltype(element);
    return is_softmax(p.op) ? launch_ring(rowwise::ring_rows<true, T>, p, cut, stream)
                            : launch_ring(rowwise::ring_rows<false, T>, p, cut, stream);
  };
  if (p.type == DataType::float32) return run(float{});
  return p.type == DataType::float16 ? run(float16{}) : run(bfloat16{});
}

}  // namespace KW_TARGET
