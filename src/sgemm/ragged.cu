// ragged: a product a few rows or columns larger than tiles are, in one launch or in one for each
// part.
//
// Idea        1537 rows are 24 tiles of 64 and one row, for which a kernel of tiles computes a 25th
//             that costs as much as the others, and with larger tiles more. Those few rows and
//             columns are products of their own, and `thin` computes them in the time that it
//             takes to read the other operand once. Its blocks come behind those of the tiles in
//             one launch (stream/beside.cu), or in launches that do not wait for each other.
// Prediction  1537 cubed: 1536 cubed takes 148 us, a row and a column 5 us each; as one product it
//             takes 187.
// Limits      Small products are better off with the 25th tile. Where tiles are many, 4097 rows are
//             only 1.5 % more work than 4096. Several launches take the host 3 us each until a
//             graph has them, and the device a hundredth less than one.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "sgemm/one_launch.hpp"
#include "sgemm/part_workspaces.hpp"
#include "sgemm/production.hpp"
#include "sgemm/ragged_plan.hpp"
#include "sgemm/stream/beside.hpp"

namespace KW_TARGET {
namespace {

// A plan's time, cost and workspace: what its parts take together, and so much longer.
void add_up_parts(Plan<Sgemm>& plan, const Sgemm& tiles, const Device& device, double more_us) {
  const RaggedBeside beside = ragged_beside(plan.parts[0], tiles, device);
  plan.time_us = plan.cost = ragged_tuning.longer * (more_us + beside.us);
  double share = 1;
  for (const Choice<Sgemm>& part : plan.parts) {
    plan.time_us += ragged_tuning.longer * share * part.plan.time_us;
    plan.cost += ragged_tuning.longer * share * part.plan.cost;
    share = beside.share;
  }
  plan.workspace_bytes = bytes_of_parts(plan);
}

// A launch for each part, by its own kernel.
Plan<Sgemm> plan_several(const Sgemm& p, const Device& device, RaggedCut cut) {
  const RaggedParts parts(p, cut);
  Plan<Sgemm> plan;
  plan.data.set(RaggedData{cut});
  plan.parts.reserve(static_cast<std::size_t>(parts.count));
  for (int i = 0; i < parts.count; ++i)
    plan.parts.push_back(select_in_one_launch(parts.part[i], device));
  add_up_parts(plan, parts.part[0], device, 0);
  return plan;
}

// The tiles that cost least among those of beside_tiles; `tile` is the number there.
Choice<Sgemm> select_tiles(const Sgemm& tiles, const Device& device, int* tile) {
  static const KernelList<Sgemm> rows = stream_tile_rows();
  Choice<Sgemm> best;
  for (std::size_t i = 0; i < std::size(beside_tiles); ++i) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& r) { return r.name == beside_tiles[i]; });
    std::optional<Plan<Sgemm>> plan = candidate_plan(*row, tiles, device);
    if (!plan || !(plan->cost < best.plan.cost)) continue;
    best = {&*row, std::move(*plan)};
    *tile = static_cast<int>(i);
  }
  return best;
}

// One launch for all parts, where there are such tiles.
[[maybe_unused]] std::optional<Plan<Sgemm>> plan_one(const Sgemm& p, const Device& device,
                                                     RaggedCut cut) {
  const RaggedParts parts(p, cut);
  RaggedData data = {cut};
  std::optional<Plan<Sgemm>> plan(std::in_place);
  plan->parts.push_back(select_tiles(parts.alone(0), device, &data.tile));
  if (data.tile < 0) return std::nullopt;
  for (int i = 1; i < parts.count; ++i) {
    const BesidePlan own = plan_beside(parts.alone(i), device);
    Plan<Sgemm>& part = plan->parts.emplace_back().plan;
    part.time_us = part.cost = own.time_us;
    part.workspace_bytes = own.plan.workspace_bytes(1);
    part.data.set(own.plan);
  }
  add_up_parts(*plan, parts.part[0], device, ragged_tuning.behind_us);
  plan->data.set(data);
  return plan;
}

// That of the cut that costs least.
void complete_plan(const Sgemm& p, const Device& device, Plan<Sgemm>& plan) {
  if (!plan.parts.empty()) return;
  std::optional<Plan<Sgemm>> one;
  each_ragged_cut(p, [&](RaggedCut cut) {
    Plan<Sgemm> other = plan_several(p, device, cut);
    if (plan.parts.empty() || other.cost < plan.cost) plan = std::move(other);
    if constexpr (gpu::has_nvidia_kernels) {
      auto together = plan_one(p, device, cut);
      if (together && (!one || together->cost < one->cost)) one = std::move(together);
    }
  });
  if (one && plan.cost >= ragged_tuning.several_share * one->cost) plan = std::move(*one);
}

std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
  std::optional<Plan<Sgemm>> plan;
  if (!is_ragged(p)) return plan;
  plan.emplace();
  // Smaller products are not worth choosing kernels for their parts; the cost stays infinite.
  if (p.flops() >= ragged_tuning.min_flops) complete_plan(p, device, *plan);
  return plan;
}

Status launch_several(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                      PartWorkspaces workspaces, Stream stream) {
  const RaggedParts parts(p, plan.data.get<RaggedData>().cut);
  for (int i = 0; i < parts.count; ++i) {
    const Choice<Sgemm>& part = plan.parts[static_cast<std::size_t>(i)];
    const Workspace own = workspaces.next(part.plan, RaggedParts::first_ticket(i));
    const Status status = launch_planned(part, parts.part[i], device, own, stream);
    if (!status.ok()) return status;
  }
  return Status::success();
}

[[maybe_unused]] Status launch_one(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                                   PartWorkspaces workspaces, Stream stream) {
  const auto data = plan.data.get<RaggedData>();
  const RaggedParts parts(p, data.cut);
  const Plan<Sgemm>& tiles = plan.parts[0].plan;
  const Workspace own = workspaces.next(tiles, RaggedParts::first_ticket(0));
  Beside beside;
  for (int i = 1; i < parts.count; ++i) {
    const Plan<Sgemm>& part = plan.parts[static_cast<std::size_t>(i)].plan;
    beside.part[i - 1] = parts.alone(i);
    beside.plan[i - 1] = part.data.get<ThinPlan>();
    beside.workspace[i - 1] = workspaces.next(part, RaggedParts::first_ticket(i));
    beside.blocks[i - 1] = static_cast<int>(beside.plan[i - 1].blocks(1));
  }
  return launch_beside(data.tile, parts.alone(0), device, tiles, own, stream, beside);
}

Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                   Workspace workspace, Stream stream) {
  const PartWorkspaces workspaces(workspace);
  if constexpr (gpu::has_nvidia_kernels)
    if (plan.data.get<RaggedData>().tile >= 0)
      return launch_one(p, device, plan, workspaces, stream);
  return launch_several(p, device, plan, workspaces, stream);
}

}  // namespace

KernelList<Sgemm> ragged_rows() {
  return {{.name = "ragged",
           .parent = nullptr,
           .idea = "a few rows or columns beyond the tiles as products of their own",
           .role = Role::production,
           .math = Math::fp32,
           .make_plan = make_plan,
           .complete_plan = complete_plan,
           .launch_plan = launch_plan}};
}

}  // namespace KW_TARGET
