// A product of matrices in host memory that are too large for the device that computes it.
//
// C = alpha * op(A) * op(B) + beta * C, as sgemm.hpp has it, but A, B and C lie in host memory, of
// any kind. Tiles of them go through pinned buffers to the device and back, under the products.
//
// Memory     At most `device_bytes` of the device and 256 MiB of pinned host memory are taken, all
// but
//            the context's workspace for the time of the call alone.
// Time       The call returns when C is written. It takes as long as the products, where the link
//            between host and device and the host's memory keep up: each tile of C wants
//            4 k (m + n) bytes for 2 m n k operations.
// Same bits  The same call with the same device_bytes on the same device gives the same bits.
// Errors     kw::Error, as sgemm.hpp has it, and "options.device_bytes" where no tile fits. After
//            out_of_memory nothing was written; after device_error parts of C may have been.
#pragma once

#include <cstddef>

#include "kernelwright/context.hpp"
#include "kernelwright/export.h"
#include "kernelwright/math.hpp"
#include "kernelwright/matrix.hpp"

namespace kw {

struct OutOfCoreOptions {
  Math math = Math::fp32;
  std::size_t device_bytes = 0;  ///< 0: three quarters of the device's memory
};

KW_API void sgemm_out_of_core(Context& context, float alpha, MatrixView<const float> a,
                              MatrixView<const float> b, float beta, MatrixView<float> c,
                              const OutOfCoreOptions& options = {});

}  // namespace kw
