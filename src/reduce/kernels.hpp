// The lists of kernels that compute Reduce, one function for each place that owns kernels.
#pragma once

#include "reduce/problem.hpp"

namespace kw {
namespace on_cuda {
KernelList<Reduce> reduce_production();  // src/reduce/registry.cu
KernelList<Reduce> reduce_rungs();       // ladder/reduce/rungs.cu
}  // namespace on_cuda
namespace on_hip {
KernelList<Reduce> reduce_production();
KernelList<Reduce> reduce_rungs();
}  // namespace on_hip
namespace on_host {
KernelList<Reduce> reduce_production();
KernelList<Reduce> reduce_rungs();
}  // namespace on_host

namespace cpu {
KernelList<Reduce> reduce_production();  // src/cpu/registry.cpp
KernelList<Reduce> reduce_rungs();       // ladder/reduce/cpu_rungs.cpp: r00_cpu_loop
}  // namespace cpu

namespace peers {
KernelList<Reduce> reduce_cuda();  // peers/cub.cu; empty where not built
KernelList<Reduce> reduce_cpu();   // peers/openmp_reduce.cpp; empty where not built
}  // namespace peers

}  // namespace kw
