// r15: four warps copy, eight multiply.
//
// Idea        In r14 every thread stops at the end of a tile to start copies, wait for others and
//             meet at the barrier, and with two warps per scheduler nobody computes meanwhile. Here
//             four more warps do nothing but copy into a ring of stages, as far ahead as the ring
//             is long; the eight that multiply only ask whether a stage is full and say when it is
//             free. Two barriers in shared memory (mbarriers) a stage carry that word: they count
//             arrivals, those of copies included. Registers go where they are needed: the copying
//             warpgroup keeps 40 per thread, the others get 232.
// Prediction  r14's threads issue 24 copies and some 40 address, guard and barrier instructions a
//             tile beside 2048 FMAs: 3 %. They move to warps whose issue slots are free while the
//             others wait for shared memory. With the wait at the barrier: +2 to +5 % over r14.
// Limits      Moving registers (setmaxnreg) is sm_90a's: with the 168 that 12 warps get evenly the
//             loop spills. The eight warps still meet once a stage, among themselves, before one of
//             them frees it.
// Original    None in S1 to S5. CUTLASS's kernels for Hopper are built this way; before,
//             CudaDMA (Bauer, Cook, Khailany 2011).
#include "device/mbarrier.hpp"
#include "device/ring.hpp"
#include "wide_tile.hpp"

namespace KW_TARGET {
namespace r15 {

using namespace wide_tile;

constexpr int stages = 3;
constexpr int copiers = 128;  // a warpgroup: registers move between warpgroups only

struct Shared {
  Stage stage[stages];
  Mbarrier full[stages], free[stages];
};

template <bool Edges>
__device__ __forceinline__ void produce(Shared& shared, const PlainSgemm& p, TileOrigin tile) {
  TileCopy<Edges, copiers> copy(p, tile, 0, static_cast<int>(threadIdx.x));
  Ring<stages> ring;
  for (std::int64_t k0 = 0; k0 < p.k; k0 += BK, ring.advance()) {
    mbarrier_wait(&shared.free[ring.stage], ring.round ^ 1);
    copy.next(shared.stage[ring.stage]);
    mbarrier_arrive_after_copies(&shared.full[ring.stage]);
  }
}

template <bool Edges>
__device__ __forceinline__ void consume(Shared& shared, const PlainSgemm& p, TileOrigin tile) {
  const int thread = static_cast<int>(threadIdx.x) - copiers;
  const Place own = place_of(thread);
  Ring<stages> ring;
  const float *as = nullptr, *bs = nullptr;
  const auto enter_stage = [&] {
    mbarrier_wait(&shared.full[ring.stage], ring.round);
    as = &shared.stage[ring.stage].as[0][own.row];
    bs = &shared.stage[ring.stage].bs[0][own.col];
  };

  float acc[TM][TN] = {};
  Fragments fragments[2];
  if (p.k > 0) {
    enter_stage();
    fragments[0].load(as, bs, 0);
  }
  const int steps = static_cast<int>(ceil_div(p.k, BK)) * BK;
#pragma unroll 1
  for (int step = 0; step < steps; step += 2) {
    fragments[1].load(as, bs, 1);
    outer_product(acc, fragments[0]);
    as += 2 * pitch_a;
    bs += 2 * pitch_b;
    if ((step + 2) % BK == 0) {  // all of this stage is in registers
      if (step + 2 < steps) {
        sync_some_threads<1, threads>();
        if (thread == 0) mbarrier_arrive(&shared.free[ring.stage]);
        ring.advance();
        enter_stage();
      } else {
        as -= 2 * pitch_a, bs -= 2 * pitch_b;  // read, not used
      }
    }
    fragments[0].load(as, bs, 0);
    outer_product(acc, fragments[1]);
  }
  store_tile<Edges>(p, tile, own, acc);
}

template <bool Edges>
__global__ void __launch_bounds__(copiers + threads, 1)
    warp_specialised(__grid_constant__ const PlainSgemm p) {
  if constexpr (has_sm90a) {
    auto& shared = *gpu::dynamic_shared<Shared>();
    if (threadIdx.x < stages) {
      mbarrier_init(&shared.full[threadIdx.x], copiers);
      mbarrier_init(&shared.free[threadIdx.x], 1);
    }
    __syncthreads();
    const TileOrigin tile = tile_origin<BM, BN>(p);
    if (threadIdx.x < copiers) {
      setmaxnreg_dealloc<40>();
      produce<Edges>(shared, p, tile);
    } else {
      setmaxnreg_alloc<232>();
      consume<Edges>(shared, p, tile);
    }
  }
}

}  // namespace r15

using namespace r15;

Status r15_warp_specialised(const Sgemm& problem, const Device&, Workspace, Stream stream) {
  return launch_tiles<BM, BN, BK>(warp_specialised<false>, warp_specialised<true>,
                                  copiers + threads, problem, stream, sizeof(Shared));
}

}  // namespace KW_TARGET
