// rowwise_plain: the launches of plain_rows.hpp.
#include <algorithm>
#include <cstdint>

#include "gpu/clusters_at_once.hpp"
#include "rowwise/gpu_kernels.hpp"
#include "rowwise/plain_rows.hpp"

namespace KW_TARGET {
namespace {

// Rows that are yet to come fit an int, what lies between two an unsigned.
constexpr std::int64_t most_plain_rows = std::int64_t{1} << 30, most_plain_ld = most_plain_rows;

// Who has a row: lanes of a warp, or warps of each of a cluster's blocks.
struct PlainCut {
  int lanes = 0;  // 0: nobody
  int warps = 1, blocks = 1;
  int part_packs = 0;  // of a warp
};

int most_warps(int blocks) {
  return blocks > 1 ? rowwise::plain_cluster_warps : rowwise::plain_most_warps;
}

// The smallest team that holds a row; its warps have parts of one length, whole sectors of memory.
PlainCut plain_cut(const Rowwise& p, const Device& device) {
  const bool is_wide = p.type == DataType::float32;
  const std::int64_t packs = p.cols / (is_wide ? 4 : 8);
  const int of_thread = is_wide ? plain_packs_of_4 : plain_packs_of_2;
  for (int lanes = plain_least_lanes; lanes <= warp_lanes; lanes *= 2)
    if (packs <= std::int64_t{lanes} * of_thread) return {lanes};
  const bool has_clusters = device.compute_capability == 90 && gpu::has_nvidia_kernels;
  const auto cut_of = [&](int blocks) {
    const std::int64_t warps = ceil_div(packs, std::int64_t{warp_lanes} * of_thread * blocks);
    const std::int64_t part = ceil_div(ceil_div(packs, warps * blocks), std::int64_t{2}) * 2;
    return PlainCut{warp_lanes, static_cast<int>(warps), blocks, static_cast<int>(part)};
  };
  const int most_blocks = has_clusters ? plain_most_blocks : 1;
  // Blocks of which two share a multiprocessor, else those that have one to themselves.
  for (int blocks = 1; blocks <= most_blocks; blocks *= 2) {
    const PlainCut cut = cut_of(blocks);
    if (cut.warps <= (blocks > 1 ? most_warps(blocks) / 2 : most_warps(blocks))) return cut;
  }
  const PlainCut cut = cut_of(most_blocks);
  return cut.warps <= most_warps(most_blocks) ? cut : PlainCut{};
}

bool scales(const Rowwise& p) { return is_norm(p.op) && (p.gamma != nullptr || p.beta != nullptr); }

// Packs of a block's planes.
int plane_packs(const Rowwise& p, const PlainCut& cut) {
  return cut.blocks > 1 ? cut.warps * cut.part_packs
                        : static_cast<int>(p.cols / (p.type == DataType::float32 ? 4 : 8));
}

// Of a block: its planes, and before them what a cluster's warps found.
std::size_t plain_shared_bytes(const Rowwise& p, const PlainCut& cut) {
  const std::size_t found = cut.blocks > 1 ? sizeof(rowwise::FoundInCluster) : 0;
  if (!scales(p)) return found;
  const int packs = plane_packs(p, cut);
  return found + (p.type == DataType::float32 ? rowwise::planes_bytes<float>(packs)
                                              : rowwise::planes_bytes<float16>(packs));
}

// Blocks stay, so there are as many as run at once, and in each as many rows as it has warps for;
// of few rows fewer, so that all multiprocessors have some.
struct PlainGrid {
  int threads, per_sm;
  std::int64_t rows_at_once;  // of a block
};
PlainGrid plain_grid(const Rowwise& p, const Device& device, const PlainCut& cut,
                     std::size_t shared_bytes) {
  const std::int64_t enough = ceil_div(p.rows, std::int64_t{device.sm_count} * 2);
  PlainGrid grid = {};
  if (cut.warps == 1) {
    const std::int64_t warps = ceil_div(enough * cut.lanes, std::int64_t{warp_lanes});
    grid.threads = static_cast<int>(std::min<std::int64_t>(warps * warp_lanes, plain_threads));
    grid.rows_at_once = grid.threads / cut.lanes;
  } else {
    const int most = cut.blocks > 1 ? 1 : rowwise::plain_most_warps / cut.warps;
    grid.rows_at_once = std::min<std::int64_t>(enough, most);
    grid.threads = static_cast<int>(grid.rows_at_once) * cut.warps * warp_lanes;
  }
  constexpr std::size_t reserved = 2048;  // of each block, with its other shared memory
  const auto by_shared = static_cast<int>(device.shared_bytes_per_sm / (shared_bytes + reserved));
  grid.per_sm = std::max(std::min(plain_sm_threads / grid.threads, by_shared), 1);
  return grid;
}

template <bool softmax, class T>
Status launch_plain(const Rowwise& p, const Device& device, Stream stream) {
  const PlainCut cut = plain_cut(p, device);
  const std::size_t shared_bytes = plain_shared_bytes(p, cut);
  const PlainGrid grid = plain_grid(p, device, cut, shared_bytes);
  const std::int64_t wanted =
      cut.blocks > 1 ? p.rows * cut.blocks : ceil_div(p.rows, grid.rows_at_once);
  const std::int64_t at_once = std::int64_t{device.sm_count} * grid.per_sm;
  gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(std::min(wanted, at_once))),
                              .block = dim3(static_cast<unsigned>(grid.threads)),
                              .shared_bytes = shared_bytes,
                              .stream = stream,
                              .cluster = cut.blocks};
  const auto bytes = [](std::int64_t elements) {
    return static_cast<unsigned>(elements * static_cast<std::int64_t>(sizeof(T)));
  };
  rowwise::PlainLaunch plain = {cut.warps,
                                cut.blocks,
                                scales(p),
                                static_cast<int>(p.rows),
                                static_cast<int>(p.cols),
                                static_cast<int>(config.grid.x * grid.rows_at_once),
                                bytes(p.ldx),
                                bytes(p.ldy),
                                plane_packs(p, cut),
                                cut.part_packs};
  if constexpr (gpu::has_nvidia_kernels) {
    if (cut.blocks > 1) {
      // A cluster at least, and none that waits for others to end.
      const auto kernel = rowwise::plain_rows_of_clusters<softmax, T>;
      int clusters = 0;
      Status asked =
          gpu::clusters_at_once(reinterpret_cast<const void*>(kernel), config, &clusters);
      if (!asked.ok()) return asked;
      const auto most = static_cast<int>(std::min<std::int64_t>(p.rows, at_once));
      plain.step = std::clamp(clusters, 1, most);
      config.grid = dim3(static_cast<unsigned>(plain.step * cut.blocks));
      return gpu::launch(kernel, config, p, plain);
    }
  }
  if (cut.warps > 1) return gpu::launch(rowwise::plain_rows_of_warps<softmax, T>, config, p, plain);
  if (cut.lanes == 8)
    return gpu::launch(rowwise::plain_rows_of_lanes<softmax, T, 8>, config, p, plain);
  if (cut.lanes == 16)
    return gpu::launch(rowwise::plain_rows_of_lanes<softmax, T, 16>, config, p, plain);
  return gpu::launch(rowwise::plain_rows_of_lanes<softmax, T, warp_lanes>, config, p, plain);
}

}  // namespace

bool rowwise_plain_supports(const Rowwise& p, const Device& device) {
  if (!rowwise::is_plain(p)) return false;
  const PlainCut cut = plain_cut(p, device);
  constexpr std::size_t reserved = 2048;
  if (p.rows > most_plain_rows || p.ldx >= most_plain_ld || p.ldy >= most_plain_ld) return false;
  return cut.lanes > 0 &&
         plain_shared_bytes(p, cut) + reserved <= device.shared_bytes_per_block_optin;
}

Status rowwise_plain(const Rowwise& p, const Device& device, Workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const auto run = [&](auto element) {
    using T = decltype(element);
    return is_softmax(p.op) ? launch_plain<true, T>(p, device, stream)
                            : launch_plain<false, T>(p, device, stream);
  };
  if (p.type == DataType::float32) return run(float{});
  return p.type == DataType::float16 ? run(float16{}) : run(bfloat16{});
}

}  // namespace KW_TARGET
