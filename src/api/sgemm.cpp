// sgemm from the caller's views to a kernel's launch.
#include "kernelwright/sgemm.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "api/calls.hpp"
#include "api/check_epilogue.hpp"
#include "api/check_sgemm.hpp"
#include "api/planned_call.hpp"
#include "select.hpp"
#include "text.hpp"
#include "tune_cache.hpp"

namespace kw {
namespace detail {

namespace {

bool nothing_to_do(const SgemmCall& call) {
  return call.c.rows == 0 || call.c.cols == 0 || call.batch.count == 0 ||
         (!may_read_inputs(call) && call.beta.is(1) && !has_epilogue(call));
}

// Of C as the kernels see it: `swapped` is the transpose of the caller's.
SgemmEpilogue canonical_epilogue(const SgemmCall& call, bool swapped) {
  const Epilogue& asked = call.options.epilogue;
  SgemmEpilogue epilogue;
  epilogue.bias = asked.bias;
  epilogue.stride_bias = asked.stride_bias;
  epilogue.bias_of_rows = (asked.bias_of == BiasOf::rows) != swapped;
  epilogue.activation = asked.activation;
  if (reads_other_source(call)) {
    epilogue.source = asked.source.data;
    epilogue.ld_source = asked.source.ld;
    epilogue.stride_source = asked.stride_source;
  }
  return epilogue;
}

// A matrix stored in the other layout than C's is the transpose of what a row-major kernel sees,
// and a column-major product is the row-major product C^T = op(B)^T op(A)^T.
Sgemm canonical(const SgemmCall& call) {
  const auto op_for = [&](const MatrixView<const float>& view) {
    const bool transposed = (view.op == Op::transpose) != (view.layout != call.c.layout);
    return transposed ? Op::transpose : Op::none;
  };
  struct Factor {
    MatrixView<const float> view;
    std::int64_t stride;
    const float* const* pointers;
  };
  const SgemmBatch& batch = call.batch;
  Factor left{call.a, batch.stride_a, batch.a}, right{call.b, batch.stride_b, batch.b};
  const bool swapped = call.c.layout == Layout::col_major;
  if (swapped) std::swap(left, right);
  Sgemm problem;
  problem.m = swapped ? call.c.cols : call.c.rows;
  problem.n = swapped ? call.c.rows : call.c.cols;
  problem.k = call.a.op_cols();
  problem.op_a = op_for(left.view);
  problem.op_b = op_for(right.view);
  problem.alpha = call.alpha.value();
  problem.alpha_at = call.alpha.address();
  problem.a = left.view.data;
  problem.lda = left.view.ld;
  problem.b = right.view.data;
  problem.ldb = right.view.ld;
  problem.beta = call.beta.value();
  problem.beta_at = call.beta.address();
  problem.c = call.c.data;
  problem.ldc = call.c.ld;
  problem.batch = batch.count;
  problem.stride_a = left.stride;
  problem.stride_b = right.stride;
  problem.stride_c = batch.stride_c;
  if (has_epilogue(call)) problem.epilogue = canonical_epilogue(call, swapped);
  if (batch.by_pointers) {
    // Null would mean strides. Where no input is read, no kernel follows these pointers.
    const bool reads = may_read_inputs(call);
    problem.a_array = reads ? left.pointers : batch.c;
    problem.b_array = reads ? right.pointers : batch.c;
    problem.c_array = batch.c;
  }
  return problem;
}

Status choose(const ContextState& state, const Sgemm& problem, Math math, Choice<Sgemm>* choice) {
  auto found =
      choose_kernel(problem, state.device(), state.sgemm_kernels(), state.tune_cache(), math);
  if (found) {
    *choice = std::move(*found);
    return Status::success();
  }
  return Status::failure(
      StatusCode::unsupported,
      text("none of the ", state.sgemm_kernels().size(), " sgemm kernels of this build computes ",
           problem.m, " x ", problem.n, " x ", problem.k, " in ", to_string(math), " on ",
           state.device().name, ": compute it in a CPU context"));
}

// The bytes of workspace that the chosen kernel gets. A split kernel whose workspace would exceed
// the limit computes the call in sub-problems, within the limit. Where even its least exceeds the
// limit, this chooses another kernel instead: at last one that needs none.
std::size_t fit_workspace(const ContextState& state, const PlanKey& key, Choice<Sgemm>* choice) {
  const std::size_t limit = key.workspace_limit();
  if (choice->plan.needed_workspace_bytes() > limit) {
    auto other =
        select_kernel(key.problem(), state.device(), state.sgemm_kernels(), key.math(), limit);
    if (other) *choice = std::move(*other);
  }
  const std::size_t bytes = choice->plan.workspace_bytes;
  const std::size_t needed = choice->plan.needed_workspace_bytes();
  return needed < bytes && needed <= limit ? std::min(bytes, limit) : bytes;
}

// The plan of the call: the one kept for its key, else a new one, which is then kept.
Status plan_of(ContextState& state, const Sgemm& problem, Math math, const PlannedSgemm** found) {
  const PlanKey key(problem, math, state.workspace_limit(math));
  *found = state.plans().find(key);
  if (*found != nullptr) return Status::success();
  PlannedSgemm made;
  Status status = choose(state, key.problem(), math, &made.choice);
  if (!status.ok()) return status;
  made.workspace_bytes = fit_workspace(state, key, &made.choice);
  *found = &state.plans().keep(key, std::move(made));
  return status;
}

}  // namespace

Status sgemm(ContextState& state, const SgemmCall& call) {
  Status status = check_sgemm(call);
  if (!status.ok() || nothing_to_do(call)) return status;
  return launch_call(state, canonical(call), call.options.math, plan_of);
}

Status sgemm_path(ContextState& state, const SgemmCall& call, std::string* path) {
  path->clear();
  Status status = check_sgemm(call);
  if (!status.ok() || nothing_to_do(call)) return status;
  const Sgemm problem = canonical(call);
  const auto look = [&] {
    const PlannedSgemm* planned = nullptr;
    Workspace workspace;
    Status ready = prepare(state, problem, call.options.math, plan_of,
                           &ContextState::workspace_limit, &planned, &workspace);
    if (!ready.ok()) return ready;
    const auto& [kernel, plan] = planned->choice;
    const char* name = kernel->name;
    if (kernel->path_taken != nullptr) {
      PathWords words{};
      if (planned->workspace_bytes >= sizeof words)
        ready = state.runtime().copy(&words, workspace.data, sizeof words, state.stream());
      if (ready.ok()) name = kernel->path_taken(problem, state.device(), plan, words);
    }
    *path = name;
    if (planned->workspace_bytes < plan.workspace_bytes)
      *path += kernel->math == Math::fp32 ? " with longer sums" : " in sub-problems";
    return ready;
  };
  return state.runtime().with_device(std::ref(look));
}

Status sgemm_outlook(ContextState& state, const SgemmCall& call, SgemmOutlook* outlook) {
  *outlook = {};
  Status status = check_sgemm(call);
  if (!status.ok() || nothing_to_do(call)) return status;
  return outlook_of(state, canonical(call), call.options.math, plan_of, outlook);
}

Status sgemm_workspace_bytes(const ContextState& state, const SgemmCall& call, std::size_t* bytes) {
  *bytes = 0;
  Status status = check_sgemm(call);
  if (!status.ok() || nothing_to_do(call)) return status;
  const Sgemm problem = canonical(call);
  Choice<Sgemm> choice;
  status = choose(state, problem, call.options.math, &choice);
  if (status.ok()) *bytes = choice.plan.workspace_bytes;
  return status;
}

}  // namespace detail

namespace {

void run(Context& context, const detail::SgemmCall& call) {
  detail::throw_unless_ok(detail::sgemm(detail::ContextAccess::state(context), call));
}

std::size_t workspace_bytes(const Context& context, const detail::SgemmCall& call) {
  std::size_t bytes = 0;
  detail::throw_unless_ok(
      detail::sgemm_workspace_bytes(detail::ContextAccess::state(context), call, &bytes));
  return bytes;
}

detail::SgemmBatch by_pointers(std::int64_t batch, const MatrixPointers<const float>& a,
                               const MatrixPointers<const float>& b,
                               const MatrixPointers<float>& c) {
  return {batch, 0, 0, 0, true, a.pointers, b.pointers, c.pointers};
}

}  // namespace

void sgemm(Context& context, Scalar alpha, MatrixView<const float> a, MatrixView<const float> b,
           Scalar beta, MatrixView<float> c, const SgemmOptions& options) {
  run(context, {alpha, a, b, beta, c, options});
}

std::size_t sgemm_workspace_bytes(const Context& context, Scalar alpha, MatrixView<const float> a,
                                  MatrixView<const float> b, Scalar beta, MatrixView<float> c,
                                  const SgemmOptions& options) {
  return workspace_bytes(context, {alpha, a, b, beta, c, options});
}

void sgemm_batched(Context& context, Scalar alpha, MatrixView<const float> a,
                   MatrixView<const float> b, Scalar beta, MatrixView<float> c, std::int64_t batch,
                   std::int64_t stride_a, std::int64_t stride_b, std::int64_t stride_c,
                   const SgemmOptions& options) {
  run(context, {alpha, a, b, beta, c, options, {batch, stride_a, stride_b, stride_c}});
}

std::size_t sgemm_batched_workspace_bytes(const Context& context, Scalar alpha,
                                          MatrixView<const float> a, MatrixView<const float> b,
                                          Scalar beta, MatrixView<float> c, std::int64_t batch,
                                          std::int64_t stride_a, std::int64_t stride_b,
                                          std::int64_t stride_c, const SgemmOptions& options) {
  return workspace_bytes(context,
                         {alpha, a, b, beta, c, options, {batch, stride_a, stride_b, stride_c}});
}

void sgemm_batched(Context& context, Scalar alpha, MatrixPointers<const float> a,
                   MatrixPointers<const float> b, Scalar beta, MatrixPointers<float> c,
                   std::int64_t batch, const SgemmOptions& options) {
  run(context, {alpha, a.shape, b.shape, beta, c.shape, options, by_pointers(batch, a, b, c)});
}

std::size_t sgemm_batched_workspace_bytes(const Context& context, Scalar alpha,
                                          MatrixPointers<const float> a,
                                          MatrixPointers<const float> b, Scalar beta,
                                          MatrixPointers<float> c, std::int64_t batch,
                                          const SgemmOptions& options) {
  return workspace_bytes(
      context, {alpha, a.shape, b.shape, beta, c.shape, options, by_pointers(batch, a, b, c)});
}

}  // namespace kw
