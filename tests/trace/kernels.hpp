// Kernels whose accesses and races are known beforehand. kernels.cu has them, compiled to be
// traced.
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET::planted {

// Shared memory is written, and read by other threads.
enum class Fault {
  none,
  no_barrier,         // between the writes and the reads
  no_second_barrier,  // between the reads and the next writes
};
Status rounds(Fault fault, const float* in, float* out);

// The last six steps of a sum in one warp, with or without barriers of the warp.
Status last_warp(bool has_barriers, const float* in, float* out);

// One warp fills a buffer twice, another empties it; its lanes say so one by one, or lane 0 does
// for all of them without having waited for them.
Status hand_over(bool all_arrive, const float* in, float* out);

// cp.async, read by other threads: waited for before the barrier, or behind it.
Status copies(bool wait_first, const float* in, float* out);

// One warp: out[lane] = s[lane * pitch].
Status column(int pitch, const float* in, float* out);

// One warp reads `in + first`, Width floats a lane side by side, by one instruction.
template <int Width>
Status wide(const float* in, int first, float* out);

// One warp, of which lane l reads l % 4 elements, one after the other.
Status uneven(const float* in, float* out);

// One warp, of which first one half reads and, behind a barrier of the warp, the other.
Status halves(const float* in, float* out);

// A block of 64 threads of which all add to one word of shared memory by atomicAdd.
Status atomics(float* out);

}  // namespace KW_TARGET::planted
