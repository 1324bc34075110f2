// ctrsm from the caller's views to a kernel's launch.
#include <utility>

#include "api/calls.hpp"
#include "api/cgemm_calls.hpp"
#include "api/check.hpp"
#include "api/check_sgemm.hpp"
#include "api/planned_call.hpp"
#include "kernelwright/cgemm.hpp"
#include "select.hpp"
#include "text.hpp"

namespace kw {
namespace detail {

namespace {

// The views as the checks know them.
struct SystemOperands {
  Operand a, b;

  explicit SystemOperands(const CtrsmCall& call)
      : a(complex_operand('a', call.a)), b(complex_operand('b', call.b)) {
    a.entries = b.entries = call.batch;
    a.stride = call.stride_a;
    b.stride = call.stride_b;
  }
};

Status check_system_shape(const CtrsmCall& call, const SystemOperands& on) {
  if (Status square = check_square(on.a); !square.ok()) return square;
  const bool is_left = call.side == kw::Side::left;
  if (call.a.rows == (is_left ? call.b.rows : call.b.cols)) return Status::success();
  return invalid(text("A is ", call.a.rows, " x ", call.a.cols, ", but B is ", call.b.rows, " x ",
                      call.b.cols, ": A on the ", is_left ? "left" : "right",
                      " has as many rows as B has ", is_left ? "rows" : "columns"),
                 "a");
}

bool is_empty(const CtrsmCall& call) {
  return call.b.rows == 0 || call.b.cols == 0 || call.batch == 0;
}

Status check_ctrsm(const CtrsmCall& call, bool* has_work) {
  const SystemOperands on(call);
  const Scalar alpha = complex_as_real(call.alpha);
  *has_work = false;
  Status status = check_math(call.options.math, "options.math");
  const auto next = [&](const auto& check) {
    if (status.ok()) status = check();
  };
  next([&] { return check_choice(static_cast<int>(call.uplo), "uplo", "lower", "upper"); });
  next([&] { return check_choice(static_cast<int>(call.side), "side", "left", "right"); });
  next([&] { return check_choice(static_cast<int>(call.diag), "diag", "non-unit", "unit"); });
  next([&] { return check_scalar(alpha, "alpha", sizeof(Complex)); });
  next([&] { return check_size(call.batch, "batch"); });
  for (const Operand* operand : {&on.a, &on.b}) {
    next([&] { return check_stride(*operand); });
    next([&] { return check_view(*operand); });
  }
  next([&] { return check_not_transposed(on.b); });
  next([&] { return check_system_shape(call, on); });
  next([&] { return check_data(on.b); });
  next([&] { return check_entries_apart(on.b); });
  next([&] { return check_scalar_outside(alpha, "alpha", on.b); });
  if (!alpha.is(0) && !is_empty(call)) {
    next([&] { return check_data(on.a); });
    next([&] { return check_no_shared_element(on.b, on.a); });
  }
  *has_work = status.ok() && !is_empty(call);
  return status;
}

// Where B is column-major a kernel computes its transpose: A changes sides and is transposed. A
// triangle of A, in A's view, is the other one in memory that is column-major.
Ctrsm canonical(const CtrsmCall& call) {
  const bool turned = call.b.layout == Layout::col_major;
  const bool is_col_major = call.a.layout == Layout::col_major;
  Ctrsm p;
  p.on_left = (call.side == kw::Side::left) != turned;
  p.triangle = (call.uplo == Uplo::lower) != is_col_major ? Triangle::lower : Triangle::upper;
  p.unit_diagonal = call.diag == Diag::unit;
  const bool is_transposed = (call.a.op != Op::none) != is_col_major;
  p.op_a = is_transposed != turned ? Op::transpose : Op::none;
  p.conj_a = call.a.op == Op::conjugate_transpose;
  p.m = turned ? call.b.cols : call.b.rows;
  p.n = turned ? call.b.rows : call.b.cols;
  p.alpha = {call.alpha.value().real(), call.alpha.value().imag()};
  p.alpha_at = reinterpret_cast<const Complex*>(call.alpha.address());
  p.a = reinterpret_cast<const Complex*>(call.a.data);
  p.lda = call.a.ld;
  p.c = reinterpret_cast<Complex*>(call.b.data);
  p.ldc = call.b.ld;
  p.batch = call.batch;
  p.stride_a = call.batch > 1 ? call.stride_a : 0;
  p.stride_c = call.batch > 1 ? call.stride_b : 0;
  return p;
}

Status no_kernel(const ContextState& state, const Ctrsm& p, Math math) {
  return Status::failure(
      StatusCode::unsupported,
      text("none of the ", state.ctrsm_kernels().size(), " ctrsm kernels of this build computes ",
           p.m, " x ", p.n, " in ", to_string(math), " on ", state.device().name,
           ": compute it in a CPU context"));
}

Status plan_of_ctrsm(ContextState& state, const Ctrsm& problem, Math math,
                     const PlannedCtrsm** found) {
  const std::size_t limit = state.complex_workspace_limit(math);
  const CtrsmKey key(problem, math, limit);
  *found = state.ctrsm_plans().find(key);
  if (*found != nullptr) return Status::success();
  auto made = plan_within(key.problem(), state.device(), state.ctrsm_kernels(), math, limit);
  if (!made) return no_kernel(state, problem, math);
  *found = &state.ctrsm_plans().keep(key, std::move(*made));
  return Status::success();
}

}  // namespace

Status ctrsm(ContextState& state, const CtrsmCall& call) {
  bool has_work = false;
  Status status = check_ctrsm(call, &has_work);
  if (!has_work) return status;
  return launch_call(state, canonical(call), call.options.math, plan_of_ctrsm,
                     &ContextState::complex_workspace_limit);
}

Status ctrsm_outlook(ContextState& state, const CtrsmCall& call, SgemmOutlook* outlook) {
  *outlook = {};
  bool has_work = false;
  Status status = check_ctrsm(call, &has_work);
  if (!has_work) return status;
  return outlook_of(state, canonical(call), call.options.math, plan_of_ctrsm, outlook);
}

Status ctrsm_workspace_bytes(const ContextState& state, const CtrsmCall& call, std::size_t* bytes) {
  *bytes = 0;
  bool has_work = false;
  Status status = check_ctrsm(call, &has_work);
  if (!has_work) return status;
  const Ctrsm problem = canonical(call);
  const auto choice =
      select_kernel(problem, state.device(), state.ctrsm_kernels(), call.options.math);
  if (!choice) return no_kernel(state, problem, call.options.math);
  *bytes = choice->plan.workspace_bytes;
  return Status::success();
}

}  // namespace detail

namespace {

using TriangleView = MatrixView<const std::complex<float>>;
using SolutionView = MatrixView<std::complex<float>>;

void run_system(Context& context, const detail::CtrsmCall& call) {
  detail::throw_unless_ok(detail::ctrsm(detail::ContextAccess::state(context), call));
}
std::size_t system_bytes(const Context& context, const detail::CtrsmCall& call) {
  std::size_t bytes = 0;
  detail::throw_unless_ok(
      detail::ctrsm_workspace_bytes(detail::ContextAccess::state(context), call, &bytes));
  return bytes;
}

}  // namespace

void ctrsm(Context& context, Side side, Uplo uplo, Diag diag, ComplexScalar alpha, TriangleView a,
           SolutionView b, const CgemmOptions& options) {
  run_system(context, {side, uplo, diag, alpha, a, b, options});
}
std::size_t ctrsm_workspace_bytes(const Context& context, Side side, Uplo uplo, Diag diag,
                                  ComplexScalar alpha, TriangleView a, SolutionView b,
                                  const CgemmOptions& options) {
  return system_bytes(context, {side, uplo, diag, alpha, a, b, options});
}

void ctrsm_batched(Context& context, Side side, Uplo uplo, Diag diag, ComplexScalar alpha,
                   TriangleView a, SolutionView b, std::int64_t batch, std::int64_t stride_a,
                   std::int64_t stride_b, const CgemmOptions& options) {
  run_system(context, {side, uplo, diag, alpha, a, b, options, batch, stride_a, stride_b});
}
std::size_t ctrsm_batched_workspace_bytes(const Context& context, Side side, Uplo uplo, Diag diag,
                                          ComplexScalar alpha, TriangleView a, SolutionView b,
                                          std::int64_t batch, std::int64_t stride_a,
                                          std::int64_t stride_b, const CgemmOptions& options) {
  return system_bytes(context, {side, uplo, diag, alpha, a, b, options, batch, stride_a, stride_b});
}

}  // namespace kw
