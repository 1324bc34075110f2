// rowwise_plain: the launches of plain_rows.hpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

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
    const int most = blocks > 1      ? most_warps(blocks) / 2
                     : is_wide       ? most_warps(1)
                     : is_norm(p.op) ? plain_norm_most_warps_of_2
                                     : plain_softmax_most_warps_of_2;
    if (cut.warps <= most) return cut;
  }
  const PlainCut cut = cut_of(most_blocks);
  return cut.warps <= most_warps(most_blocks) ? cut : PlainCut{};
}

// Packs of a block's planes.
int plane_packs(const Rowwise& p, const PlainCut& cut) {
  return cut.blocks > 1 ? cut.warps * cut.part_packs
                        : static_cast<int>(p.cols / (p.type == DataType::float32 ? 4 : 8));
}

// Of a block: its planes, and before them what a cluster's warps found.
std::size_t plain_shared_bytes(const Rowwise& p, const PlainCut& cut) {
  const std::size_t found = cut.blocks > 1 ? sizeof(rowwise::FoundInCluster) : 0;
  if (!p.scales()) return found;
  const int packs = plane_packs(p, cut);
  const auto of = [&](auto element) {
    using T = decltype(element);
    // Either form of planes that a cluster may have.
    const std::size_t any = rowwise::planes_bytes<T, rowwise::WidePair<T>>(packs);
    return cut.blocks > 1 ? any : rowwise::AlikePlanes<T>::bytes(packs);
  };
  return found + (p.type == DataType::float32 ? of(float{}) : of(float16{}));
}

// Rows of a block at once, and how often one has so many; of few rows fewer, so that all
// multiprocessors have some.
struct PlainBlock {
  int threads;
  std::int64_t rows_at_once, turns;
};
template <std::size_t count>
const PlainRows& rows_of(const std::array<PlainRows, count>& table, std::int64_t bytes) {
  std::size_t i = 0;
  while (bytes > table[i].most_bytes) ++i;
  return table[i];
}
const PlainRows& plain_rows_of(const Rowwise& p) {
  const auto size = static_cast<std::int64_t>(size_of(p.type));
  const std::int64_t bytes = p.cols * size;
  if (p.scales())
    return size == 4 ? rows_of(plain_norm_of_4, bytes) : rows_of(plain_norm_of_2, bytes);
  return size == 4 ? rows_of(plain_softmax_of_4, bytes) : rows_of(plain_softmax_of_2, bytes);
}
PlainBlock plain_block(const Rowwise& p, const Device& device, const PlainCut& cut) {
  const std::int64_t enough = ceil_div(p.rows, std::int64_t{device.sm_count} * 2);
  const PlainRows& rows = plain_rows_of(p);
  PlainBlock block = {};
  if (cut.warps == 1) {
    const std::int64_t warps = ceil_div(enough * cut.lanes, std::int64_t{warp_lanes});
    block.threads =
        static_cast<int>(std::min<std::int64_t>(warps * warp_lanes, plain_lane_threads));
    block.rows_at_once = block.threads / cut.lanes;
  } else {
    const int most = std::max(rows.warp_threads / (cut.warps * warp_lanes), 1);
    block.rows_at_once = std::min<std::int64_t>(enough, most);
    block.threads = static_cast<int>(block.rows_at_once) * cut.warps * warp_lanes;
  }
  block.turns = std::clamp<std::int64_t>(enough / block.rows_at_once, 1,
                                         cut.warps == 1 ? rows.of_lanes : rows.of_warps);
  return block;
}

// Rows of norms that begin alike past a boundary are so far apart.
int rows_alike(const Rowwise& p) {
  if (!is_norm(p.op)) return 1;
  const std::int64_t past =
      p.ldx * static_cast<std::int64_t>(size_of(p.type)) % rowwise::pack_bytes;
  return static_cast<int>(rowwise::pack_bytes / std::gcd<std::int64_t>(rowwise::pack_bytes, past));
}

// Blocks that have some rows one after the other, but for the last ones: those have one each, so
// that multiprocessors come to an end together.
void cut_into_blocks(const Rowwise& p, const Device& device, const PlainBlock& block,
                     rowwise::PlainLaunch* launch, std::int64_t* blocks) {
  launch->alike = rows_alike(p);
  launch->step = static_cast<int>(block.rows_at_once) * launch->alike;
  launch->at_once = static_cast<int>(block.rows_at_once);
  launch->long_turns = static_cast<int>(block.turns);
  const std::int64_t at_once = device.sm_count * std::int64_t{plain_sm_threads / block.threads};
  const std::int64_t rows = block.turns * block.rows_at_once;
  const std::int64_t last = at_once * rows / plain_last_blocks;
  const std::int64_t group = rows * launch->alike;
  const std::int64_t groups = std::max<std::int64_t>(p.rows - last, 0) / group;
  launch->long_blocks = static_cast<int>(groups * launch->alike);
  const std::int64_t short_group = block.rows_at_once * launch->alike;
  *blocks = launch->long_blocks + ceil_div(p.rows - groups * group, short_group) * launch->alike;
}

template <class T>
rowwise::PlainLaunch plain_launch(const Rowwise& p, const PlainCut& cut) {
  const auto bytes = [](std::int64_t elements) {
    return static_cast<unsigned>(elements * static_cast<std::int64_t>(sizeof(T)));
  };
  return {.warps = cut.warps,
          .blocks = cut.blocks,
          .scales = p.scales(),
          .gaps = p.ldy != p.cols && p.x != p.y,
          .rows = static_cast<int>(p.rows),
          .cols = static_cast<int>(p.cols),
          .ldx = bytes(p.ldx),
          .ldy = bytes(p.ldy),
          .row_bytes = bytes(p.cols),
          .plane_packs = plane_packs(p, cut),
          .part_packs = cut.part_packs};
}

// Clusters stay: as many as run at once, and none that waits for others to end.
template <bool softmax, class T, bool alike>
Status launch_clusters(const Rowwise& p, const PlainCut& cut, Stream stream) {
  const auto kernel = rowwise::plain_rows_of_clusters<softmax, T, alike>;
  gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(cut.blocks)),
                              .block = dim3(static_cast<unsigned>(cut.warps * warp_lanes)),
                              .shared_bytes = plain_shared_bytes(p, cut),
                              .stream = stream,
                              .cluster = cut.blocks};
  int clusters = 0;
  Status asked = gpu::clusters_at_once(reinterpret_cast<const void*>(kernel), config, &clusters);
  if (!asked.ok()) return asked;
  rowwise::PlainLaunch plain = plain_launch<T>(p, cut);
  plain.step = std::max(clusters, 1);
  if constexpr (alike) {
    // A few may have no row; where those would be many, rows lie anyhow.
    const int even = plain.step / rows_alike(p) * rows_alike(p);
    if (plain.step - even > plain.step / plain_least_even)
      return launch_clusters<softmax, T, false>(p, cut, stream);
    plain.step = even;
  }
  config.grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(plain.step, p.rows)) *
                     static_cast<unsigned>(cut.blocks));
  return gpu::launch(kernel, config, p, plain);
}

template <bool softmax, class T>
Status launch_plain(const Rowwise& p, const Device& device, Stream stream) {
  const PlainCut cut = plain_cut(p, device);
  if constexpr (gpu::has_nvidia_kernels) {
    if (cut.blocks > 1) return launch_clusters<softmax, T, !softmax>(p, cut, stream);
  }
  const PlainBlock block = plain_block(p, device, cut);
  rowwise::PlainLaunch plain = plain_launch<T>(p, cut);
  std::int64_t blocks = 0;
  cut_into_blocks(p, device, block, &plain, &blocks);
  const gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(blocks)),
                                    .block = dim3(static_cast<unsigned>(block.threads)),
                                    .shared_bytes = plain_shared_bytes(p, cut),
                                    .stream = stream,
                                    .overlap = true};
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
  const auto size = static_cast<std::int64_t>(size_of(p.type));
  if (device.compute_capability == 90 && gpu::has_nvidia_kernels && is_softmax(p.op) && size == 2 &&
      p.cols * size > plain_softmax_of_2_most_bytes)
    return false;
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
