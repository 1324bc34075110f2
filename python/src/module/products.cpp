// matmul and gemm, for Python.
#include <complex>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/product.hpp"
#include "module/fast_call.hpp"
#include "module/functions.hpp"
#include "module/operands.hpp"

namespace kw::python {

namespace {

kwActivation_t to_activation(nb::handle activation) {
  if (activation.is_none()) return KW_ACTIVATION_NONE;
  if (is_text(activation, "relu")) return KW_ACTIVATION_RELU;
  if (is_text(activation, "gelu_tanh")) return KW_ACTIVATION_GELU_TANH;
  if (is_text(activation, "gelu")) return KW_ACTIVATION_GELU_ERF;
  refuse("activation is '", nb::str(activation).c_str(),
         "': pass 'relu', 'gelu' (by erf) or 'gelu_tanh'");
}

// What Python passes beside the operands.
struct Request {
  nb::handle a, b, out, source, bias, activation, math, stream;
  std::complex<float> alpha = 1, beta = 0;
  bool bias_of_rows = false;
  bool trusted = false;
};

struct Operands {
  Array a, b;
  std::optional<Array> out, source, bias;
};

// An operand that BLAS can express, copied where it is not.
Array expressible(Array array, Strided (*as_matrix)(const Strided&)) {
  const Strided matrix = as_matrix(array.view());
  return matrix.dimensions < 2 || is_expressible(matrix) ? std::move(array) : array.dense_copy();
}

Strided as_is(const Strided& array) { return array; }

// The result's sizes with the dimensions that vectors lack.
Strided with_both(const Strided& view, const Strided& a, const Strided& b) {
  Strided full;
  full.data = view.data;
  const int batch = view.dimensions - (a.dimensions > 1 ? 1 : 0) - (b.dimensions > 1 ? 1 : 0);
  for (int i = 0; i < batch; ++i) full.append(view.size[i], view.stride[i]);
  int next = batch;
  if (a.dimensions > 1) {
    full.append(view.size[next], view.stride[next]);
    ++next;
  } else {
    full.append(1, 1);
  }
  if (b.dimensions > 1) {
    full.append(view.size[next], view.stride[next]);
  } else {
    full.append(1, 1);
  }
  return full;
}

void take_bias(const Request& request, const ProductSize& size, std::optional<Stream> work,
               Operands* operands) {
  if (request.bias.is_none()) return;
  operands->bias = Array::of(request.bias, "bias", work, request.trusted, &operands->a);
  const Strided& view = operands->bias->view();
  const std::int64_t wanted = request.bias_of_rows ? size.m : size.n;
  if (operands->bias->type() != KW_FLOAT32 || view.dimensions != 1 || view.size[0] != wanted) {
    refuse("bias must be a float32 vector of ", wanted, " elements, one a ",
           request.bias_of_rows ? "row" : "column", " of the result");
  }
  if (!view.is_dense()) operands->bias = operands->bias->dense_copy();
}

// Of the result's sizes, or broadcast to them.
void take_source(const Request& request, const Strided& sizes, std::optional<Stream> work,
                 Operands* operands) {
  if (request.source.is_none()) return;
  operands->source = Array::of(request.source, "source", work, request.trusted, &operands->a);
  if (operands->source->type() != KW_FLOAT32) refuse("source must have float32 elements");
  if (!operands->source->view().has_sizes_of(sizes)) {
    refuse("source must have the result's sizes");
  }
}

void check_type(const Array& array) {
  if (array.type() != KW_FLOAT32) {
    throw nb::type_error(
        sentence(array.name(), " must have elements of type float32: convert it").c_str());
  }
}

void check_complex(const Request& request) {
  if (request.bias.is_none() && request.source.is_none() && request.activation.is_none()) return;
  refuse(
      "a and b are complex, and products of those take no bias, source or activation: leave it "
      "out");
}

void check_real(const Request& request) {
  if (request.alpha.imag() == 0 && request.beta.imag() == 0) return;
  throw nb::type_error(
      "alpha or beta is complex, but a and b are float32: pass a number without imaginary part");
}

nb::object compute(const Request& request) {
  const std::optional<Stream> asked = asked_stream(request.stream);
  Operands operands;
  operands.a = Array::of(request.a, "a", asked, request.trusted);
  const std::optional<Stream> work = asked ? asked : operands.a.stream();
  operands.b = Array::of(request.b, "b", work, request.trusted, &operands.a);
  const bool is_complex = operands.a.is_complex64() && operands.b.is_complex64();
  if (is_complex) {
    check_complex(request);
  } else {
    check_type(operands.a);
    check_type(operands.b);
    check_real(request);
  }
  const ProductSize size = product_size(operands.a.view(), operands.b.view());
  operands.a = expressible(std::move(operands.a), as_rows);
  operands.b = expressible(std::move(operands.b), as_columns);
  take_bias(request, size, work, &operands);
  take_source(request, size.result, work, &operands);
  const auto given = [](const std::optional<Array>& array) { return array ? &*array : nullptr; };
  // Before the result is made: what lies elsewhere is refused first.
  if (operands.b.ordinal() != operands.a.ordinal()) place_of({&operands.a, &operands.b}, asked);
  if (request.out.is_none()) {
    operands.out = is_complex ? Array::made_complex64(operands.a, size.result)
                              : Array::made(operands.a, size.result, KW_FLOAT32);
  } else {
    operands.out = Array::of(request.out, "out", work, request.trusted, &operands.a);
    if (is_complex) {
      check_complex_out(*operands.out, size.result);
    } else {
      check_out(*operands.out, size.result, KW_FLOAT32);
    }
  }
  const Place place = place_of(
      {&operands.a, &operands.b, given(operands.bias), given(operands.source), given(operands.out)},
      asked);
  Product product;
  product.a = as_rows(operands.a.view());
  product.b = as_columns(operands.b.view());
  const auto full = [&](const Array& array) {
    return with_both(array.view(), operands.a.view(), operands.b.view());
  };
  product.c = full(*operands.out);
  if (operands.source) {
    *operands.source = expressible(std::move(*operands.source), as_is);
    product.source = full(*operands.source);
  }
  product.is_complex = is_complex;
  product.alpha = request.alpha.real();
  product.alpha_im = request.alpha.imag();
  product.beta = request.beta.real();
  product.beta_im = request.beta.imag();
  if (operands.bias) product.bias = static_cast<const float*>(operands.bias->view().data);
  product.bias_of = request.bias_of_rows ? KW_BIAS_OF_ROWS : KW_BIAS_OF_COLUMNS;
  product.activation = to_activation(request.activation);
  product.math = to_math(request.math);
  {
    const nb::gil_scoped_release without_gil;
    Call call(place.ordinal, place.stream);
    multiply(*call, product);
  }
  return nb::borrow(operands.out->object());
}

// a, b, out, bias, activation, math, stream, trusted
nb::object matmul(PyObject* const* arguments) {
  Request request;
  request.a = arguments[0];
  request.b = arguments[1];
  request.out = arguments[2];
  request.source = nb::handle(Py_None);
  request.bias = arguments[3];
  request.activation = arguments[4];
  request.math = arguments[5];
  request.stream = arguments[6];
  request.trusted = arguments[7] == Py_True;
  return compute(request);
}

nb::object gemm(nb::handle alpha, nb::handle a, nb::handle b, nb::handle beta, nb::handle out,
                nb::handle source, nb::handle bias, bool bias_of_rows, nb::handle activation,
                nb::handle math, nb::handle stream, bool trusted) {
  Request request;
  request.a = a;
  request.b = b;
  request.out = out;
  request.source = source;
  request.bias = bias;
  request.activation = activation;
  request.math = math;
  request.stream = stream;
  request.alpha = to_complex(alpha);
  request.beta = to_complex(beta);
  request.bias_of_rows = bias_of_rows;
  request.trusted = trusted;
  if (request.beta != std::complex<float>(0) && out.is_none() && source.is_none()) {
    refuse("beta is ", nb::str(beta).c_str(),
           ", but there is nothing that it multiplies: pass out or source");
  }
  return compute(request);
}

}  // namespace

void add_products(nb::module_& module) {
  add_fast<8, matmul>(module, "matmul");
  module.def("gemm", gemm, nb::arg("alpha"), nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("beta"), nb::arg("out").none(), nb::arg("source").none(),
             nb::arg("bias").none(), nb::arg("bias_of_rows"), nb::arg("activation").none(),
             nb::arg("math").none(), nb::arg("stream").none(), nb::arg("trusted"));
}

}  // namespace kw::python
