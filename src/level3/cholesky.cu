// cholesky: potrf by halves (cholesky_steps.hpp): blocks of 128 by one kernel, systems by
// substitution and products (solve_steps.hpp), updates of a triangle by products of which one
// triangle is computed.
//
// Prediction  32768, split: 59 ms of products at 200 TFLOP/s, and 256 blocks of 15 us that all
//             others wait for, each with a system and an update of some microseconds: 70 to 80 ms.
#include <optional>
#include <utility>

#include "level3/cholesky_block.hpp"
#include "level3/production.hpp"
#include "level3/solve_steps.hpp"
#include "level3/updates.hpp"

namespace KW_TARGET {
namespace {

// Unknowns of a solution's block: as many as fit.
int solve_size_of(const Device& device) {
  constexpr int usual = solve_sizes[0], small = 128;
  return device.shared_bytes_per_block_optin < solve_shared_bytes(usual, solve_lines[0]) ? small
                                                                                         : usual;
}

template <Math math>
struct CholeskyKernel {
  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (!p.factors() || device.shared_bytes_per_block_optin < sizeof(CholeskyShared))
      return std::nullopt;
    Plan<Level3> plan;
    double us = 0;
    ProductForms forms;
    const auto product = [&](const Sgemm& of) {
      const std::size_t number = forms.find(of);
      if (number == plan.parts.size()) {
        auto part = choose_product(of, device, math);
        if (!part) return Status::failure(StatusCode::unsupported, "no product");
        add_part(std::move(*part), plan);
      }
      us += plan.parts[number].plan.time_us;
      return Status::success();
    };
    const auto diagonal = [&](const level3::DiagonalBlock&) {
      us += cholesky_block_us;
      return Status::success();
    };
    const auto block = [&](const SolveBlock& b) {
      us += solve_block_us(b.size, b.lines, device);
      return Status::success();
    };
    if (!each_step(p, device, diagonal, block, product).ok()) return std::nullopt;
    plan.time_us = plan.cost = us;
    if (!plan.min_workspace_bytes) plan.min_workspace_bytes = 0;
    return plan;
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    ProductForms forms;
    const auto product = [&](const Sgemm& of) {
      return launch_planned(plan.parts[forms.find(of)], of, device, workspace, stream);
    };
    const auto diagonal = [&](const level3::DiagonalBlock& of) {
      return launch_cholesky_block(of, stream);
    };
    const auto block = [&](const SolveBlock& of) { return launch_solve_block(of, device, stream); };
    return each_step(p, device, diagonal, block, product);
  }
  // All steps, the same ones for a plan and for its launches.
  template <class Diagonal, class Block, class Product>
  static Status each_step(const Level3& p, const Device& device, const Diagonal& diagonal,
                          const Block& block, const Product& product) {
    const int solve_size = solve_size_of(device);
    return level3::Cholesky(p, cholesky_size)
        .each_step(
            diagonal,
            [&](const Level3& of) { return Solve(of, solve_size).each_step(block, product); },
            [&](const Level3& of) { return product(Updates(of).product[0]); });
  }
  static Kernel<Level3> row(const char* name) {
    return {.name = name,
            .parent = nullptr,
            .idea = "by halves: a kernel for blocks, systems and updates between them",
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
