// The lists of kernels that compute Ctrsm, one function for each place that owns kernels.
#pragma once

#include "ctrsm/problem.hpp"

namespace kw {
namespace on_cuda {
KernelList<Ctrsm> ctrsm_production();  // src/ctrsm/registry.cu
}  // namespace on_cuda
namespace on_hip {
KernelList<Ctrsm> ctrsm_production();
}  // namespace on_hip
namespace on_host {
KernelList<Ctrsm> ctrsm_production();
}  // namespace on_host

namespace cpu {
KernelList<Ctrsm> ctrsm_production();  // src/cpu/registry.cpp
}  // namespace cpu

namespace peers {
KernelList<Ctrsm> ctrsm_cuda();  // peers/cublas_complex_solve.cpp; empty where not built
}  // namespace peers

}  // namespace kw
