// Products in 16 bits by the vendor's library: what the tensor cores give while the board's power
// lasts, and so what a split product, which takes three such products, can reach at most.
#pragma once

#include <vector>

#include "sgemm/problem.hpp"

namespace kw::peers {

struct Anchor {
  // The whole way from FP32 operands to an FP32 result, which a check can judge.
  Kernel<Sgemm> kernel;
  const char* type;  // "fp16", "bf16"
  // The product alone, once more on the operands that `kernel` left in the workspace, into the
  // result that lies there. This is what is timed.
  KernelLaunch<Sgemm>* product;
};

// Of plain products with beta 0. Empty where there is no such library.
std::vector<Anchor> sgemm_anchors(DeviceKind kind);

}  // namespace kw::peers
