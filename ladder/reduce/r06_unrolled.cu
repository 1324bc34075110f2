// r06: the block size is known when the kernel is compiled.
//
// Idea        With the size as a template parameter the two barrier steps that are left unroll as
//             well, and addresses become offsets in the instruction: block_sum_by_tree, in
//             steps.hpp.
// Prediction  15 of r05's 61 instructions go, none of which anybody waited for. S4's A100 gained 5
//             % (167 to 159 us): 97 us at 2^25, 0.74 ms at 2^28.
// Limits      As r05's: the memory is idle while blocks add and end.
// Original    S4's v5, 158.78 us on an A100, with r05's race.
#include "rung.hpp"
#include "steps.hpp"

namespace KW_TARGET {
namespace {

template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    unrolled(const float* data, std::int64_t n, float* sums) {
  const std::int64_t i = std::int64_t{blockIdx.x} * (2 * BlockSize) + threadIdx.x;
  const float sum = block_sum_by_tree<BlockSize>(load(data, i, n) + load(data, i + BlockSize, n));
  if (threadIdx.x == 0) sums[blockIdx.x] = positive_zero(sum);
}

}  // namespace

Status r06_unrolled(const Reduce& problem, const Device& device, Workspace workspace,
                    Stream stream) {
  return sum_in_launches(unrolled<block_size>, two_elements, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
