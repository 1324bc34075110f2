// triangle_product: symm and trmm as a product with the triangle where it lies, of which only the
// squares on the diagonal are copied; or with a whole matrix, which a copy makes of it in the
// workspace: its mirror image beside it, or zeros. Of trmm each tile of C has only the k where
// there are no zeros, and the copy only the zeros that tiles read.
//
// Prediction  8192 cubed: the copy moves 0.27 to 0.54 GB in 0.07 to 0.13 ms. Split symm takes a
//             product's 4.7 ms and that; trmm half of its multiplications and of one operand's
//             split, 2.6 ms; in plain FP32 0.508 of a product's time and the copy.
// Limits      Of the tiles on the diagonal half is zeros, 0.8 % of the work at 8192.
#include <optional>

#include "level3/copies.hpp"
#include "level3/production.hpp"
#include "level3/products.hpp"
#include "sgemm/apart.hpp"
#include "sgemm/hopper/control.hpp"

namespace KW_TARGET {
namespace {

// What a product has of the triangle.
enum class Form {
  whole,   // a whole matrix
  ranges,  // a copy with zeros as far as tiles read them
  apart,   // what is stored, and a copy of the squares on the diagonal
};

// `form`: of the only product, or of the one in plain FP32 that computes what a split one before it
// cannot, which has the triangle apart.
struct ProductPlan {
  Form form = Form::whole;
  bool is_split = false;
  std::size_t split_bytes = 0;  // of the workspace, for the split product
};

// What a call has in the workspace, behind that of the split product, which begins it: the squares
// on the diagonal, the copy of A, and of trmm in place one of B; then the other product's.
struct Copies {
  std::size_t squares, of_a, of_b;

  Copies(const Level3& p, const ProductPlan& own)
      : squares(own.form == Form::apart || own.is_split ? bytes_of_diagonal(p.k) : 0),
        of_a(own.form == Form::apart ? 0 : bytes_of_copy(p.k, p.k)),
        of_b(p.in_place() ? bytes_of_copy(p.m, p.n) : 0) {}
  std::size_t bytes() const { return squares + of_a + of_b; }
};
// The launches, and what they read and write.
double copies_us(const Level3& p, Form form) {
  constexpr double launch_us = 4, before_us = 2, bytes_per_us = 3e6;
  const double of_b =
      p.in_place() ? launch_us + 2 * static_cast<double>(bytes_of_copy(p.m, p.n)) / bytes_per_us
                   : 0;
  const auto a = static_cast<double>(bytes_of_copy(p.k, p.k));
  switch (form) {
    case Form::whole: return of_b + launch_us + before_us + 2 * a / bytes_per_us;
    case Form::ranges: return of_b + launch_us + before_us + a / bytes_per_us;
    case Form::apart: break;
  }
  return of_b + launch_us;
}

struct Places {
  Workspace split, product;
  float *squares, *a, *b;

  Places(const Level3& p, const ProductPlan& own, const Workspace& workspace)
      : split{workspace.data, own.split_bytes, workspace.tickets} {
    const Copies copies(p, own);
    Workspace rest = behind(workspace, own.split_bytes);
    const auto take = [&](std::size_t bytes) {
      auto* const at = static_cast<float*>(rest.data);
      rest = behind(rest, bytes);
      return at;
    };
    squares = take(copies.squares), a = take(copies.of_a), b = take(copies.of_b);
    product = rest;
  }
};

TriangleCopy copy_of(const Level3& p, float* to, Form form) {
  const bool is_symm = p.routine == Routine::symm;
  TriangleCopy copy = {.from = p.a,
                       .ld_from = p.lda,
                       .to = to,
                       .ld_to = ld_of_copy(p.k),
                       .size = p.k,
                       .triangle = p.triangle,
                       .unit_diagonal = !is_symm && p.unit_diagonal,
                       .beside = is_symm ? BesideTriangle::mirrored : BesideTriangle::zeros};
  if (form != Form::whole) copy.reach = diagonal_side;
  return copy;
}

// The product, its A and B as the call has them; `a` and `lda`: of the copy, or the call's.
Sgemm product_of(const Level3& p, const float* a, std::int64_t lda, const float* b,
                 std::int64_t ldb, Form form) {
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
  product.lda = p.on_left ? lda : ldb;
  product.op_b = p.on_left ? p.op_b : op_a;
  product.b = p.on_left ? b : a;
  product.ldb = p.on_left ? ldb : lda;
  if (form == Form::whole) return product;
  product.diagonal_apart = form == Form::apart;
  if (p.on_left)
    product.k_range = p.is_lower() ? KRange::to_row : KRange::from_row;
  else
    product.k_range = p.is_lower() ? KRange::from_column : KRange::to_column;
  return product;
}

template <Math math>
struct TriangleProduct {
  static std::int64_t ld_of_b(const Level3& p) { return p.in_place() ? ld_of_copy(p.n) : p.ldb; }

  static std::optional<Choice<Sgemm>> choose(const Level3& p, const Device& device, Form form,
                                             Math own) {
    const bool apart = form == Form::apart, symmetric = p.routine == Routine::symm;
    const Sgemm product =
        product_of(p, p.a, apart ? p.lda : ld_of_copy(p.k), p.b, ld_of_b(p), form);
    return apart && own == Math::fp32 ? choose_apart(product, device, symmetric)
                                      : choose_product(product, device, own);
  }
  static std::optional<Choice<Sgemm>> choose_apart(const Sgemm& product, const Device& device,
                                                   bool symmetric) {
    static const KernelList<Sgemm> mirrored = apart_rows(BesideDiagonal::mirrored);
    static const KernelList<Sgemm> zeros = apart_rows(BesideDiagonal::zeros);
    return select_kernel(product, device, symmetric ? mirrored : zeros);
  }
  static std::optional<Plan<Level3>> plan_with(const Level3& p, const Device& device, Form form) {
    ProductPlan own{.form = form};
    Plan<Level3> plan;
    auto part = choose(p, device, form, form == Form::whole ? math : Math::fp32);
    if (!part) return std::nullopt;
    add_part(std::move(*part), plan);
    return finished(p, own, std::move(plan), form);
  }
  // Of a split product, and of one in plain FP32 for what that cannot compute.
  static std::optional<Plan<Level3>> split_plan(const Level3& p, const Device& device) {
    auto split = choose(p, device, Form::apart, Math::fp32_split);
    if (!split) return std::nullopt;
    for (const Form form : {Form::apart, Form::ranges}) {
      auto other = choose(p, device, form, Math::fp32);
      if (!other) continue;
      Plan<Level3> plan;
      add_part(std::move(*split), plan);
      const ProductPlan own{
          .form = form, .is_split = true, .split_bytes = whole_part(plan.workspace_bytes)};
      plan.min_workspace_bytes = other->plan.needed_workspace_bytes();
      plan.workspace_bytes = own.split_bytes + other->plan.workspace_bytes;
      plan.parts.push_back(std::move(*other));
      return finished(p, own, std::move(plan), Form::apart);
    }
    return std::nullopt;
  }
  static Plan<Level3> finished(const Level3& p, const ProductPlan& own, Plan<Level3> plan,
                               Form copied) {
    const std::size_t bytes = Copies(p, own).bytes();
    const double us = copies_us(p, copied);
    plan.workspace_bytes += bytes;
    *plan.min_workspace_bytes += bytes;
    plan.time_us += us;
    plan.cost += us;
    plan.data.set(own);
    return plan;
  }
  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    std::optional<Plan<Level3>> best;
    if (p.routine != Routine::symm && p.routine != Routine::trmm) return best;
    const auto consider = [&](std::optional<Plan<Level3>> plan) {
      if (plan && (!best || plan->cost < best->cost)) best = std::move(plan);
    };
    if (math == Math::fp32_split && p.routine == Routine::trmm) consider(split_plan(p, device));
    for (const Form form : {Form::apart, Form::ranges, Form::whole}) {
      if (form == Form::ranges && p.routine == Routine::symm) continue;
      consider(plan_with(p, device, form));
    }
    return best;
  }

  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    if (p.m == 0 || p.n == 0) return Status::success();
    auto own = plan.data.get<ProductPlan>();
    if (workspace.bytes < plan.workspace_bytes) own.is_split = false, own.split_bytes = 0;
    const Places at(p, own, workspace);
    const bool reads = p.alpha_at != nullptr || p.alpha != 0;
    const float* const b = p.in_place() ? at.b : p.b;
    if (reads && p.in_place()) {
      const Status copied = copy_matrix(p.b, p.ldb, at.b, ld_of_copy(p.n), p.m, p.n, stream);
      if (!copied.ok()) return copied;
    }
    if (reads && (own.is_split || own.form == Form::apart)) {
      const Status copied = copy_diagonal(copy_of(p, at.squares, Form::apart), stream);
      if (!copied.ok()) return copied;
    }
    const auto product_in = [&](Form form) {
      const bool apart = form == Form::apart;
      Sgemm product =
          product_of(p, apart ? p.a : at.a, apart ? p.lda : ld_of_copy(p.k), b, ld_of_b(p), form);
      if (apart) product.diagonal = at.squares;
      return product;
    };
    const unsigned* only_if = nullptr;
    if (own.is_split) {
      const Status multiplied =
          launch_planned(plan.parts[0], product_in(Form::apart), device, at.split, stream);
      if (!multiplied.ok()) return multiplied;
      only_if = &static_cast<const kw::hopper::Control*>(at.split.data)->takes_fp32;
    }
    if (reads && own.form != Form::apart) {
      TriangleCopy copy = copy_of(p, at.a, own.form);
      copy.only_if = only_if;
      const Status copied = copy_triangle(copy, stream);
      if (!copied.ok()) return copied;
    }
    Sgemm last = product_in(own.form);
    last.only_if = only_if;
    return launch_planned(plan.parts.back(), last, device, at.product, stream);
  }
  static const char* path_taken(const Level3& p, const Device& device, const Plan<Level3>& plan,
                                const PathWords& words) {
    const auto& [kernel, own] = plan.parts[0];
    if (!plan.data.get<ProductPlan>().is_split) return kernel->name;
    if (words[0] != 0 || kernel->path_taken == nullptr) return plan.parts.back().kernel->name;
    return kernel->path_taken(product_of(p, p.a, p.lda, p.b, ld_of_b(p), Form::apart), device, own,
                              words);
  }
  static Kernel<Level3> row(const char* name) {
    return {.name = name,
            .parent = nullptr,
            .idea = "a product with a triangle, or with a whole copy of it",
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
