// r00: the definition of the product as three loops on one CPU core.
//
// Idea        None yet: this is what every later step must agree with, and the yardstick of "how
//             many times faster than the loop that I would have written".
// Prediction  One multiply-add an iteration whose sum waits for the one before: 4 cycles of latency
//             at about 3 GHz are 0.75 billion of them a second, 1.5 GFLOP/s; less once the column
//             of B, read with a stride of ldb, no longer fits in a cache.
// Limits      One core, no vectors (the order of the sum is fixed), no tiles.
// Original    S1's CPU loop: about 2 s for 768x768x1024, 0.6 GFLOP/s.
#include "cpu_rungs.hpp"

namespace kw::cpu {

Status r00_cpu_loop(const Sgemm& p, const Device&, Workspace, Stream) {
  const std::int64_t k = p.loop_k();
  for (std::int64_t row = 0; row < p.m; ++row)
    for (std::int64_t col = 0; col < p.n; ++col) {
      float sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += p.a[row * p.lda + i] * p.b[i * p.ldb + col];
      float& c = p.c[row * p.ldc + col];
      c = p.beta == 0 ? p.alpha * sum : p.alpha * sum + p.beta * c;
    }
  return Status::success();
}

}  // namespace kw::cpu
