// amd_01: one thread one element, blocks numbered along one dimension.
//
// Idea        The definition of the product. Thread t of the grid computes element t of C in
//             row-major order, so neighbouring lanes read neighbouring columns of B and the same
//             element of A.
// Prediction  With blocks of 256 it took 25.8 ms on an H200 at 4096, bound by instructions (7.5 an
//             FMA) with most reads of B from L1. A block of 32 is one warp, and an SM holds 32
//             blocks: half of the warps, so less to hide latency with: 28 to 40 ms. On AMD it is
//             half of a wavefront: 32 of 64 lanes idle in every instruction.
// Limits      Issue slots; a block uses no element of B twice.
// Original    S2, 387.9 ms on an MI100 at 4096, with blocks of 32, too.
#include "../sgemm/rung.hpp"
#include "rungs.hpp"

namespace KW_TARGET::amd {
namespace {

constexpr int block_size = 32;

__global__ void __launch_bounds__(block_size) one_element(PlainSgemm p) {
  const std::int64_t element = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  const std::int64_t row = element / p.n, col = element % p.n;
  if (row >= p.m) return;

  float sum = 0;
  for (std::int64_t i = 0; i < p.k; ++i)
    sum = fmaf(p.a[row * p.lda + i], p.b[i * p.ldb + col], sum);
  store1<false>(p, row, col, sum);
}

}  // namespace

Status naive(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  PlainSgemm p = problem;
  p.k = p.loop_k();
  const auto blocks = static_cast<unsigned>(ceil_div(p.m * p.n, block_size));
  return gpu::launch(one_element, {dim3(blocks), dim3(block_size), 0, stream}, p);
}

}  // namespace KW_TARGET::amd
