// s5_cpu_double: r00 with its sums in double.
//
// Idea        S5's author sees the CPU's product nearer to the truth than the GPU's and names the
//             CPU's double sums as the reason. This is that CPU.
// Prediction  A product of two floats is exact in a double, and a sum of k of them is off by some
//             2^-53 a step, so all that is left is the one rounding to float at the end: at most
//             half a unit in the last place of the result, at every k, where r00's error grows with
//             k. As fast as r00: the chain of additions is as long.
// Limits      r00's.
// Original    S5 compares its kernel with a CPU product that sums in double.
#include "cpu_rungs.hpp"

namespace kw::cpu {

Status s5_cpu_double(const Sgemm& p, const Device&, Workspace, Stream) {
  const std::int64_t k = p.loop_k();
  for (std::int64_t row = 0; row < p.m; ++row)
    for (std::int64_t col = 0; col < p.n; ++col) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i)
        sum += double{p.a[row * p.lda + i]} * double{p.b[i * p.ldb + col]};
      float& c = p.c[row * p.ldc + col];
      const double scaled = double{p.alpha} * sum;
      c = static_cast<float>(p.beta == 0 ? scaled : scaled + double{p.beta} * double{c});
    }
  return Status::success();
}

}  // namespace kw::cpu
