// What a launch reads first, asked for while the launch before it ends.
//
// Idea        The first blocks are on the device by then, and wait (device/overlap.hpp). The L2
//             cache sees all writes, so it may bring what somebody still writes: memory reads for
//             this launch while the one before has little left to do.
#pragma once

#include "device/overlap.hpp"
#include "rowwise/packs.hpp"

namespace KW_TARGET::rowwise {

// The packs that hold so many bytes from there on, at least one.
__device__ __forceinline__ void ask_for(const void* from, std::int64_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(from), begin = address / pack_bytes;
  const auto end = (address + static_cast<std::uintptr_t>(bytes) + pack_bytes - 1) / pack_bytes;
  prefetch_to_l2(reinterpret_cast<const void*>(begin * pack_bytes),
                 static_cast<unsigned>((end - begin) * pack_bytes));
}

// So many bytes of a norm's gamma and beta, by two threads.
__device__ __forceinline__ void ask_for_scales(const Rowwise& p, std::int64_t skip,
                                               std::int64_t bytes, int thread) {
  if (thread >= 2) return;
  const void* const from = thread == 0 ? p.gamma : p.beta;
  if (from != nullptr) ask_for(static_cast<const char*>(from) + skip, bytes);
}

}  // namespace KW_TARGET::rowwise
