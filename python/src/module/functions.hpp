// What the module offers to Python, an operation a file.
#pragma once

#include <nanobind/nanobind.h>

namespace kw::python {

namespace nb = nanobind;

void add_products(nb::module_& module);
void add_attention(nb::module_& module);
void add_level3(nb::module_& module);
void add_out_of_core(nb::module_& module);
void add_reductions(nb::module_& module);
void add_rowwise(nb::module_& module);
void add_scale_add(nb::module_& module);
void add_devices(nb::module_& module);
void add_serving(nb::module_& module);
void add_call_loop(nb::module_& module);
void add_xla_calls(nb::module_& module);  // where the build has jaxlib's headers

}  // namespace kw::python
