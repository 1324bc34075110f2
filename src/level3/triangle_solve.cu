// triangle_solve: trsm by halves, products between blocks that are solved by substitution
// (solve_steps.hpp).
//
// Prediction  16384 with 16384 lines, split: products of 22 ms at 200 TFLOP/s, and 64 blocks of
//             50 us that wait for each other; with 1024 lines the blocks take 0.7 ms of 3.
// Method      Substitution by blocks: Higham 2002, section 8; its residual is that of a sum.
#include <optional>
#include <vector>

#include "level3/copies.hpp"
#include "level3/production.hpp"
#include "level3/solve_steps.hpp"
#include "level3/solve_ways.hpp"

namespace KW_TARGET {
namespace {

// How many unknowns the plan's blocks have.
struct SolvePlan {
  int block = 0;
};

// What a block takes longer between launches of other kernels than after its own, whose code is
// there. With a microsecond, of 51 systems of 257 to 1800 unknowns the size of the blocks costs a
// thousandth on average, two hundredths at most
// (results/h200/explored-level3-own-lines.txt).
constexpr double among_others_us = 1;

template <Math math>
struct TriangleSolve {
  static std::optional<Plan<Level3>> plan_with(const Level3& p, const Device& device, int size) {
    Plan<Level3> plan;
    double us = 0;
    ProductForms forms;
    const auto block = [&](const SolveBlock& b) {
      us += choose_solve_way(b, device).us + (p.k > size ? among_others_us : 0);
      return Status::success();
    };
    const auto update = [&](const Sgemm& product) {
      const std::size_t number = forms.find(product);
      if (number == plan.parts.size()) {
        auto part = choose_product(product, device, math);
        if (!part) return Status::failure(StatusCode::unsupported, "no product");
        add_part(std::move(*part), plan);
      }
      us += plan.parts[number].plan.time_us;
      return Status::success();
    };
    if (!Solve(p, size).each_step(block, update).ok()) return std::nullopt;
    plan.time_us = plan.cost = us;
    if (!plan.min_workspace_bytes) plan.min_workspace_bytes = 0;
    plan.data.set(SolvePlan{size});
    return plan;
  }
  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    std::optional<Plan<Level3>> best;
    if (p.routine != Routine::trsm) return best;
    const auto consider = [&](int size) {
      auto plan = plan_with(p, device, size);
      if (plan && (!best || plan->cost < best->cost)) best = std::move(plan);
    };
    if (solves_by_chain(solve_chain_size, p.on_left ? p.n : p.m, p.batch, device))
      consider(solve_chain_size);
    for (const int size : solve_sizes) {
      if (device.shared_bytes_per_block_optin < solve_shared_bytes(size, solve_most_lines))
        continue;
      consider(size);
      if (p.k <= size && size == solve_sizes[0]) break;
    }
    return best;
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    if (p.m == 0 || p.n == 0 || p.batch == 0) return Status::success();
    if (p.alpha_at == nullptr && p.alpha == 0) return clear_where_zero(p, stream);
    ProductForms forms;
    const auto block = [&](const SolveBlock& of) { return launch_solve_block(of, device, stream); };
    const auto update = [&](const Sgemm& product) {
      return launch_planned(plan.parts[forms.find(product)], product, device, workspace, stream);
    };
    const Status status = Solve(p, plan.data.get<SolvePlan>().block).each_step(block, update);
    return status.ok() && p.alpha_at != nullptr ? clear_where_zero(p, stream) : status;
  }
  static Kernel<Level3> row(const char* name) {
    return {.name = name,
            .parent = nullptr,
            .idea = "by halves: blocks by substitution, products between them",
            .role = Role::production,
            .math = math,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace

KernelList<Level3> triangle_solve_rows() {
  return {TriangleSolve<Math::fp32_split>::row("triangle_solve_split"),
          TriangleSolve<Math::fp32>::row("triangle_solve")};
}

}  // namespace KW_TARGET
