// ragged: a product a few rows or columns larger than tiles are, in two or three launches.
//
// Idea        1537 rows are 24 tiles of 64 and one row, for which a kernel of tiles computes a 25th
//             that costs as much as the others, and with larger tiles more. Those few rows and
//             columns are products of their own, and `thin` computes them in the time that it
//             takes to read the other operand once. The launches do not wait for each other.
// Prediction  1537 cubed: 1536 cubed takes 148 us, a row and a column 5 us each; as one product it
//             takes 187.
// Limits      A launch for each part: small products are better off with the 25th tile. Where tiles
//             are many, 4097 rows are only 1.5 % more work than 4096.
#include <optional>
#include <utility>

#include "sgemm/one_launch.hpp"
#include "sgemm/production.hpp"
#include "sgemm/ragged_plan.hpp"
#include "workspace_parts.hpp"

namespace KW_TARGET {
namespace {

// The parts: their kernels, their workspaces, and the sums of their times and costs.
Plan<Sgemm> plan_cut(const Sgemm& p, const Device& device, RaggedCut cut) {
  const RaggedParts parts(p, cut);
  Plan<Sgemm> plan;
  plan.time_us = plan.cost = 0;
  plan.data.set(cut);
  plan.parts.reserve(static_cast<std::size_t>(parts.count));
  for (int i = 0; i < parts.count; ++i) {
    const Choice<Sgemm>& part =
        plan.parts.emplace_back(select_in_one_launch(parts.part[i], device));
    plan.time_us += part.plan.time_us;
    plan.cost += part.plan.cost;
    plan.workspace_bytes += whole_part(part.plan.workspace_bytes);
  }
  return plan;
}

// That of the cut that costs least.
void complete_plan(const Sgemm& p, const Device& device, Plan<Sgemm>& plan) {
  if (!plan.parts.empty()) return;
  each_ragged_cut(p, [&](RaggedCut cut) {
    Plan<Sgemm> other = plan_cut(p, device, cut);
    if (plan.parts.empty() || other.cost < plan.cost) plan = std::move(other);
  });
}

std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
  std::optional<Plan<Sgemm>> plan;
  if (!is_ragged(p)) return plan;
  plan.emplace();
  // Smaller products are not worth choosing kernels for their parts; the cost stays infinite.
  if (p.flops() >= ragged_tuning.min_flops) complete_plan(p, device, *plan);
  return plan;
}

Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                   Workspace workspace, Stream stream) {
  const RaggedParts parts(p, plan.data.get<RaggedCut>());
  char* data = static_cast<char*>(workspace.data);
  for (int i = 0; i < parts.count; ++i) {
    const Choice<Sgemm>& part = plan.parts[static_cast<std::size_t>(i)];
    const std::size_t bytes = whole_part(part.plan.workspace_bytes);
    const Workspace own{data, bytes, workspace.tickets + parts.first_ticket(i)};
    const Status status = launch_planned(part, parts.part[i], device, own, stream);
    if (!status.ok()) return status;
    data += bytes;
  }
  return Status::success();
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
