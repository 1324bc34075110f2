// Row-wise operations, for Python.
#include "core/rowwise.hpp"

#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "module/functions.hpp"
#include "module/operands.hpp"

namespace kw::python {

namespace {

kwRowwiseOp_t to_row_op(const std::string& text) {
  if (text == "softmax") return KW_ROWWISE_SOFTMAX;
  if (text == "log_softmax") return KW_ROWWISE_LOG_SOFTMAX;
  if (text == "layer_norm") return KW_ROWWISE_LAYER_NORM;
  if (text == "rms_norm") return KW_ROWWISE_RMS_NORM;
  refuse("op is '", text, "': there is no such row-wise operation");
}

int row_axis(std::int64_t axis, int dimensions) {
  if (axis < -dimensions || axis >= dimensions)
    refuse("axis is ", axis, ", but a has ", dimensions, " dimensions");
  return static_cast<int>(axis < 0 ? axis + dimensions : axis);
}

// An operand of the same type, or nothing.
Array operand_of(nb::handle object, const char* name, const Array& a,
                 const std::optional<Stream>& work) {
  Array operand = Array::of(object, name, work, false, &a);
  if (!operand.is(a.type())) refuse(name, " has elements of another type than a: convert it");
  return operand;
}

// A vector of `length` elements, dense.
Array vector_of(nb::handle object, const char* name, const Array& a, std::int64_t length,
                const std::optional<Stream>& work) {
  Array vector = operand_of(object, name, a, work);
  const Strided& view = vector.view();
  if (view.dimensions != 1 || view.size[0] != length) {
    refuse(name, " has ", view.elements(), " elements in ", view.dimensions,
           " dimensions: pass a vector of ", length, ", a row's length");
  }
  return view.is_dense() ? std::move(vector) : vector.dense_copy();
}

nb::object rowwise_array(const std::string& op, nb::handle a, std::int64_t axis, nb::handle gamma,
                         nb::handle beta, nb::handle bias, nb::handle residual, float epsilon,
                         nb::handle out, nb::handle stream) {
  const std::optional<Stream> asked = asked_stream(stream);
  Array array = Array::of(a, "a", asked, false);
  const std::optional<Stream> work = asked ? asked : array.stream();
  RowwiseOf call;
  call.op = to_row_op(op);
  call.type = array.type();
  if (call.type != KW_FLOAT32 && call.type != KW_FLOAT16 && call.type != KW_BFLOAT16)
    throw nb::type_error("a must have elements of type float32, float16 or bfloat16: convert it");
  call.epsilon = epsilon;
  call.axis = row_axis(axis, array.view().dimensions);
  const std::int64_t length = array.view().size[call.axis];
  std::optional<Array> vectors[3], added;
  const std::pair<nb::handle, const char*> given[3] = {
      {gamma, "gamma"}, {beta, "beta"}, {bias, "bias"}};
  const void** const taken[3] = {&call.gamma, &call.beta, &call.bias};
  for (int i = 0; i < 3; ++i) {
    if (given[i].first.is_none()) continue;
    vectors[i] = vector_of(given[i].first, given[i].second, array, length, work);
    *taken[i] = vectors[i]->view().data;
  }
  if (!residual.is_none()) {
    added = operand_of(residual, "residual", array, work);
    if (!added->view().has_sizes_of(array.view()))
      refuse("residual has other sizes than a: make the two equal");
    call.residual = added->view();
  }
  Array result = out.is_none() ? Array::made(array, array.view(), array.type())
                               : Array::of(out, "out", work, false);
  if (!out.is_none()) check_out(result, array.view(), array.type());
  call.x = array.view();
  call.y = result.view();
  if (!is_walkable(call)) {
    array = array.dense_copy();
    call.x = array.view();
    if (!residual.is_none()) {
      added = added->dense_copy();
      call.residual = added->view();
    }
    if (!is_walkable(call)) {
      refuse(
          "out's elements lie at strides that no call can write: pass a dense array, or a matrix "
          "whose rows are dense");
    }
  }
  // What is absent is where the array is.
  const auto or_array = [&](const std::optional<Array>& other) {
    return other.has_value() ? &*other : &array;
  };
  const Place place = place_of({&array, &result, or_array(vectors[0]), or_array(vectors[1]),
                                or_array(vectors[2]), or_array(added)},
                               asked);
  {
    const nb::gil_scoped_release without_gil;
    Call running(place.ordinal, place.stream);
    rowwise(*running, call);
  }
  return nb::borrow(result.object());
}

}  // namespace

void add_rowwise(nb::module_& module) {
  module.def("rowwise", rowwise_array, nb::arg("op"), nb::arg("a").none(), nb::arg("axis"),
             nb::arg("gamma").none(), nb::arg("beta").none(), nb::arg("bias").none(),
             nb::arg("residual").none(), nb::arg("epsilon"), nb::arg("out").none(),
             nb::arg("stream").none());
}

}  // namespace kw::python
