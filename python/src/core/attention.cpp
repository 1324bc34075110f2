// Attention on views of arrays: what kwAttention is told.
#include "core/attention.hpp"

#include <cmath>

#include "core/error.hpp"

namespace kw::python {

namespace {

// An operand as kwAttention takes it: its leading dimensions may be missing.
struct Heads {
  float* data = nullptr;
  std::int64_t size[4] = {1, 1, 1, 1};  // batch, heads, rows, columns
  kwHeadStrides strides{};
};

Heads heads_of(const Strided& view) {
  Heads heads;
  heads.data = static_cast<float*>(view.data);
  std::int64_t stride[4] = {};
  for (int i = 0; i < view.dimensions; ++i) {
    const int at = 4 - view.dimensions + i;
    heads.size[at] = view.size[i];
    // What nobody steps over may be anything: the library is told what it takes.
    stride[at] = view.size[i] > 1 ? view.stride[i] : 0;
  }
  heads.strides = {stride[0], stride[1], stride[2]};
  return heads;
}

}  // namespace

bool has_dense_columns(const Strided& view) {
  const int row = view.dimensions - 2, col = row + 1;
  for (int i = 0; i < view.dimensions; ++i) {
    if (view.size[i] > 1 && view.stride[i] < 0) return false;
  }
  return (view.size[col] <= 1 || view.stride[col] == 1) &&
         (view.size[row] <= 1 || view.stride[row] >= view.size[col]);
}

kwAttentionProblem attention_problem(const Strided& q, const Strided& k, const Strided& v,
                                     const Strided& o) {
  const Heads of_q = heads_of(q), of_k = heads_of(k), of_v = heads_of(v), of_o = heads_of(o);
  for (int i = 0; i < 4; ++i) {
    if (of_k.size[i] != of_v.size[i])
      refuse("k and v differ in dimension ", i - 4, ", ", of_k.size[i], " and ", of_v.size[i],
             ": pass both of one size");
  }
  if (of_q.size[0] != of_k.size[0] || of_q.size[3] != of_k.size[3])
    refuse("q is of ", of_q.size[0], " entries with rows of ", of_q.size[3], ", k of ",
           of_k.size[0], " with rows of ", of_k.size[3], ", which must be as many");
  kwAttentionProblem problem{};
  problem.batch = of_q.size[0];
  problem.heads = of_q.size[1];
  problem.kv_heads = of_k.size[1];
  problem.queries = of_q.size[2];
  problem.keys = of_k.size[2];
  problem.dim = of_q.size[3];
  problem.q = of_q.data;
  problem.q_strides = of_q.strides;
  problem.k = of_k.data;
  problem.k_strides = of_k.strides;
  problem.v = of_v.data;
  problem.v_strides = of_v.strides;
  problem.o = of_o.data;
  problem.o_strides = of_o.strides;
  problem.scale = 1.0f / std::sqrt(static_cast<float>(problem.dim));
  return problem;
}

void add_mask(const Strided& mask, kwAttentionProblem* problem) {
  const Heads heads = heads_of(mask);
  const std::int64_t wanted[4] = {problem->batch, problem->heads, problem->queries, problem->keys};
  for (int i = 0; i < 4; ++i) {
    if (heads.size[i] == wanted[i] || (heads.size[i] == 1 && i < 3)) continue;
    refuse("mask's dimension ", i - 4, " has ", heads.size[i], " elements: pass ", wanted[i],
           i < 3 ? " or 1" : "");
  }
  problem->mask = heads.data;
  problem->mask_strides = heads.strides;
}

}  // namespace kw::python
