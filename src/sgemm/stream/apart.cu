// The tiles of stream_tile for a product one operand of which is a triangle that is read where it
// lies (sgemm/apart.hpp): the schedules of products with ranges of k, or of whole ones, and
// producers that find the operand in three places one after the other (apart_triangle.hpp).
//
// Prediction  ssymm of 16384 x 1024: without its copy, 2 GB read and written, a tenth less.
// Limits      A stage of the mirror image lies the other way round: one that is read along k is
//             copied by 4 bytes, whatever the rest is.
#include "sgemm/apart.hpp"

#include <optional>
#include <string_view>
#include <type_traits>

#include "sgemm/beside.hpp"
#include "sgemm/stream/operands_of.hpp"
#include "sgemm/stream/plan.hpp"
#include "sgemm/stream/stream_tile.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace stream_tile {

template <class Tiles>
struct Apart : Tiles {
  static constexpr bool mirrored = !Tiles::shaped;
  static constexpr bool shaped = false;  // C is whole
  static constexpr bool apart = true;
  using Tiles::Tiles;
};

// `row` of tuning.hpp's table.
template <int row, bool mirrored>
__global__ void __launch_bounds__(stream_tiles[row].config.threads(),
                                  stream_tiles[row].config.blocks_per_sm)
    stream_apart(__grid_constant__ const Sgemm p, __grid_constant__ const Operands operands,
                 __grid_constant__ const StreamSchedule schedule,
                 __grid_constant__ const Workspace workspace) {
  constexpr StreamTileConfig config = stream_tiles[row].config.shaped_config();
  using Tiles = std::conditional_t<mirrored, Scheduler<config>, ShapedScheduler<config>>;
  multiply_tiles<config, Apart<Tiles>>(p, operands, schedule, workspace);
}

}  // namespace stream_tile

namespace {

constexpr std::string_view apart_tiles[] = {"stream_128x256", "stream_256x128", "stream_128x128",
                                            "stream_64x64"};

template <int number, bool mirrored>
struct Row {
  static constexpr int row = row_of_tile(apart_tiles[number]);
  static constexpr StreamTile tile = [] {
    StreamTile shaped = stream_tiles[row];
    shaped.config = shaped.config.shaped_config();
    return shaped;
  }();
  // Ranges of k are those of squares.
  static constexpr bool has_kernel = mirrored || tile.config.shaped;

  // The problem as it is scheduled.
  static Sgemm scheduled(Sgemm p) {
    p.diagonal_apart = false;
    if (mirrored) p.k_range = KRange::all;
    return p;
  }
  static bool supports(const Sgemm& p, const Device& device) {
    const int side = is_by_row(p.k_range) ? tile.config.bm : tile.config.bn;
    return has_kernel && p.diagonal_apart && p.k_range != KRange::all &&
           p.triangle == Triangle::none && p.batch == 1 && diagonal_side % side == 0 &&
           stream_has_instructions(tile.config, device) &&
           device.shared_bytes_per_block_optin >= stream_tile::shared_bytes<tile.config>(false);
  }
  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
    if (!supports(p, device)) return std::nullopt;
    const Sgemm problem = scheduled(p);
    const std::optional<StreamPlan> planned = plan_stream_tile(tile, problem, device);
    if (!planned) return std::nullopt;
    const StreamSchedule& schedule = planned->schedule;
    Plan<Sgemm> plan = {
        .time_us = planned->time_us,
        .cost = planned->time_us,
        .workspace_bytes = stream_workspace_bytes(tile, schedule),
        .min_workspace_bytes = stream_workspace_bytes(tile, in_less_workspace(schedule, problem))};
    plan.data.set(schedule);
    return plan;
  }
  static Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                            Workspace workspace, Stream stream) {
    auto schedule = plan.data.get<StreamSchedule>();
    if (workspace.bytes < plan.workspace_bytes)
      schedule = in_less_workspace(schedule, scheduled(p));
    if constexpr (has_kernel) {
      const std::size_t needed = stream_tile::shared_bytes<tile.config>(false);
      return gpu::launch(stream_tile::stream_apart<row, mirrored>,
                         {.grid = dim3(static_cast<unsigned>(schedule.blocks)),
                          .block = dim3(static_cast<unsigned>(tile.config.threads())),
                          .shared_bytes = stream_shared_bytes(tile, schedule, device, needed),
                          .stream = stream,
                          .overlap = true},
                         p, stream_operands_of(p), schedule, workspace);
    }
    return Status::failure(StatusCode::unsupported, "no such kernel");
  }
  static Kernel<Sgemm> kernel() {
    return {.name = tile.name,
            .parent = nullptr,
            .idea = tile.idea,
            .role = Role::production,
            .math = Math::fp32,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace

KernelList<Sgemm> apart_rows(BesideDiagonal beside) {
  if (beside == BesideDiagonal::mirrored)
    return kernels_of<apart_tiles>([](auto row) { return Row<row, true>::kernel(); });
  return kernels_of<apart_tiles>([](auto row) { return Row<row, false>::kernel(); });
}

}  // namespace KW_TARGET
