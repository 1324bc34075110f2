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

  bool is_large() const { return blocks > plain_most_blocks; }
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

// Of a block that has a row alone, where clusters have longer ones.
int threads_before_clusters(const Rowwise& p) {
  const bool is_wide = p.type == DataType::float32;
  const std::int64_t bytes = 2 * p.rows * p.cols * static_cast<std::int64_t>(size_of(p.type));
  if (is_norm(p.op) && bytes < plain_norm_in_clusters_bytes)
    return is_wide ? plain_norm_before_clusters_of_4 : plain_norm_before_clusters_of_2;
  return is_wide ? plain_softmax_before_clusters_of_4 : plain_softmax_before_clusters_of_2;
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
  const int block_threads = has_clusters ? threads_before_clusters(p)
                            : is_wide    ? plain_threads_of_4
                                         : plain_threads_of_2;
  const PlainCut alone = cut_of_blocks(packs, is_wide, 1);
  if (alone.warps * warp_lanes <= block_threads) return alone;
  if (!has_clusters) return {};
  // Blocks of which four share a multiprocessor, or two, else those that have one to themselves.
  const int most = is_wide ? plain_cluster_threads_of_4 : plain_cluster_threads_of_2;
  for (const int share : {4, 2}) {
    for (int blocks = 2; blocks <= plain_most_blocks; blocks *= 2) {
      const PlainCut cut = cut_of_blocks(packs, is_wide, blocks);
      const bool has_fewer = share == 4 && blocks == 4 && is_wide && is_norm(p.op);
      const int threads = has_fewer ? plain_norm_threads_of_four_blocks : most / share;
      if (cut.warps * warp_lanes <= threads) return cut;
    }
  }
  const PlainCut cut = cut_of_blocks(packs, is_wide, plain_most_blocks);
  return cut.warps * warp_lanes <= most ? cut : PlainCut{};
}

// A cluster of many blocks, for long rows.
PlainCut large_cut(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || !gpu::has_nvidia_kernels) return {};
  // A small part of a device may have no cluster of so many, and a ring holds the row too.
  if (device.sm_count < plain_large_blocks) return {};
  const bool is_wide = p.type == DataType::float32;
  const auto size = static_cast<std::int64_t>(size_of(p.type));
  if (p.cols * size < plain_large_bytes(is_softmax(p.op), size_of(p.type))) return {};
  const PlainCut large = cut_of_blocks(p.cols / (is_wide ? 4 : 8), is_wide, plain_large_blocks);
  const int threads = plain_large_threads(is_softmax(p.op), size_of(p.type));
  return large.warps * warp_lanes <= threads ? large : PlainCut{};
}

// Packs of a block's planes.
int plane_packs(const Rowwise& p, const PlainCut& cut) {
  return cut.blocks > 1 ? cut.warps * cut.part_packs
                        : static_cast<int>(p.cols / (p.type == DataType::float32 ? 4 : 8));
}

// Of a block: its planes, and before them what a cluster's warps found.
template <class T>
std::size_t plain_planes_bytes(int packs, bool is_alike, bool is_large) {
  if (is_alike) return rowwise::AlikePlanes<T>::bytes(packs);
  return is_large ? rowwise::planes_bytes<T, rowwise::ClusterPair<T, true>>(packs)
                  : rowwise::planes_bytes<T, rowwise::ClusterPair<T, false>>(packs);
}
std::size_t plain_shared_bytes(const Rowwise& p, const PlainCut& cut, bool is_alike) {
  const std::size_t found = cut.blocks == 1  ? 0
                            : cut.is_large() ? sizeof(rowwise::FoundInBlocks)
                                             : sizeof(rowwise::FoundInCluster);
  if (!p.scales()) return found;
  const int packs = plane_packs(p, cut);
  return found + (p.type == DataType::float32
                      ? plain_planes_bytes<float>(packs, is_alike, cut.is_large())
                      : plain_planes_bytes<float16>(packs, is_alike, cut.is_large()));
}

// In either form of planes that a cluster may have.
bool fits_shared(const Rowwise& p, const Device& device, const PlainCut& cut) {
  constexpr std::size_t reserved = 2048;
  const std::size_t shared =
      std::max(plain_shared_bytes(p, cut, true), plain_shared_bytes(p, cut, cut.blocks == 1));
  return shared + reserved <= device.shared_bytes_per_block_optin;
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

// So many, but for a small part of a wave behind few whole ones.
std::int64_t in_waves(std::int64_t count, std::int64_t wave) {
  const std::int64_t waves = count / wave, part = count % wave;
  const bool is_small = static_cast<double>(part) < plain_part_of_wave * static_cast<double>(wave);
  return waves > 0 && waves < plain_few_waves && is_small ? waves * wave : count;
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
  const std::int64_t wave = std::max<std::int64_t>(at_once / launch->alike, 1);
  const std::int64_t all_groups = std::max<std::int64_t>(p.rows - last, 0) / group;
  // Each block of several warps fills planes of 16-bit types longer than it has a row.
  const bool fills = p.scales() && p.type != DataType::float32 && launch->warps > 1;
  const std::int64_t groups = fills ? all_groups : in_waves(all_groups, wave);
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
struct ClusterLaunch {
  PlainCut cut;
  void (*kernel)(Rowwise, rowwise::PlainLaunch) = nullptr;
  gpu::LaunchConfig config;
  int step = 0;     // clusters that have rows; 0: there is no launch
  double time = 0;  // in nanoseconds, without its beginning and its end
};

// Where clusters of `cut` hold a row and are no slower than `best`, they are it.
template <bool softmax, class T, bool alike, bool large>
Status consider_clusters(const Rowwise& p, const Device& device, const PlainCut& cut, Stream stream,
                         ClusterLaunch* best) {
  if (cut.lanes == 0 || !fits_shared(p, device, cut)) return Status::success();
  const auto kernel = rowwise::plain_rows_of_clusters<softmax, T, alike, large>;
  ClusterLaunch launch = {.cut = cut,
                          .kernel = kernel,
                          .config = {.grid = dim3(static_cast<unsigned>(cut.blocks)),
                                     .block = dim3(static_cast<unsigned>(cut.warps * warp_lanes)),
                                     .shared_bytes = plain_shared_bytes(p, cut, alike),
                                     .stream = stream,
                                     .overlap = true,
                                     .cluster = cut.blocks}};
  Status asked =
      gpu::clusters_at_once(reinterpret_cast<const void*>(kernel), launch.config, &launch.step);
  if (!asked.ok()) return asked;
  if constexpr (alike) {
    // A few may have no row; where those would be many, rows lie anyhow.
    const int even = launch.step / rows_alike(p) * rows_alike(p);
    constexpr int least_even = sizeof(T) == 4 ? plain_least_even_of_4 : plain_least_even_of_2;
    if (launch.step - even > launch.step / least_even)
      return consider_clusters<softmax, T, false, large>(p, device, cut, stream, best);
    launch.step = even;
  }
  if (launch.step == 0) return Status::success();
  const int blocks = launch.step * cut.blocks;
  const bool several =
      blocks > device.sm_count && blocks * cut.warps > plain_several_warps * device.sm_count;
  const auto turns = static_cast<double>(ceil_div(p.rows, std::int64_t{launch.step}));
  launch.time = turns * launch.step * 2 * static_cast<double>(p.cols) * sizeof(T) /
                (several ? plain_several_gbs : plain_single_gbs);
  if (best->step == 0 || launch.time <= best->time) *best = launch;
  return asked;
}

// By clusters of `large`, where they hold a row and the device runs some, or of `cut`; of long rows
// of norms by those of fewer rounds. One of them may hold no row.
template <bool softmax, class T>
Status launch_clusters(const Rowwise& p, const Device& device, const PlainCut& cut,
                       const PlainCut& large, Stream stream) {
  constexpr bool alike = !softmax;
  constexpr int least =
      sizeof(T) == 4 ? plain_either_norm_bytes_of_4 : plain_either_norm_bytes_of_2;
  const bool either = !softmax && p.cols * static_cast<std::int64_t>(sizeof(T)) >= least;
  ClusterLaunch best = {};
  const auto consider_smaller = [&] {
    return consider_clusters<softmax, T, alike, false>(p, device, cut, stream, &best);
  };
  if (either) {
    if (Status status = consider_smaller(); !status.ok()) return status;
  }
  if (Status status = consider_clusters<softmax, T, alike, true>(p, device, large, stream, &best);
      !status.ok()) {
    return status;
  }
  if (best.step == 0 && !either) {
    if (Status status = consider_smaller(); !status.ok()) return status;
  }
  if (best.step == 0)
    return Status::failure(StatusCode::device_error, "no cluster fits the device");
  rowwise::PlainLaunch plain = plain_launch<T>(p, best.cut);
  plain.step = best.step;
  best.config.grid = dim3(static_cast<unsigned>(std::min<std::int64_t>(best.step, p.rows)) *
                          static_cast<unsigned>(best.cut.blocks));
  return gpu::launch(best.kernel, best.config, p, plain);
}

template <bool softmax, class T>
Status launch_plain(const Rowwise& p, const Device& device, Stream stream) {
  const PlainCut cut = plain_cut(p, device);
  if constexpr (gpu::has_nvidia_kernels) {
    const PlainCut large = large_cut(p, device);
    if (cut.blocks > 1 || large.blocks > 1)
      return launch_clusters<softmax, T>(p, device, cut, large, stream);
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
  if (p.rows > most_plain_rows || p.ldx >= most_plain_ld || p.ldy >= most_plain_ld) return false;
  const PlainCut cut = plain_cut(p, device), large = large_cut(p, device);
  return (cut.lanes > 0 && fits_shared(p, device, cut)) ||
         (large.lanes > 0 && fits_shared(p, device, large));
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
