// attention from the caller's views to a kernel's launch.
#include "kernelwright/attention.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/calls.hpp"
#include "api/check_attention.hpp"
#include "attention/problem.hpp"
#include "select.hpp"
#include "text.hpp"

namespace kw {
namespace detail {

namespace {

template <class T>
HeadStrides strides_of(const HeadsView<T>& view) {
  return {view.batch_stride, view.head_stride, view.row_stride};
}

Attention canonical(const AttentionCall& call) {
  const AttentionOptions& options = call.options;
  Attention p;
  p.batch = call.q.batch;
  p.heads = call.q.heads;
  p.kv_heads = call.k.heads;
  p.queries = call.q.rows;
  p.keys = call.k.rows;
  p.dim = call.q.dim;
  p.scale = options.scale.value_or(1.0f / std::sqrt(static_cast<float>(p.dim)));
  p.causal = options.causal;
  p.q = call.q.data;
  p.k = call.k.data;
  p.v = call.v.data;
  p.o = call.o.data;
  p.q_strides = strides_of(call.q);
  p.k_strides = strides_of(call.k);
  p.v_strides = strides_of(call.v);
  p.o_strides = strides_of(call.o);
  if (p.keys > 0 && options.mask.data != nullptr) {
    p.mask = options.mask.data;
    p.mask_strides = {options.mask.batch_stride, options.mask.head_stride, options.mask.row_stride};
  }
  p.query_offsets = options.query_offsets;
  p.key_offsets = options.key_offsets;
  return p;
}

Status choose(const ContextState& state, const Attention& problem, Math math,
              std::size_t workspace_bytes, Choice<Attention>* choice) {
  auto found =
      select_kernel(problem, state.device(), state.attention_kernels(), math, workspace_bytes);
  if (found) {
    *choice = std::move(*found);
    return Status::success();
  }
  return Status::failure(
      StatusCode::unsupported,
      text("none of the ", state.attention_kernels().size(),
           " attention kernels of this build computes [", problem.batch, ", ", problem.heads, ", ",
           problem.queries, ", ", problem.dim, "] over ", problem.keys, " keys on ",
           state.device().name, ": compute it in a CPU context"));
}

// The choice, and as much workspace as it takes or there may be. Where the device has no memory for
// that, the limit falls, and the choice is made anew. What the context has beyond it is kept from
// the kernel, as results must not depend on earlier calls.
Status prepare_attention(ContextState& state, const Attention& problem, Math math,
                         Choice<Attention>* choice, Workspace* workspace) {
  for (;;) {
    const std::size_t limit = state.workspace_limit(math);
    Status status = choose(state, problem, math, limit, choice);
    if (!status.ok()) return status;
    const std::size_t bytes = std::min(choice->plan.workspace_bytes, limit);
    status = state.workspace(bytes, workspace);
    workspace->bytes = bytes;
    if (status.code != StatusCode::out_of_memory || state.workspace_limit(math) >= limit)
      return status;
  }
}

}  // namespace

Status attention(ContextState& state, const AttentionCall& call) {
  Status status = check_attention(call);
  if (!status.ok()) return status;
  const Attention problem = canonical(call);
  if (problem.empty()) return status;
  return state.runtime().with_device([&] {
    const Math math = call.options.math;
    Choice<Attention> choice;
    Workspace workspace;
    Status ready = prepare_attention(state, problem, math, &choice, &workspace);
    if (!ready.ok()) return ready;
    return launch_planned(choice, problem, state.device(), workspace, state.stream());
  });
}

Status attention_workspace_bytes(const ContextState& state, const AttentionCall& call,
                                 std::size_t* bytes) {
  *bytes = 0;
  Status status = check_attention_shape(call);
  if (!status.ok()) return status;
  const Attention problem = canonical(call);
  if (problem.empty()) return status;
  Choice<Attention> choice;
  status = choose(state, problem, call.options.math, any_workspace, &choice);
  if (status.ok()) *bytes = choice.plan.workspace_bytes;
  return status;
}

}  // namespace detail

void attention(Context& context, const HeadsView<const float>& q, const HeadsView<const float>& k,
               const HeadsView<const float>& v, const HeadsView<float>& o,
               const AttentionOptions& options) {
  detail::throw_unless_ok(
      detail::attention(detail::ContextAccess::state(context), {q, k, v, o, options}));
}

std::size_t attention_workspace_bytes(const Context& context, const HeadsView<const float>& q,
                                      const HeadsView<const float>& k,
                                      const HeadsView<const float>& v, const HeadsView<float>& o,
                                      const AttentionOptions& options) {
  std::size_t bytes = 0;
  detail::throw_unless_ok(detail::attention_workspace_bytes(detail::ContextAccess::state(context),
                                                            {q, k, v, o, options}, &bytes));
  return bytes;
}

}  // namespace kw
