// cgemm_ragged: a complex product as several, of which each is one that tiles are good at.
//
// Idea        898 rows are seven tiles of 128 and two rows, for which tiles compute an eighth more.
//             Those few rows or columns are products of their own, which other kernels compute in
//             the time that it takes to read the other operand once. And where sums are too long
//             for one accumulator and tiles are many, pieces of k follow each other, each of which
//             adds to C.
// Prediction  660 x 451 with a k of 6200: 640 x 448 takes 268 us, four columns 11 and twenty rows
//             23, where the quickest tiles for all of it take 339.
// Limits      A launch more for each part, which waits for the one before.
// Order       That of each part's kernel; pieces of k ascending.
#include <array>
#include <optional>
#include <utility>

#include "cgemm/production.hpp"
#include "cgemm/ragged_plan.hpp"
#include "select.hpp"

namespace KW_TARGET {
namespace {

// A plan's data. The parts' own plans are the plan's parts, and these are their kernels.
struct RaggedData {
  ComplexRaggedCut cut;
  std::array<const Kernel<Cgemm>*, complex_ragged_most_parts> kernels;
};
static_assert(sizeof(RaggedData) <= sizeof(PlanData));

// What a plan of one operation is as a part of another's, and back.
template <class To, class From>
Plan<To> plan_as(Plan<From> plan) {
  return {.time_us = plan.time_us,
          .cost = plan.cost,
          .workspace_bytes = plan.workspace_bytes,
          .min_workspace_bytes = plan.min_workspace_bytes,
          .data = plan.data,
          .parts = std::move(plan.parts)};
}

// Adds a part, which uses the same workspace after the others.
void add_part(Plan<Cgemm>& plan, RaggedData& data, Choice<Cgemm> part) {
  const double waits_us = plan.parts.empty() ? 0 : complex_ragged_tuning.part_us;
  plan.time_us += waits_us + part.plan.time_us;
  plan.cost += waits_us + part.plan.cost;
  plan.workspace_bytes = std::max(plan.workspace_bytes, part.plan.workspace_bytes);
  plan.min_workspace_bytes =
      std::max(*plan.min_workspace_bytes, part.plan.needed_workspace_bytes());
  data.kernels[plan.parts.size()] = part.kernel;
  plan.parts.push_back({nullptr, plan_as<Sgemm>(std::move(part.plan))});
}

// Nothing where the parts cost as much as `least`, or more.
std::optional<Plan<Cgemm>> plan_cut(const Cgemm& p, const Device& device,
                                    const ComplexRaggedCut& cut, double least) {
  static const KernelList<Cgemm> kernels = cgemm_own();
  Plan<Cgemm> plan;
  plan.time_us = plan.cost = 0;
  plan.min_workspace_bytes = 0;
  RaggedData data{cut, {}};
  const Status planned = cut.each_part(p, [&](const Cgemm& part) {
    auto choice = select_kernel(part, device, kernels);
    if (!choice || !(plan.cost + choice->plan.cost < least))
      return Status::failure(StatusCode::unsupported, "no better cut");
    add_part(plan, data, std::move(*choice));
    return Status::success();
  });
  if (!planned.ok()) return std::nullopt;
  plan.data.set(data);
  return plan;
}

// That of the cut that costs least.
void complete_plan(const Cgemm& p, const Device& device, Plan<Cgemm>& plan) {
  if (!plan.parts.empty()) return;
  each_complex_ragged_cut(p, [&](const ComplexRaggedCut& cut) {
    if (auto better = plan_cut(p, device, cut, plan.cost)) plan = std::move(*better);
  });
}

std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  std::optional<Plan<Cgemm>> plan;
  if (!is_ragged(p)) return plan;
  plan.emplace();
  // Of others the cost stays infinite: they are not worth choosing kernels for their parts.
  constexpr ComplexRaggedTuning t = complex_ragged_tuning;
  if (p.flops() >= t.min_flops && p.k >= t.least_k) complete_plan(p, device, *plan);
  return plan;
}

Status launch_plan(const Cgemm& p, const Device& device, const Plan<Cgemm>& plan,
                   Workspace workspace, Stream stream) {
  const auto data = plan.data.get<RaggedData>();
  std::size_t number = 0;
  return data.cut.each_part(p, [&](const Cgemm& part) {
    const auto own = plan_as<Cgemm>(plan.parts[number].plan);
    return launch_planned(*data.kernels[number++], part, device, own, workspace, stream);
  });
}

}  // namespace

KernelList<Cgemm> cgemm_ragged_rows() {
  return {{.name = "cgemm_ragged",
           .parent = nullptr,
           .idea = "rows and columns beyond the tiles, and pieces of k, as products of their own",
           .role = Role::production,
           .math = Math::fp32,
           .make_plan = make_plan,
           .complete_plan = complete_plan,
           .launch_plan = launch_plan}};
}

}  // namespace KW_TARGET
