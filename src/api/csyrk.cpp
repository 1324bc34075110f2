// csyrk and cherk from the caller's views to a kernel's launch: the product of A and A transposed,
// of which one triangle is wanted.
#include <utility>

#include "api/cgemm_calls.hpp"
#include "api/check.hpp"
#include "api/check_sgemm.hpp"
#include "api/planned_call.hpp"
#include "kernelwright/cgemm.hpp"
#include "text.hpp"

namespace kw {
namespace detail {

namespace {

Op transposes(const CsyrkCall& call) {
  return call.hermitian ? Op::conjugate_transpose : Op::transpose;
}

bool may_read_a(const CsyrkCall& call) {
  return !complex_as_real(call.alpha).is(0) && call.a.op_cols() > 0 && call.c.rows > 0;
}

Status check_shape(const CsyrkCall& call, const Operand& a, const Operand& c) {
  if (call.a.op != Op::none && call.a.op != transposes(call))
    return invalid(
        text("a.op is ", static_cast<int>(call.a.op), call.hermitian ? ": cherk" : ": csyrk",
             "'s A takes 0 (none) or ", static_cast<int>(transposes(call)),
             call.hermitian ? " (conjugate transpose)" : " (transpose)"),
        "a.op");
  if (Status square = check_square(c); !square.ok()) return square;
  if (call.a.op_rows() == call.c.rows) return Status::success();
  return invalid(text("op(A) is ", call.a.op_rows(), " x ", call.a.op_cols(), ", but C is ",
                      call.c.rows, " x ", call.c.cols, ": give both as many rows"),
                 a.argument());
}

Status check_csyrk(const CsyrkCall& call, bool* has_work) {
  const Operand a = complex_operand('a', call.a), c = complex_operand('c', call.c);
  const Scalar alpha = complex_as_real(call.alpha), beta = complex_as_real(call.beta);
  const int scalar_bytes = call.hermitian ? sizeof(float) : sizeof(Complex);
  *has_work = false;
  Status status = check_math(call.options.math, "options.math");
  const auto next = [&](const auto& check) {
    if (status.ok()) status = check();
  };
  next([&] { return check_choice(static_cast<int>(call.uplo), "uplo", "lower", "upper"); });
  next([&] { return check_scalar(alpha, "alpha", scalar_bytes); });
  next([&] { return check_scalar(beta, "beta", scalar_bytes); });
  next([&] { return check_view(a); });
  next([&] { return check_view(c); });
  next([&] { return check_not_transposed(c); });
  next([&] { return check_shape(call, a, c); });
  next([&] { return check_data(c); });
  next([&] { return check_scalar_outside(alpha, "alpha", c); });
  next([&] { return check_scalar_outside(beta, "beta", c); });
  if (status.ok() && may_read_a(call)) {
    next([&] { return check_data(a); });
    next([&] { return check_no_shared_element(c, a); });
  }
  *has_work = status.ok() && call.c.rows > 0 && (may_read_a(call) || !beta.is(1));
  return status;
}

// Of C's transpose, which a kernel computes of a column-major C, the other triangle is wanted.
Cgemm canonical(const CsyrkCall& call) {
  CgemmCall product{call.alpha, call.a, call.a, call.beta, call.c, call.options};
  product.b.op = call.a.op == Op::none ? transposes(call) : Op::none;
  Cgemm p = canonical_cgemm(product);
  const bool is_lower = (call.uplo == Uplo::lower) == (call.c.layout == Layout::row_major);
  p.triangle = is_lower ? Triangle::lower : Triangle::upper;
  p.hermitian = call.hermitian;
  return p;
}

}  // namespace

ComplexScalar real_scalar(const Scalar& scalar) {
  if (!scalar.is_on_device()) return scalar.value();
  return ComplexScalar::at(reinterpret_cast<const std::complex<float>*>(scalar.address()));
}

Status csyrk(ContextState& state, const CsyrkCall& call) {
  bool has_work = false;
  Status status = check_csyrk(call, &has_work);
  if (!has_work) return status;
  return launch_call(state, canonical(call), call.options.math, plan_of_cgemm,
                     &ContextState::complex_workspace_limit);
}

Status csyrk_outlook(ContextState& state, const CsyrkCall& call, SgemmOutlook* outlook) {
  *outlook = {};
  bool has_work = false;
  Status status = check_csyrk(call, &has_work);
  if (!has_work) return status;
  return outlook_of(state, canonical(call), call.options.math, plan_of_cgemm, outlook);
}

Status csyrk_workspace_bytes(const ContextState& state, const CsyrkCall& call, std::size_t* bytes) {
  *bytes = 0;
  bool has_work = false;
  Status status = check_csyrk(call, &has_work);
  if (!has_work) return status;
  Choice<Cgemm> choice;
  status = choose_cgemm(state, canonical(call), call.options.math, any_workspace, &choice);
  if (status.ok()) *bytes = choice.plan.workspace_bytes;
  return status;
}

}  // namespace detail

namespace {

using View = MatrixView<const std::complex<float>>;
using OutView = MatrixView<std::complex<float>>;

void run(Context& context, const detail::CsyrkCall& call) {
  detail::throw_unless_ok(detail::csyrk(detail::ContextAccess::state(context), call));
}
std::size_t bytes_of(const Context& context, const detail::CsyrkCall& call) {
  std::size_t bytes = 0;
  detail::throw_unless_ok(
      detail::csyrk_workspace_bytes(detail::ContextAccess::state(context), call, &bytes));
  return bytes;
}

}  // namespace

void csyrk(Context& context, Uplo uplo, ComplexScalar alpha, View a, ComplexScalar beta, OutView c,
           const CgemmOptions& options) {
  run(context, {uplo, false, alpha, a, beta, c, options});
}
std::size_t csyrk_workspace_bytes(const Context& context, Uplo uplo, ComplexScalar alpha, View a,
                                  ComplexScalar beta, OutView c, const CgemmOptions& options) {
  return bytes_of(context, {uplo, false, alpha, a, beta, c, options});
}

void cherk(Context& context, Uplo uplo, Scalar alpha, View a, Scalar beta, OutView c,
           const CgemmOptions& options) {
  run(context, {uplo, true, detail::real_scalar(alpha), a, detail::real_scalar(beta), c, options});
}
std::size_t cherk_workspace_bytes(const Context& context, Uplo uplo, Scalar alpha, View a,
                                  Scalar beta, OutView c, const CgemmOptions& options) {
  return bytes_of(
      context, {uplo, true, detail::real_scalar(alpha), a, detail::real_scalar(beta), c, options});
}

}  // namespace kw
