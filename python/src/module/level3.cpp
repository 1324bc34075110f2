// Products and solves with symmetric and triangular matrices, for Python.
#include "core/level3.hpp"

#include <complex>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/matrix.hpp"
#include "module/functions.hpp"
#include "module/matrices.hpp"

namespace kw::python {

namespace {

// What Python passes: flags as bools, in this order for all functions.
struct Flags {
  bool upper, transpose, right, unit_diagonal;
};

void check_square(const Array& a) {
  if (a.view().size[0] == a.view().size[1]) return;
  refuse("a is ", a.view().size[0], " x ", a.view().size[1], ": it must be square");
}

Level3 call_of(const Array& a, const Array& c, const Flags& flags, float alpha, nb::handle math) {
  Level3 call;
  call.a = a.view();
  call.c = c.view();
  call.upper = flags.upper;
  call.transpose = flags.transpose;
  call.right = flags.right;
  call.unit_diagonal = flags.unit_diagonal;
  call.alpha = alpha;
  call.math = to_math(math);
  return call;
}

// A complex matrix as one of floats, in its own layout.
Strided as_floats(const Strided& of) {
  const int inner = expressed(of, "out").op == KW_OP_NONE ? 1 : 0;
  Strided floats = of;
  floats.size[inner] *= 2;
  floats.stride[inner] = 1;
  floats.stride[1 - inner] *= 2;
  return floats;
}

// What a Hermitian update and a conjugate triangle read: stored as the result is, since a conjugate
// without a transpose is none of its operations. A copy by columns is one of the transpose by rows.
struct StoredAlike {
  Array array;
  Strided view;

  StoredAlike(Array a, const Array& result) : array(std::move(a)) {
    const bool copied = !share_layout(array.view(), result.view());
    const bool by_rows = result.view().stride[1] == 1;
    const std::vector<int> transposed = {1, 0};
    if (copied) array = by_rows ? array.dense_copy() : array.dense_copy(&transposed);
    view = array.view();
    if (!copied || by_rows) return;
    std::swap(view.size[0], view.size[1]);
    std::swap(view.stride[0], view.stride[1]);
  }
};

void check_scalars(const Array& a, bool hermitian, std::complex<float> alpha,
                   std::complex<float> beta) {
  if ((a.is_complex64() && !hermitian) || (alpha.imag() == 0 && beta.imag() == 0)) return;
  throw nb::type_error(sentence("alpha or beta is complex, but ",
                                hermitian ? "a Hermitian update has real ones" : "a is float32",
                                ": pass a number without imaginary part")
                           .c_str());
}

nb::object update(bool hermitian, nb::handle alpha_of, nb::handle a, nb::handle beta_of,
                  nb::handle out, bool upper, bool transpose, nb::handle math, nb::handle stream) {
  const std::optional<Stream> asked = asked_stream(stream);
  const std::complex<float> alpha = to_complex(alpha_of), beta = to_complex(beta_of);
  Array array = any_matrix_of(a, "a", asked);
  check_scalars(array, hermitian, alpha, beta);
  const std::optional<Stream> work = asked ? asked : array.stream();
  const std::int64_t n = array.view().size[transpose ? 1 : 0];
  if (beta != std::complex<float>(0) && out.is_none()) {
    refuse("beta is ", nb::str(beta_of).c_str(),
           ", but there is nothing that it multiplies: pass out");
  }
  const Array result = result_of(out, array, sizes_of(n, n), work);
  const bool is_hermitian = hermitian && array.is_complex64();
  std::optional<StoredAlike> alike;
  if (is_hermitian) {
    alike.emplace(std::move(array), result);
    array = std::move(alike->array);
  }
  const Place place = place_of({&array, &result}, asked);
  Level3 call = call_of(array, result, {upper, transpose, false, false}, alpha.real(), math);
  call.beta = beta.real();
  call.alpha_im = alpha.imag();
  call.beta_im = beta.imag();
  call.is_complex = array.is_complex64();
  call.hermitian = is_hermitian;
  if (alike) call.a = alike->view;
  {
    const nb::gil_scoped_release without_gil;
    Call context(place.ordinal, place.stream);
    if (out.is_none()) {  // the other triangle
      const Strided floats = call.is_complex ? as_floats(call.c) : call.c;
      scale_add(*context, 0, floats, 0, floats);
    }
    multiply_by_itself(*context, call);
  }
  return nb::borrow(result.object());
}

nb::object syrk(nb::handle alpha, nb::handle a, nb::handle beta, nb::handle out, bool upper,
                bool transpose, nb::handle math, nb::handle stream) {
  return update(false, alpha, a, beta, out, upper, transpose, math, stream);
}
nb::object herk(nb::handle alpha, nb::handle a, nb::handle beta, nb::handle out, bool upper,
                bool transpose, nb::handle math, nb::handle stream) {
  return update(true, alpha, a, beta, out, upper, transpose, math, stream);
}

// Operands and sizes that the functions of a and b share.
struct Pair {
  std::optional<Stream> asked, work;
  Array a, b, c;
};

// Of float32, or with `may_be_complex` both of complex64.
Pair pair_of(nb::handle a, nb::handle b, nb::handle out, bool right, nb::handle stream,
             bool may_be_complex = false) {
  Pair pair;
  pair.asked = asked_stream(stream);
  const auto matrix = may_be_complex ? any_matrix_of : matrix_of;
  pair.a = matrix(a, "a", pair.asked, nullptr);
  check_square(pair.a);
  pair.work = pair.asked ? pair.asked : pair.a.stream();
  pair.b = matrix(b, "b", pair.work, &pair.a);
  if (pair.a.is_complex64() != pair.b.is_complex64())
    throw nb::type_error("a and b have elements of different types: convert one of them");
  const std::int64_t order = pair.a.view().size[0], meets = pair.b.view().size[right ? 1 : 0];
  if (order != meets) {
    refuse("a is of order ", order, " and b has ", meets, right ? " columns" : " rows",
           ", which must be as many");
  }
  pair.c = result_of(out, pair.b, pair.b.view(), pair.work);
  if (!share_layout(pair.b.view(), pair.c.view())) {
    // A dense copy has the layout of a new result; of an out by columns the caller's b must have
    // it.
    pair.b = pair.b.dense_copy();
    if (!share_layout(pair.b.view(), pair.c.view())) {
      refuse(
          "b and out have their elements in different order: pass both by rows, or both by "
          "columns");
    }
  }
  return pair;
}

nb::object symm(float alpha, nb::handle a, nb::handle b, float beta, nb::handle out, bool upper,
                bool right, nb::handle math, nb::handle stream) {
  const Pair pair = pair_of(a, b, out, right, stream);
  if (beta != 0 && out.is_none()) {
    refuse("beta is ", beta, ", but there is nothing that it multiplies: pass out");
  }
  const Place place = place_of({&pair.a, &pair.b, &pair.c}, pair.asked);
  Level3 call = call_of(pair.a, pair.c, {upper, false, right, false}, alpha, math);
  call.b = pair.b.view();
  call.beta = beta;
  {
    const nb::gil_scoped_release without_gil;
    Call context(place.ordinal, place.stream);
    multiply_symmetric(*context, call);
  }
  return nb::borrow(pair.c.object());
}

nb::object trmm(float alpha, nb::handle a, nb::handle b, nb::handle out, bool upper, bool transpose,
                bool right, bool unit_diagonal, nb::handle math, nb::handle stream) {
  const Pair pair = pair_of(a, b, out, right, stream);
  const Place place = place_of({&pair.a, &pair.b, &pair.c}, pair.asked);
  Level3 call = call_of(pair.a, pair.c, {upper, transpose, right, unit_diagonal}, alpha, math);
  call.b = pair.b.view();
  {
    const nb::gil_scoped_release without_gil;
    Call context(place.ordinal, place.stream);
    multiply_triangular(*context, call);
  }
  return nb::borrow(pair.c.object());
}

nb::object trsm(nb::handle alpha_of, nb::handle a, nb::handle b, nb::handle out, bool upper,
                bool transpose, bool conjugate, bool right, bool unit_diagonal, nb::handle math,
                nb::handle stream) {
  if (conjugate && !transpose)
    refuse("conjugate is True, and transpose is not: a conjugate is solved transposed alone");
  const std::complex<float> alpha = to_complex(alpha_of);
  Pair pair = pair_of(a, b, out, right, stream, true);
  const bool is_complex = pair.a.is_complex64();
  if (!is_complex && alpha.imag() != 0)
    throw nb::type_error(
        "alpha is complex, but a is float32: pass a number without imaginary part");
  std::optional<StoredAlike> alike;
  if (is_complex && conjugate) {
    alike.emplace(std::move(pair.a), pair.c);
    pair.a = std::move(alike->array);
  }
  const Place place = place_of({&pair.a, &pair.b, &pair.c}, pair.asked);
  Level3 call =
      call_of(pair.a, pair.c, {upper, transpose, right, unit_diagonal}, alpha.real(), math);
  if (alike) call.a = alike->view;
  call.alpha_im = alpha.imag();
  call.is_complex = is_complex;
  call.conjugate = is_complex && conjugate;
  call.b = pair.b.view();
  {
    const nb::gil_scoped_release without_gil;
    Call context(place.ordinal, place.stream);
    if (call.b.data != call.c.data)
      scale_add(*context, 1, is_complex ? as_floats(call.b) : call.b, 0,
                is_complex ? as_floats(call.c) : call.c);
    solve_triangular(*context, call);
  }
  return nb::borrow(pair.c.object());
}

}  // namespace

void add_level3(nb::module_& module) {
  module.def("syrk", syrk, nb::arg("alpha"), nb::arg("a").none(), nb::arg("beta"),
             nb::arg("out").none(), nb::arg("upper"), nb::arg("transpose"), nb::arg("math").none(),
             nb::arg("stream").none());
  module.def("herk", herk, nb::arg("alpha"), nb::arg("a").none(), nb::arg("beta"),
             nb::arg("out").none(), nb::arg("upper"), nb::arg("transpose"), nb::arg("math").none(),
             nb::arg("stream").none());
  module.def("symm", symm, nb::arg("alpha"), nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("beta"), nb::arg("out").none(), nb::arg("upper"), nb::arg("right"),
             nb::arg("math").none(), nb::arg("stream").none());
  module.def("trmm", trmm, nb::arg("alpha"), nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("out").none(), nb::arg("upper"), nb::arg("transpose"), nb::arg("right"),
             nb::arg("unit_diagonal"), nb::arg("math").none(), nb::arg("stream").none());
  module.def("trsm", trsm, nb::arg("alpha"), nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("out").none(), nb::arg("upper"), nb::arg("transpose"), nb::arg("conjugate"),
             nb::arg("right"), nb::arg("unit_diagonal"), nb::arg("math").none(),
             nb::arg("stream").none());
}

}  // namespace kw::python
