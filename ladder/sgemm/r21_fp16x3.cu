// r21: three products of scaled fp16 pieces instead of six of bfloat16.
//
// Idea        An fp16 number has 11 bits: two of them hold 23 of a float's 24 (the sign of the
//             second one counts), so three products suffice, high by high and high by low twice.
//             What fp16 lacks is range. So each row of A and column of B is multiplied by the power
//             of two that brings its largest element to 2^14, the low pieces by 2^11 more; both are
//             undone, exactly, in FP32.
// Prediction  Half of r20's products, two thirds of its copies, but two windows to be added a stage
//             instead of one and a second look at the data for the scales: 1.6 to 1.8 times r20 at
//             4096.
// Limits      Data whose rows span much: an element below 2^-27 of its row's largest loses bits
//             that FP32 keeps, which counts where the large one meets a zero. Any finite ordinary
//             data is fine (every element is held to 2^-50 of its largest neighbour in the row);
//             Inf, NaN, subnormal rows and products beyond FP32's range are not guarded here. The
//             library's kernels look, set such elements apart or take another path
//             (sgemm/hopper/control.hpp).
// Original    None in S1 to S5. Ootomo and Yokota 2022.
#include "specialised.hpp"

namespace KW_TARGET {
namespace r21 {

using namespace specialised;

constexpr Form form = Form::fp16_2;
constexpr int stages = 6;

// sums += the stage's product. The low pieces are 2^11 times too large, so their products have a
// window of their own.
__device__ __forceinline__ void multiply_stage(const Stage<form, BM, BN>& stage, int half,
                                               Mbarrier* free, float (&partial)[BN / 2],
                                               float (&sums)[BN / 2]) {
  wgmma_keep(partial);
  wgmma_fence();
#pragma unroll
  for (int k16 = 0; k16 < stage_k / 16; ++k16) {
    const Step<form, BN> step(stage, k16, half);
    step.multiply(partial, 1, 0, k16 > 0);
    step.multiply(partial, 0, 1);
  }
  wgmma_commit();
  wgmma_wait<0>();
  wgmma_keep(partial);
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) sums[i] = fmaf(partial[i], split::low_unscale, sums[i]);
  wgmma_keep(partial);
  wgmma_fence();
#pragma unroll
  for (int k16 = 0; k16 < stage_k / 16; ++k16)
    Step<form, BN>(stage, k16, half).multiply(partial, 0, 0, k16 > 0);
  wgmma_commit();
  wgmma_wait<0>();
  wgmma_keep(partial);
  if (threadIdx.x % 32 == 0) mbarrier_arrive(free);
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) sums[i] += partial[i];
}

// Takes the powers of two of row and column out again.
__device__ __forceinline__ void unscale(const Work& work, TileOrigin own, float (&sums)[BN / 2]) {
  if (work.a.stages == 0) return;  // nothing was scaled
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) {
    const std::int64_t row = own.row + i / 2 % 2 * 8, col = own.col + i / 4 * 8 + i % 2;
    if (row < work.a.rows && col < work.b.rows)
      sums[i] = split::scale(sums[i], -(work.a.scales[row] + work.b.scales[col]));
  }
}

__global__ void __launch_bounds__(threads, 1) fp16x3(Work work) {
  if constexpr (has_sm90a)
    run_block<form, stages>(work, multiply_stage, [&](TileOrigin own, float(&sums)[BN / 2]) {
      unscale(work, own, sums);
    });
}

}  // namespace r21

std::size_t r21_workspace_bytes(const Sgemm& problem, const Device&) {
  return pieces::workspace_bytes(problem, r21::form);
}

// In units of 2^-24 of |a b|: each factor is held to 2^-23 of itself, two units, and the product of
// the low pieces, each up to 2^-11 of its factor, is left out: four more. All eight meet where both
// factors lie next to 1 + 2^-11 times a power of two. FP32's own bound is for the sums.
double r21_extra_error(const Sgemm&) { return 8; }

Status r21_fp16x3(const Sgemm& problem, const Device& device, Workspace workspace, Stream stream) {
  return specialised::launch<r21::form, r21::stages>(r21::fp16x3, problem, device, workspace,
                                                     stream);
}

}  // namespace KW_TARGET
