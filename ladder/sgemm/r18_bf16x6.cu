// r18: six products of bfloat16 pieces: right, but it drifts.
//
// Idea        A float has 24 bits, a bfloat16 has 8: three of them hold it exactly, each the
//             nearest to what the ones before leave. Of the nine products of pieces the six with
//             piece numbers up to 2 in sum matter; the others lie below 2^-24. Tensor cores
//             multiply exactly, so with all six in one accumulator the product should be an FP32
//             one.
// Prediction  Six times r17's products, three times its copies: 36 KiB a stage. Products now take
//             1536 cycles a stage against some 1000 of copy and wait, with five blocks an SM still
//             overlapping: 75 to 100 TFLOP/s at 4096 against a bound of 165. The error stays near
//             FP32's at small k; but the tensor core cuts its sums, it doesn't round them: every
//             instruction loses up to two units in 2^-24 of the running sum, 0.7 on average, always
//             towards zero. With six of them every 16 of k and a running sum that is half of the
//             last one on average, a sum of k terms of one sign drifts by k / 8 units, where FP32's
//             wanders by sqrt(k).
// Limits      The drift: at k = 16384 a sum of positive terms would lose 11 of its 24 bits, though
//             every piece was exact. The row's extra_error says so.
// Original    None in S1 to S5. Splits and the choice of products: Henry, Tang, Heinecke
//             2019.
#include "pieces.hpp"

namespace KW_TARGET {
namespace r18 {

using namespace pieces;

constexpr int BM = 64, BN = 128;
constexpr Form form = Form::bf16_3;

struct Shared {
  Stage<form, BM, BN> stage;
  Mbarrier full;
};

__global__ void __launch_bounds__(warpgroup) bf16x6(Work work) {
  if constexpr (has_sm90a) {
    __shared__ Shared shared;
    const TileOrigin tile = tile_origin<BM, BN>(work.problem);
    const int thread = static_cast<int>(threadIdx.x);
    if (thread == 0) {
      mbarrier_init(&shared.full, 1);
      mbarrier_init_is_done();
    }
    __syncthreads();

    float acc[BN / 2] = {};
    for (std::int64_t stage = 0; stage < work.a.stages; ++stage) {
      if (thread == 0) copy_stage(work, tile, stage, shared.stage, &shared.full);
      mbarrier_wait(&shared.full, static_cast<unsigned>(stage % 2));
      wgmma_keep(acc);
      wgmma_fence();
#pragma unroll
      for (int k16 = 0; k16 < stage_k / 16; ++k16) {
        const Step<form, BN> step(shared.stage, k16);
        step.multiply(acc, 0, 0);
        step.multiply(acc, 0, 1);
        step.multiply(acc, 1, 0);
        step.multiply(acc, 1, 1);
        step.multiply(acc, 0, 2);
        step.multiply(acc, 2, 0);
      }
      wgmma_commit();
      wgmma_wait<0>();
      wgmma_keep(acc);
      __syncthreads();  // all warps have read the stage
    }
    store_sums(work.problem, own_corner(tile, thread), acc);
  }
}

}  // namespace r18

std::size_t r18_workspace_bytes(const Sgemm& problem, const Device&) {
  return pieces::workspace_bytes(problem, r18::form);
}

// Six sums every 16 of k, each cut and rounded towards zero: two units at most.
double r18_extra_error(const Sgemm& p) {
  return 12.0 * static_cast<double>(ceil_div(p.loop_k(), 16));
}

Status r18_bf16x6(const Sgemm& problem, const Device&, Workspace workspace, Stream stream) {
  return pieces::launch_product(r18::bf16x6, r18::form,
                                {.grid = tile_grid<r18::BM, r18::BN>(problem),
                                 .block = dim3(pieces::warpgroup),
                                 .stream = stream},
                                problem, workspace);
}

}  // namespace KW_TARGET
