// Products and solves with symmetric and triangular matrices, for Python.
#include "core/level3.hpp"

#include <utility>

#include "core/error.hpp"
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

nb::object syrk(float alpha, nb::handle a, float beta, nb::handle out, bool upper, bool transpose,
                nb::handle math, nb::handle stream) {
  const std::optional<Stream> asked = asked_stream(stream);
  const Array array = matrix_of(a, "a", asked);
  const std::optional<Stream> work = asked ? asked : array.stream();
  const std::int64_t n = array.view().size[transpose ? 1 : 0];
  if (beta != 0 && out.is_none()) {
    refuse("beta is ", beta, ", but there is nothing that it multiplies: pass out");
  }
  const Array result = result_of(out, array, sizes_of(n, n), work);
  const Place place = place_of({&array, &result}, asked);
  Level3 call = call_of(array, result, {upper, transpose, false, false}, alpha, math);
  call.beta = beta;
  {
    const nb::gil_scoped_release without_gil;
    Call context(place.ordinal, place.stream);
    if (out.is_none()) scale_add(*context, 0, call.c, 0, call.c);  // of the other triangle
    multiply_by_itself(*context, call);
  }
  return nb::borrow(result.object());
}

// Operands and sizes that the functions of a and b share.
struct Pair {
  std::optional<Stream> asked, work;
  Array a, b, c;
};

Pair pair_of(nb::handle a, nb::handle b, nb::handle out, bool right, nb::handle stream) {
  Pair pair;
  pair.asked = asked_stream(stream);
  pair.a = matrix_of(a, "a", pair.asked);
  check_square(pair.a);
  pair.work = pair.asked ? pair.asked : pair.a.stream();
  pair.b = matrix_of(b, "b", pair.work, &pair.a);
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

nb::object triangular(bool solves, float alpha, nb::handle a, nb::handle b, nb::handle out,
                      bool upper, bool transpose, bool right, bool unit_diagonal, nb::handle math,
                      nb::handle stream) {
  const Pair pair = pair_of(a, b, out, right, stream);
  const Place place = place_of({&pair.a, &pair.b, &pair.c}, pair.asked);
  Level3 call = call_of(pair.a, pair.c, {upper, transpose, right, unit_diagonal}, alpha, math);
  call.b = pair.b.view();
  {
    const nb::gil_scoped_release without_gil;
    Call context(place.ordinal, place.stream);
    if (solves) {
      if (call.b.data != call.c.data) scale_add(*context, 1, call.b, 0, call.c);
      solve_triangular(*context, call);
    } else {
      multiply_triangular(*context, call);
    }
  }
  return nb::borrow(pair.c.object());
}

}  // namespace

void add_level3(nb::module_& module) {
  module.def("syrk", syrk, nb::arg("alpha"), nb::arg("a").none(), nb::arg("beta"),
             nb::arg("out").none(), nb::arg("upper"), nb::arg("transpose"), nb::arg("math").none(),
             nb::arg("stream").none());
  module.def("symm", symm, nb::arg("alpha"), nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("beta"), nb::arg("out").none(), nb::arg("upper"), nb::arg("right"),
             nb::arg("math").none(), nb::arg("stream").none());
  module.def("triangular", triangular, nb::arg("solves"), nb::arg("alpha"), nb::arg("a").none(),
             nb::arg("b").none(), nb::arg("out").none(), nb::arg("upper"), nb::arg("transpose"),
             nb::arg("right"), nb::arg("unit_diagonal"), nb::arg("math").none(),
             nb::arg("stream").none());
}

}  // namespace kw::python
