// torch.ops.kernelwright.matmul, registered by PyTorch's stable ABI so that one build serves later
// versions, too.
//
//   matmul               what users call. Its kernel for autograd is here as well: it looks whether
//                        a gradient is wanted and calls one of the other two.
//   matmul_no_gradient   records none
//   matmul_with_gradient records one, by kernelwright/torch/_operators.py, where also is what all
//                        three mean to tracing
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

namespace stable = torch::stable::detail;

// What the dispatcher passes, and takes over: in this order on its stack.
struct Arguments {
  Tensor a, b;
  std::optional<Tensor> bias;
  std::int64_t activation, math;

  explicit Arguments(const StableIValue* stack)
      : a(stable::to<AtenTensorHandle>(stack[0])),
        b(stable::to<AtenTensorHandle>(stack[1])),
        activation(stable::to<std::int64_t>(stack[3])),
        math(stable::to<std::int64_t>(stack[4])) {
    const auto given = stable::to<std::optional<AtenTensorHandle>>(stack[2]);
    if (given) bias = Tensor(*given);
  }
  // Gives them to another operator's stack.
  void put(StableIValue* stack) {
    std::optional<AtenTensorHandle> given;
    if (bias) given = bias->release();
    stack[0] = stable::from(a.release());
    stack[1] = stable::from(b.release());
    stack[2] = stable::from(given);
    stack[3] = stable::from(activation);
    stack[4] = stable::from(math);
  }
};

// What a kernel of this thread said last: PyTorch's C functions give a code alone.
thread_local std::string last_sentence;

void matmul(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments given(stack);
  try {
    Tensor c = compute(std::move(given.a), std::move(given.b), std::move(given.bias),
                       given.activation, given.math);
    stack[0] = stable::from(c.release());
  } catch (const std::exception& thrown) {
    last_sentence = thrown.what();
    throw;
  }
}

void matmul_for_autograd(StableIValue* stack, std::uint64_t, std::uint64_t) {
  Arguments given(stack);
  const bool records =
      aoti_torch_grad_mode_is_enabled() && (given.a.requires_grad() || given.b.requires_grad() ||
                                            (given.bias && given.bias->requires_grad()));
  given.put(stack);
  last_sentence.clear();
  const AOTITorchError error = torch_call_dispatcher(
      records ? "kernelwright::matmul_with_gradient" : "kernelwright::matmul_no_gradient", "",
      stack, TORCH_ABI_VERSION);
  if (error != 0 && !last_sentence.empty()) throw std::runtime_error(last_sentence);
  check(error, "kernelwright::matmul");
}

}  // namespace

}  // namespace kw::python::torch_ops

STABLE_TORCH_LIBRARY(kernelwright, library) {
  library.def(
      "matmul(Tensor a, Tensor b, Tensor? bias=None, int activation=0, int math=0) -> Tensor");
  library.def(
      "matmul_no_gradient(Tensor a, Tensor b, Tensor? bias=None, int activation=0, int math=0) "
      "-> Tensor");
  library.def(
      "matmul_with_gradient(Tensor a, Tensor b, Tensor? bias=None, int activation=0, int math=0) "
      "-> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(kernelwright, CUDA, library) {
  library.impl("matmul", kw::python::torch_ops::matmul);
  library.impl("matmul_no_gradient", kw::python::torch_ops::matmul);
  library.impl("matmul_with_gradient", kw::python::torch_ops::matmul);
}
STABLE_TORCH_LIBRARY_IMPL(kernelwright, CPU, library) {
  library.impl("matmul", kw::python::torch_ops::matmul);
  library.impl("matmul_no_gradient", kw::python::torch_ops::matmul);
  library.impl("matmul_with_gradient", kw::python::torch_ops::matmul);
}
STABLE_TORCH_LIBRARY_IMPL(kernelwright, Autograd, library) {
  library.impl("matmul", kw::python::torch_ops::matmul_for_autograd);
}

// Called once, before the first product, with the address that _core gives.
extern "C" __attribute__((visibility("default"))) void kernelwright_torch_connect(
    const void* service) {
  kw::python::torch_ops::shared_service = static_cast<const kw::python::Service*>(service);
}
