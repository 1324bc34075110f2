// r08: lanes hand each other their sums through registers.
//
// Idea        A warp adds up its 32 sums by five shuffles, without shared memory; eight warps leave
//             one sum each, and the first warp adds those. One barrier is left of r07's three, and
//             shared memory shrinks from 1024 bytes a block to 32: warp_sum and block_sum, in
//             steps.hpp.
// Prediction  Nothing that the clock shows on a large array: r07 has its tree once a block, some
//             0.3 us of 37. Within 1 % of r07 at 2^25 and at 2^28. It counts where arrays are
//             short.
// Limits      As r07's.
// Original    None in S1 to S5; it is the usual cure for v4's race.
#include "rung.hpp"
#include "steps.hpp"

namespace KW_TARGET {
namespace {

template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    shuffle(const float* data, std::int64_t n, float* sums) {
  const float sum = block_sum<BlockSize>(sum_of_elements<BlockSize>(data, n));
  if (threadIdx.x == 0) sums[blockIdx.x] = positive_zero(sum);
}

}  // namespace

Status r08_shuffle(const Reduce& problem, const Device& device, Workspace workspace,
                   Stream stream) {
  return sum_in_launches(shuffle<block_size>, many_elements, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
