// ctrsm_blocks and ctrsm_blocks_split: a complex system by halves, complex products between blocks
// that are solved by substitution (steps.hpp).
//
// Prediction  8192 with 8192 lines, split: products of 11 ms at 200 TFLOP/s, and 64 blocks of 40 us
//             that wait for each other; strict 41 ms.
// Method      Substitution by blocks: Higham 2002, section 8; its residual is that of a sum.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cgemm/kernels.hpp"
#include "ctrsm/chain_plan.hpp"
#include "ctrsm/production.hpp"
#include "ctrsm/steps.hpp"
#include "ctrsm/strips.hpp"
#include "select.hpp"

namespace KW_TARGET {
namespace {

std::optional<Choice<Cgemm>> choose_complex_product(const Cgemm& problem, const Device& device,
                                                    Math math) {
  static const KernelList<Cgemm> kernels = cgemm_production();
  return select_kernel(problem, device, kernels, math);
}

// Parts use the same workspace one after the other.
void add_complex_part(Choice<Cgemm> part, Plan<Ctrsm>& plan) {
  plan.workspace_bytes = std::max(plan.workspace_bytes, part.plan.workspace_bytes);
  plan.min_workspace_bytes =
      std::max(*plan.min_workspace_bytes, part.plan.needed_workspace_bytes());
  plan.parts.push_back(std::move(part));
}

// What a step takes beside its launch alone, since the one before was another kernel; and how much
// longer products take among them than by themselves, again and again.
constexpr double between_us = 3, product_share = 1.15;

// How many unknowns the plan's blocks have.
struct ComplexSolvePlan {
  int block = 0;
};

// The products that were chosen for a call, whatever the size of its blocks.
class ChosenProducts {
 public:
  // Nothing where no kernel computes the product.
  std::optional<Choice<Cgemm>> find(const Cgemm& product, const Device& device, Math math) {
    const std::size_t number = forms_.find(product);
    if (number == choices_.size())
      choices_.push_back(choose_complex_product(product, device, math));
    return choices_[number];
  }

 private:
  ComplexForms forms_;
  std::vector<std::optional<Choice<Cgemm>>> choices_;
};

template <Math math>
struct ComplexBlocks {
  static std::optional<Plan<Ctrsm>> plan_with(const Ctrsm& p, const Device& device, int size,
                                              ChosenProducts& chosen) {
    Plan<Ctrsm> plan;
    plan.min_workspace_bytes = 0;
    double us = 0;
    ComplexForms forms;
    const auto block = [&](const ComplexBlock& b) {
      us += complex_block_us(b, device);
      return Status::success();
    };
    const auto update = [&](const Cgemm& product) {
      const std::size_t number = forms.find(product);
      if (number == plan.parts.size()) {
        auto part = chosen.find(product, device, math_of(product));
        if (!part) return Status::failure(StatusCode::unsupported, "no product");
        add_complex_part(std::move(*part), plan);
      }
      us += product_share * plan.parts[number].plan.time_us + between_us;
      return Status::success();
    };
    if (!ComplexSolve(p, size).each_step(block, update).ok()) return std::nullopt;
    plan.time_us = plan.cost = us;
    plan.data.set(ComplexSolvePlan{size});
    return plan;
  }
  static std::optional<Plan<Ctrsm>> make_plan(const Ctrsm& p, const Device& device) {
    std::optional<Plan<Ctrsm>> best;
    ChosenProducts chosen;
    if (choose_complex_chain(complex_chain_size, p.lines(), p.batch, device).is_possible())
      return plan_with(p, device, complex_chain_size, chosen);
    for (const int size : complex_sizes) {
      if (device.shared_bytes_per_block_optin < complex_shared_bytes(size, complex_most_lines))
        continue;
      auto plan = plan_with(p, device, size, chosen);
      if (plan && (!best || plan->cost < best->cost)) best = std::move(plan);
      if (p.k() <= complex_sizes[1]) break;
    }
    return best;
  }
  // Small products are none faster split, and their choice among all kernels takes the host long.
  static Math math_of(const Cgemm& product) {
    constexpr double least_split = 1e9;  // operations
    return product.flops() < least_split ? Math::fp32 : math;
  }
  static Status launch_plan(const Ctrsm& p, const Device& device, const Plan<Ctrsm>& plan,
                            Workspace workspace, Stream stream) {
    if (p.m == 0 || p.n == 0 || p.batch == 0) return Status::success();
    if (p.alpha_at == nullptr && is_zero(p.alpha)) return clear_complex_where_zero(p, stream);
    ComplexForms forms;
    const auto block = [&](const ComplexBlock& of) {
      return launch_complex_block(of, device, stream);
    };
    const auto update = [&](const Cgemm& product) {
      return launch_planned(plan.parts[forms.find(product)], product, device, workspace, stream);
    };
    const int size = plan.data.get<ComplexSolvePlan>().block;
    const Status status = ComplexSolve(p, size).each_step(block, update);
    return status.ok() && p.alpha_at != nullptr ? clear_complex_where_zero(p, stream) : status;
  }
  static Kernel<Ctrsm> row(const char* name) {
    return {.name = name,
            .parent = nullptr,
            .idea = "by halves: blocks by substitution, complex products between them",
            .role = Role::production,
            .math = math,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace

KernelList<Ctrsm> ctrsm_blocks_rows() {
  return {ComplexBlocks<Math::fp32_split>::row("ctrsm_blocks_split"),
          ComplexBlocks<Math::fp32>::row("ctrsm_blocks")};
}

}  // namespace KW_TARGET
