// What is asked of PyTorch. Functions that a build without CUDA lacks are looked up by name.
#include "torch/tensors.hpp"

#include <dlfcn.h>
#include <torch/csrc/stable/stableivalue_conversions.h>

#include <stdexcept>
#include <string>

#include "core/error.hpp"

namespace kw::python::torch_ops {

namespace {

template <class Function>
Function cuda_function(const char* name) {
  static void* const library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

// From 2.13 on PyTorch tells what failed.
void check(AOTITorchError error, const char* what) {
  if (error == 0) return;
  using Get = const char* (*)();
  static const auto get =
      reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "torch_exception_get_what_without_backtrace"));
  const char* const why = get == nullptr ? nullptr : get();
  throw std::runtime_error(why != nullptr ? why : sentence("PyTorch failed in ", what));
}

bool Tensor::is_float32() const {
  static const std::int32_t float32 = aoti_torch_dtype_float32();
  std::int32_t type = 0;
  check(aoti_torch_get_dtype(handle_, &type), "aoti_torch_get_dtype");
  return type == float32;
}

bool Tensor::is_on_cuda() const {
  static const std::int32_t cuda = aoti_torch_device_type_cuda();
  std::int32_t type = 0;
  check(aoti_torch_get_device_type(handle_, &type), "aoti_torch_get_device_type");
  return type == cuda;
}

int Tensor::dimensions() const {
  std::int64_t count = 0;
  check(aoti_torch_get_dim(handle_, &count), "aoti_torch_get_dim");
  return static_cast<int>(count);
}

int Tensor::device_index() const {
  std::int32_t index = 0;
  check(aoti_torch_get_device_index(handle_, &index), "aoti_torch_get_device_index");
  return index;
}

// The stable ABI sets it, but does not tell it. A handle is the address of an at::Tensor, which is
// a pointer to its c10::TensorImpl.
bool Tensor::requires_grad() const {
  using Get = bool (*)(const void*);
  static void* const library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  static const Get tells =
      library == nullptr
          ? nullptr
          : reinterpret_cast<Get>(dlsym(library, "_ZNK3c1010TensorImpl13requires_gradEv"));
  return tells == nullptr || tells(*reinterpret_cast<const void* const*>(handle_));
}

Strided Tensor::view() const {
  Strided found;
  found.dimensions = dimensions();
  if (found.dimensions > most_dimensions) {
    refuse("a tensor has ", found.dimensions, " dimensions, more than ", most_dimensions);
  }
  std::int64_t *sizes = nullptr, *strides = nullptr;
  check(aoti_torch_get_sizes(handle_, &sizes), "aoti_torch_get_sizes");
  check(aoti_torch_get_strides(handle_, &strides), "aoti_torch_get_strides");
  check(aoti_torch_get_data_ptr(handle_, &found.data), "aoti_torch_get_data_ptr");
  for (int i = 0; i < found.dimensions; ++i) {
    found.size[i] = sizes[i];
    found.stride[i] = strides[i];
  }
  return found;
}

Tensor Tensor::contiguous() const {
  AtenTensorHandle dense = nullptr;
  check(aoti_torch_new_tensor_handle(handle_, &dense), "aoti_torch_new_tensor_handle");
  StableIValue stack[2] = {
      torch::stable::detail::from(dense),
      torch::stable::detail::from(torch::headeronly::MemoryFormat::Contiguous)};
  check(torch_call_dispatcher("aten::contiguous", "", stack, TORCH_ABI_VERSION), "contiguous");
  return Tensor(torch::stable::detail::to<AtenTensorHandle>(stack[0]));
}

Tensor Tensor::made_like(const Strided& sizes) const {
  Strided dense = sizes;
  dense.make_dense();
  std::int32_t type = 0, index = 0;
  check(aoti_torch_get_device_type(handle_, &type), "aoti_torch_get_device_type");
  check(aoti_torch_get_device_index(handle_, &index), "aoti_torch_get_device_index");
  AtenTensorHandle made = nullptr;
  // What fails is mostly for want of memory.
  check(aoti_torch_empty_strided(dense.dimensions, dense.size.data(), dense.stride.data(),
                                 aoti_torch_dtype_float32(), type, index, &made),
        "aoti_torch_empty_strided");
  return Tensor(made);
}

void* current_stream(const Tensor& tensor) {
  using Get = AOTITorchError (*)(std::int32_t, void**);
  static const Get get = cuda_function<Get>("aoti_torch_get_current_cuda_stream");
  if (!tensor.is_on_cuda()) return nullptr;
  if (get == nullptr) throw std::runtime_error("this PyTorch does not tell its current stream");
  void* stream = nullptr;
  check(get(tensor.device_index(), &stream), "aoti_torch_get_current_cuda_stream");
  return stream;
}

}  // namespace kw::python::torch_ops
