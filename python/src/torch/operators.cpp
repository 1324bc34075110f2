// torch.ops.kernelwright.matmul, registered by PyTorch's stable ABI so that one build serves later
// versions, too. What it means to autograd and to tracing is in kernelwright/torch/_operators.py.
#include <torch/csrc/stable/library.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/service.hpp"
#include "torch/tensors.hpp"

namespace kw::python::torch_ops {

namespace {

const Service* shared_service = nullptr;

// The matrices of an operand, dense where BLAS cannot express them as they lie.
Strided matrices(const char* name, Tensor* tensor) {
  if (!tensor->is_float32()) refuse(name, " must have elements of type float32");
  if (tensor->dimensions() < 2) refuse(name, " must have two dimensions or more");
  const Strided view = tensor->view();
  if (shared_service->is_expressible(view)) return view;
  *tensor = tensor->contiguous();
  return tensor->view();
}

Tensor compute(Tensor a, Tensor b, std::optional<Tensor> bias, std::int64_t activation,
               std::int64_t math) {
  if (shared_service == nullptr) throw std::runtime_error("import kernelwright.torch first");
  Product product;
  product.a = matrices("a", &a);
  product.b = matrices("b", &b);
  const ProductSize size = product_size(product.a, product.b);
  const bool on_cuda = a.is_on_cuda();
  const int ordinal = on_cuda ? a.device_index() : on_cpu;
  const auto check_place = [&](const char* name, const Tensor& tensor) {
    if (tensor.is_on_cuda() != on_cuda || (on_cuda && tensor.device_index() != ordinal)) {
      refuse("a and ", name, " lie on different devices: move them to one");
    }
  };
  check_place("b", b);
  if (bias) {
    check_place("bias", *bias);
    if (!bias->is_float32() || bias->dimensions() != 1 || bias->view().size[0] != size.n) {
      refuse("bias must be a float32 vector of ", size.n, " elements");
    }
    *bias = bias->contiguous();
    product.bias = static_cast<const float*>(bias->view().data);
  }
  Tensor c = a.made_like(size.result);
  product.c = c.view();
  product.activation = static_cast<kwActivation_t>(activation);
  product.math = static_cast<kwMath_t>(math);
  std::string error;
  if (!shared_service->multiply(ordinal, current_stream(a), product, &error)) {
    throw std::runtime_error(error);
  }
  return c;
}

Tensor stolen(StableIValue value) {
  return Tensor(torch::stable::detail::to<AtenTensorHandle>(value));
}

void matmul(StableIValue* stack, std::uint64_t, std::uint64_t) {
  using torch::stable::detail::to;
  Tensor a = stolen(stack[0]);
  Tensor b = stolen(stack[1]);
  std::optional<Tensor> bias;
  const auto given = to<std::optional<AtenTensorHandle>>(stack[2]);
  if (given) bias = Tensor(*given);
  Tensor c = compute(std::move(a), std::move(b), std::move(bias), to<std::int64_t>(stack[3]),
                     to<std::int64_t>(stack[4]));
  stack[0] = torch::stable::detail::from(c.release());
}

}  // namespace

}  // namespace kw::python::torch_ops

STABLE_TORCH_LIBRARY(kernelwright, library) {
  library.def(
      "matmul(Tensor a, Tensor b, Tensor? bias=None, int activation=0, int math=0) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(kernelwright, CUDA, library) {
  library.impl("matmul", kw::python::torch_ops::matmul);
}
STABLE_TORCH_LIBRARY_IMPL(kernelwright, CPU, library) {
  library.impl("matmul", kw::python::torch_ops::matmul);
}

// Called once, before the first product, with the address that _core gives.
extern "C" __attribute__((visibility("default"))) void kernelwright_torch_connect(
    const void* service) {
  kw::python::torch_ops::shared_service = static_cast<const kw::python::Service*>(service);
}
