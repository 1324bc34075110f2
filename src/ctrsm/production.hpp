// What the files of the kernels of complex systems give to registry.cu.
#pragma once

#include "ctrsm/problem.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

KernelList<Ctrsm> ctrsm_blocks_rows();  // blocks.cu: the split arithmetic first
KernelLaunch<Ctrsm> ctrsm_loop_launch;  // loop.cu

}  // namespace KW_TARGET
