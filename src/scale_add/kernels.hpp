// The lists of kernels that compute ScaleAdd, one function for each place that owns kernels.
#pragma once

#include "scale_add/problem.hpp"

namespace kw {
namespace on_cuda {
KernelList<ScaleAdd> scale_add_production();  // src/scale_add/registry.cu
}  // namespace on_cuda
namespace on_hip {
KernelList<ScaleAdd> scale_add_production();
}  // namespace on_hip
namespace on_host {
KernelList<ScaleAdd> scale_add_production();
}  // namespace on_host

namespace cpu {
KernelList<ScaleAdd> scale_add_production();  // src/cpu/registry.cpp
}  // namespace cpu

}  // namespace kw
