// cgemm_real and cgemm_real_split: the complex product as one real product of sgemm's kernels.
//
// Idea        See real_product.hpp. The expansion pass writes B', and the product is the one that
//             the library chooses for m x 2n x 2k: its arithmetic is 8 m n k operations, as many as
//             a complex product has, so its rate is that of a real product of that size.
// Prediction  8192 cubed in fp32_split: 19 ms for the product at 232 TFLOP/s, 0.4 for the pass.
// Limits      A launch more, and B read once and written twice: small products, and those with few
//             rows, go to tile.cu. B' takes twice B's memory, up to 2 GiB: larger products are
//             computed in parts of columns and k, and with less memory in parts of columns.
#include <algorithm>
#include <optional>
#include <utility>

#include "cgemm/expand.hpp"
#include "cgemm/production.hpp"
#include "cgemm/real_kernels.hpp"
#include "cgemm/real_product.hpp"
#include "select.hpp"

namespace KW_TARGET {
namespace {

// Where the product is nothing but C = 1 * C, after the pass.
bool needs_no_product(const Cgemm& p) {
  return !reads_operands_on_host(p) && p.beta_at == nullptr && p.beta.im != 0;
}

constexpr double diagonal_us = 1.5;  // launch_real_diagonal behind a product
// What a product of which one triangle is computed takes of its predicted time, as in level 3.
constexpr double triangle_share = 1.15;
// What plain FP32 products take of it, 44 on an NVIDIA H200, and those with a short k, 70.
constexpr double fp32_share = 1.015;
constexpr std::int64_t short_k = 128;
constexpr double short_k_share = 1.04;

template <Math math>
double share_of_prediction(const Cgemm& p) {
  return (p.triangle != Triangle::none ? triangle_share : 1) * (math != Math::fp32 ? 1
                                                                : p.k < short_k    ? short_k_share
                                                                                   : fp32_share);
}

template <Math math>
std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  Plan<Cgemm> plan;
  plan.time_us = plan.cost = 0;
  const Status planned = RealCut(p).each_part(p, [&](const Cgemm& part) {
    auto product = select_kernel(real_product_to_plan(part), device, real_kernels<math>(), math);
    if (!product || !fits_one_expansion(part))
      return Status::failure(StatusCode::unsupported, "no product");
    const double share = share_of_prediction<math>(p);
    product->plan.time_us *= share;
    product->plan.cost *= share;
    const double pass_us = expand_us(part, device) + (p.hermitian ? diagonal_us : 0);
    plan.time_us += pass_us + product->plan.time_us;
    plan.cost += pass_us + product->plan.cost;
    plan.workspace_bytes =
        std::max(plan.workspace_bytes, RealLayout(part).end + product->plan.workspace_bytes);
    plan.parts.push_back(std::move(*product));
    return Status::success();
  });
  if (!planned.ok()) return std::nullopt;
  plan.min_workspace_bytes = std::min(plan.workspace_bytes, least_workspace_bytes(p));
  return plan;
}

ExpandParams expand_params(const Cgemm& p, char* base) {
  const RealLayout at(p);
  const auto operand = [&](const RealOperand& of, std::size_t data, std::size_t pointers) {
    ExpandedOperand to;
    if (of.entries == 0) return to;
    to = {reinterpret_cast<float*>(base + data), of.ld, of.stride(), of.entries};
    if (p.by_pointers()) to.pointers = reinterpret_cast<const float**>(base + pointers);
    return to;
  };
  return {.problem = p,
          .a = operand(real_a(p), at.a, at.a_pointers),
          .b = operand(real_b(p), at.b, at.b_pointers),
          .scales_c = may_scale_c(p),
          .alpha = split_scalar(p.alpha),
          .factors = has_device_scalars(p) ? reinterpret_cast<float*>(base + at.factors) : nullptr};
}

Status launch_whole(const Cgemm& p, const Device& device, const Choice<Sgemm>& product,
                    Workspace workspace, Stream stream) {
  char* const base = static_cast<char*>(workspace.data);
  const std::size_t own = RealLayout(p).end;
  if (!needs_no_expansion(p)) {
    Status status = launch_expand(expand_params(p, base), stream);
    if (!status.ok() || needs_no_product(p)) return status;
  }
  const Workspace rest{base + own, workspace.bytes - own, workspace.tickets};
  Status status = launch_planned(product, real_product(p, base), device, rest, stream);
  return status.ok() && p.hermitian ? launch_real_diagonal(p, stream) : status;
}

// The largest parts for which the whole of the product's workspace is there; where the smallest are
// still too large for that, those, and the product makes do.
template <Math math>
RealParts fitting_parts(const Cgemm& p, const Device& device, std::size_t bytes) {
  RealParts parts{p.batch, p.n};
  for (;;) {
    const Cgemm first = parts.first_of(p);
    const std::size_t own = RealLayout(first).end;
    if (own <= bytes) {
      const auto product =
          select_kernel(real_product_to_plan(first), device, real_kernels<math>(), math);
      if (product && own + product->plan.workspace_bytes <= bytes) return parts;
    }
    const RealParts less = smaller(p, parts);
    if (less.entries == parts.entries && less.columns == parts.columns) return parts;
    parts = less;
  }
}

template <Math math>
Status launch_in_parts(const Cgemm& p, const Device& device, Workspace workspace, Stream stream) {
  const RealParts parts = fitting_parts<math>(p, device, workspace.bytes);
  for (std::int64_t entry = 0; entry < p.batch; entry += parts.entries) {
    const Cgemm some = some_entries(p, entry, std::min(parts.entries, p.batch - entry));
    for (std::int64_t column = 0; column < p.n; column += parts.columns) {
      const Cgemm part = parts.columns < p.n
                             ? some_columns(some, column, std::min(parts.columns, p.n - column))
                             : some;
      const auto product = select_kernel(real_product_to_plan(part), device, real_kernels<math>(),
                                         math, workspace.bytes - RealLayout(part).end);
      Status status = launch_whole(part, device, *product, workspace, stream);
      if (!status.ok()) return status;
    }
  }
  return Status::success();
}

template <Math math>
Status launch_plan(const Cgemm& p, const Device& device, const Plan<Cgemm>& plan,
                   Workspace workspace, Stream stream) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return Status::success();
  if (plan.workspace_bytes <= workspace.bytes) {
    std::size_t number = 0;
    return RealCut(p).each_part(p, [&](const Cgemm& part) {
      return launch_whole(part, device, plan.parts[number++], workspace, stream);
    });
  }
  return launch_in_parts<math>(p, device, workspace, stream);
}

template <Math math>
Kernel<Cgemm> row(const char* name, const char* idea) {
  return {.name = name,
          .parent = nullptr,
          .idea = idea,
          .role = Role::production,
          .math = math,
          .make_plan = make_plan<math>,
          .launch_plan = launch_plan<math>};
}

}  // namespace

KernelList<Cgemm> cgemm_real_rows() {
  KernelList<Cgemm> rows = {
      row<Math::fp32>("cgemm_real", "one real product of twice the columns and twice the k")};
  if constexpr (gpu::has_nvidia_kernels)
    rows.push_back(row<Math::fp32_split>("cgemm_real_split", "cgemm_real on split products"));
  return rows;
}

}  // namespace KW_TARGET
