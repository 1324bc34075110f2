// The rows of stream_tile: one a configuration of tuning.hpp's table.
#include "sgemm/stream/stream_tile.hpp"

#include <algorithm>
#include <optional>

#include "sgemm/production.hpp"
#include "sgemm/side_by_side_plan.hpp"
#include "sgemm/stream/operands_of.hpp"
#include "sgemm/stream/plan.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

template <int row>
struct Row {
  static constexpr StreamTile tile = stream_tiles[row];

  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
    if (!stream_has_instructions(tile.config, device) ||
        device.shared_bytes_per_block_optin <
            stream_tile::shared_bytes<tile.config>(device_has_clusters(device)))
      return std::nullopt;
    const std::optional<StreamPlan> planned = plan_stream_tile(tile, p, device);
    if (!planned) return std::nullopt;
    const StreamSchedule& schedule = planned->schedule;
    Plan<Sgemm> plan = {.time_us = planned->time_us,
                        .cost = planned->time_us,
                        .workspace_bytes = stream_workspace_bytes(tile, schedule)};
    if (schedule.totals > 0 || !p.is_full())
      plan.min_workspace_bytes = stream_workspace_bytes(tile, in_less_workspace(schedule, p));
    plan.data.set(schedule);
    return plan;
  }
  static Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                            Workspace workspace, Stream stream) {
    auto schedule = plan.data.get<StreamSchedule>();
    if (workspace.bytes < plan.workspace_bytes) schedule = in_less_workspace(schedule, p);
    const std::size_t needed = stream_tile::shared_bytes<tile.config>(schedule.in_clusters());
    auto* kernel = stream_tile::stream_tile<row>;
    if constexpr (tile.config.plain) {
      if (is_plain(p, schedule)) kernel = stream_tile::stream_plain<row>;
    }
    if constexpr (tile.config.turns) {
      if (both_along_k(p)) kernel = stream_tile::stream_turned<row>;
    }
    if constexpr (tile.config.shaped) {
      if (!p.is_full()) kernel = stream_tile::stream_shaped<row>;
    }
    return gpu::launch(kernel,
                       {.grid = dim3(static_cast<unsigned>(schedule.blocks)),
                        .block = dim3(static_cast<unsigned>(tile.config.threads())),
                        .shared_bytes = beside_shared_bytes(
                            p, stream_shared_bytes(tile, schedule, device, needed), needed),
                        .stream = stream,
                        .overlap = true,
                        .cluster = std::max(1, schedule.cluster)},
                       p, stream_operands_of(p), schedule, workspace);
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

KernelList<Sgemm> stream_tile_rows() {
  return kernels_of<stream_tiles>([](auto row) { return Row<row>::kernel(); });
}

}  // namespace KW_TARGET
