// Facts of types, in a map by type. All of it under the GIL.
#include "module/types.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <unordered_map>

namespace kw::python {

namespace {

namespace nb = nanobind;

const dlpack::Exchange* exchange_of(nb::handle type) {
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") == 0) return nullptr;
  const auto* offered = static_cast<const dlpack::Exchange*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  const bool is_known = offered->header.version.major == 1 && offered->export_view != nullptr;
  return is_known ? offered : nullptr;
}

bool is_plain_tensor(nb::handle type) {
  const nb::object module = nb::getattr(type, "__module__", nb::none());
  if (!nb::isinstance<nb::str>(module)) return false;
  const auto of = nb::cast<std::string>(module);
  const auto name = nb::cast<std::string>(nb::str(type.attr("__name__")));
  return (of == "torch" && name == "Tensor") || (of == "torch.nn.parameter" && name == "Parameter");
}

TypeFacts found_of(nb::handle type) {
  TypeFacts facts;
  facts.exchange = exchange_of(type);
  if (facts.exchange == nullptr) return facts;
  facts.makes_tensors = nb::hasattr(type, "new_empty_strided");
  facts.is_plain_tensor = is_plain_tensor(type);
  nb::object gradient = nb::getattr(type, "requires_grad", nb::none());
  facts.get_requires_grad =
      reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(gradient.ptr()), Py_tp_descr_get));
  facts.requires_grad = gradient.release().ptr();
  return facts;
}

}  // namespace

const TypeFacts& facts_of(PyObject* object) {
  static PyTypeObject* last = nullptr;
  static const TypeFacts* last_found = nullptr;
  static auto* const known = new std::unordered_map<PyTypeObject*, TypeFacts>;
  PyTypeObject* const type = Py_TYPE(object);
  if (type == last) return *last_found;
  auto entry = known->find(type);
  if (entry == known->end()) {
    entry = known->emplace(type, found_of(reinterpret_cast<PyObject*>(type))).first;
    Py_INCREF(reinterpret_cast<PyObject*>(type));
  }
  last = type;
  last_found = &entry->second;
  return entry->second;
}

bool requires_grad(const TypeFacts& facts, PyObject* object) {
  if (facts.get_requires_grad == nullptr) return false;
  PyObject* const found = facts.get_requires_grad(facts.requires_grad, object,
                                                  reinterpret_cast<PyObject*>(Py_TYPE(object)));
  if (found == nullptr) throw nb::python_error();
  Py_DECREF(found);
  return found == Py_True;
}

}  // namespace kw::python
