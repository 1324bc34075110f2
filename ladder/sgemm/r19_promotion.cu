// r19: a window of 32 along k in the tensor core, the sum of windows in FP32.
//
// Idea        What a tensor core cuts off is relative to the sum that it holds. So it never holds
//             more than a window: after each stage of 32 along k its result is added to a sum in
//             FP32 registers, with ordinary rounding ("promotion"), and the next window begins at
//             zero. Within the window the small products go first, in bands (pieces 2, then 1, then
//             the two large pieces): they meet a small sum and keep their low bits.
// Prediction  64 additions a thread and stage, 64 issue slots of a warp beside 1536 cycles of
//             products: 0 to -5 % against r18. The drift goes: errors at every k and for every sign
//             those of an FP32 product or smaller, since a window's terms are added almost exactly.
// Limits      While a warpgroup adds it does not multiply; other blocks of the SM have to. Twice
//             the accumulators per thread.
// Original    None in S1 to S5. Sums outside the tensor core: Ootomo and Yokota 2022.
#include "pieces.hpp"

namespace KW_TARGET {
namespace r19 {

using namespace pieces;

constexpr int BM = 64, BN = 128;
constexpr Form form = Form::bf16_3;

struct Shared {
  Stage<form, BM, BN> stage;
  Mbarrier full;
};

__global__ void __launch_bounds__(warpgroup) promotion(Work work) {
  if constexpr (has_sm90a) {
    __shared__ Shared shared;
    const TileOrigin tile = tile_origin<BM, BN>(work.problem);
    const int thread = static_cast<int>(threadIdx.x);
    if (thread == 0) {
      mbarrier_init(&shared.full, 1);
      mbarrier_init_is_done();
    }
    __syncthreads();

    float sums[BN / 2] = {};
    float partial[BN / 2];  // of the window; tensor cores write it
    for (std::int64_t stage = 0; stage < work.a.stages; ++stage) {
      if (thread == 0) copy_stage(work, tile, stage, shared.stage, &shared.full);
      mbarrier_wait(&shared.full, static_cast<unsigned>(stage % 2));
      wgmma_keep(partial);
      wgmma_fence();
#pragma unroll
      for (int k16 = 0; k16 < stage_k / 16; ++k16) {
        const Step<form, BN> step(shared.stage, k16);
        step.multiply(partial, 2, 0, k16 > 0);  // the window's first one begins anew
        step.multiply(partial, 1, 1);
        step.multiply(partial, 0, 2);
        step.multiply(partial, 1, 0);
        step.multiply(partial, 0, 1);
      }
#pragma unroll
      for (int k16 = 0; k16 < stage_k / 16; ++k16)
        Step<form, BN>(shared.stage, k16).multiply(partial, 0, 0);
      wgmma_commit();
      wgmma_wait<0>();
      wgmma_keep(partial);
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) sums[i] += partial[i];
      __syncthreads();  // all warps have read the stage
    }
    store_sums(work.problem, own_corner(tile, thread), sums);
  }
}

}  // namespace r19

std::size_t r19_workspace_bytes(const Sgemm& problem, const Device&) {
  return pieces::workspace_bytes(problem, r19::form);
}

Status r19_promotion(const Sgemm& problem, const Device&, Workspace workspace, Stream stream) {
  return pieces::launch_product(r19::promotion, r19::form,
                                {.grid = tile_grid<r19::BM, r19::BN>(problem),
                                 .block = dim3(pieces::warpgroup),
                                 .stream = stream},
                                problem, workspace);
}

}  // namespace KW_TARGET
