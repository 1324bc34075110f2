// The lists of kernels that compute Sgemm, one function for each place that owns kernels. Each
// target (on_cuda, on_hip, on_host) compiles the same list over its own build of the kernel files.
#pragma once

#include "sgemm/problem.hpp"

namespace kw {
namespace on_cuda {
KernelList<Sgemm> sgemm_production();  // src/sgemm/registry.cu
KernelList<Sgemm> sgemm_rungs();       // ladder/sgemm/rungs.cu
KernelList<Sgemm> sgemm_amd_rungs();   // ladder/sgemm_amd/rungs.cu
}  // namespace on_cuda
namespace on_hip {
KernelList<Sgemm> sgemm_production();
KernelList<Sgemm> sgemm_rungs();
KernelList<Sgemm> sgemm_amd_rungs();
}  // namespace on_hip
namespace on_host {
KernelList<Sgemm> sgemm_production();
KernelList<Sgemm> sgemm_rungs();
KernelList<Sgemm> sgemm_amd_rungs();
}  // namespace on_host

namespace cpu {
KernelList<Sgemm> sgemm_production();  // src/cpu/registry.cpp: cpu_cblas where found, cpu_loop
KernelList<Sgemm> sgemm_rungs();       // ladder/sgemm/cpu_rungs.cpp: r00_cpu_loop
}  // namespace cpu

namespace peers {
KernelList<Sgemm> sgemm_cuda();  // peers/cublas.cpp; empty where not built
KernelList<Sgemm> sgemm_hip();   // peers/rocblas.cpp; empty where not built
KernelList<Sgemm> sgemm_cpu();   // peers/openblas.cpp; empty where not built
}  // namespace peers

}  // namespace kw
