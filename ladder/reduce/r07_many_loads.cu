// r07: as many blocks as fit, each of which goes through the array.
//
// Idea        A block that lives on has its tree once, not once in 512 elements. The grid is what
//             the device runs at once (on an H200 132 SMs x 8 blocks); each thread loads four
//             elements 256 apart, adds them, and moves on by the width of the grid:
//             sum_of_elements, in steps.hpp.
// Prediction  The tree vanishes, what counts is bytes in flight: 2048 threads x 4 loads x 4 bytes
//             are 32 KiB an SM. To keep 4.65 TB/s busy an SM must receive 35 bytes a nanosecond;
//             with some 800 ns from a load to the next that takes 28 KiB. Just enough: 90 % of the
//             measured bandwidth. 134 MB at 4.2 TB/s, and 5 us for start, end and the second
//             launch: 37 us at 2^25; 262 us at 2^28.
// Limits      Bytes in flight, with nothing to spare where memory takes longer under load.
// Original    S4's v6, 105.47 us on an A100: 1024 blocks, each with one contiguous part.
#include "rung.hpp"
#include "steps.hpp"

namespace KW_TARGET {
namespace {

template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    many_loads(const float* data, std::int64_t n, float* sums) {
  const float sum = block_sum_by_tree<BlockSize>(sum_of_elements<BlockSize>(data, n));
  if (threadIdx.x == 0) sums[blockIdx.x] = positive_zero(sum);
}

}  // namespace

Status r07_many_loads(const Reduce& problem, const Device& device, Workspace workspace,
                      Stream stream) {
  return sum_in_launches(many_loads<block_size>, many_elements, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
