// scale_add, for Python.
#include <utility>

#include "core/error.hpp"
#include "module/functions.hpp"
#include "module/operands.hpp"

namespace kw::python {

namespace {

// Two arrays of one size as matrices of one layout.
struct Matrices {
  std::int64_t rows = 1, cols = 0, lda = 1, ldb = 1;
};

// Dense arrays are one row; others are matrices with a distance between their rows.
bool express(const Strided& a, const Strided& b, Matrices* found) {
  const std::int64_t count = a.elements();
  if (a.is_dense() && b.is_dense()) {
    *found = {1, count, count > 0 ? count : 1, count > 0 ? count : 1};
    return true;
  }
  if (a.dimensions != 2) return false;
  const auto by = [&](int row, int col) {
    const std::int64_t rows = a.size[row], cols = a.size[col];
    const bool in_a = (a.stride[col] == 1 || cols == 1) && (a.stride[row] >= cols || rows == 1);
    const bool in_b = (b.stride[col] == 1 || cols == 1) && (b.stride[row] >= cols || rows == 1);
    if (!in_a || !in_b) return false;
    *found = {rows, cols, rows == 1 ? cols : a.stride[row], rows == 1 ? cols : b.stride[row]};
    return true;
  };
  return by(0, 1) || by(1, 0);
}

nb::object scale_add(float scale, nb::handle a, float shift, nb::handle out, nb::handle stream) {
  const std::optional<Stream> asked = asked_stream(stream);
  Array array = Array::of(a, "a", asked, false);
  if (array.type() != KW_FLOAT32) {
    throw nb::type_error("a must have elements of type float32: convert it");
  }
  Array result = out.is_none() ? Array::made(array, array.view(), KW_FLOAT32)
                               : Array::of(out, "out", asked ? asked : array.stream(), false);
  if (!out.is_none()) check_out(result, array.view(), KW_FLOAT32);
  Matrices matrices;
  if (!express(array.view(), result.view(), &matrices)) {
    array = array.dense_copy();
    if (!express(array.view(), result.view(), &matrices)) {
      refuse(
          "out's elements lie at strides that no call can write: pass a dense array, or a "
          "matrix whose rows are dense");
    }
  }
  const Place place = place_of({&array, &result}, asked);
  {
    const nb::gil_scoped_release without_gil;
    Call call(place.ordinal, place.stream);
    call->check(kwScaleAdd(call->handle, KW_ROW_MAJOR, matrices.rows, matrices.cols, &scale,
                           static_cast<const float*>(array.view().data), matrices.lda, &shift,
                           static_cast<float*>(result.view().data), matrices.ldb));
  }
  return nb::borrow(result.object());
}

}  // namespace

void add_scale_add(nb::module_& module) {
  module.def("scale_add", scale_add, nb::arg("scale"), nb::arg("a").none(), nb::arg("shift"),
             nb::arg("out").none(), nb::arg("stream").none());
}

}  // namespace kw::python
