// r04: the first addition happens while loading.
//
// Idea        Half of r03's threads had no work from the first step on. Here a block is in charge
//             of 512 elements: each thread loads two and stores their sum. Half as many blocks, and
//             two loads under way a thread instead of one.
// Prediction  10 more instructions before the tree, but for twice the elements: 116 slots for two
//             warps' worth, 58 us. A block takes nearly as long as before and there are half as
//             many: S4's A100 went from 462 to 244 us. Its 108 SMs at 1.41 GHz against 132 at 1.98
//             are 0.58, so 142 us; two more launches: 147 us at 2^25, 1.14 ms at 2^28.
// Limits      As r03's: most of a block's life is the tree, in which it asks memory for nothing.
// Original    S4's v3, 244.16 us on an A100.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

__global__ void __launch_bounds__(block_size)
    first_add(const float* data, std::int64_t n, float* sums) {
  __shared__ float part[block_size];
  const unsigned tid = threadIdx.x;
  const std::int64_t i = std::int64_t{blockIdx.x} * (2 * blockDim.x) + tid;
  part[tid] = load(data, i, n) + load(data, i + blockDim.x, n);
  __syncthreads();

  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (tid < s) part[tid] += part[tid + s];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = positive_zero(part[0]);
}

}  // namespace

Status r04_first_add(const Reduce& problem, const Device& device, Workspace workspace,
                     Stream stream) {
  return sum_in_launches(first_add, two_elements, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
