// r02: the threads with work are the first ones.
//
// Idea        In step s thread t adds the pair at place 2 * s * t. The same pairs as r01, but whole
//             warps run out of work instead of every second lane; and the remainder has become a
//             multiplication.
// Prediction  14 instructions a step instead of 28: 138 issue slots a warp, 138 us at 2^25. Lanes
//             now read with a stride of 2 * s words: 2, 4, then 8 lanes to a bank. That is 4x2 +
//             2x4 + 8 + 8 + 8 + 4 + 2 + 1 = 47 wavefronts a block for each of two reads and a
//             write. r01 had just as many, as requests of half-empty warps, so shared memory does
//             not lose by it: 149 wavefronts a block with the first store are 79 us at one a cycle.
//             Neither bound is reached, since a step waits for its barrier: I expect 15 % over r03,
//             whose steps have 4 instructions fewer and no conflicts. 320 us, 2.5 ms at 2^28.
// Limits      The chain of eight barriers, each behind a read in up to eight wavefronts.
// Original    S4's v1, 479.58 us on an A100. It guarded `index` but added sdata[tid], so its sums
//             were wrong and its time compares nothing.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

__global__ void __launch_bounds__(block_size)
    strided_index(const float* data, std::int64_t n, float* sums) {
  __shared__ float part[block_size];
  const unsigned tid = threadIdx.x;
  part[tid] = load(data, std::int64_t{blockIdx.x} * blockDim.x + tid, n);
  __syncthreads();

  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    const unsigned place = 2 * s * tid;
    if (place < blockDim.x) part[place] += part[place + s];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = positive_zero(part[0]);
}

}  // namespace

Status r02_strided_index(const Reduce& problem, const Device& device, Workspace workspace,
                         Stream stream) {
  return sum_in_launches(strided_index, one_element, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
