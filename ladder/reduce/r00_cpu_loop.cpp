// r00: the definition of the sum as one loop on one CPU core.
//
// Idea        None yet: this is what every later step must agree with, and the yardstick of "how
//             many times faster than the loop that I would have written".
// Prediction  One addition an element, and each waits for the one before: 4 cycles of latency at
//             about 3 GHz are 0.75 billion elements a second, 3 GB/s: 45 ms for 2^25 elements,
//             360 ms for 2^28. Memory, at ten times that, is not felt.
// Limits      The chain of additions. A compiler may not break it, as that would change the result.
// Accuracy    The worst order there is: once the sum is 2^24 times an element, adding that element
//             changes nothing. On values of one sign the loss is visible from about 2^24 elements.
// Original    None in S1 to S5: S4 begins on the GPU.
#include "cpu_rungs.hpp"

namespace kw::cpu {

Status r00_cpu_loop(const Reduce& p, const Device&, Workspace, Stream) {
  const float* data = static_cast<const float*>(p.data);
  float sum = 0;
  for (std::int64_t i = 0; i < p.cols; ++i) sum += data[i];
  *static_cast<float*>(p.out) = sum;
  return Status::success();
}

}  // namespace kw::cpu
