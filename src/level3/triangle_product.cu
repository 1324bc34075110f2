// triangle_product: symm and trmm as a product with a whole matrix, which a copy makes of the
// triangle in the workspace: its mirror image beside it, or zeros. Of trmm each tile of C has only
// the k where there are no zeros.
//
// Prediction  8192 cubed: the copy moves 0.54 GB in 0.13 ms. Split symm takes a product's 4.7 ms
//             and that, trmm about half of them.
// Limits      Tiles are taken by strips of up to four rows of them, whose zeros are multiplied: 3 %
// of
//             the work at 8192, more where tiles are few.
#include <optional>

#include "level3/copies.hpp"
#include "level3/production.hpp"
#include "level3/products.hpp"

namespace KW_TARGET {
namespace {

// What a call has in the workspace: the copy of A; and of trmm in place one of B.
struct Copies {
  std::size_t of_a, of_b;

  explicit Copies(const Level3& p)
      : of_a(bytes_of_copy(p.k, p.k)), of_b(p.in_place() ? bytes_of_copy(p.m, p.n) : 0) {}
  std::size_t bytes() const { return of_a + of_b; }
  // A launch, and what it reads and writes.
  double us() const {
    constexpr double launch_us = 4, bytes_per_us = 3e6;
    return launch_us + 2 * static_cast<double>(bytes()) / bytes_per_us;
  }
  float* b(const Workspace& workspace) const {
    return reinterpret_cast<float*>(static_cast<char*>(workspace.data) + of_a);
  }
};

Status make_copies(const Level3& p, const Copies& copies, const Workspace& workspace,
                   Stream stream) {
  const bool is_symm = p.routine == Routine::symm;
  const Status status =
      copy_triangle({.from = p.a,
                     .ld_from = p.lda,
                     .to = static_cast<float*>(workspace.data),
                     .ld_to = ld_of_copy(p.k),
                     .size = p.k,
                     .triangle = p.triangle,
                     .unit_diagonal = !is_symm && p.unit_diagonal,
                     .beside = is_symm ? BesideTriangle::mirrored : BesideTriangle::zeros},
                    stream);
  if (!status.ok() || !p.in_place()) return status;
  return copy_matrix(p.b, p.ldb, copies.b(workspace), ld_of_copy(p.n), p.m, p.n, stream);
}

// The product, its A and B as the call has them; `a` is the copy.
Sgemm product_of(const Level3& p, const float* a, const float* b, std::int64_t ldb, bool ranges) {
  const bool is_trmm = p.routine == Routine::trmm;
  Sgemm product;
  product.m = p.m;
  product.n = p.n;
  product.k = p.k;
  product.alpha = p.alpha;
  product.alpha_at = p.alpha_at;
  product.beta = is_trmm ? 0 : p.beta;
  product.beta_at = is_trmm ? nullptr : p.beta_at;
  product.c = p.c;
  product.ldc = p.ldc;
  const Op op_a = is_trmm ? p.op_a : Op::none;
  product.op_a = p.on_left ? op_a : p.op_b;
  product.a = p.on_left ? a : b;
  product.lda = p.on_left ? ld_of_copy(p.k) : ldb;
  product.op_b = p.on_left ? p.op_b : op_a;
  product.b = p.on_left ? b : a;
  product.ldb = p.on_left ? ldb : ld_of_copy(p.k);
  if (!ranges) return product;
  if (p.on_left)
    product.k_range = p.is_lower() ? KRange::to_row : KRange::from_row;
  else
    product.k_range = p.is_lower() ? KRange::from_column : KRange::to_column;
  return product;
}

// What a product with ranges of k takes of its predicted time: 1.2 to 1.5 in
// results/h200/level3-products.json.
constexpr double ranges_share = 1.3;

// Whether the product of a plan has ranges of k.
struct ProductPlan {
  bool ranges = false;
};

template <Math math>
struct TriangleProduct {
  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (p.routine != Routine::symm && p.routine != Routine::trmm) return std::nullopt;
    const std::int64_t ldb = p.in_place() ? ld_of_copy(p.n) : p.ldb;
    std::optional<Choice<Sgemm>> part;
    ProductPlan own;
    for (const bool ranges : {true, false}) {
      if (ranges && p.routine == Routine::symm) continue;
      auto choice = choose_product(product_of(p, p.a, p.b, ldb, ranges), device, math);
      if (choice && ranges) {
        choice->plan.time_us *= ranges_share;
        choice->plan.cost *= ranges_share;
      }
      if (!choice || (part && !(choice->plan.cost < part->plan.cost))) continue;
      part = std::move(choice);
      own.ranges = ranges;
    }
    if (!part) return std::nullopt;
    Plan<Level3> plan;
    plan.data.set(own);
    add_part(std::move(*part), plan);
    const Copies copies(p);
    plan.workspace_bytes += copies.bytes();
    *plan.min_workspace_bytes += copies.bytes();
    plan.time_us += copies.us();
    plan.cost += copies.us();
    return plan;
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    if (p.m == 0 || p.n == 0) return Status::success();
    const Copies copies(p);
    float* const a = static_cast<float*>(workspace.data);
    const float* b = p.b;
    std::int64_t ldb = p.ldb;
    if (p.alpha_at != nullptr || p.alpha != 0) {
      const Status status = make_copies(p, copies, workspace, stream);
      if (!status.ok()) return status;
    }
    if (p.in_place()) {
      b = copies.b(workspace);
      ldb = ld_of_copy(p.n);
    }
    const bool ranges = plan.data.get<ProductPlan>().ranges;
    return launch_planned(plan.parts[0], product_of(p, a, b, ldb, ranges), device,
                          behind(workspace, copies.bytes()), stream);
  }
  static const char* path_taken(const Level3&, const Device&, const Plan<Level3>& plan,
                                const PathWords&) {
    return plan.parts[0].kernel->name;
  }
  static Kernel<Level3> row(const char* name) {
    return {.name = name,
            .parent = nullptr,
            .idea = "a product with a whole copy of the triangle",
            .role = Role::production,
            .math = math,
            .make_plan = make_plan,
            .launch_plan = launch_plan,
            .path_taken = path_taken};
  }
};

}  // namespace

KernelList<Level3> triangle_product_rows() {
  return {TriangleProduct<Math::fp32_split>::row("triangle_product_split"),
          TriangleProduct<Math::fp32>::row("triangle_product")};
}

}  // namespace KW_TARGET
