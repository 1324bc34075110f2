// cgemm from the caller's views to a kernel's launch.
#include "kernelwright/cgemm.hpp"

#include <algorithm>
#include <utility>

#include "api/cgemm_calls.hpp"
#include "api/check_sgemm.hpp"
#include "api/planned_call.hpp"
#include "select.hpp"
#include "text.hpp"

namespace kw {
namespace detail {

namespace {

const float* floats(const std::complex<float>* data) {
  return reinterpret_cast<const float*>(data);
}
float* floats(std::complex<float>* data) { return reinterpret_cast<float*>(data); }
const Complex* elements(const std::complex<float>* data) {
  return reinterpret_cast<const Complex*>(data);
}

// The call with its matrices as an untyped product names them: sizes and ld still count complex
// elements, and of scalars is left whether they are 0 or 1. What it checks is the same of both.
SgemmCall as_floats(const CgemmCall& call) {
  const auto scalar = [](const ComplexScalar& of) {
    if (of.is_on_device()) return Scalar::at(floats(of.address()));
    return Scalar(of.value() == 0.0f ? 0.0f : of.value() == 1.0f ? 1.0f : 2.0f);
  };
  const auto view = [](const auto& of) {
    return MatrixView<std::remove_pointer_t<decltype(floats(of.data))>>{
        floats(of.data), of.rows, of.cols, of.ld, of.layout, of.op};
  };
  SgemmCall real{scalar(call.alpha), view(call.a), view(call.b), scalar(call.beta),
                 view(call.c),       {},           call.batch};
  real.options.math = call.options.math;
  return real;
}

Status check_cgemm(const CgemmCall& call, bool* has_work) {
  const SgemmCall real = as_floats(call);
  Status status = check_sgemm(real, sizeof(Complex));
  *has_work = status.ok() && call.c.rows > 0 && call.c.cols > 0 && call.batch.count > 0 &&
              (may_read_inputs(real) || !real.beta.is(1));
  return status;
}

Complex value_of(const ComplexScalar& scalar) {
  return {scalar.value().real(), scalar.value().imag()};
}

}  // namespace

Cgemm canonical_cgemm(const CgemmCall& call) {
  struct Factor {
    MatrixView<const std::complex<float>> view;
    std::int64_t stride;
    const float* const* pointers;

    Op op(Layout layout) const {
      return (view.op != Op::none) != (view.layout != layout) ? Op::transpose : Op::none;
    }
    bool is_conjugate() const { return view.op == Op::conjugate_transpose; }
  };
  const SgemmBatch& batch = call.batch;
  Factor left{call.a, batch.stride_a, batch.a}, right{call.b, batch.stride_b, batch.b};
  const bool swapped = call.c.layout == Layout::col_major;
  if (swapped) std::swap(left, right);
  Cgemm p;
  p.m = swapped ? call.c.cols : call.c.rows;
  p.n = swapped ? call.c.rows : call.c.cols;
  p.k = call.a.op_cols();
  p.op_a = left.op(call.c.layout);
  p.op_b = right.op(call.c.layout);
  p.conj_a = left.is_conjugate();
  p.conj_b = right.is_conjugate();
  p.alpha = value_of(call.alpha);
  p.alpha_at = elements(call.alpha.address());
  p.a = elements(left.view.data);
  p.lda = left.view.ld;
  p.b = elements(right.view.data);
  p.ldb = right.view.ld;
  p.beta = value_of(call.beta);
  p.beta_at = elements(call.beta.address());
  p.c = reinterpret_cast<Complex*>(call.c.data);
  p.ldc = call.c.ld;
  p.batch = batch.count;
  p.stride_a = left.stride;
  p.stride_b = right.stride;
  p.stride_c = batch.stride_c;
  if (batch.by_pointers) {
    const auto array = [](const float* const* of) {
      return reinterpret_cast<const Complex* const*>(of);
    };
    p.a_array = array(left.pointers);
    p.b_array = array(right.pointers);
    p.c_array = reinterpret_cast<Complex* const*>(batch.c);
    // Where no input is read, no kernel follows these pointers.
    if (p.a_array == nullptr) p.a_array = array(batch.c);
    if (p.b_array == nullptr) p.b_array = array(batch.c);
  }
  return p;
}

Status choose_cgemm(const ContextState& state, const Cgemm& problem, Math math, std::size_t limit,
                    Choice<Cgemm>* choice) {
  auto found = select_kernel(problem, state.device(), state.cgemm_kernels(), math);
  // With less than its least workspace a kernel does not work: then one that does.
  if (found && found->plan.needed_workspace_bytes() > limit) {
    auto other = select_kernel(problem, state.device(), state.cgemm_kernels(), math, limit);
    if (other) found = std::move(other);
  }
  if (found) {
    *choice = std::move(*found);
    return Status::success();
  }
  return Status::failure(
      StatusCode::unsupported,
      text("none of the ", state.cgemm_kernels().size(), " cgemm kernels of this build computes ",
           problem.m, " x ", problem.n, " x ", problem.k, " in ", to_string(math), " on ",
           state.device().name, ": compute it in a CPU context"));
}

Status plan_of_cgemm(ContextState& state, const Cgemm& problem, Math math,
                     const PlannedCgemm** found) {
  const std::size_t limit = state.complex_workspace_limit(math);
  const CgemmKey key(problem, math, limit);
  *found = state.cgemm_plans().find(key);
  if (*found != nullptr) return Status::success();
  PlannedCgemm made;
  Status status = choose_cgemm(state, key.problem(), math, limit, &made.choice);
  if (!status.ok()) return status;
  const Plan<Cgemm>& plan = made.choice.plan;
  const bool makes_do = plan.workspace_bytes > limit && plan.needed_workspace_bytes() <= limit;
  made.workspace_bytes = makes_do ? limit : plan.workspace_bytes;
  *found = &state.cgemm_plans().keep(key, std::move(made));
  return status;
}

Status cgemm(ContextState& state, const CgemmCall& call) {
  bool has_work = false;
  Status status = check_cgemm(call, &has_work);
  if (!has_work) return status;
  return launch_call(state, canonical_cgemm(call), call.options.math, plan_of_cgemm,
                     &ContextState::complex_workspace_limit);
}

Status cgemm_outlook(ContextState& state, const CgemmCall& call, SgemmOutlook* outlook) {
  *outlook = {};
  bool has_work = false;
  Status status = check_cgemm(call, &has_work);
  if (!has_work) return status;
  return outlook_of(state, canonical_cgemm(call), call.options.math, plan_of_cgemm, outlook);
}

Status cgemm_workspace_bytes(const ContextState& state, const CgemmCall& call, std::size_t* bytes) {
  *bytes = 0;
  bool has_work = false;
  Status status = check_cgemm(call, &has_work);
  if (!has_work) return status;
  Choice<Cgemm> choice;
  status = choose_cgemm(state, canonical_cgemm(call), call.options.math, any_workspace, &choice);
  if (status.ok()) *bytes = choice.plan.workspace_bytes;
  return status;
}

SgemmBatch complex_pointers(std::int64_t batch, const std::complex<float>* const* a,
                            const std::complex<float>* const* b, std::complex<float>* const* c) {
  return {batch,
          0,
          0,
          0,
          true,
          reinterpret_cast<const float* const*>(a),
          reinterpret_cast<const float* const*>(b),
          reinterpret_cast<float* const*>(c)};
}

}  // namespace detail

namespace {

void run(Context& context, const detail::CgemmCall& call) {
  detail::throw_unless_ok(detail::cgemm(detail::ContextAccess::state(context), call));
}

std::size_t workspace_bytes(const Context& context, const detail::CgemmCall& call) {
  std::size_t bytes = 0;
  detail::throw_unless_ok(
      detail::cgemm_workspace_bytes(detail::ContextAccess::state(context), call, &bytes));
  return bytes;
}

using View = MatrixView<const std::complex<float>>;
using OutView = MatrixView<std::complex<float>>;
using Pointers = MatrixPointers<const std::complex<float>>;
using OutPointers = MatrixPointers<std::complex<float>>;

detail::CgemmCall by_pointers(const ComplexScalar& alpha, const Pointers& a, const Pointers& b,
                              const ComplexScalar& beta, const OutPointers& c, std::int64_t batch,
                              const CgemmOptions& options) {
  return {alpha,
          a.shape,
          b.shape,
          beta,
          c.shape,
          options,
          detail::complex_pointers(batch, a.pointers, b.pointers, c.pointers)};
}

}  // namespace

void cgemm(Context& context, ComplexScalar alpha, View a, View b, ComplexScalar beta, OutView c,
           const CgemmOptions& options) {
  run(context, {alpha, a, b, beta, c, options});
}

std::size_t cgemm_workspace_bytes(const Context& context, ComplexScalar alpha, View a, View b,
                                  ComplexScalar beta, OutView c, const CgemmOptions& options) {
  return workspace_bytes(context, {alpha, a, b, beta, c, options});
}

void cgemm_batched(Context& context, ComplexScalar alpha, View a, View b, ComplexScalar beta,
                   OutView c, std::int64_t batch, std::int64_t stride_a, std::int64_t stride_b,
                   std::int64_t stride_c, const CgemmOptions& options) {
  run(context, {alpha, a, b, beta, c, options, {batch, stride_a, stride_b, stride_c}});
}

std::size_t cgemm_batched_workspace_bytes(const Context& context, ComplexScalar alpha, View a,
                                          View b, ComplexScalar beta, OutView c, std::int64_t batch,
                                          std::int64_t stride_a, std::int64_t stride_b,
                                          std::int64_t stride_c, const CgemmOptions& options) {
  return workspace_bytes(context,
                         {alpha, a, b, beta, c, options, {batch, stride_a, stride_b, stride_c}});
}

void cgemm_batched(Context& context, ComplexScalar alpha, Pointers a, Pointers b,
                   ComplexScalar beta, OutPointers c, std::int64_t batch,
                   const CgemmOptions& options) {
  run(context, by_pointers(alpha, a, b, beta, c, batch, options));
}

std::size_t cgemm_batched_workspace_bytes(const Context& context, ComplexScalar alpha, Pointers a,
                                          Pointers b, ComplexScalar beta, OutPointers c,
                                          std::int64_t batch, const CgemmOptions& options) {
  return workspace_bytes(context, by_pointers(alpha, a, b, beta, c, batch, options));
}

}  // namespace kw
