// Products of matrices in host memory on any device, by one call of the C interface.
#pragma once

#include <cstddef>

#include "core/pool.hpp"
#include "core/strided.hpp"

namespace kw::python {

struct OutOfCore {
  Strided a, b, c;  // matrices that BLAS can express
  float alpha = 1, beta = 0;
  kwMath_t math = KW_MATH_FP32;
  std::size_t device_bytes = 0;  // 0: three quarters of the device's memory
};

// Returns once c is written.
void multiply_out_of_core(Context& context, const OutOfCore& call);

}  // namespace kw::python
