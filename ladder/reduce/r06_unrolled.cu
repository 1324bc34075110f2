// r06: the block size is known when the kernel is compiled.
//
// Idea        With the size as a template parameter the two barrier steps that are left unroll as
//             well, and addresses become offsets in the instruction.
// Prediction  15 of r05's 61 instructions go, none of which anybody waited for. S4's A100 gained 5
//             % (167 to 159 us): 97 us at 2^25, 0.74 ms at 2^28.
// Limits      As r05's. 30 % of the read bandwidth, with the memory idle while blocks add and end.
// Original    S4's v5, 158.78 us on an A100, with r05's race.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

// The sum of part[0 .. 63] to part[0]; the first warp calls it.
__device__ __forceinline__ void last_warp(float* part, unsigned tid) {
#pragma unroll
  for (unsigned s = 32; s > 0; s /= 2) {
    const float other = part[tid + s];
    __syncwarp();  // every lane has read what another one is about to overwrite
    part[tid] += other;
    __syncwarp();  // every lane has written what another one is about to read
  }
}

template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    unrolled(const float* data, std::int64_t n, float* sums) {
  __shared__ float part[BlockSize];
  const unsigned tid = threadIdx.x;
  const std::int64_t i = std::int64_t{blockIdx.x} * (2 * BlockSize) + tid;
  part[tid] = load(data, i, n) + load(data, i + BlockSize, n);
  __syncthreads();

#pragma unroll
  for (unsigned s = BlockSize / 2; s > 32; s /= 2) {
    if (tid < s) part[tid] += part[tid + s];
    __syncthreads();
  }
  if (tid < static_cast<unsigned>(warpSize)) last_warp(part, tid);
  if (tid == 0) sums[blockIdx.x] = positive_zero(part[0]);
}

}  // namespace

Status r06_unrolled(const Reduce& problem, const Device& device, Workspace workspace,
                    Stream stream) {
  return sum_in_launches(unrolled<block_size>, two_elements, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
