// What the module offers to Python, an operation a file.
#pragma once

#include <nanobind/nanobind.h>

namespace kw::python {

void add_products(nanobind::module_& module);
void add_reductions(nanobind::module_& module);
void add_scale_add(nanobind::module_& module);
void add_devices(nanobind::module_& module);

}  // namespace kw::python
