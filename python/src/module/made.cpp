// New arrays for results, by the package of a call's first array.
#include <cstring>
#include <string>

#include "core/error.hpp"
#include "module/array.hpp"

namespace kw::python {

namespace {

const char* to_numpy(kwDataType_t type) {
  switch (type) {
    case KW_FLOAT32: return "float32";
    case KW_FLOAT64: return "float64";
    case KW_FLOAT16: return "float16";
    case KW_INT8: return "int8";
    case KW_INT32: return "int32";
    case KW_INT64: return "int64";
    default: return "bfloat16";
  }
}

std::string module_of(nb::handle object) {
  const nb::object name = nb::getattr(object.type(), "__module__", nb::str(""));
  return nb::isinstance<nb::str>(name) ? nb::cast<std::string>(name) : "";
}

bool is_of(const std::string& module, const char* package) {
  const std::size_t length = std::strlen(package);
  return module.compare(0, length, package) == 0 &&
         (module.size() == length || module[length] == '.');
}

nb::tuple tuple_of(const std::int64_t* numbers, int count) {
  nb::tuple made = nb::steal<nb::tuple>(PyTuple_New(count));
  for (int i = 0; i < count; ++i) {
    PyTuple_SetItem(made.ptr(), i, PyLong_FromLongLong(numbers[i]));
  }
  return made;
}

nb::object called(PyObject* function, std::initializer_list<nb::handle> arguments) {
  std::array<PyObject*, 4> passed{};
  std::size_t count = 0;
  for (const nb::handle argument : arguments) passed[count++] = argument.ptr();
  nb::object made = nb::steal(PyObject_Vectorcall(function, passed.data(), count, nullptr));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

// The functions by which models that PyTorch compiled make their results: they take half the time
// of the method. They are private to PyTorch, so where one is missing the method is called.
struct PlainFunctions {
  PyObject* on_cpu = nullptr;
  PyObject* on_cuda = nullptr;
  PyObject* float32 = nullptr;

  PlainFunctions() {
    const nb::object torch = nb::module_::import_("torch");
    nb::object at = torch;
    for (const char* const name : {"_C", "_dynamo", "guards"}) {
      at = nb::getattr(at, name, nb::none());
    }
    const auto keep = [&](const char* name) {
      nb::object found = nb::getattr(at, name, nb::none());
      return found.is_none() ? nullptr : found.release().ptr();
    };
    on_cpu = keep("_empty_strided_cpu");
    on_cuda = keep("_empty_strided_cuda");
    float32 = nb::object(torch.attr("float32")).release().ptr();
  }
};

// (size, stride, float32) of a dense tensor, which those functions take; the last ones are kept,
// since programs ask for few sizes again and again.
nb::object arguments_of(const Strided& dense, nb::handle float32) {
  struct Kept {
    Strided sizes;
    PyObject* arguments = nullptr;
  };
  static auto* const kept = new std::array<Kept, 8>;
  static std::size_t oldest = 0;
  for (const Kept& one : *kept) {
    if (one.arguments != nullptr && one.sizes.has_sizes_of(dense)) return nb::borrow(one.arguments);
  }
  nb::tuple made = nb::make_tuple(tuple_of(dense.size.data(), dense.dimensions),
                                  tuple_of(dense.stride.data(), dense.dimensions), float32);
  Kept& place = (*kept)[oldest++ % kept->size()];
  Py_XDECREF(place.arguments);
  place.sizes = dense;
  place.arguments = made.inc_ref().ptr();
  return made;
}

// A tensor of `like`'s device: PyTorch's own, which it may resize and record for streams.
nb::object new_tensor(nb::handle like, bool is_plain, int ordinal, const Strided& sizes,
                      const char* type, bool of_same_type) {
  Strided dense = sizes;
  dense.make_dense();
  if (is_plain && std::strcmp(type, "float32") == 0) {
    static const PlainFunctions functions;
    PyObject* const function = ordinal == on_cpu             ? functions.on_cpu
                               : ordinal == current_device() ? functions.on_cuda
                                                             : nullptr;
    if (function != nullptr) {
      const nb::object arguments = arguments_of(dense, functions.float32);
      nb::object made = nb::steal(PyObject_Call(function, arguments.ptr(), nullptr));
      if (!made.is_valid()) throw nb::python_error();
      return made;
    }
  }
  const nb::tuple size = tuple_of(dense.size.data(), dense.dimensions);
  const nb::tuple stride = tuple_of(dense.stride.data(), dense.dimensions);
  if (!of_same_type) {
    return like.attr("new_empty_strided")(
        size, stride, nb::arg("dtype") = nb::module_::import_("torch").attr(type));
  }
  return like.attr("new_empty_strided")(size, stride);
}

// The function `empty` of a package, kept.
nb::object new_array(PyObject** function, const char* package, const Strided& sizes,
                     const char* type) {
  if (*function == nullptr) {
    *function = nb::object(nb::module_::import_(package).attr("empty")).release().ptr();
  }
  return called(*function, {tuple_of(sizes.size.data(), sizes.dimensions), nb::str(type)});
}

}  // namespace

Array Array::made(const Array& like, const Strided& sizes, kwDataType_t type) {
  return made_of(like, sizes, to_numpy(type), like.is(type));
}

Array Array::made_complex64(const Array& like, const Strided& sizes) {
  return made_of(like, sizes, "complex64", like.is_complex64());
}

Array Array::made_of(const Array& like, const Strided& sizes, const char* type, bool same) {
  nb::object object;
  const bool is_tensor = like.facts_->makes_tensors;
  const std::string module = is_tensor ? "" : module_of(like.object_);
  if (is_tensor) {
    object =
        new_tensor(like.object_, like.facts_->is_plain_tensor, like.ordinal_, sizes, type, same);
  } else if (is_of(module, "cupy")) {
    static PyObject* empty = nullptr;
    object = new_array(&empty, "cupy", sizes, type);
  } else if (like.ordinal_ == on_cpu) {
    static PyObject* empty = nullptr;
    object = new_array(&empty, "numpy", sizes, type);
  } else {
    throw nb::type_error(sentence(like.name_, " is an array of ", module,
                                  ", in which no result can be made: pass out, or use "
                                  "kernelwright.jax for arrays of JAX")
                             .c_str());
  }
  return of(object, "out", like.stream_, true, &like);
}

}  // namespace kw::python
