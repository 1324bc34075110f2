// For kernels whose threads look again and again at memory until a thread of another block has
// written there.
#pragma once

#include "gpu/gpu.hpp"
#if !defined(__CUDACC__) && !defined(__HIP__)
#include "host_simt/polling.hpp"
#endif

namespace KW_TARGET::gpu {

// Between two looks: in host SIMT it lets all other threads run, which on a GPU run anyway.
__device__ __forceinline__ void between_looks() {
#if !defined(__CUDACC__) && !defined(__HIP__)
  kw::host_simt::let_others_run();
#endif
}

}  // namespace KW_TARGET::gpu
