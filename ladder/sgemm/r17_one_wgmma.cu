// r17: tensor cores, one product of bfloat16: fast and wrong.
//
// Idea        The tensor cores multiply sixteen times as fast as the FP32 units, numbers of 16
//             bits. A split pass (pieces.cu) rounds A and B to bfloat16; one warpgroup a tile of
//             64x128 has the copy engine bring a stage of 32 along k, multiplies it (wgmma, two
//             steps of 16) out of shared memory into its registers, waits, and goes on.
// Prediction  A stage is 12 KiB from L2 and 64 * 128 * 32 products, 256 cycles of an SM's tensor
//             cores at their dense rate; copy and wait take about 1000 and nothing in the block
//             overlaps with them, but five blocks share an SM. 300 to 400 TFLOP/s at 4096, pre-pass
//             included, of a peak of 990. The error: a rounded factor is off by 2^-8 of itself at
//             most, a product by 2^-7; sums of random data by some 2^-9 of |A||B|.
// Limits      Not FP32: 8 bits of 24. The row says so (extra_error), verify judges it by its own
//             bound and the library knows nothing of it. k of 32 between waits.
// Original    None in S1 to S5.
#include "pieces.hpp"

namespace KW_TARGET {
namespace r17 {

using namespace pieces;

constexpr int BM = 64, BN = 128;
constexpr Form form = Form::bf16_1;

struct Shared {
  Stage<form, BM, BN> stage;
  Mbarrier full;
};

__global__ void __launch_bounds__(warpgroup) one_wgmma(Work work) {
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
      for (int k16 = 0; k16 < stage_k / 16; ++k16)
        Step<form, BN>(shared.stage, k16).multiply(acc, 0, 0);
      wgmma_commit();
      wgmma_wait<0>();
      wgmma_keep(acc);
      __syncthreads();  // all warps have read the stage
    }
    store_sums(work.problem, own_corner(tile, thread), acc);
  }
}

}  // namespace r17

std::size_t r17_workspace_bytes(const Sgemm& problem, const Device&) {
  return pieces::workspace_bytes(problem, r17::form);
}

// A factor off by 2^-8, a product by 2^-7 and 2^-16; and a sum that is cut every 16 of k.
double r17_extra_error(const Sgemm& p) {
  return 131072.0 + 256.0 + 2.0 * static_cast<double>(ceil_div(p.loop_k(), 16));
}

Status r17_one_wgmma(const Sgemm& problem, const Device&, Workspace workspace, Stream stream) {
  return pieces::launch_product(r17::one_wgmma, r17::form,
                                {.grid = tile_grid<r17::BM, r17::BN>(problem),
                                 .block = dim3(pieces::warpgroup),
                                 .stream = stream},
                                problem, workspace);
}

}  // namespace KW_TARGET
