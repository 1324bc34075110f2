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
  int packs = 0;  // of a thread
  int warps = 1, blocks = 1;
  int part_packs = 0;  // of a warp
};

// So many blocks' warps, which have parts of one length, whole sectors of memory.
PlainCut cut_of_blocks(std::int64_t packs, bool is_wide, int blocks) {
  const int of_thread = is_wide       ? plain_packs_of_4
                        : blocks == 1 ? plain_block_packs_of_2
                                      : plain_most_packs_of_2;
  // More than a warp's lanes hold: those would have a pack less where they begin with a sector.
  const std::int64_t least = blocks == 1 ? 2 : 1;
  const std::int64_t warps =
      std::max(ceil_div(packs, std::int64_t{warp_lanes} * of_thread * blocks), least);
  const std::int64_t part = ceil_div(ceil_div(packs, warps * blocks), std::int64_t{2}) * 2;
  return {warp_lanes, of_thread, static_cast<int>(warps), blocks, static_cast<int>(part)};
}

// The smallest team that holds a row.
PlainCut plain_cut(const Rowwise& p, const Device& device) {
  const bool is_wide = p.type == DataType::float32;
  const std::int64_t packs = p.cols / (is_wide ? 4 : 8);
  // Of lanes the first may have a pack less.
  const int few = is_wide ? plain_packs_of_4 : plain_packs_of_2;
  for (int lanes = plain_least_lanes; lanes <= warp_lanes; lanes *= 2)
    if (packs < std::int64_t{lanes} * few) return {lanes, few};
  if (!is_wide && packs < std::int64_t{warp_lanes} * plain_most_packs_of_2)
    return {warp_lanes, plain_most_packs_of_2};
  const bool has_clusters = device.compute_capability == 90 && gpu::has_nvidia_kernels;
  const int block_threads = is_wide        ? plain_threads_of_4
                            : has_clusters ? plain_threads_before_clusters_of_2
                                           : plain_threads_of_2;
  const PlainCut alone = cut_of_blocks(packs, is_wide, 1);
  if (alone.warps * warp_lanes <= block_threads) return alone;
  if (!has_clusters) return {};
  // Blocks of which four share a multiprocessor, or two, else those that have one to themselves.
  const int most = is_wide ? plain_cluster_threads_of_4 : plain_cluster_threads_of_2;
  for (const int share : {4, 2}) {
    for (int blocks = 2; blocks <= plain_most_blocks; blocks *= 2) {
      const PlainCut cut = cut_of_blocks(packs, is_wide, blocks);
      if (cut.warps * warp_lanes <= most / share) return cut;
    }
  }
  const PlainCut cut = cut_of_blocks(packs, is_wide, plain_most_blocks);
  return cut.warps * warp_lanes <= most ? cut : PlainCut{};
}

// Packs of a block's planes.
int plane_packs(const Rowwise& p, const PlainCut& cut) {
  return cut.blocks > 1 ? cut.warps * cut.part_packs
                        : static_cast<int>(p.cols / (p.type == DataType::float32 ? 4 : 8));
}

// Of a block: its planes, and before them what a cluster's warps found.
std::size_t plain_shared_bytes(const Rowwise& p, const PlainCut& cut, bool is_alike) {
  const std::size_t found = cut.blocks > 1 ? sizeof(rowwise::FoundInCluster) : 0;
  if (!p.scales()) return found;
  const int packs = plane_packs(p, cut);
  const auto of = [&](auto element) {
    using T = decltype(element);
    return is_alike ? rowwise::AlikePlanes<T>::bytes(packs)
                    : rowwise::planes_bytes<T, rowwise::WidePair<T>>(packs);
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
void cut_into_blocks(const Rowwise& p, const Device& device, int sm_threads,
                     const PlainBlock& block, rowwise::PlainLaunch* launch, std::int64_t* blocks) {
  launch->alike = rows_alike(p);
  launch->step = static_cast<int>(block.rows_at_once) * launch->alike;
  launch->at_once = static_cast<int>(block.rows_at_once);
  launch->long_turns = static_cast<int>(block.turns);
  const std::int64_t at_once = device.sm_count * std::int64_t{sm_threads / block.threads};
  const std::int64_t rows = block.turns * block.rows_at_once;
  const std::int64_t last = at_once * rows / plain_last_blocks;
  const std::int64_t group = rows * launch->alike;
  const std::int64_t groups = std::max<std::int64_t>(p.rows - last, 0) / group;
  launch->long_blocks = static_cast<int>(groups * launch->alike);
  if (launch->long_blocks == 0) launch->long_turns = 1;
  launch->early = static_cast<int>(
      launch->long_blocks == 0 ? at_once : std::min<std::int64_t>(at_once, launch->long_blocks));
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
                              .shared_bytes = plain_shared_bytes(p, cut, alike),
                              .stream = stream,
                              .overlap = true,
                              .cluster = cut.blocks};
  int clusters = 0;
  Status asked = gpu::clusters_at_once(reinterpret_cast<const void*>(kernel), config, &clusters);
  if (!asked.ok()) return asked;
  rowwise::PlainLaunch plain = plain_launch<T>(p, cut);
  plain.step = std::max(clusters, 1);
  if constexpr (alike) {
    // A few may have no row; where those would be many, rows lie anyhow.
    const int even = plain.step / rows_alike(p) * rows_alike(p);
    constexpr int least_even = sizeof(T) == 4 ? plain_least_even_of_4 : plain_least_even_of_2;
    if (plain.step - even > plain.step / least_even)
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
  constexpr int few = rowwise::plain_packs<T>, most = rowwise::plain_most_packs<T>;
  const int sm_threads = cut.warps > 1 ? plain_sm_threads<rowwise::plain_block_packs<T>>
                         : cut.packs == few
                             ? rowwise::plain_lane_blocks<softmax, T, few> * plain_lane_threads
                             : plain_sm_threads<most>;
  cut_into_blocks(p, device, sm_threads, block, &plain, &blocks);
  const gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(blocks)),
                                    .block = dim3(static_cast<unsigned>(block.threads)),
                                    .shared_bytes = plain_shared_bytes(p, cut, true),
                                    .stream = stream,
                                    .overlap = true};
  if (cut.warps > 1) return gpu::launch(rowwise::plain_rows_of_warps<softmax, T>, config, p, plain);
  const auto of_lanes = [&](auto lanes, auto packs) {
    return gpu::launch(
        rowwise::plain_rows_of_lanes<softmax, T, decltype(lanes)::value, decltype(packs)::value>,
        config, p, plain);
  };
  using Few = std::integral_constant<int, few>;
  if (cut.lanes == 8) return of_lanes(std::integral_constant<int, 8>{}, Few{});
  if (cut.lanes == 16) return of_lanes(std::integral_constant<int, 16>{}, Few{});
  if (cut.packs == few) return of_lanes(std::integral_constant<int, warp_lanes>{}, Few{});
  return of_lanes(std::integral_constant<int, warp_lanes>{}, std::integral_constant<int, most>{});
}

}  // namespace

bool rowwise_plain_supports(const Rowwise& p, const Device& device) {
  if (!rowwise::is_plain(p)) return false;
  const PlainCut cut = plain_cut(p, device);
  constexpr std::size_t reserved = 2048;
  if (p.rows > most_plain_rows || p.ldx >= most_plain_ld || p.ldy >= most_plain_ld) return false;
  // In either form of planes that a cluster may have.
  const std::size_t shared =
      std::max(plain_shared_bytes(p, cut, true), plain_shared_bytes(p, cut, cut.blocks == 1));
  return cut.lanes > 0 && shared + reserved <= device.shared_bytes_per_block_optin;
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
