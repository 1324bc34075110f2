// Attention, for Python.
#include <cmath>
#include <optional>

#include "core/error.hpp"
#include "module/functions.hpp"
#include "module/operands.hpp"

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

// Whether columns are neighbours and rows do not run into each other.
bool has_dense_columns(const Strided& view) {
  const int row = view.dimensions - 2, col = row + 1;
  for (int i = 0; i < view.dimensions; ++i) {
    if (view.size[i] > 1 && view.stride[i] < 0) return false;
  }
  return (view.size[col] <= 1 || view.stride[col] == 1) &&
         (view.size[row] <= 1 || view.stride[row] >= view.size[col]);
}

Array operand_of(nb::handle object, const char* name, std::optional<Stream> work, bool trusted,
                 const Array* beside) {
  Array array = Array::of(object, name, work, trusted, beside);
  if (!array.is(KW_FLOAT32)) {
    throw nb::type_error(sentence(name, " must have elements of type float32: convert it").c_str());
  }
  const int dimensions = array.view().dimensions;
  if (dimensions < 2 || dimensions > 4) {
    refuse(name, " has ", dimensions, " dimensions: pass (batch, heads, rows, columns)");
  }
  return array;
}

Array input_of(nb::handle object, const char* name, std::optional<Stream> work, bool trusted,
               const Array* beside) {
  Array array = operand_of(object, name, work, trusted, beside);
  return has_dense_columns(array.view()) ? std::move(array) : array.dense_copy();
}

// What is added to the scores, repeated where its sizes are 1.
void take_mask(const Array& mask, kwAttentionProblem* problem) {
  const Heads heads = heads_of(mask.view());
  const std::int64_t wanted[4] = {problem->batch, problem->heads, problem->queries, problem->keys};
  for (int i = 0; i < 4; ++i) {
    if (heads.size[i] == wanted[i] || (heads.size[i] == 1 && i < 3)) continue;
    refuse("mask's dimension ", i - 4, " has ", heads.size[i], " elements: pass ", wanted[i],
           i < 3 ? " or 1" : "");
  }
  problem->mask = heads.data;
  problem->mask_strides = heads.strides;
}

std::optional<Array> mask_of(nb::handle mask, std::optional<Stream> work, bool trusted,
                             const Array& beside) {
  if (mask.is_none()) return std::nullopt;
  Array array = operand_of(mask, "mask", work, trusted, &beside);
  const Strided& view = array.view();
  const std::int64_t last = view.dimensions - 1;
  const bool dense = view.size[last] <= 1 || view.stride[last] == 1;
  return dense ? std::move(array) : array.dense_copy();
}

kwAttentionProblem problem_of(const Array& q, const Array& k, const Array& v, const Array& o) {
  const Heads of_q = heads_of(q.view()), of_k = heads_of(k.view()), of_v = heads_of(v.view()),
              of_o = heads_of(o.view());
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
  return problem;
}

nb::object attention(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle mask,
                     nb::handle scale, int causal, nb::handle math, nb::handle stream,
                     bool trusted) {
  const std::optional<Stream> asked = asked_stream(stream);
  const Array queries = input_of(q, "q", asked, trusted, nullptr);
  const std::optional<Stream> work = asked ? asked : queries.stream();
  const Array keys = input_of(k, "k", work, trusted, &queries),
              values = input_of(v, "v", work, trusted, &queries);
  const std::optional<Array> added = mask_of(mask, work, trusted, queries);
  const Array result = out.is_none() ? Array::made(queries, queries.view(), KW_FLOAT32)
                                     : Array::of(out, "out", work, trusted, &queries);
  if (!out.is_none()) {
    check_out(result, queries.view(), KW_FLOAT32);
    if (!has_dense_columns(result.view()))
      refuse("out has gaps between the elements of its rows: pass an array with dense rows");
  }
  kwAttentionProblem problem = problem_of(queries, keys, values, result);
  if (added) take_mask(*added, &problem);
  problem.scale =
      scale.is_none() ? 1.0f / std::sqrt(static_cast<float>(problem.dim)) : nb::cast<float>(scale);
  problem.causal = causal;
  const kwMath_t wanted = to_math(math);
  const Place place =
      place_of({&queries, &keys, &values, &result, added ? &*added : nullptr}, asked);
  {
    const nb::gil_scoped_release without_gil;
    Call call(place.ordinal, place.stream);
    call->use_math(wanted);
    call->check(kwAttention(call->handle, &problem));
  }
  return nb::borrow(result.object());
}

}  // namespace

void add_attention(nb::module_& module) {
  module.def("attention", attention, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
             nb::arg("out").none(), nb::arg("mask").none(), nb::arg("scale").none(),
             nb::arg("causal"), nb::arg("math").none(), nb::arg("stream").none(),
             nb::arg("trusted"));
}

}  // namespace kw::python
