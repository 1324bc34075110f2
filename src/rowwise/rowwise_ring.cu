// rowwise_ring: the launches of ring.hpp.
#include <algorithm>
#include <optional>

#include "gpu/clusters_at_once.hpp"
#include "rowwise/gpu_kernels.hpp"
#include "rowwise/ring.hpp"

namespace KW_TARGET {
namespace {

// Slots of a ring of which one fits a multiprocessor.
int ring_slots(const Device& device, bool has_scales) {
  int slots = 0;
  while (slots < ring_most_slots &&
         rowwise::ring_bytes(slots + 1, has_scales) <= device.shared_bytes_per_block_optin)
    ++slots;
  return slots;
}

bool wants_scales(const Rowwise& p) {
  return is_norm(p.op) && (p.gamma != nullptr || p.beta != nullptr);
}

// The cut of a row by so many blocks a cluster; nothing where a slice does not fit a ring.
std::optional<rowwise::RingCut> ring_cut(const Rowwise& p, const Device& device, int blocks) {
  const auto a_pack = rowwise::pack_bytes / static_cast<std::int64_t>(size_of(p.type));
  const std::int64_t slice =
      std::max<std::int64_t>(ceil_div(p.cols / a_pack, std::int64_t{blocks}), 1);
  const std::int64_t pieces = ceil_div(slice, std::int64_t{ring_piece});
  const bool has_scales = wants_scales(p) && pieces <= ring_slots(device, true);
  const int slots = ring_slots(device, has_scales);
  if (pieces > slots) return std::nullopt;
  const int fit = std::max(device.sm_count / blocks, 1);
  // Of short slices not all slots are used: rows under way are counted (ring_memory.hpp). The last
  // block's slice may be a pack shorter for each block, and one for where the row begins.
  const std::int64_t least =
      std::max<std::int64_t>(ceil_div(slice - blocks, std::int64_t{ring_piece}), 1);
  const std::int64_t used = std::min<std::int64_t>(slots, least * (ring_rows_held - 1));
  return rowwise::RingCut{blocks, static_cast<int>(std::min<std::int64_t>(fit, p.rows)),
                          static_cast<int>(slice), static_cast<int>(used), has_scales};
}

// In nanoseconds.
double ring_time(const Rowwise& p, const rowwise::RingCut& cut, const Device& device) {
  const double bytes = 2.0 * cut.slice_packs * rowwise::pack_bytes;
  const double rounds = static_cast<double>(ceil_div(p.rows, std::int64_t{cut.clusters}));
  const double slower = wants_scales(p) && !cut.has_scales ? ring_without_scales_slower : 1;
  return rounds * (bytes * device.sm_count / ring_device_gbs * slower + ring_row_ns);
}

std::optional<rowwise::RingCut> best_ring_cut(const Rowwise& p, const Device& device) {
  std::optional<rowwise::RingCut> best;
  for (int blocks = 2; blocks <= ring_most_blocks; blocks *= 2) {
    const std::optional<rowwise::RingCut> cut = ring_cut(p, device, blocks);
    if (cut && (!best || ring_time(p, *cut, device) < ring_time(p, *best, device))) best = cut;
  }
  return best;
}

template <class Kernel>
Status launch_ring(Kernel* kernel, const Rowwise& p, rowwise::RingCut cut, Stream stream) {
  gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(cut.clusters * cut.blocks)),
                              .block = dim3(rowwise::ring_block_threads),
                              .shared_bytes = rowwise::ring_bytes(cut.slots, cut.has_scales),
                              .stream = stream,
                              .cluster = cut.blocks};
  // Clusters that have to wait for others to end would double the time.
  int resident = 0;
  Status asked = gpu::clusters_at_once(reinterpret_cast<const void*>(kernel), config, &resident);
  if (!asked.ok()) return asked;
  cut.clusters = std::clamp(resident, 1, cut.clusters);
  config.grid = dim3(static_cast<unsigned>(cut.clusters * cut.blocks));
  return gpu::launch(kernel, config, p, cut);
}

}  // namespace

bool rowwise_ring_supports(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || !rowwise::is_plain(p)) return false;
  // Shorter rows leave blocks without a pack.
  const std::int64_t bytes = p.cols * static_cast<std::int64_t>(size_of(p.type));
  return bytes >= ring_least_bytes && ring_cut(p, device, ring_most_blocks).has_value();
}

Status rowwise_ring(const Rowwise& p, const Device& device, Workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const rowwise::RingCut cut = *best_ring_cut(p, device);
  const auto run = [&](auto element) {
    using T = decltype(element);
    return is_softmax(p.op) ? launch_ring(rowwise::ring_rows<true, T>, p, cut, stream)
                            : launch_ring(rowwise::ring_rows<false, T>, p, cut, stream);
  };
  if (p.type == DataType::float32) return run(float{});
  return p.type == DataType::float16 ? run(float16{}) : run(bfloat16{});
}

}  // namespace KW_TARGET
