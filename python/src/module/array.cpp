// How arrays of other packages are read.
#include "module/array.hpp"

#include <cstring>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"

namespace kw::python {

namespace {

// The table of C functions of a type, null where it has none. Types that were asked are kept.
const dlpack::Exchange* exchange_of(PyTypeObject* type) {
  static PyTypeObject* last = nullptr;
  static const dlpack::Exchange* last_found = nullptr;
  if (type == last) return last_found;
  static auto* const known = new std::unordered_map<PyTypeObject*, const dlpack::Exchange*>;
  const auto entry = known->find(type);
  const dlpack::Exchange* found = nullptr;
  if (entry != known->end()) {
    found = entry->second;
  } else {
    const nb::object capsule = nb::getattr(nb::handle(reinterpret_cast<PyObject*>(type)),
                                           "__dlpack_c_exchange_api__", nb::none());
    if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") != 0) {
      const auto* offered = static_cast<const dlpack::Exchange*>(
          PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
      if (offered->header.version.major == 1 && offered->export_view != nullptr) found = offered;
    }
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    known->emplace(type, found);
  }
  last = type;
  last_found = found;
  return found;
}

void clear_error(const char* expected) {
  static_cast<void>(expected);
  PyErr_Clear();
}

int to_type(char kind, std::int64_t bytes) {
  if (kind == 'f' && bytes == 4) return KW_FLOAT32;
  if (kind == 'f' && bytes == 8) return KW_FLOAT64;
  if (kind == 'f' && bytes == 2) return KW_FLOAT16;
  if (kind == 'b' && bytes == 2) return KW_BFLOAT16;
  if (kind == 'i' && bytes == 1) return KW_INT8;
  if (kind == 'i' && bytes == 4) return KW_INT32;
  if (kind == 'i' && bytes == 8) return KW_INT64;
  return -1;
}

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

void check_dimensions(const char* name, std::int64_t dimensions) {
  if (dimensions > most_dimensions) {
    refuse(name, " has ", dimensions, " dimensions, more than ", most_dimensions,
           ": reshape it to fewer");
  }
}

// A type with the table of functions, as PyTorch's is: does it make tensors as those are made?
bool makes_tensors(nb::handle object) {
  static PyTypeObject* known = nullptr;
  PyTypeObject* const type = Py_TYPE(object.ptr());
  if (type == known) return true;
  if (!nb::hasattr(object, "new_empty_strided")) return false;
  known = type;
  return true;
}

bool requires_grad(nb::handle object) {
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  PyObject* const found = PyObject_GetAttr(object.ptr(), name);
  if (found == nullptr) {
    PyErr_Clear();
    return false;
  }
  Py_DECREF(found);
  return found == Py_True;
}

nb::tuple tuple_of(const std::int64_t* numbers, int count) {
  nb::tuple made = nb::steal<nb::tuple>(PyTuple_New(count));
  for (int i = 0; i < count; ++i) {
    PyTuple_SetItem(made.ptr(), i, PyLong_FromLongLong(numbers[i]));
  }
  return made;
}

// A tensor of `like`'s device: PyTorch's own, which it may resize and record for streams. With
// strides it takes PyTorch half the time.
nb::object new_tensor(nb::handle like, const Strided& sizes, bool of_same_type, const char* type) {
  static PyObject* const name = PyUnicode_InternFromString("new_empty_strided");
  Strided dense = sizes;
  dense.make_dense();
  const nb::tuple size = tuple_of(dense.size.data(), dense.dimensions);
  const nb::tuple stride = tuple_of(dense.stride.data(), dense.dimensions);
  if (!of_same_type) {
    return like.attr("new_empty_strided")(
        size, stride, nb::arg("dtype") = nb::module_::import_("torch").attr(type));
  }
  nb::object made =
      nb::steal(PyObject_CallMethodObjArgs(like.ptr(), name, size.ptr(), stride.ptr(), nullptr));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

}  // namespace

kwDataType_t Array::type() const {
  if (type_ >= 0) return type_;
  throw nb::type_error(
      sentence(name_, " has elements of type ", type_text_,
               ": convert it to float32 (reductions take float16, bfloat16, float32, float64, "
               "int8, int32 and int64)")
          .c_str());
}

bool Array::has_exchange(nb::handle object) {
  return exchange_of(Py_TYPE(object.ptr())) != nullptr;
}

void Array::swap(Array& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(source_, other.source_);
  std::swap(view_, other.view_);
  std::swap(type_, other.type_);
  std::swap(type_text_, other.type_text_);
  std::swap(ordinal_, other.ordinal_);
  std::swap(read_only_, other.read_only_);
  std::swap(trusted_, other.trusted_);
  std::swap(stream_, other.stream_);
  std::swap(object_, other.object_);
  std::swap(exchange_, other.exchange_);
  std::swap(has_buffer_, other.has_buffer_);
  std::swap(buffer_, other.buffer_);
  std::swap(capsule_, other.capsule_);
}

void Array::release() noexcept {
  if (has_buffer_) PyBuffer_Release(&buffer_);
  has_buffer_ = false;
}

bool Array::take_type(char kind, std::int64_t bytes) {
  type_ = to_type(kind, bytes);
  if (type_ < 0) {
    const char* const word = kind == 'f'   ? "float"
                             : kind == 'i' ? "int"
                             : kind == 'u' ? "uint"
                             : kind == 'c' ? "complex"
                                           : "unknown kind ";
    type_text_ = sentence(word, bytes * 8);
  }
  return type_ >= 0;
}

void Array::take(const dlpack::Tensor& tensor) {
  check_dimensions(name_, tensor.dimensions);
  view_.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view_.dimensions = tensor.dimensions;
  for (int i = 0; i < tensor.dimensions; ++i) view_.size[i] = tensor.size[i];
  if (tensor.stride == nullptr) {
    view_.make_dense();
  } else {
    for (int i = 0; i < tensor.dimensions; ++i) view_.stride[i] = tensor.stride[i];
  }
  const char kind = tensor.type.kind == dlpack::kind_float    ? 'f'
                    : tensor.type.kind == dlpack::kind_bfloat ? 'b'
                    : tensor.type.kind == dlpack::kind_int    ? 'i'
                    : tensor.type.kind == dlpack::kind_uint   ? 'u'
                                                              : '?';
  take_type(tensor.type.lanes == 1 ? kind : '?', tensor.type.bits / 8);
  switch (tensor.device.type) {
    case dlpack::cpu: ordinal_ = on_cpu; break;
    case dlpack::cuda:
    case dlpack::rocm: ordinal_ = tensor.device.id; break;
    case dlpack::cuda_host: ordinal_ = on_cpu; break;
    default:
      refuse(name_, " lies on a device of DLPack's type ", tensor.device.type,
             ": pass arrays in host memory or on a GPU");
  }
}

void Array::take_exchange(const dlpack::Exchange& exchange) {
  source_ = Source::exchange;
  exchange_ = &exchange;
  dlpack::Tensor tensor;
  if (exchange.export_view(object_.ptr(), &tensor) != 0) throw nb::python_error();
  take(tensor);
  if (ordinal_ == on_cpu) return;
  Stream now = nullptr;
  if (exchange.current_stream(tensor.device.type, tensor.device.id, &now) != 0) {
    throw nb::python_error();
  }
  stream_ = now;
}

// A format is a letter of the module struct, after an optional mark of native byte order.
bool Array::take_buffer() {
  if (PyObject_CheckBuffer(object_.ptr()) == 0) return false;
  if (PyObject_GetBuffer(object_.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
    clear_error("BufferError");
    return false;
  }
  has_buffer_ = true;
  source_ = Source::buffer;
  check_dimensions(name_, buffer_.ndim);
  const char* format = buffer_.format == nullptr ? "B" : buffer_.format;
  const char* const whole = format;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const char letter = std::strlen(format) == 1 ? *format : '?';
  const char kind = std::strchr("efd", letter) != nullptr     ? 'f'
                    : std::strchr("bhilq", letter) != nullptr ? 'i'
                                                              : '?';
  if (!take_type(kind, buffer_.itemsize)) type_text_ = sentence("'", whole, "'");
  view_.data = buffer_.buf;
  view_.dimensions = buffer_.ndim;
  for (int i = 0; i < buffer_.ndim; ++i) {
    view_.size[i] = buffer_.shape[i];
    const Py_ssize_t step = buffer_.strides[i];
    if (step % buffer_.itemsize != 0 && view_.size[i] > 1) {
      refuse(name_, " has a stride of ", step, " bytes, no multiple of its elements' ",
             buffer_.itemsize, ": copy it");
    }
    view_.stride[i] = step / buffer_.itemsize;
  }
  read_only_ = buffer_.readonly != 0;
  return true;
}

bool Array::take_cuda_interface() {
  const nb::object found = nb::getattr(object_, "__cuda_array_interface__", nb::none());
  if (found.is_none()) return false;
  source_ = Source::cuda_interface;
  const nb::dict description = nb::cast<nb::dict>(found);
  const nb::tuple data = nb::cast<nb::tuple>(description["data"]);
  const std::string type = nb::cast<std::string>(description["typestr"]);
  const nb::tuple shape = nb::cast<nb::tuple>(description["shape"]);
  check_dimensions(name_, static_cast<std::int64_t>(shape.size()));
  view_.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0]));
  read_only_ = nb::cast<bool>(data[1]);
  const std::int64_t bytes = type.size() > 2 ? std::strtoll(type.c_str() + 2, nullptr, 10) : 0;
  const bool is_native = !type.empty() && type[0] != '>';
  // ml_dtypes' bfloat16 has the kind V here, as raw memory has: it is not taken for one.
  if (!take_type(is_native && type.size() > 2 ? type[1] : '?', bytes)) type_text_ = type;
  view_.dimensions = static_cast<int>(shape.size());
  for (int i = 0; i < view_.dimensions; ++i) view_.size[i] = nb::cast<std::int64_t>(shape[i]);
  const nb::object strides =
      description.contains("strides") ? nb::object(description["strides"]) : nb::none();
  if (strides.is_none()) {
    view_.make_dense();
  } else {
    const nb::tuple steps = nb::cast<nb::tuple>(strides);
    for (int i = 0; i < view_.dimensions; ++i) {
      const auto step = nb::cast<std::int64_t>(steps[i]);
      if (bytes > 0 && step % bytes != 0 && view_.size[i] > 1) {
        refuse(name_, " has a stride of ", step, " bytes, no multiple of its elements' ", bytes,
               ": copy it");
      }
      view_.stride[i] = bytes > 0 ? step / bytes : step;
    }
  }
  const nb::object stream =
      description.contains("stream") ? nb::object(description["stream"]) : nb::none();
  if (!stream.is_none()) {
    const auto number = nb::cast<std::uintptr_t>(stream);  // 1 is the legacy default stream
    stream_ = number == 1 ? nullptr : reinterpret_cast<Stream>(number);
  }
  if (nb::hasattr(object_, "__dlpack_device__")) {
    const nb::tuple device = nb::cast<nb::tuple>(object_.attr("__dlpack_device__")());
    ordinal_ = nb::cast<int>(device[1]);
  } else {
    ordinal_ = device_of(view_.data);
  }
  return true;
}

bool Array::take_capsule(std::optional<Stream> work) {
  if (!nb::hasattr(object_, "__dlpack__") || !nb::hasattr(object_, "__dlpack_device__")) {
    return false;
  }
  source_ = Source::capsule;
  const nb::tuple device = nb::cast<nb::tuple>(object_.attr("__dlpack_device__")());
  const int device_type = nb::cast<int>(device[0]);
  const nb::object method = object_.attr("__dlpack__");
  if (device_type == dlpack::cpu || device_type == dlpack::cuda_host) {
    capsule_ = method();
  } else {
    // DLPack's number of CUDA's legacy default stream is 1.
    const Stream stream = work.value_or(nullptr);
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    capsule_ = method(nb::arg("stream") = number == 0 ? 1 : number);
    if (work) stream_ = stream;
  }
  if (PyCapsule_IsValid(capsule_.ptr(), "dltensor_versioned") != 0) {
    const auto* held = static_cast<const dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule_.ptr(), "dltensor_versioned"));
    read_only_ = (held->flags & dlpack::flag_read_only) != 0;
    take(held->tensor);
  } else {
    const auto* held =
        static_cast<const dlpack::Managed*>(PyCapsule_GetPointer(capsule_.ptr(), "dltensor"));
    if (held == nullptr) throw nb::python_error();
    take(held->tensor);
  }
  return true;  // the capsule, not renamed, frees the tensor when it goes
}

Array Array::of(nb::handle object, const char* name, std::optional<Stream> work, bool trusted) {
  Array array;
  array.name_ = name;
  array.trusted_ = trusted;
  array.object_ = nb::borrow(object);
  const dlpack::Exchange* const exchange = exchange_of(Py_TYPE(object.ptr()));
  if (exchange != nullptr) {
    if (!trusted && requires_grad(object)) {
      refuse(name,
             " requires a gradient, which this function does not record: call the one of "
             "kernelwright.torch, or pass ",
             name, ".detach()");
    }
    array.take_exchange(*exchange);
    return array;
  }
  if (array.take_buffer() || array.take_cuda_interface() || array.take_capsule(work)) return array;
  throw nb::type_error(sentence(name, " is a ",
                                nb::cast<std::string>(nb::str(object.type().attr("__name__"))),
                                ", no array: pass one with DLPack, __cuda_array_interface__ or the "
                                "buffer protocol")
                           .c_str());
}

Array Array::made(const Array& like, const Strided& sizes, kwDataType_t type) {
  nb::object object;
  const bool is_tensor = like.exchange_ != nullptr && makes_tensors(like.object_);
  const std::string module = is_tensor ? "" : module_of(like.object_);
  if (is_tensor) {
    object = new_tensor(like.object_, sizes, like.is(type), to_numpy(type));
  } else if (is_of(module, "cupy")) {
    object = nb::module_::import_("cupy").attr("empty")(
        tuple_of(sizes.size.data(), sizes.dimensions), to_numpy(type));
  } else if (like.ordinal_ == on_cpu) {
    object = nb::module_::import_("numpy").attr("empty")(
        tuple_of(sizes.size.data(), sizes.dimensions), to_numpy(type));
  } else {
    throw nb::type_error(sentence(like.name_, " is an array of ", module,
                                  ", in which no result can be made: pass out, or use "
                                  "kernelwright.jax for arrays of JAX")
                             .c_str());
  }
  return of(object, "out", like.stream_, true);
}

Array Array::dense_copy(const std::vector<int>* order) const {
  nb::object permutation = nb::none();
  if (order != nullptr) {
    nb::list list;
    for (const int i : *order) list.append(i);
    permutation = nb::tuple(list);
  }
  const nb::object copy = nb::module_::import_("kernelwright._arrays")
                              .attr("dense_copy")(object_, name_, permutation, trusted_);
  return of(copy, name_, stream_, true);
}

}  // namespace kw::python
