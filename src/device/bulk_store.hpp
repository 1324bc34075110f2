// Bulk copies from shared memory back to global memory (PTX ISA, "cp.async.bulk"): one thread has
// the copy engine take a contiguous piece away, and nobody else spends an instruction on it. From
// sm_90 on; a kernel that calls these elsewhere does not run.
#pragma once

#include <cstring>

#include "device/bulk_copy.hpp"

namespace KW_TARGET {

// Copies `bytes`, a multiple of 16, between addresses that are multiples of 16. What threads wrote
// to shared memory is seen if they called shared_writes_before_copies and met this one.
__device__ __forceinline__ void bulk_store([[maybe_unused]] void* to_global,
                                           [[maybe_unused]] const void* from_shared,
                                           [[maybe_unused]] unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to_global),
               "r"(static_cast<unsigned>(__cvta_generic_to_shared(from_shared))), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#elif !defined(__CUDACC__) && !defined(__HIP__)
  std::memcpy(to_global, from_shared, bytes);
#endif
}
// All copies that this thread started back have read what they write: a block may end then.
__device__ __forceinline__ void wait_for_bulk_stores() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

}  // namespace KW_TARGET
