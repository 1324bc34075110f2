// Products of matrices in host memory, for Python.
#include "core/out_of_core.hpp"

#include "core/error.hpp"
#include "module/functions.hpp"
#include "module/matrices.hpp"

namespace kw::python {

namespace {

void check_in_host_memory(const Array& array) {
  if (array.ordinal() == on_cpu) return;
  refuse(array.name(), " lies on GPU ", array.ordinal(),
         ": pass arrays in host memory, or call matmul, which takes those of a GPU");
}

nb::object matmul_out_of_core(float alpha, nb::handle a, nb::handle b, float beta, nb::handle out,
                              nb::handle math, std::size_t device_bytes, int ordinal) {
  const Array left = matrix_of(a, "a", std::nullopt);
  const Array right = matrix_of(b, "b", std::nullopt, &left);
  check_in_host_memory(left);
  check_in_host_memory(right);
  const std::int64_t k = left.view().size[1];
  if (right.view().size[0] != k) {
    refuse("a has ", k, " columns and b has ", right.view().size[0],
           " rows, which must be as many");
  }
  if (beta != 0 && out.is_none()) {
    refuse("beta is ", beta, ", but there is nothing that it multiplies: pass out");
  }
  const Array result =
      result_of(out, left, sizes_of(left.view().size[0], right.view().size[1]), std::nullopt);
  check_in_host_memory(result);
  OutOfCore call;
  call.a = left.view();
  call.b = right.view();
  call.c = result.view();
  call.alpha = alpha;
  call.beta = beta;
  call.math = to_math(math);
  call.device_bytes = device_bytes;
  {
    const nb::gil_scoped_release without_gil;
    Call context(ordinal, nullptr);
    multiply_out_of_core(*context, call);
  }
  return nb::borrow(result.object());
}

}  // namespace

void add_out_of_core(nb::module_& module) {
  module.def("matmul_out_of_core", matmul_out_of_core, nb::arg("alpha"), nb::arg("a").none(),
             nb::arg("b").none(), nb::arg("beta"), nb::arg("out").none(), nb::arg("math").none(),
             nb::arg("device_bytes"), nb::arg("ordinal"));
}

}  // namespace kw::python
