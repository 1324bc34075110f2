// Attention, for Python.
#include "core/attention.hpp"

#include <optional>

#include "core/error.hpp"
#include "module/functions.hpp"
#include "module/operands.hpp"

namespace kw::python {

namespace {

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

std::optional<Array> mask_of(nb::handle mask, std::optional<Stream> work, bool trusted,
                             const Array& beside) {
  if (mask.is_none()) return std::nullopt;
  Array array = operand_of(mask, "mask", work, trusted, &beside);
  const Strided& view = array.view();
  const std::int64_t last = view.dimensions - 1;
  const bool dense = view.size[last] <= 1 || view.stride[last] == 1;
  return dense ? std::move(array) : array.dense_copy();
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
  kwAttentionProblem problem =
      attention_problem(queries.view(), keys.view(), values.view(), result.view());
  if (added) add_mask(added->view(), &problem);
  if (!scale.is_none()) problem.scale = nb::cast<float>(scale);
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
