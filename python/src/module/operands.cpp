// Checks that all operations share.
#include "module/operands.hpp"

#include <cstring>
#include <string>

#include "core/error.hpp"

namespace kw::python {

namespace {

std::string device_text(int ordinal) {
  return ordinal == on_cpu ? "in host memory" : sentence("on GPU ", ordinal);
}

std::string sizes_text(const Strided& sizes) {
  std::string text = "(";
  for (int i = 0; i < sizes.dimensions; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(sizes.size[i]);
  }
  return text + ")";
}

const char* type_name(kwDataType_t type) {
  constexpr const char* names[] = {"float32", "float64", "float16", "bfloat16",
                                   "int8",    "int32",   "int64"};
  return names[type];
}

void check_sizes(const Array& out, const Strided& sizes) {
  if (out.view().has_sizes_of(sizes)) return;
  refuse(out.name(), " is ", sizes_text(out.view()), ", but the result is ", sizes_text(sizes),
         ": pass one of that size");
}

void check_writable(const Array& out) {
  if (out.is_read_only()) refuse(out.name(), " is read-only: pass an array that may be written");
  const Strided& view = out.view();
  for (int i = 0; i < view.dimensions; ++i) {
    if (view.size[i] > 1 && view.stride[i] == 0) {
      refuse(out.name(), " repeats its elements along dimension ", i,
             ": pass an array with memory of its own");
    }
  }
}

}  // namespace

std::optional<Stream> asked_stream(nb::handle stream) {
  if (stream.is_none()) return std::nullopt;
  return reinterpret_cast<Stream>(nb::cast<std::uintptr_t>(stream));
}

Place place_of(std::initializer_list<const Array*> arrays, std::optional<Stream> asked) {
  const Array* first = nullptr;
  std::optional<Stream> stream = asked;
  for (const Array* array : arrays) {
    if (array == nullptr) continue;
    if (first == nullptr) first = array;
    if (array->ordinal() != first->ordinal()) {
      refuse(first->name(), " lies ", device_text(first->ordinal()), " and ", array->name(), " ",
             device_text(array->ordinal()), ": move them to one device");
    }
    if (!stream) stream = array->stream();
  }
  Place place{first->ordinal(), stream.value_or(nullptr)};
  if (place.ordinal == on_cpu) return {on_cpu, nullptr};
  if (asked) return place;  // the caller orders what is on other streams
  for (const Array* array : arrays) {
    if (array == nullptr || !array->stream() || *array->stream() == place.stream) continue;
    const Stream other = *array->stream();
    const nb::gil_scoped_release without_gil;
    wait_for(other);
  }
  return place;
}

void check_out(const Array& out, const Strided& sizes, kwDataType_t type) {
  check_sizes(out, sizes);
  if (out.type() != type) {
    throw nb::type_error(sentence(out.name(), " has elements of type ", type_name(out.type()),
                                  ", but the result's are ", type_name(type))
                             .c_str());
  }
  check_writable(out);
}

void check_complex_out(const Array& out, const Strided& sizes) {
  check_sizes(out, sizes);
  if (!out.is_complex64()) {
    throw nb::type_error(
        sentence(out.name(), " must have elements of type complex64, as the result has").c_str());
  }
  check_writable(out);
}

kwMath_t to_math(nb::handle math) {
  if (math.is_none() || is_text(math, "fp32")) return KW_MATH_FP32;
  if (is_text(math, "fp32_split")) return KW_MATH_FP32_SPLIT;
  refuse("math is '", nb::str(math).c_str(), "': pass 'fp32' or 'fp32_split'");
}

std::complex<float> to_complex(nb::handle number) {
  const double re = PyComplex_RealAsDouble(number.ptr());
  if (re == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  const double im = PyComplex_ImagAsDouble(number.ptr());
  return {static_cast<float>(re), static_cast<float>(im)};
}

bool is_text(nb::handle object, const char* text) {
  return PyUnicode_Check(object.ptr()) != 0 &&
         PyUnicode_CompareWithASCIIString(object.ptr(), text) == 0;
}

}  // namespace kw::python
