// Arrays of other packages: described where they are, without a copy, and made anew for results.
//
// Looked for, in this order: DLPack's table of C functions (PyTorch), the buffer protocol (NumPy),
// __cuda_array_interface__ (CuPy), __dlpack__.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <vector>

#include "core/pool.hpp"
#include "core/strided.hpp"
#include "module/dlpack.hpp"

namespace kw::python {

namespace nb = nanobind;

// A Python array while a call uses it.
class Array {
 public:
  Array() = default;
  ~Array() { release(); }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  const char* name() const { return name_; }
  const Strided& view() const { return view_; }
  // Throws a TypeError where the library has no such type.
  kwDataType_t type() const;
  bool is(kwDataType_t type) const { return type_ == type; }
  int ordinal() const { return ordinal_; }  // a GPU's, or on_cpu
  bool is_read_only() const { return read_only_; }
  // The stream on which the package that it belongs to works now, where that can be asked.
  std::optional<Stream> stream() const { return stream_; }
  nb::handle object() const { return object_; }

  // Its description. `work` is the stream that a package without a current one is told.
  // Unless `trusted`, as PyTorch's own kernels are, a tensor that requires a gradient is refused
  // and a copy is warned of.
  static Array of(nb::handle object, const char* name, std::optional<Stream> work, bool trusted);
  // Whether its type has DLPack's table of functions, as PyTorch's tensors do.
  static bool has_exchange(nb::handle object);
  // A new array of `like`'s package and device, dense, of these sizes.
  static Array made(const Array& like, const Strided& sizes, kwDataType_t type);
  // A dense copy, with its dimensions in this order; warns (kernelwright.CopyWarning).
  Array dense_copy(const std::vector<int>* order = nullptr) const;

 private:
  enum class Source { none, exchange, buffer, cuda_interface, capsule };

  void swap(Array& other) noexcept;
  void release() noexcept;
  void take_exchange(const dlpack::Exchange& exchange);
  bool take_buffer();
  bool take_cuda_interface();
  bool take_capsule(std::optional<Stream> work);
  void take(const dlpack::Tensor& tensor);
  bool take_type(char kind, std::int64_t bytes);

  const char* name_ = "";  // of static storage
  Source source_ = Source::none;
  Strided view_;
  int type_ = -1;  // a kwDataType_t; -1: the library has none
  std::string type_text_;
  int ordinal_ = on_cpu;
  bool read_only_ = false;
  bool trusted_ = false;
  std::optional<Stream> stream_;
  nb::object object_;
  const dlpack::Exchange* exchange_ = nullptr;
  bool has_buffer_ = false;
  Py_buffer buffer_{};
  nb::object capsule_;
};

}  // namespace kw::python
