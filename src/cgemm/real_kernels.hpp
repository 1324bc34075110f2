// The kernels that compute the real product of a complex one.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/kernels.hpp"
#include "sgemm/production.hpp"

namespace KW_TARGET {

template <Math math>
const KernelList<Sgemm>& real_kernels() {
  static const KernelList<Sgemm> kernels = math == Math::fp32 ? sgemm_fp32() : sgemm_production();
  return kernels;
}

}  // namespace KW_TARGET
