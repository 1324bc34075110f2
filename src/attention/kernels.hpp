// The lists of kernels that compute attention, one function for each place that owns kernels.
#pragma once

#include "attention/problem.hpp"

namespace kw {
namespace on_cuda {
KernelList<Attention> attention_production();  // src/attention/registry.cu
KernelList<Attention> attention_rungs();       // ladder/attention/rungs.cu
}  // namespace on_cuda
namespace on_hip {
KernelList<Attention> attention_production();
KernelList<Attention> attention_rungs();
}  // namespace on_hip
namespace on_host {
KernelList<Attention> attention_production();
KernelList<Attention> attention_rungs();
}  // namespace on_host

namespace cpu {
KernelList<Attention> attention_production();  // src/cpu/registry.cpp
}  // namespace cpu

}  // namespace kw
