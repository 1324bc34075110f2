// How arrays of other packages are read.
#include "module/array.hpp"

#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace kw::python {

namespace {

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

void check_dimensions(const char* name, std::int64_t dimensions) {
  if (dimensions > most_dimensions) {
    refuse(name, " has ", dimensions, " dimensions, more than ", most_dimensions,
           ": reshape it to fewer");
  }
}

}  // namespace

kwDataType_t Array::type() const {
  if (type_ >= 0) return type_;
  throw nb::type_error(sentence(name_, " has elements of type ", held_ ? held_->type_text : "",
                                ": convert it to float32 (products also take two arrays of "
                                "complex64; reductions take float16, bfloat16, float32, float64, "
                                "int8, int32 and int64)")
                           .c_str());
}

bool Array::has_exchange(nb::handle object) { return facts_of(object.ptr()).exchange != nullptr; }

Array::Held& Array::held() {
  if (held_ == nullptr) held_ = std::make_unique<Held>();
  return *held_;
}

bool Array::take_type(char kind, std::int64_t bytes) {
  type_ = to_type(kind, bytes);
  is_complex64_ = kind == 'c' && bytes == 8;
  if (type_ < 0) {
    const char* const word = kind == 'f'   ? "float"
                             : kind == 'i' ? "int"
                             : kind == 'u' ? "uint"
                             : kind == 'c' ? "complex"
                                           : "unknown kind ";
    held().type_text = sentence(word, bytes * 8);
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
  const char kind = tensor.type.kind == dlpack::kind_float     ? 'f'
                    : tensor.type.kind == dlpack::kind_bfloat  ? 'b'
                    : tensor.type.kind == dlpack::kind_int     ? 'i'
                    : tensor.type.kind == dlpack::kind_uint    ? 'u'
                    : tensor.type.kind == dlpack::kind_complex ? 'c'
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

void Array::take_exchange(const TypeFacts& facts, const Array* beside) {
  const dlpack::Exchange& exchange = *facts.exchange;
  dlpack::Tensor tensor;
  if (exchange.export_view(object_.ptr(), &tensor) != 0) throw nb::python_error();
  take(tensor);
  if (ordinal_ == on_cpu) return;
  const bool same = beside != nullptr && beside->facts_ != nullptr && beside->stream_ &&
                    beside->facts_->exchange == facts.exchange && beside->ordinal_ == ordinal_;
  if (same) {
    stream_ = beside->stream_;
    return;
  }
  Stream now = nullptr;
  if (exchange.current_stream(tensor.device.type, tensor.device.id, &now) != 0) {
    throw nb::python_error();
  }
  stream_ = now;
}

// A format is a letter of the module struct, after an optional mark of native byte order.
bool Array::take_buffer() {
  if (PyObject_CheckBuffer(object_.ptr()) == 0) return false;
  Py_buffer& buffer = held().buffer;
  if (PyObject_GetBuffer(object_.ptr(), &buffer, PyBUF_RECORDS_RO) != 0) {
    clear_error("BufferError");
    return false;
  }
  held_->has_buffer = true;
  check_dimensions(name_, buffer.ndim);
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  const char* const whole = format;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const bool is_complex = std::strcmp(format, "Zf") == 0;
  const char letter = std::strlen(format) == 1 ? *format : '?';
  const char kind = is_complex                                ? 'c'
                    : std::strchr("efd", letter) != nullptr   ? 'f'
                    : std::strchr("bhilq", letter) != nullptr ? 'i'
                                                              : '?';
  if (!take_type(kind, buffer.itemsize) && !is_complex64_)
    held_->type_text = sentence("'", whole, "'");
  view_.data = buffer.buf;
  view_.dimensions = buffer.ndim;
  for (int i = 0; i < buffer.ndim; ++i) {
    view_.size[i] = buffer.shape[i];
    const Py_ssize_t step = buffer.strides[i];
    if (step % buffer.itemsize != 0 && view_.size[i] > 1) {
      refuse(name_, " has a stride of ", step, " bytes, no multiple of its elements' ",
             buffer.itemsize, ": copy it");
    }
    view_.stride[i] = step / buffer.itemsize;
  }
  read_only_ = buffer.readonly != 0;
  return true;
}

bool Array::take_cuda_interface() {
  const nb::object found = nb::getattr(object_, "__cuda_array_interface__", nb::none());
  if (found.is_none()) return false;
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
  if (!take_type(is_native && type.size() > 2 ? type[1] : '?', bytes)) held().type_text = type;
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
  nb::object& capsule = held().capsule;
  const nb::tuple device = nb::cast<nb::tuple>(object_.attr("__dlpack_device__")());
  const int device_type = nb::cast<int>(device[0]);
  const nb::object method = object_.attr("__dlpack__");
  if (device_type == dlpack::cpu || device_type == dlpack::cuda_host) {
    capsule = method();
  } else {
    // DLPack's number of CUDA's legacy default stream is 1.
    const Stream stream = work.value_or(nullptr);
    const auto number = reinterpret_cast<std::uintptr_t>(stream);
    capsule = method(nb::arg("stream") = number == 0 ? 1 : number);
    if (work) stream_ = stream;
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    const auto* held = static_cast<const dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    read_only_ = (held->flags & dlpack::flag_read_only) != 0;
    take(held->tensor);
  } else {
    const auto* held =
        static_cast<const dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (held == nullptr) throw nb::python_error();
    take(held->tensor);
  }
  return true;  // the capsule, not renamed, frees the tensor when it goes
}

Array Array::of(nb::handle object, const char* name, std::optional<Stream> work, bool trusted,
                const Array* beside) {
  Array array;
  array.name_ = name;
  array.trusted_ = trusted;
  array.object_ = nb::borrow(object);
  const TypeFacts& facts = facts_of(object.ptr());
  array.facts_ = &facts;
  if (facts.exchange != nullptr) {
    if (!trusted && requires_grad(facts, object.ptr())) {
      refuse(name,
             " requires a gradient, which this function does not record: call the one of "
             "kernelwright.torch, or pass ",
             name, ".detach()");
    }
    array.take_exchange(facts, beside);
    return array;
  }
  if (array.take_buffer() || array.take_cuda_interface() || array.take_capsule(work)) return array;
  throw nb::type_error(sentence(name, " is a ",
                                nb::cast<std::string>(nb::str(object.type().attr("__name__"))),
                                ", no array: pass one with DLPack, __cuda_array_interface__ or the "
                                "buffer protocol")
                           .c_str());
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
