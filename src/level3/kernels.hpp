// The lists of kernels that compute Level3, one function for each place that owns kernels.
#pragma once

#include "level3/problem.hpp"

namespace kw {
namespace on_cuda {
KernelList<Level3> level3_production();  // src/level3/registry.cu
}  // namespace on_cuda
namespace on_hip {
KernelList<Level3> level3_production();
}  // namespace on_hip
namespace on_host {
KernelList<Level3> level3_production();
}  // namespace on_host

namespace cpu {
KernelList<Level3> level3_production();  // src/cpu/registry.cpp
}  // namespace cpu

namespace peers {
KernelList<Level3> level3_cuda();    // peers/cublas_level3.cpp; empty where not built
KernelList<Level3> cholesky_cuda();  // peers/cusolver.cpp; empty where there is none
}  // namespace peers

}  // namespace kw
