// r10: the last block to finish adds up the sums of all.
//
// Idea        One launch. Each block leaves its sum in the workspace and takes a ticket, a counter
//             that it raises by one. Who draws the highest number knows that all other sums are
//             there, and adds them up in the order of the blocks, so that the result does not
//             depend on who it was: the same bits in every run. It puts the ticket back to zero for
//             the next launch.
//             The ticket is taken with acquire and release semantics: the sum is visible before the
//             ticket counts, and whoever draws a later number sees it (device/ticket.hpp).
// Prediction  The second launch, 2.5 us, goes. What comes is one round trip to the L2 cache for the
//             ticket and one for the sums, together about 1 us: 33.5 us at 2^25, 240 us at 2^28. At
//             2^20 and below, where two launches are most of the time, nearly half of it.
// Limits      The memory, and at short arrays the latency of one launch.
// Original    None in S1 to S5: S4 left the sums of its blocks where they were.
#include "device/ticket.hpp"
#include "rung.hpp"
#include "steps.hpp"

namespace KW_TARGET {
namespace {

// Each block leaves its sum in partials[blockIdx.x]; the last one to do so adds them up, always in
// the same order, and puts the ticket back to zero.
template <unsigned BlockSize>
__global__ void __launch_bounds__(BlockSize)
    one_launch(const float* data, std::int64_t n, float* partials, unsigned* ticket, float* out) {
  __shared__ bool last;
  float sum = block_sum<BlockSize>(sum_of_vectors<BlockSize>(data, n));
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    last = take_ticket(ticket) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;

  sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += BlockSize) sum += partials[i];
  sum = block_sum<BlockSize>(sum);
  if (threadIdx.x == 0) {
    *out = positive_zero(sum);
    *ticket = 0;
  }
}

}  // namespace

Status r10_one_launch(const Reduce& p, const Device& device, Workspace workspace, Stream stream) {
  const auto blocks = static_cast<unsigned>(blocks_for(many_vectors, p.cols, device));
  return gpu::launch(one_launch<block_size>, {dim3(blocks), dim3(block_size), 0, stream},
                     static_cast<const float*>(p.data), p.cols, static_cast<float*>(workspace.data),
                     workspace.tickets, static_cast<float*>(p.out));
}

}  // namespace KW_TARGET
