// cholesky: potrf column after column (level3/cholesky_columns.hpp): panels of 128 columns by one
// kernel, what they take from later columns by products, of which one has a triangle alone.
//
// Prediction  32768, split: 56 ms of products at 210 TFLOP/s, 256 panels of 10 to 30 us, and the
//             products of k = 128 and 256, which memory and launches bound: 4 ms; 65 to 70 ms.
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "level3/cholesky_panel.hpp"
#include "level3/production.hpp"
#include "level3/solve_steps.hpp"

namespace KW_TARGET {
namespace {

template <Math math>
struct CholeskyKernel {
  // An FP32 sum of positive numbers is wrong by its length's square root or more, and those of a
  // factor of a covariance matrix are such. Split sums are exact enough at any length.
  static constexpr std::int64_t most_k =
      math == Math::fp32 ? 2048 : std::numeric_limits<std::int64_t>::max();

  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (!p.factors() || !has_panels(device)) return std::nullopt;
    Plan<Level3> plan;
    double us = 0;
    ProductForms forms;
    const auto panel = [&](const level3::CholeskyPanel& of) {
      us += cholesky_panel_us(of, device);
      return Status::success();
    };
    const auto update = [&](const Sgemm& of) {
      const std::size_t number = forms.find(of);
      if (number == plan.parts.size()) {
        auto part = choose_update(of, device, math);
        if (!part) return Status::failure(StatusCode::unsupported, "no product");
        add_part(std::move(*part), plan);
      }
      us += plan.parts[number].plan.time_us;
      return Status::success();
    };
    if (!level3::CholeskyColumns(p, panel_columns, most_k).each_step(panel, update).ok())
      return std::nullopt;
    plan.time_us = plan.cost = us;
    if (!plan.min_workspace_bytes) plan.min_workspace_bytes = 0;
    return plan;
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    ProductForms forms;
    const auto panel = [&](const level3::CholeskyPanel& of) {
      return launch_cholesky_panel(of, workspace.tickets, device, stream);
    };
    const auto update = [&](const Sgemm& of) {
      return launch_planned(plan.parts[forms.find(of)], of, device, workspace, stream);
    };
    return level3::CholeskyColumns(p, panel_columns, most_k).each_step(panel, update);
  }
  static Kernel<Level3> row(const char* name) {
    return {.name = name,
            .parent = nullptr,
            .idea = "panels by one kernel, products for what they take from later columns",
            .role = Role::production,
            .math = math,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace

KernelList<Level3> cholesky_rows() {
  return {CholeskyKernel<Math::fp32_split>::row("cholesky_split"),
          CholeskyKernel<Math::fp32>::row("cholesky")};
}

}  // namespace KW_TARGET
