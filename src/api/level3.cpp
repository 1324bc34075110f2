// Level 3 from the caller's views to a kernel's launch.
#include "kernelwright/level3.hpp"

#include <algorithm>
#include <utility>

#include "api/calls.hpp"
#include "api/check_level3.hpp"
#include "api/planned_call.hpp"
#include "select.hpp"
#include "text.hpp"

namespace kw {
namespace detail {

namespace {

Op other(Op op) { return op == Op::none ? Op::transpose : Op::none; }
Triangle other(Triangle triangle) {
  return triangle == Triangle::lower ? Triangle::upper : Triangle::lower;
}

// What a row-major kernel does with a view's memory to have its matrix.
Op row_major_op(const MatrixView<const float>& view) {
  return view.layout == Layout::row_major ? view.op : other(view.op);
}

// Where C is column-major a kernel computes its transpose: factors change places and are
// transposed, of C the other triangle is wanted. A triangle of A, in A's view, is the other one in
// memory that is column-major.
Level3 canonical(const Level3Call& call) {
  const bool turned = call.c.layout == Layout::col_major;
  const Triangle named = call.uplo == Uplo::lower ? Triangle::lower : Triangle::upper;
  Level3 p;
  p.routine = call.routine;
  p.m = turned ? call.c.cols : call.c.rows;
  p.n = turned ? call.c.rows : call.c.cols;
  p.alpha = call.alpha.value();
  p.alpha_at = call.alpha.address();
  p.beta = call.beta.value();
  p.beta_at = call.beta.address();
  p.c = call.c.data;
  p.ldc = call.c.ld;
  MatrixView<const float> a = call.a, b = call.b;
  if (p.factors()) {
    p.triangle = turned ? other(named) : named;
    p.k = p.m;
    p.info = call.info;
    return p;
  }
  p.op_a = row_major_op(a);
  p.op_b = row_major_op(b);
  if (p.updates_triangle()) {
    p.triangle = turned ? other(named) : named;
    p.k = call.a.op_cols();
    if (turned && p.reads_b()) {
      std::swap(a, b);
      std::swap(p.op_a, p.op_b);
    }
    if (!p.reads_b()) p.op_b = p.op_a;
  } else {
    p.triangle = a.layout == Layout::row_major ? named : other(named);
    p.on_left = (call.side == kw::Side::left) != turned;
    p.k = call.a.rows;
    if (turned) p.op_a = other(p.op_a), p.op_b = other(p.op_b);
    if (p.routine == Routine::symm) p.op_a = Op::none;
    if (!p.reads_b()) p.op_b = Op::none;
    p.unit_diagonal = p.has_triangular_a() && call.diag == Diag::unit;
  }
  p.a = a.data;
  p.lda = a.ld;
  p.b = b.data;
  p.ldb = b.ld;
  p.batch = call.batch;
  p.stride_a = call.batch > 1 ? call.stride_a : 0;
  p.stride_c = call.batch > 1 ? call.stride_c : 0;
  return p;
}

bool nothing_to_do(const Level3Call& call) {
  if (call.routine == Routine::potrf) return false;  // info is written
  if (call.c.rows == 0 || call.c.cols == 0 || call.batch == 0) return true;
  return call.routine <= Routine::symm && !may_read_inputs(call) && call.beta.is(1);
}

Status no_kernel(const ContextState& state, const Level3& p, Math math) {
  return Status::failure(StatusCode::unsupported,
                         text("none of the ", state.level3_kernels().size(),
                              " level-3 kernels of this build computes ", to_string(p.routine), " ",
                              p.m, " x ", p.n, " x ", p.k, " in ", to_string(math), " on ",
                              state.device().name, ": compute it in a CPU context"));
}

Status plan_of(ContextState& state, const Level3& problem, Math math, const PlannedLevel3** found) {
  const std::size_t limit = state.workspace_limit(math);
  const Level3Key key(problem, math, limit);
  *found = state.level3_plans().find(key);
  if (*found != nullptr) return Status::success();
  auto made = plan_within(key.problem(), state.device(), state.level3_kernels(), math, limit);
  if (!made) return no_kernel(state, problem, math);
  *found = &state.level3_plans().keep(key, std::move(*made));
  return Status::success();
}

}  // namespace

Status level3(ContextState& state, const Level3Call& call) {
  Status status = check_level3(call);
  if (!status.ok() || nothing_to_do(call)) return status;
  return launch_call(state, canonical(call), call.options.math, plan_of);
}

Status level3_outlook(ContextState& state, const Level3Call& call, SgemmOutlook* outlook) {
  *outlook = {};
  Status status = check_level3(call);
  if (!status.ok() || nothing_to_do(call)) return status;
  return outlook_of(state, canonical(call), call.options.math, plan_of, outlook);
}

Status level3_workspace_bytes(const ContextState& state, const Level3Call& call,
                              std::size_t* bytes) {
  *bytes = 0;
  Status status = check_level3(call);
  if (!status.ok() || nothing_to_do(call)) return status;
  const Level3 problem = canonical(call);
  const Math math = call.options.math;
  const auto choice = select_kernel(problem, state.device(), state.level3_kernels(), math);
  if (!choice) return no_kernel(state, problem, math);
  *bytes = choice->plan.workspace_bytes;
  return status;
}

}  // namespace detail

namespace {

using detail::Level3Call;

Level3Call update(Routine routine, Uplo uplo, const Scalar& alpha, const MatrixView<const float>& a,
                  const MatrixView<const float>& b, const Scalar& beta, const MatrixView<float>& c,
                  const Level3Options& options) {
  Level3Call call;
  call.routine = routine;
  call.uplo = uplo;
  call.alpha = alpha;
  call.a = a;
  call.b = b;
  call.beta = beta;
  call.c = c;
  call.options = options;
  return call;
}
Level3Call beside(Routine routine, Side side, Uplo uplo, Diag diag, const Scalar& alpha,
                  const MatrixView<const float>& a, const MatrixView<const float>& b,
                  const Scalar& beta, const MatrixView<float>& c, const Level3Options& options) {
  Level3Call call = update(routine, uplo, alpha, a, b, beta, c, options);
  call.side = side;
  call.diag = diag;
  return call;
}
Level3Call system(Side side, Uplo uplo, Diag diag, const Scalar& alpha,
                  const MatrixView<const float>& a, const MatrixView<float>& b, std::int64_t batch,
                  std::int64_t stride_a, std::int64_t stride_b, const Level3Options& options) {
  Level3Call call = beside(Routine::trsm, side, uplo, diag, alpha, a, {}, 0, b, options);
  call.batch = batch;
  call.stride_a = stride_a;
  call.stride_c = stride_b;
  return call;
}

Level3Call factorisation(Uplo uplo, const MatrixView<float>& a, int* info,
                         const Level3Options& options) {
  Level3Call call = update(Routine::potrf, uplo, 1, {}, {}, 0, a, options);
  call.info = info;
  return call;
}

void run(Context& context, const Level3Call& call) {
  detail::throw_unless_ok(detail::level3(detail::ContextAccess::state(context), call));
}
std::size_t bytes_of(const Context& context, const Level3Call& call) {
  std::size_t bytes = 0;
  detail::throw_unless_ok(
      detail::level3_workspace_bytes(detail::ContextAccess::state(context), call, &bytes));
  return bytes;
}

}  // namespace

void ssyrk(Context& context, Uplo uplo, Scalar alpha, MatrixView<const float> a, Scalar beta,
           MatrixView<float> c, const Level3Options& options) {
  run(context, update(Routine::syrk, uplo, alpha, a, {}, beta, c, options));
}
void ssyrkx(Context& context, Uplo uplo, Scalar alpha, MatrixView<const float> a,
            MatrixView<const float> b, Scalar beta, MatrixView<float> c,
            const Level3Options& options) {
  run(context, update(Routine::syrkx, uplo, alpha, a, b, beta, c, options));
}
void ssyr2k(Context& context, Uplo uplo, Scalar alpha, MatrixView<const float> a,
            MatrixView<const float> b, Scalar beta, MatrixView<float> c,
            const Level3Options& options) {
  run(context, update(Routine::syr2k, uplo, alpha, a, b, beta, c, options));
}
void ssymm(Context& context, Side side, Uplo uplo, Scalar alpha, MatrixView<const float> a,
           MatrixView<const float> b, Scalar beta, MatrixView<float> c,
           const Level3Options& options) {
  run(context, beside(Routine::symm, side, uplo, Diag::non_unit, alpha, a, b, beta, c, options));
}
void strmm(Context& context, Side side, Uplo uplo, Diag diag, Scalar alpha,
           MatrixView<const float> a, MatrixView<const float> b, MatrixView<float> c,
           const Level3Options& options) {
  run(context, beside(Routine::trmm, side, uplo, diag, alpha, a, b, 0, c, options));
}
void strsm(Context& context, Side side, Uplo uplo, Diag diag, Scalar alpha,
           MatrixView<const float> a, MatrixView<float> b, const Level3Options& options) {
  run(context, system(side, uplo, diag, alpha, a, b, 1, 0, 0, options));
}
void strsm_batched(Context& context, Side side, Uplo uplo, Diag diag, Scalar alpha,
                   MatrixView<const float> a, MatrixView<float> b, std::int64_t batch,
                   std::int64_t stride_a, std::int64_t stride_b, const Level3Options& options) {
  run(context, system(side, uplo, diag, alpha, a, b, batch, stride_a, stride_b, options));
}

void spotrf(Context& context, Uplo uplo, MatrixView<float> a, int* info,
            const Level3Options& options) {
  run(context, factorisation(uplo, a, info, options));
}

std::size_t ssyrk_workspace_bytes(const Context& context, Uplo uplo, Scalar alpha,
                                  MatrixView<const float> a, Scalar beta, MatrixView<float> c,
                                  const Level3Options& options) {
  return bytes_of(context, update(Routine::syrk, uplo, alpha, a, {}, beta, c, options));
}
std::size_t ssyrkx_workspace_bytes(const Context& context, Uplo uplo, Scalar alpha,
                                   MatrixView<const float> a, MatrixView<const float> b,
                                   Scalar beta, MatrixView<float> c, const Level3Options& options) {
  return bytes_of(context, update(Routine::syrkx, uplo, alpha, a, b, beta, c, options));
}
std::size_t ssyr2k_workspace_bytes(const Context& context, Uplo uplo, Scalar alpha,
                                   MatrixView<const float> a, MatrixView<const float> b,
                                   Scalar beta, MatrixView<float> c, const Level3Options& options) {
  return bytes_of(context, update(Routine::syr2k, uplo, alpha, a, b, beta, c, options));
}
std::size_t ssymm_workspace_bytes(const Context& context, Side side, Uplo uplo, Scalar alpha,
                                  MatrixView<const float> a, MatrixView<const float> b, Scalar beta,
                                  MatrixView<float> c, const Level3Options& options) {
  return bytes_of(context,
                  beside(Routine::symm, side, uplo, Diag::non_unit, alpha, a, b, beta, c, options));
}
std::size_t strmm_workspace_bytes(const Context& context, Side side, Uplo uplo, Diag diag,
                                  Scalar alpha, MatrixView<const float> a,
                                  MatrixView<const float> b, MatrixView<float> c,
                                  const Level3Options& options) {
  return bytes_of(context, beside(Routine::trmm, side, uplo, diag, alpha, a, b, 0, c, options));
}
std::size_t strsm_workspace_bytes(const Context& context, Side side, Uplo uplo, Diag diag,
                                  Scalar alpha, MatrixView<const float> a, MatrixView<float> b,
                                  const Level3Options& options) {
  return bytes_of(context, system(side, uplo, diag, alpha, a, b, 1, 0, 0, options));
}
std::size_t strsm_batched_workspace_bytes(const Context& context, Side side, Uplo uplo, Diag diag,
                                          Scalar alpha, MatrixView<const float> a,
                                          MatrixView<float> b, std::int64_t batch,
                                          std::int64_t stride_a, std::int64_t stride_b,
                                          const Level3Options& options) {
  return bytes_of(context,
                  system(side, uplo, diag, alpha, a, b, batch, stride_a, stride_b, options));
}
std::size_t spotrf_workspace_bytes(const Context& context, Uplo uplo, MatrixView<float> a,
                                   const Level3Options& options) {
  int unwritten = 0;
  return bytes_of(context, factorisation(uplo, a, &unwritten, options));
}

}  // namespace kw
