// Data in global memory that threads of one block write and those of another block of the same
// launch read, by bulk copies too: a note beside them says that they are there.
#pragma once

#include <cstdint>

#include "device/ticket.hpp"

namespace KW_TARGET {

// What this thread wrote to global memory before, bulk copies that start after a note of it was
// seen do not overtake; and those that this thread starts do not overtake what it has seen (PTX
// ISA, "fence.proxy.async"). Writers call it behind their writes, readers behind see_note.
__device__ __forceinline__ void global_writes_before_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
}

// One thread writes the note, behind a barrier of all those that wrote the data.
__device__ __forceinline__ void publish_note(std::uint32_t* note, std::uint32_t value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(note), "r"(value) : "memory");
#else
  __threadfence();
  *static_cast<volatile std::uint32_t*>(note) = value;
#endif
}

// The note, once; where it is there, so are the data.
__device__ __forceinline__ std::uint32_t see_note(const std::uint32_t* note) {
  return see_ticket(note);
}

}  // namespace KW_TARGET
