// triangle_product: symm and trmm as a product with a whole matrix, which a copy makes of the
// triangle in the workspace: its mirror image beside it, or zeros. Of trmm each tile of C has only
// the k where there are no zeros, and the copy only the zeros that tiles read; the split kernels
// read the triangle where it lies, and of the squares on its diagonal a copy.
//
// Prediction  8192 cubed: the copy moves 0.27 to 0.54 GB in 0.07 to 0.13 ms. Split symm takes a
//             product's 4.7 ms and that; trmm half of its multiplications and of one operand's
//             split, 2.6 ms; in plain FP32 0.508 of a product's time and the copy.
// Limits      Of the tiles on the diagonal half is zeros, 0.8 % of the work at 8192.
#include <optional>

#include "level3/copies.hpp"
#include "level3/production.hpp"
#include "level3/products.hpp"
#include "sgemm/hopper/control.hpp"

namespace KW_TARGET {
namespace {

// What the product has of the triangle.
enum class Form {
  whole,   // a whole matrix
  ranges,  // a copy with zeros as far as tiles read them
  apart,   // what is stored, and a copy of the squares on the diagonal; `ranges` where that fails
};

// What a call has in the workspace, behind that of the first product, which begins it: the squares
// on the diagonal, the copy of A, and of trmm in place one of B; then the second product's.
struct Copies {
  std::size_t squares, of_a, of_b;

  Copies(const Level3& p, Form form)
      : squares(form == Form::apart ? bytes_of_diagonal(p.k) : 0),
        of_a(bytes_of_copy(p.k, p.k)),
        of_b(p.in_place() ? bytes_of_copy(p.m, p.n) : 0) {}
  std::size_t bytes() const { return squares + of_a + of_b; }
};
// The launches, and what they read and write.
double copies_us(const Level3& p, Form form) {
  constexpr double launch_us = 4, bytes_per_us = 3e6;
  const Copies copies(p, form);
  const double of_b =
      p.in_place() ? launch_us + 2 * static_cast<double>(copies.of_b) / bytes_per_us : 0;
  const auto a = static_cast<double>(copies.of_a);
  switch (form) {
    case Form::whole: return of_b + launch_us + 2 * a / bytes_per_us;
    case Form::ranges: return of_b + launch_us + a / bytes_per_us;
    case Form::apart: break;
  }
  return of_b + launch_us + 2;  // the copy that is not made
}

struct Places {
  Workspace first, second;  // of the products
  float *squares, *a, *b;

  Places(const Level3& p, Form form, const Workspace& workspace, std::size_t first_bytes)
      : first{workspace.data, first_bytes, workspace.tickets} {
    const Copies copies(p, form);
    Workspace rest = behind(workspace, first_bytes);
    const auto take = [&](std::size_t bytes) {
      auto* const at = static_cast<float*>(rest.data);
      rest = behind(rest, bytes);
      return at;
    };
    squares = take(copies.squares), a = take(copies.of_a), b = take(copies.of_b);
    second = rest;
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

// What a product with ranges of k takes of its predicted time (results/h200/level3-products.json).
constexpr double ranges_share = 1.05;

struct ProductPlan {
  Form form = Form::whole;
  std::size_t first_bytes = 0;  // of the workspace, for the first product
};

template <Math math>
struct TriangleProduct {
  static std::int64_t ld_of_b(const Level3& p) { return p.in_place() ? ld_of_copy(p.n) : p.ldb; }

  static std::optional<Choice<Sgemm>> choose(const Level3& p, const Device& device, Form form,
                                             Math own) {
    const std::int64_t lda = form == Form::apart ? p.lda : ld_of_copy(p.k);
    auto choice = choose_product(product_of(p, p.a, lda, p.b, ld_of_b(p), form), device, own);
    if (choice && form != Form::whole) {
      choice->plan.time_us *= ranges_share;
      choice->plan.cost *= ranges_share;
    }
    return choice;
  }
  static std::optional<Plan<Level3>> plan_with(const Level3& p, const Device& device, Form form) {
    // The copy has too few zeros for the split kernels.
    auto part = choose(p, device, form, form == Form::ranges ? Math::fp32 : math);
    if (!part) return std::nullopt;
    const double us = copies_us(p, form);
    ProductPlan own{.form = form};
    Plan<Level3> plan;
    add_part(std::move(*part), plan);
    if (form == Form::apart) {
      // What the split kernels cannot compute, or have no room for, is the other product's.
      own.first_bytes = ceil_div(plan.workspace_bytes, std::size_t{256}) * 256;
      auto second = choose(p, device, Form::ranges, Math::fp32);
      if (!second) return std::nullopt;
      const std::size_t bytes = second->plan.workspace_bytes;
      plan.min_workspace_bytes = second->plan.needed_workspace_bytes();
      plan.workspace_bytes = own.first_bytes + bytes;
      plan.parts.push_back(std::move(*second));
    }
    const std::size_t bytes = Copies(p, form).bytes();
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
    for (const Form form : {Form::apart, Form::ranges, Form::whole}) {
      if (form != Form::whole && p.routine == Routine::symm) continue;
      if (form == Form::apart && math == Math::fp32) continue;
      auto plan = plan_with(p, device, form);
      if (plan && (!best || plan->cost < best->cost)) best = std::move(plan);
    }
    return best;
  }

  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    if (p.m == 0 || p.n == 0) return Status::success();
    auto own = plan.data.get<ProductPlan>();
    const bool is_apart = own.form == Form::apart;
    const bool has_room = workspace.bytes >= plan.workspace_bytes;
    if (is_apart && !has_room) own = {.form = Form::ranges};
    const Places at(p, own.form, workspace, own.first_bytes);
    const bool reads = p.alpha_at != nullptr || p.alpha != 0;
    const float* const b = p.in_place() ? at.b : p.b;
    if (reads && p.in_place()) {
      const Status copied = copy_matrix(p.b, p.ldb, at.b, ld_of_copy(p.n), p.m, p.n, stream);
      if (!copied.ok()) return copied;
    }
    const unsigned* only_if = nullptr;
    if (is_apart && has_room) {
      Sgemm product = product_of(p, p.a, p.lda, b, ld_of_b(p), Form::apart);
      product.diagonal = at.squares;
      const Status copied =
          reads ? copy_diagonal(copy_of(p, at.squares, own.form), stream) : Status::success();
      if (!copied.ok()) return copied;
      const Status multiplied = launch_planned(plan.parts[0], product, device, at.first, stream);
      if (!multiplied.ok()) return multiplied;
      only_if = &static_cast<const kw::hopper::Control*>(at.first.data)->takes_fp32;
    }
    if (reads) {
      TriangleCopy copy = copy_of(p, at.a, own.form);
      copy.only_if = only_if;
      const Status copied = copy_triangle(copy, stream);
      if (!copied.ok()) return copied;
    }
    const Form form = is_apart ? Form::ranges : own.form;
    Sgemm product = product_of(p, at.a, ld_of_copy(p.k), b, ld_of_b(p), form);
    product.only_if = only_if;
    return launch_planned(plan.parts.back(), product, device, at.second, stream);
  }
  static const char* path_taken(const Level3& p, const Device& device, const Plan<Level3>& plan,
                                const PathWords& words) {
    const auto& [kernel, own] = plan.parts[0];
    const Form form = plan.data.get<ProductPlan>().form;
    if (form != Form::apart) return kernel->name;
    if (words[0] != 0 || kernel->path_taken == nullptr) return plan.parts.back().kernel->name;
    return kernel->path_taken(product_of(p, p.a, p.lda, p.b, ld_of_b(p), form), device, own, words);
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
