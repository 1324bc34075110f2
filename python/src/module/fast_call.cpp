// What is thrown below Python.
#include "module/fast_call.hpp"

#include <exception>
#include <new>

#include "core/error.hpp"

namespace kw::python {

namespace {

void set_failure(const Failure& failure) {
  try {
    const nb::object classes = nb::module_::import_("kernelwright._errors").attr("BY_STATUS");
    const nb::object type = classes[nb::int_(failure.status())];
    PyErr_SetString(type.ptr(), failure.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, failure.what());
  }
}

}  // namespace

void set_error(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Failure& failure) {
    set_failure(failure);
  } catch (const nb::builtin_exception& error) {
    const bool of_type = error.type() == nb::exception_type::type_error;
    PyErr_SetString(of_type ? PyExc_TypeError : PyExc_ValueError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "an unknown exception");
  }
}

}  // namespace kw::python
