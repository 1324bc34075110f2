// PyTorch's tensors by the C functions of its stable ABI.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/c/shim.h>

#include <memory>
#include <utility>

#include "core/strided.hpp"

namespace kw::python::torch_ops {

// Throws where one of PyTorch's C functions failed; it writes why to its log.
void check(AOTITorchError error, const char* what);

// Owns a tensor's handle.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(AtenTensorHandle handle) : handle_(handle) {}
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() {
    if (handle_ != nullptr) static_cast<void>(aoti_torch_delete_tensor_object(handle_));
  }

  AtenTensorHandle get() const { return handle_; }
  AtenTensorHandle release() { return std::exchange(handle_, nullptr); }

  bool is_float32() const;
  bool is_on_cuda() const;
  int dimensions() const;
  int device_index() const;
  // Whether autograd records what is made of it. True where this PyTorch does not tell.
  bool requires_grad() const;
  // Address, sizes and strides; at most `most_dimensions`.
  Strided view() const;
  // Itself where it is dense, else a dense copy.
  Tensor contiguous() const;
  // A dense tensor of these sizes, of this one's device, of float32.
  Tensor made_like(const Strided& sizes) const;

 private:
  AtenTensorHandle handle_ = nullptr;
};

// The stream on which PyTorch works now on the device of `tensor`; null on the CPU.
void* current_stream(const Tensor& tensor);

}  // namespace kw::python::torch_ops
