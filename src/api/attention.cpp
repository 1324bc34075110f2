// attention from the caller's views to a kernel's launch.
#include "kernelwright/attention.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/calls.hpp"
#include "api/check_attention.hpp"
#include "api/planned_call.hpp"
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

// The plan of the call: the one kept for its key, else a new one, which is then kept. Its workspace
// is as much as it takes or there may be.
Status plan_of(ContextState& state, const Attention& problem, Math math,
               const PlannedAttention** found) {
  const std::size_t limit = state.workspace_limit(math);
  const AttentionKey key(problem, math, limit);
  *found = state.attention_plans().find(key);
  if (*found != nullptr) return Status::success();
  PlannedAttention made;
  Status status = choose(state, key.problem(), math, limit, &made.choice);
  if (!status.ok()) return status;
  made.workspace_bytes = std::min(made.choice.plan.workspace_bytes, limit);
  *found = &state.attention_plans().keep(key, std::move(made));
  return status;
}

}  // namespace

Status attention(ContextState& state, const AttentionCall& call) {
  Status status = check_attention(call);
  if (!status.ok()) return status;
  const Attention problem = canonical(call);
  if (problem.empty()) return status;
  return launch_call(state, problem, call.options.math, plan_of);
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
