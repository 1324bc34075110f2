// kernelwright._core: the C interface over arrays of other packages. kernelwright/__init__.py has
// the functions that users call, with their promises; what is here takes all arguments in order.
#include <nanobind/nanobind.h>

#include "core/error.hpp"
#include "module/fast_call.hpp"
#include "module/functions.hpp"

namespace nb = nanobind;

namespace {

// The exception of a status, from kernelwright/_errors.py.
void raise(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const kw::python::Failure&) {
    kw::python::set_error(thrown);
  }
}

}  // namespace

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);
  nb::register_exception_translator(raise);
  kw::python::add_products(module);
  kw::python::add_attention(module);
  kw::python::add_level3(module);
  kw::python::add_out_of_core(module);
  kw::python::add_reductions(module);
  kw::python::add_rowwise(module);
  kw::python::add_scale_add(module);
  kw::python::add_devices(module);
  kw::python::add_serving(module);
  kw::python::add_call_loop(module);
#ifdef KW_HAVE_XLA
  kw::python::add_xla_calls(module);
#endif
}
