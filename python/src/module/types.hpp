// What the types of other packages' arrays offer, looked up once a type.
#pragma once

#include <Python.h>

#include "module/dlpack.hpp"

namespace kw::python {

struct TypeFacts {
  // DLPack's table of C functions; null where the type has none.
  const dlpack::Exchange* exchange = nullptr;
  // What gives an object's requires_grad, as the type has it; null where it has none.
  PyObject* requires_grad = nullptr;
  descrgetfunc get_requires_grad = nullptr;
  bool makes_tensors = false;    // it has new_empty_strided
  bool is_plain_tensor = false;  // torch.Tensor or torch.nn.Parameter itself
};

// Of an object's type, which is kept for good.
const TypeFacts& facts_of(PyObject* object);

// Whether a tensor's result would lack its gradient.
bool requires_grad(const TypeFacts& facts, PyObject* object);

}  // namespace kw::python
