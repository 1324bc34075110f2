// The lists of kernels that compute Rowwise, one function for each place that owns kernels.
#pragma once

#include "rowwise/problem.hpp"

namespace kw {
namespace on_cuda {
KernelList<Rowwise> rowwise_production();  // src/rowwise/registry.cu
KernelList<Rowwise> rowwise_copy();        // peers/copy.cu
}  // namespace on_cuda
namespace on_hip {
KernelList<Rowwise> rowwise_production();
}  // namespace on_hip
namespace on_host {
KernelList<Rowwise> rowwise_production();
KernelList<Rowwise> rowwise_copy();
}  // namespace on_host

namespace cpu {
KernelList<Rowwise> rowwise_production();  // src/cpu/registry.cpp
}  // namespace cpu

}  // namespace kw
