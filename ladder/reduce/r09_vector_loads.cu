// r09: loads of 16 bytes.
//
// Idea        r08 with float4 in place of float: four loads of 16 bytes under way a thread. They
//             must begin on a 16-byte boundary, so the first threads of the first block take the at
//             most three elements before it and the at most three that are left at the end:
//             sum_of_vectors, in steps.hpp.
// Prediction  A quarter of the load instructions, and 128 KiB in flight an SM where r07 had 32 and
//             28 were needed: the memory itself is the limit. 97 % of the measured bandwidth and 5
//             us for start, end and the second launch: 35 us at 2^25, 242 us at 2^28.
// Limits      The memory. What is left is at the edges: the start, the end at which SMs run out of
//             work one by one, and the second launch.
// Original    None in S1 to S5.
#include "rung.hpp"
#include "steps.hpp"

namespace KW_TARGET {
namespace {

template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    vector_loads(const float* data, std::int64_t n, float* sums) {
  const float sum = block_sum<BlockSize>(sum_of_vectors<BlockSize>(data, n));
  if (threadIdx.x == 0) sums[blockIdx.x] = positive_zero(sum);
}

}  // namespace

Status r09_vector_loads(const Reduce& problem, const Device& device, Workspace workspace,
                        Stream stream) {
  return sum_in_launches(vector_loads<block_size>, many_vectors, problem, device, workspace,
                         stream);
}

}  // namespace KW_TARGET
