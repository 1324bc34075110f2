// r03: the threads with work are the first ones, and so are the places.
//
// Idea        The tree from its other end: s = 128, 64, ... 1, thread t < s adds place t + s.
//             Neighbouring lanes read neighbouring words: no bank conflicts.
// Prediction  One wavefront a request: (4 + 2 + 6x1) x 3 = 36 a block instead of 141. 10
//             instructions a step, 107 issue slots a warp. On S4's A100 the same count filled 40 %
//             of the slots in v2's time, the rest was waiting: 107 / 0.4 and the launches: 275 us
//             at 2^25, 2.15 ms at 2^28.
// Limits      Waiting. A block loads once, for which it waits a memory latency with nothing else to
//             do, then goes through nine barriers with ever fewer warps at work and no load under
//             way. Eight blocks per SM overlap, which is not enough.
// Original    S4's v2, 462.02 us on an A100.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

__global__ void __launch_bounds__(block_size)
    sequential(const float* data, std::int64_t n, float* sums) {
  __shared__ float part[block_size];
  const unsigned tid = threadIdx.x;
  part[tid] = load(data, std::int64_t{blockIdx.x} * blockDim.x + tid, n);
  __syncthreads();

  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (tid < s) part[tid] += part[tid + s];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = positive_zero(part[0]);
}

}  // namespace

Status r03_sequential(const Reduce& problem, const Device& device, Workspace workspace,
                      Stream stream) {
  return sum_in_launches(sequential, one_element, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
