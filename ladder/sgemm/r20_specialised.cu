// r20: a thread that copies, two warpgroups that multiply, a grid that stays.
//
// Idea        r15's division of labour for tensor cores. One thread keeps a ring of four stages
//             full by bulk copies; two warpgroups, each with 64 of the tile's 128 rows, multiply.
//             While one adds its window to its sums, the other's products run: the tensor cores
//             always have work. One block per SM walks through the tiles, so that the ring
//             never empties: the next tile's first stages arrive while this one's C is written.
//             All of this is in specialised.hpp; here is what a warpgroup does with a stage.
// Prediction  Products of a stage of 128x128: 3072 cycles; 48 KiB from L2 in that time are 16 bytes
//             a cycle and SM, within what L2 gives. Copies and additions are hidden, so 80 to 90 %
//             of the bound that tensor cores at the clocks of 700 W set, about 128 TFLOP/s of FP32
//             work: 100 to 115 at 4096, pre-pass included.
// Limits      The six products themselves. Tiles that don't come out even: 4096 has 1024 for 132
//             SMs, 7.8 waves. Rows of A are read from L2 by each tile column anew (the library's
//             larger tiles read less).
// Original    None in S1 to S5. The structure is that of CUTLASS's kernels for Hopper.
#include "specialised.hpp"

namespace KW_TARGET {
namespace r20 {

using namespace specialised;

constexpr Form form = Form::bf16_3;
constexpr int stages = 4;

// sums += the stage's product; a window as in r19.
__device__ __forceinline__ void multiply_stage(const Stage<form, BM, BN>& stage, int half,
                                               Mbarrier* free, float (&partial)[BN / 2],
                                               float (&sums)[BN / 2]) {
  wgmma_keep(partial);
  wgmma_fence();
#pragma unroll
  for (int k16 = 0; k16 < stage_k / 16; ++k16) {
    const Step<form, BN> step(stage, k16, half);
    step.multiply(partial, 2, 0, k16 > 0);
    step.multiply(partial, 1, 1);
    step.multiply(partial, 0, 2);
    step.multiply(partial, 1, 0);
    step.multiply(partial, 0, 1);
  }
#pragma unroll
  for (int k16 = 0; k16 < stage_k / 16; ++k16)
    Step<form, BN>(stage, k16, half).multiply(partial, 0, 0);
  wgmma_commit();
  wgmma_wait<0>();
  wgmma_keep(partial);
  if (threadIdx.x % 32 == 0) mbarrier_arrive(free);
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) sums[i] += partial[i];
}

__global__ void __launch_bounds__(threads, 1) specialised(Work work) {
  if constexpr (has_sm90a)
    run_block<form, stages>(work, multiply_stage, [](TileOrigin, float(&)[BN / 2]) {});
}

}  // namespace r20

std::size_t r20_workspace_bytes(const Sgemm& problem, const Device&) {
  return pieces::workspace_bytes(problem, r20::form);
}

Status r20_specialised(const Sgemm& problem, const Device& device, Workspace workspace,
                       Stream stream) {
  return specialised::launch<r20::form, r20::stages>(r20::specialised, problem, device, workspace,
                                                     stream);
}

}  // namespace KW_TARGET
