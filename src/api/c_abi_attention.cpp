// The C interface: attention.
#include "api/c_handle.hpp"
#include "api/calls.hpp"

namespace {

using kw::Causal;
using kw::HeadsView;
using kw::Status;
using kw::c_abi::with_handle;
using kw::detail::AttentionCall;
using kw::detail::invalid;

static_assert(KW_CAUSAL_NONE == static_cast<int>(Causal::none));
static_assert(KW_CAUSAL_FROM_START == static_cast<int>(Causal::from_start));
static_assert(KW_CAUSAL_FROM_END == static_cast<int>(Causal::from_end));

template <class T>
HeadsView<T> heads(T* data, int64_t batch, int64_t count, int64_t rows, int64_t dim,
                   const kwHeadStrides& strides) {
  return {data, batch, count, rows, dim, strides.batch, strides.head, strides.row};
}

AttentionCall attention_call(const kwAttentionProblem& p, kw::Math math) {
  kw::AttentionOptions options;
  options.scale = p.scale;
  options.causal = static_cast<Causal>(p.causal);
  options.mask = {p.mask, p.mask_strides.batch, p.mask_strides.head, p.mask_strides.row};
  options.math = math;
  options.query_offsets = p.query_offsets;
  options.key_offsets = p.key_offsets;
  return {heads(p.q, p.batch, p.heads, p.queries, p.dim, p.q_strides),
          heads(p.k, p.batch, p.kv_heads, p.keys, p.dim, p.k_strides),
          heads(p.v, p.batch, p.kv_heads, p.keys, p.dim, p.v_strides),
          heads(p.o, p.batch, p.heads, p.queries, p.dim, p.o_strides), options};
}

Status no_problem() {
  return invalid("problem is null: pass the address of a kwAttentionProblem", "problem");
}

}  // namespace

kwStatus_t kwAttention(kwHandle_t handle, const kwAttentionProblem* problem) {
  return with_handle(handle, [&](kwContext& context) {
    if (problem == nullptr) return no_problem();
    return kw::detail::attention(*context.state,
                                 attention_call(*problem, context.sgemm_options.math));
  });
}

kwStatus_t kwAttentionWorkspaceBytes(kwHandle_t handle, const kwAttentionProblem* problem,
                                     size_t* bytes) {
  return with_handle(handle, [&](kwContext& context) {
    if (problem == nullptr) return no_problem();
    if (bytes == nullptr) return invalid("bytes is null: pass the address of a size_t", "bytes");
    return kw::detail::attention_workspace_bytes(
        *context.state, attention_call(*problem, context.sgemm_options.math), bytes);
  });
}
