// amd_01: one thread one element, blocks numbered along one dimension.
//
// Idea        The definition of the product. Thread t of the grid computes element t of C in
//             row-major order, so neighbouring lanes read neighbouring columns of B and the same
//             element of A.
// Prediction  A block lies in one row of C and reads 256 columns of B for it: 65536 blocks x 4 MiB
//             at 4096, 275 GB from L2, where r02's square blocks take 17. H200, 5.5 TB/s from L2:
//             50 ms, less where blocks of one SM share columns: 40 to 60 ms.
// Limits      L2: a block uses no element of B twice.
// Original    S2, 387.9 ms on an MI100 at 4096.
#include "../sgemm/rung.hpp"
#include "rungs.hpp"

namespace KW_TARGET::amd {
namespace {

constexpr int block_size = 256;

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
