// The lists of kernels that compute Cgemm, one function for each place that owns kernels.
#pragma once

#include "cgemm/problem.hpp"

namespace kw {
namespace on_cuda {
KernelList<Cgemm> cgemm_production();  // src/cgemm/registry.cu
}  // namespace on_cuda
namespace on_hip {
KernelList<Cgemm> cgemm_production();
}  // namespace on_hip
namespace on_host {
KernelList<Cgemm> cgemm_production();
}  // namespace on_host

namespace cpu {
KernelList<Cgemm> cgemm_production();  // src/cpu/registry.cpp
}  // namespace cpu

namespace peers {
KernelList<Cgemm> cgemm_cuda();  // peers/cublas_complex.cpp; empty where not built
}  // namespace peers

}  // namespace kw
