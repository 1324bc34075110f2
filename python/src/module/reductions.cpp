// Reductions, for Python.
#include "core/reduction.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "module/functions.hpp"
#include "module/operands.hpp"

namespace kw::python {

namespace {

struct Name {
  const char* text;
  kwReduceOp_t op;
};
constexpr Name names[] = {
    {"sum", KW_REDUCE_SUM},           {"mean", KW_REDUCE_MEAN},
    {"min", KW_REDUCE_MIN},           {"max", KW_REDUCE_MAX},
    {"argmin", KW_REDUCE_ARGMIN},     {"argmax", KW_REDUCE_ARGMAX},
    {"l1_norm", KW_REDUCE_L1_NORM},   {"sum_of_squares", KW_REDUCE_SUM_OF_SQUARES},
    {"l2_norm", KW_REDUCE_L2_NORM},   {"max_norm", KW_REDUCE_MAX_NORM},
    {"variance", KW_REDUCE_VARIANCE}, {"min_max", KW_REDUCE_MIN_MAX},
};

kwReduceOp_t to_op(const std::string& text) {
  for (const Name& name : names) {
    if (text == name.text) return name.op;
  }
  refuse("op is '", text, "': there is no such reduction");
}

// Which dimensions go, each once.
std::vector<bool> axes_of(nb::handle axis, int dimensions) {
  std::vector<bool> goes(static_cast<std::size_t>(dimensions), axis.is_none());
  if (axis.is_none()) return goes;
  const auto take = [&](nb::handle one) {
    const auto asked = nb::cast<std::int64_t>(one);
    if (asked < -dimensions || asked >= dimensions) {
      refuse("axis is ", asked, ", but a has ", dimensions, " dimensions");
    }
    const auto at = static_cast<std::size_t>(asked < 0 ? asked + dimensions : asked);
    if (goes[at]) refuse("axis names dimension ", at, " twice");
    goes[at] = true;
  };
  if (nb::isinstance<nb::tuple>(axis) || nb::isinstance<nb::list>(axis)) {
    for (const nb::handle one : nb::iter(axis)) take(one);
  } else {
    take(axis);
  }
  return goes;
}

void split(const Strided& view, const std::vector<bool>& goes, Reduction* reduction) {
  reduction->kept = {};
  reduction->reduced = {};
  reduction->kept.data = reduction->reduced.data = view.data;
  for (int i = 0; i < view.dimensions; ++i) {
    Strided& to = goes[static_cast<std::size_t>(i)] ? reduction->reduced : reduction->kept;
    to.append(view.size[i], view.stride[i]);
  }
}

// A dense copy with the dimensions that go at the end.
Array rearranged(const Array& a, std::vector<bool>* goes) {
  const int dimensions = a.view().dimensions;
  std::vector<int> order;
  for (const bool last : {false, true}) {
    for (int i = 0; i < dimensions; ++i) {
      if ((*goes)[static_cast<std::size_t>(i)] == last) order.push_back(i);
    }
  }
  std::stable_sort(goes->begin(), goes->end());
  return a.dense_copy(&order);
}

nb::object reduce_array(const std::string& op, nb::handle a, nb::handle axis, nb::handle out,
                        bool keepdims, std::int64_t correction, nb::handle stream) {
  const std::optional<Stream> asked = asked_stream(stream);
  Array array = Array::of(a, "a", asked, false);
  Reduction reduction;
  reduction.op = to_op(op);
  reduction.type = array.type();
  reduction.correction = correction;
  std::vector<bool> goes = axes_of(axis, array.view().dimensions);
  Strided sizes;
  for (int i = 0; i < array.view().dimensions; ++i) {
    const bool gone = goes[static_cast<std::size_t>(i)];
    if (!gone || keepdims) sizes.append(gone ? 1 : array.view().size[i], 0);
  }
  if (results_each(reduction.op) > 1) sizes.append(results_each(reduction.op), 0);
  split(array.view(), goes, &reduction);
  if (!is_walkable(reduction)) {
    array = rearranged(array, &goes);
    split(array.view(), goes, &reduction);
  }
  kwDataType_t type = KW_FLOAT32;
  const kwStatus_t known = kwReduceResultType(reduction.op, reduction.type, &type);
  if (known != KW_STATUS_OK) throw Failure(known, kwLastErrorMessage(nullptr));
  Array result = out.is_none() ? Array::made(array, sizes, type)
                               : Array::of(out, "out", asked ? asked : array.stream(), false);
  if (!out.is_none()) {
    check_out(result, sizes, type);
    if (!result.view().is_dense()) refuse("out has gaps between its elements: pass a dense array");
  }
  const Place place = place_of({&array, &result}, asked);
  reduction.out = result.view().data;
  {
    const nb::gil_scoped_release without_gil;
    Call call(place.ordinal, place.stream);
    reduce(*call, reduction);
  }
  return nb::borrow(result.object());
}

}  // namespace

void add_reductions(nb::module_& module) {
  module.def("reduce", reduce_array, nb::arg("op"), nb::arg("a").none(), nb::arg("axis").none(),
             nb::arg("out").none(), nb::arg("keepdims"), nb::arg("correction"),
             nb::arg("stream").none());
}

}  // namespace kw::python
