// Tiles of stream_tile and, in the same launch, a few rows and columns beside them: how `ragged`
// takes one launch (ragged.cu).
//
// Idea        Blocks behind those of the tiles have the role of thin's blocks. They begin where a
//             multiprocessor has none of the tiles' blocks, or no more: as launches of their own
//             do, but the host launches once.
// Prediction  4097 cubed takes the host 4 us in place of 11, and the device as long as before.
// Limits      A multiprocessor has one of these blocks at a time, or two, where `thin` has two to
//             four: as much is under way as memory needs, but latencies show more.

#include "sgemm/beside_block.hpp"
#include "sgemm/stream/beside.hpp"
#include "sgemm/stream/operands_of.hpp"
#include "sgemm/stream/plan.hpp"
#include "sgemm/stream/stream_tile.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace stream_tile {

// `row` of tuning.hpp's table.
template <int row>
__global__ void __launch_bounds__(stream_tiles[row].config.threads(),
                                  stream_tiles[row].config.blocks_per_sm)
    stream_beside(__grid_constant__ const Sgemm p, __grid_constant__ const Operands operands,
                  __grid_constant__ const StreamSchedule schedule,
                  __grid_constant__ const Workspace workspace,
                  __grid_constant__ const Beside beside) {
  constexpr StreamTileConfig config = stream_tiles[row].config;
  static_assert(config.threads() >= beside_threads && !config.clusters);
  if constexpr (runs_here(config)) {
    const int block = static_cast<int>(blockIdx.x) - schedule.blocks;
    if (block >= 0) return compute_beside(beside, block, gpu::dynamic_shared<char>());
  }
  multiply_tiles<config, Scheduler<config>>(p, operands, schedule, workspace);
}

}  // namespace stream_tile

namespace {

template <int row>
Status launch_row(const Sgemm& p, const Device& device, const StreamSchedule& schedule,
                  Workspace workspace, Stream stream, const Beside& beside) {
  constexpr StreamTile tile = stream_tiles[row];
  const std::size_t needed = stream_tile::shared_bytes<tile.config>(false);
  return gpu::launch(stream_tile::stream_beside<row>,
                     {.grid = dim3(static_cast<unsigned>(schedule.blocks + beside.all_blocks())),
                      .block = dim3(static_cast<unsigned>(tile.config.threads())),
                      .shared_bytes = stream_shared_bytes(tile, schedule, device, needed),
                      .stream = stream,
                      .overlap = true},
                     p, stream_operands_of(p), schedule, workspace, beside);
}

}  // namespace

Status launch_beside(int tile, const Sgemm& tiles, const Device& device, const Plan<Sgemm>& plan,
                     Workspace workspace, Stream stream, const Beside& beside) {
  constexpr auto launches = of_each_row<beside_tiles>(
      [](auto row) { return &launch_row<row_of_tile(beside_tiles[row])>; });
  return launches[static_cast<std::size_t>(tile)](tiles, device, plan.data.get<StreamSchedule>(),
                                                  workspace, stream, beside);
}

}  // namespace KW_TARGET
