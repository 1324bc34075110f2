// rowwise_tile: the launches of tile_rows.hpp.
#include <algorithm>
#include <cstdint>

#include "rowwise/gpu_kernels.hpp"
#include "rowwise/tile_packs.hpp"
#include "rowwise/tile_rows.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

constexpr std::int64_t most_tile_rows = std::int64_t{1} << 30;

// The first of tile_teams that holds a row; all of them where none does.
std::size_t team_of(const Rowwise& p) {
  std::size_t which = 0;
  while (which < tile_teams.size() && p.cols > tile_teams[which].lanes * tile_teams[which].values)
    ++which;
  return which;
}

// Whether four lanes hold a row of a 16-bit type as packs.
bool fits_packs(const Rowwise& p) {
  return p.type != DataType::float32 && p.cols / 8 <= tile_pack_lanes * tile_packs;
}

std::size_t tile_shared_bytes(const rowwise::TileLaunch& launch, int threads) {
  return static_cast<std::size_t>(launch.pairs_bytes) +
         static_cast<std::size_t>(launch.stage_bytes) *
             static_cast<std::size_t>(threads / warp_lanes);
}

// Whole rows, as many as go at once or some times that; of few rows fewer, so that all warps have
// some.
rowwise::TileLaunch tile_launch(const Rowwise& p, const Device& device, int threads, int lanes,
                                int most_bytes) {
  const auto size = static_cast<std::int64_t>(size_of(p.type));
  const std::int64_t at_once = warp_lanes / lanes;
  const std::int64_t warps = std::int64_t{device.sm_count} * tile_warps_of_sm;
  const std::int64_t wanted = std::min(most_bytes / (p.cols * size), ceil_div(p.rows, warps));
  const std::int64_t rows = std::max<std::int64_t>(wanted / at_once, 1) * at_once;
  rowwise::TileLaunch launch = {};
  launch.rows = static_cast<int>(p.rows);
  launch.early = device.sm_count * (tile_sm_threads / threads);
  launch.cols = static_cast<int>(p.cols);
  launch.row_bytes = static_cast<int>(p.cols * size);
  launch.tile_rows = static_cast<int>(rows);
  launch.tiles = static_cast<int>(ceil_div(p.rows, rows));
  if (p.scales()) launch.pairs_bytes = static_cast<int>(ceil_div(p.cols, std::int64_t{2}) * 16);
  // Wherever a tile begins past a boundary.
  const std::int64_t bytes = rows * p.cols * size + rowwise::pack_bytes;
  launch.stage_bytes =
      static_cast<int>(ceil_div(bytes, std::int64_t{rowwise::pack_bytes}) * rowwise::pack_bytes);
  return launch;
}

Status launch_kernel(void (*kernel)(Rowwise, rowwise::TileLaunch), const Rowwise& p,
                     const rowwise::TileLaunch& launch, int threads, Stream stream) {
  return gpu::launch(
      kernel,
      {.grid = dim3(static_cast<unsigned>(ceil_div(launch.tiles, threads / warp_lanes))),
       .block = dim3(static_cast<unsigned>(threads)),
       .shared_bytes = tile_shared_bytes(launch, threads),
       .stream = stream,
       .overlap = true},
      p, launch);
}

template <bool softmax, class T>
Status launch_team(const Rowwise& p, const Device& device, Stream stream) {
  constexpr auto kernels = of_each_row<tile_teams>([](auto row) {
    return &rowwise::tile_rows<softmax, T, tile_teams[row].lanes, tile_teams[row].values>;
  });
  const std::size_t chosen = team_of(p);
  rowwise::TileLaunch launch =
      tile_launch(p, device, tile_threads, tile_teams[chosen].lanes, tile_bytes);
  launch.ahead = device.sm_count * (tile_sm_threads / warp_lanes);
  return launch_kernel(kernels[chosen], p, launch, tile_threads, stream);
}

template <bool softmax, class T>
Status launch_packs(const Rowwise& p, const Device& device, Stream stream) {
  constexpr int threads = tile_pack_threads<softmax>;
  rowwise::TileLaunch launch = tile_launch(p, device, threads, tile_pack_lanes, tile_pack_bytes);
  if (p.scales()) {
    using Planes = rowwise::PlacedPlanes<T>;
    launch.plane_packs = Planes::pitch_of(launch.cols);
    launch.pairs_bytes = Planes::bytes(launch.plane_packs);
  }
  return launch_kernel(rowwise::tile_packs_of_rows<softmax, T>, p, launch, threads, stream);
}

}  // namespace

bool rowwise_tile_supports(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || !rowwise::is_plain(p) || p.rows == 0 || p.cols == 0)
    return false;
  const bool is_one_piece = p.rows == 1 || (p.ldx == p.cols && p.ldy == p.cols);
  return is_one_piece && p.rows <= most_tile_rows &&
         (team_of(p) < tile_teams.size() || fits_packs(p));
}

Status rowwise_tile(const Rowwise& p, const Device& device, Workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const auto run = [&](auto element) {
    using T = decltype(element);
    if constexpr (sizeof(T) == 2) {
      if (team_of(p) == tile_teams.size())
        return is_softmax(p.op) ? launch_packs<true, T>(p, device, stream)
                                : launch_packs<false, T>(p, device, stream);
    }
    return is_softmax(p.op) ? launch_team<true, T>(p, device, stream)
                            : launch_team<false, T>(p, device, stream);
  };
  if (p.type == DataType::float32) return run(float{});
  return p.type == DataType::float16 ? run(float16{}) : run(bfloat16{});
}

}  // namespace KW_TARGET
