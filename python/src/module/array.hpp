// Arrays of other packages: described where they are, without a copy, and made anew for results.
//
// Looked for, in this order: DLPack's table of C functions (PyTorch), the buffer protocol (NumPy),
// __cuda_array_interface__ (CuPy), __dlpack__.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/pool.hpp"
#include "core/strided.hpp"
#include "module/dlpack.hpp"
#include "module/types.hpp"

namespace kw::python {

namespace nb = nanobind;

// A Python array while a call uses it.
class Array {
 public:
  const char* name() const { return name_; }
  const Strided& view() const { return view_; }
  // Throws a TypeError where the library has no such type.
  kwDataType_t type() const;
  bool is(kwDataType_t type) const { return type_ == type; }
  bool is_complex64() const { return is_complex64_; }
  int ordinal() const { return ordinal_; }  // a GPU's, or on_cpu
  bool is_read_only() const { return read_only_; }
  // The stream on which the package that it belongs to works now, where that can be asked.
  std::optional<Stream> stream() const { return stream_; }
  nb::handle object() const { return object_; }

  // Its description. `work` is the stream that a package without a current one is told.
  // Unless `trusted`, as PyTorch's own kernels are, a tensor that requires a gradient is refused
  // and a copy is warned of. `beside`: another array of the call, whose stream is this one's where
  // both are of one package and device.
  static Array of(nb::handle object, const char* name, std::optional<Stream> work, bool trusted,
                  const Array* beside = nullptr);
  // Whether its type has DLPack's table of functions, as PyTorch's tensors do.
  static bool has_exchange(nb::handle object);
  // A new array of `like`'s package and device, dense, of these sizes.
  static Array made(const Array& like, const Strided& sizes, kwDataType_t type);
  static Array made_complex64(const Array& like, const Strided& sizes);
  // A dense copy, with its dimensions in this order; warns (kernelwright.CopyWarning).
  Array dense_copy(const std::vector<int>* order = nullptr) const;

 private:
  // What arrays of some packages hold until the call is over, and what errors say.
  struct Held {
    Held() = default;
    ~Held() {
      if (has_buffer) PyBuffer_Release(&buffer);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    bool has_buffer = false;
    Py_buffer buffer{};
    nb::object capsule;
    std::string type_text;
  };

  Held& held();
  void take_exchange(const TypeFacts& facts, const Array* beside);
  bool take_buffer();
  bool take_cuda_interface();
  bool take_capsule(std::optional<Stream> work);
  void take(const dlpack::Tensor& tensor);
  static Array made_of(const Array& like, const Strided& sizes, const char* type, bool same);
  bool take_type(char kind, std::int64_t bytes);

  const char* name_ = "";  // of static storage
  Strided view_;
  int type_ = -1;  // a kwDataType_t; -1: the library has none
  bool is_complex64_ = false;
  int ordinal_ = on_cpu;
  bool read_only_ = false;
  bool trusted_ = false;
  std::optional<Stream> stream_;
  nb::object object_;
  const TypeFacts* facts_ = nullptr;
  std::unique_ptr<Held> held_;
};

}  // namespace kw::python
