// Functions that Python calls with an array of arguments alone: for the calls whose time counts,
// where nanobind's matching of arguments would be a tenth of it.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

namespace kw::python {

namespace nb = nanobind;

// Sets Python's error to what was thrown, as nanobind does.
void set_error(const std::exception_ptr& thrown) noexcept;

// `body` gets exactly `count` arguments, borrowed.
template <Py_ssize_t count, nb::object (*body)(PyObject* const* arguments)>
PyObject* fast_call(PyObject*, PyObject* const* arguments, Py_ssize_t given) {
  if (given != count) {
    PyErr_Format(PyExc_TypeError, "this function takes %zd arguments, not %zd", count, given);
    return nullptr;
  }
  try {
    return body(arguments).release().ptr();
  } catch (...) {
    set_error(std::current_exception());
    return nullptr;
  }
}

template <Py_ssize_t count, nb::object (*body)(PyObject* const* arguments)>
void add_fast(nb::module_& module, const char* name) {
  // Python keeps the address of the definition.
  static PyMethodDef definition;
  definition = {name,
                reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(fast_call<count, body>)),
                METH_FASTCALL, nullptr};
  module.attr(name) =
      nb::steal(PyCFunction_NewEx(&definition, nullptr, nb::str(module.attr("__name__")).ptr()));
}

}  // namespace kw::python
