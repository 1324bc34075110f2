// r14: 128x256 outputs per block, 8x16 per thread, the next step's fragments on their way.
//
// Idea        A thread that owns 8x16 outputs reads 24 values for 128 FMAs, where 8x8 reads 16 for
//             64: a quarter fewer shared reads per FMA. It needs 128 accumulators, so an SM has one
//             block and a scheduler two warps, which can't hide a shared read behind each other any
//             more. So every thread reads the fragments of step k + 1 before the FMAs of step k.
// Prediction  6 shared reads of 16 bytes for 128 FMAs instead of 4 for 64: the FMA share of what is
//             issued goes from 89 to 92 %. The block reads (128 + 256) / (128 * 256) elements an
//             output and k, r13 twice 128 / (128 * 128): a quarter less from L2. +3 to +6 % over
//             r13 at 4096; less than r13 at 1024, where 32 blocks leave 100 of 132 SMs idle.
// Limits      Two warps per scheduler: whatever the copies cost (addresses, the barrier, the wait),
//             nobody else issues meanwhile. Few, large tiles: a wave that is nearly empty costs as
//             much as a full one.
// Original    None in S1 to S5; the tile is that of cuBLAS's large kernels.
#include "device/async_copy.hpp"
#include "rung.hpp"
#include "wide_tile.hpp"

namespace KW_TARGET {
namespace {

using namespace wide_tile;

constexpr int stages = 3;

template <bool Edges>
__global__ void __launch_bounds__(threads, 1)
    big_thread_tile(__grid_constant__ const PlainSgemm p) {
  Stage* const stage = gpu::dynamic_shared<Stage>();
  const TileOrigin tile = tile_origin<BM, BN>(p);
  const Place own = place_of(static_cast<int>(threadIdx.x));
  TileCopy<Edges, threads> copy(p, tile, 0, static_cast<int>(threadIdx.x));

  for (int s = 0; s < stages - 1; ++s) {
    if (s * BK < p.k) copy.next(stage[s]);
    async_commit();
  }

  int now = -1;
  std::int64_t k0 = 0;  // of the tile that is entered next
  const float *as = nullptr, *bs = nullptr;
  const auto enter_tile = [&] {
    async_wait<stages - 2>();  // this thread's copies for the tile have landed
    __syncthreads();           // everybody's have; and nobody reads the tile before any more
    if (k0 + (stages - 1) * BK < p.k) copy.next(stage[now < 0 ? stages - 1 : now]);
    async_commit();
    now = now + 1 < stages ? now + 1 : 0;
    k0 += BK;
    as = &stage[now].as[0][own.row];
    bs = &stage[now].bs[0][own.col];
  };

  float acc[TM][TN] = {};
  Fragments fragments[2];  // of this step along k and of the next
  if (p.k > 0) {
    enter_tile();
    fragments[0].load(as, bs, 0);
  }
  // Two steps a turn: unrolled further, ptxas moves accumulators from register to register.
  const int steps = static_cast<int>(ceil_div(p.k, BK)) * BK;
#pragma unroll 1
  for (int step = 0; step < steps; step += 2) {
    fragments[1].load(as, bs, 1);
    outer_product(acc, fragments[0]);
    as += 2 * pitch_a;
    bs += 2 * pitch_b;
    if ((step + 2) % BK == 0) {  // all of this tile is in registers
      if (step + 2 < steps)
        enter_tile();
      else
        as = &stage[0].as[0][own.row], bs = &stage[0].bs[0][own.col];  // read, not used
    }
    fragments[0].load(as, bs, 0);
    outer_product(acc, fragments[1]);
  }
  store_tile<Edges>(p, tile, own, acc);
}

}  // namespace

Status r14_big_thread_tile(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(big_thread_tile<false>, big_thread_tile<true>, threads, problem,
                                  stream, stages * sizeof(Stage));
}

}  // namespace KW_TARGET
