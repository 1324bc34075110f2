// PyTorch's products, served (kernelwright/torch/_enable.py): each function computes a call, or
// returns None where the kernel that was there shall do it.
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/product.hpp"
#include "module/fast_call.hpp"
#include "module/functions.hpp"
#include "module/operands.hpp"

namespace kw::python {

namespace {

// How calls are served: the arithmetic, and which are too small.
struct Setting {
  int math = KW_MATH_FP32;
  std::int64_t smallest = 0;
};

// What a call is of: operands of one device, of float32 and of sizes that fit.
struct ServedOperands {
  Array a, b;
  std::optional<Array> c, out;
  Strided sizes;  // the result's
};

// The same dimensions for both, and no broadcast.
bool find_sizes(const Strided& a, const Strided& b, int dimensions, const Setting& setting,
                Strided* sizes) {
  if (a.dimensions != dimensions || b.dimensions != dimensions) return false;
  const int row = dimensions - 2, col = dimensions - 1;
  if (a.size[col] != b.size[row] || (dimensions == 3 && a.size[0] != b.size[0])) return false;
  if (dimensions == 3) sizes->append(a.size[0], 0);
  sizes->append(a.size[row], 0);
  sizes->append(b.size[col], 0);
  const std::int64_t work = a.elements() * b.size[col];
  return work > 0 && work >= setting.smallest;
}

bool take(nb::handle a, nb::handle b, nb::handle c, nb::handle out, int dimensions,
          const Setting& setting, ServedOperands* operands) {
  const auto usable = [&](nb::handle one) { return Array::has_exchange(one); };
  if (!usable(a) || !usable(b)) return false;
  operands->a = Array::of(a, "a", std::nullopt, true);
  operands->b = Array::of(b, "b", std::nullopt, true, &operands->a);
  const Array& first = operands->a;
  const auto agrees = [&](const Array& other) {
    return other.is(KW_FLOAT32) && other.ordinal() == first.ordinal();
  };
  if (!agrees(first) || !agrees(operands->b)) return false;
  if (!find_sizes(first.view(), operands->b.view(), dimensions, setting, &operands->sizes)) {
    return false;
  }
  if (!c.is_none()) {
    if (!usable(c)) return false;
    operands->c = Array::of(c, "c", std::nullopt, true, &operands->a);
    if (!agrees(*operands->c)) return false;
  }
  if (!out.is_none()) {
    if (!usable(out)) return false;
    operands->out = Array::of(out, "out", std::nullopt, true, &operands->a);
    if (!agrees(*operands->out) || !operands->out->view().has_sizes_of(operands->sizes) ||
        !is_expressible(operands->out->view())) {
      return false;
    }
  }
  return true;
}

void make_expressible(Array* array) {
  if (!is_expressible(array->view())) *array = array->dense_copy();
}

// beta · c: whole it is a source, one row for all it is a bias where beta is 1.
bool take_added(float beta, ServedOperands* operands, Product* product) {
  if (!operands->c || beta == 0) return true;
  Array& c = *operands->c;
  const Strided& view = c.view();
  const std::int64_t cols = operands->sizes.size[operands->sizes.dimensions - 1];
  const bool is_vector = view.dimensions == 1 && view.size[0] == cols;
  const bool repeats =
      view.dimensions == 2 && view.size[1] == cols && (view.size[0] == 1 || view.stride[0] == 0);
  if ((is_vector || repeats) && beta == 1) {
    const std::int64_t step = view.stride[view.dimensions - 1];
    if (step != 1 && cols > 1) return false;
    product->bias = static_cast<const float*>(view.data);
    return true;
  }
  if (!view.has_sizes_of(operands->sizes)) return false;
  product->beta = beta;
  const bool in_place = operands->out && operands->out->view().data == view.data &&
                        operands->out->view().has_strides_of(view);
  if (in_place) return true;
  make_expressible(&c);
  product->source = c.view();
  return true;
}

float number(PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return static_cast<float>(value);
}

std::int64_t integer(PyObject* object) {
  const std::int64_t value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

// a, b, c, out, dimensions, alpha, beta, activation, math, smallest
nb::object serve(PyObject* const* arguments) {
  const nb::handle a = arguments[0], b = arguments[1], c = arguments[2], out = arguments[3];
  const auto dimensions = static_cast<int>(integer(arguments[4]));
  const float alpha = number(arguments[5]), beta = number(arguments[6]);
  const auto activation = static_cast<int>(integer(arguments[7]));
  const auto math = static_cast<int>(integer(arguments[8]));
  const std::int64_t smallest = integer(arguments[9]);
  ServedOperands operands;
  if (!take(a, b, c, out, dimensions, {math, smallest}, &operands)) return nb::none();
  Product product;
  if (!take_added(beta, &operands, &product)) return nb::none();
  make_expressible(&operands.a);
  make_expressible(&operands.b);
  if (!operands.out) operands.out = Array::made(operands.a, operands.sizes, KW_FLOAT32);
  product.a = operands.a.view();
  product.b = operands.b.view();
  product.c = operands.out->view();
  product.alpha = alpha;
  product.activation = static_cast<kwActivation_t>(activation);
  product.math = static_cast<kwMath_t>(math);
  const Array& first = operands.a;
  try {
    const nb::gil_scoped_release without_gil;
    Call call(first.ordinal(), first.stream().value_or(nullptr));
    multiply(*call, product);
  } catch (const Failure& failure) {
    // Of others something may have been written.
    if (failure.status() == KW_STATUS_DEVICE_ERROR ||
        failure.status() == KW_STATUS_INTERNAL_ERROR) {
      throw;
    }
    return nb::none();
  }
  return nb::borrow(operands.out->object());
}

}  // namespace

void add_serving(nb::module_& module) { add_fast<10, serve>(module, "serve"); }

}  // namespace kw::python
