// r01: a tree in shared memory, by the book.
//
// Idea        Each thread of a block loads one element into shared memory. In step s = 1, 2, 4, ...
//             every thread whose number is a multiple of 2s adds its neighbour s places on; after
//             eight steps of 256 threads thread 0 holds the block's sum. The next launch does the
//             same with the sums of the blocks, until one is left.
// Prediction  28 instructions a step, of which 17 are tid % (2 * s): a division by a number that
//             the compiler does not know. With 26 before and after the tree 250 issue slots a warp.
//             132 SMs x 4 schedulers x 1.98 GHz have 1.05 million slots a microsecond, and 2^25
//             elements are 1.05 million warps: one slot a warp takes one microsecond. So at least
//             250 us. Barriers leave slots empty: by this count S4's A100 filled 45 % of them. 250
//             / 0.45 and three more launches of 2.5 us: 565 us for 2^25 elements, 4.5 ms for 2^28;
//             5 % of the read bandwidth.
// Limits      Issue slots, and idle lanes in those: from step to step half of the threads with work
//             drop out, but all warps issue every step to the end, with their lanes switched off.
// Original    S4's v0, 990.66 us on an A100. It left one sum a block and never combined them, and
//             its copy to the host had the arguments swapped.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

__global__ void __launch_bounds__(block_size)
    modulo_tree(const float* data, std::int64_t n, float* sums) {
  __shared__ float part[block_size];
  const unsigned tid = threadIdx.x;
  part[tid] = load(data, std::int64_t{blockIdx.x} * blockDim.x + tid, n);
  __syncthreads();

  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) part[tid] += part[tid + s];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = positive_zero(part[0]);
}

}  // namespace

Status r01_modulo_tree(const Reduce& problem, const Device& device, Workspace workspace,
                       Stream stream) {
  return sum_in_launches(modulo_tree, one_element, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
