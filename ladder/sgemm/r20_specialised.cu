// r20: a thread that copies, two warpgroups that multiply, a grid that stays.
//
// Idea        r15's division of labour for tensor cores. One thread keeps a ring of four stages
//             full by bulk copies; two warpgroups, each with 64 of the tile's 128 rows, multiply.
//             While one adds its window to its sums, the other's products run: the tensor cores
//             always have work. One block an SM walks through the tiles, so that the ring never
//             empties: the next tile's first stages arrive while this one's C is written.
// Prediction  Products of a stage of 128x128: 3072 cycles; 48 KiB from L2 in that time are 16 bytes
//             a cycle and SM, within what L2 gives. Copies and additions are hidden, so 80 to 90 %
//             of the bound that tensor cores at the clocks of 700 W set, about 128 TFLOP/s of FP32
//             work: 100 to 115 at 4096, pre-pass included.
// Limits      The six products themselves. Tiles that don't come out even: 4096 has 1024 for 132
//             SMs, 7.8 waves. Rows of A are read from L2 by each tile column anew (the library's
//             larger tiles and pairs of blocks read less).
// Original    None in the five articles. The structure is that of CUTLASS's Hopper kernels.
#include <algorithm>

#include "pieces.hpp"

namespace KW_TARGET {
namespace r20 {

using namespace pieces;

constexpr int BM = 128, BN = 128, stages = 4;
constexpr Form form = Form::bf16_3;
constexpr int threads = 3 * warpgroup;  // one that copies, two that multiply

struct Shared {
  struct Stage {
    alignas(128) char a[BM / block_rows * block_bytes(pieces_of(form))];
    alignas(128) char b[BN / block_rows * block_bytes(pieces_of(form))];
  };
  Stage ring[stages];
  Mbarrier full[stages], free[stages];
};

// A position in the ring, and the parity of its turn.
struct Ring {
  int stage = 0;
  unsigned round = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, round ^= 1;
  }
};

// The tiles of a block: every gridDim.x-th. They run down groups of eight tile rows, so that those
// under way at a time share rows of A and columns of B in L2.
struct Tiles {
  std::int64_t m, n, index;  // of C in tiles; the current one
  __device__ __forceinline__ explicit Tiles(const Sgemm& p)
      : m(gpu::ceil_div(p.m, BM)), n(gpu::ceil_div(p.n, BN)), index(blockIdx.x) {}
  __device__ __forceinline__ bool has_tile() const { return index < m * n; }
  __device__ __forceinline__ void next() { index += gridDim.x; }
  __device__ __forceinline__ TileOrigin origin() const {
    constexpr std::int64_t group = 8;
    const std::int64_t first = index / (group * n) * group, in_group = index - first * n;
    const std::int64_t rows = m - first < group ? m - first : group;
    return {(first + in_group % rows) * BM, in_group / rows * BN};
  }
};

__device__ __forceinline__ void produce(Shared& shared, const Work& work) {
  Ring ring;
  for (Tiles tiles(work.problem); tiles.has_tile(); tiles.next()) {
    const TileOrigin tile = tiles.origin();
    for (std::int64_t stage = 0; stage < work.a.stages; ++stage, ring.advance()) {
      mbarrier_wait(&shared.free[ring.stage], ring.round ^ 1);
      auto& to = shared.ring[ring.stage];
      copy_stage<form, BM / block_rows, BN / block_rows>(work, tile, stage, to.a, to.b,
                                                         &shared.full[ring.stage]);
    }
  }
}

// sums += the stage's product; a window as in r19.
__device__ __forceinline__ void multiply_stage(const char* a, const char* b, Mbarrier* free,
                                               float (&partial)[BN / 2], float (&sums)[BN / 2]) {
  wgmma_keep(partial);
  wgmma_fence();
#pragma unroll
  for (int k16 = 0; k16 < stage_k / 16; ++k16) {
    const Step<form, BN> step(a, b, k16);
    step.multiply(partial, 2, 0, k16 > 0);
    step.multiply(partial, 1, 1);
    step.multiply(partial, 0, 2);
    step.multiply(partial, 1, 0);
    step.multiply(partial, 0, 1);
  }
#pragma unroll
  for (int k16 = 0; k16 < stage_k / 16; ++k16) Step<form, BN>(a, b, k16).multiply(partial, 0, 0);
  wgmma_commit();
  wgmma_wait<0>();
  wgmma_keep(partial);
  if (threadIdx.x % 32 == 0) mbarrier_arrive(free);
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) sums[i] += partial[i];
}

__device__ __forceinline__ void consume(Shared& shared, const Work& work, int group) {
  const int thread = static_cast<int>(threadIdx.x) % warpgroup;
  Ring ring;
  float partial[BN / 2];
  for (Tiles tiles(work.problem); tiles.has_tile(); tiles.next()) {
    float sums[BN / 2] = {};
    for (std::int64_t stage = 0; stage < work.a.stages; ++stage, ring.advance()) {
      mbarrier_wait(&shared.full[ring.stage], ring.round);
      const auto& from = shared.ring[ring.stage];
      multiply_stage(from.a + group * block_bytes(pieces_of(form)), from.b,
                     &shared.free[ring.stage], partial, sums);
    }
    TileOrigin own = tiles.origin();
    own.row += group * block_rows;
    store_sums(work.problem, own_corner(own, thread), sums);
  }
}

__global__ void __launch_bounds__(threads, 1) specialised(Work work) {
  if constexpr (has_sm90a) {
    auto& shared = *gpu::dynamic_shared<Shared>();
    if (threadIdx.x == 0) {
      for (int s = 0; s < stages; ++s) {
        mbarrier_init(&shared.full[s], 1);
        mbarrier_init(&shared.free[s], 2 * warpgroup / 32);  // an arrival a warp
      }
      mbarrier_init_is_done();
    }
    __syncthreads();
    const int group = static_cast<int>(threadIdx.x) / warpgroup;
    if (group == 0) {
      give_registers<40>();
      if (threadIdx.x == 0) produce(shared, work);
    } else {
      take_registers<232>();
      consume(shared, work, group - 1);
    }
  }
}

}  // namespace r20

std::size_t r20_workspace_bytes(const Sgemm& problem, const Device&) {
  return pieces::workspace_bytes(problem, r20::form);
}

Status r20_specialised(const Sgemm& problem, const Device& device, Workspace workspace,
                       Stream stream) {
  pieces::Work work;
  Status status = pieces::prepare(problem, r20::form, workspace, stream, &work);
  if (!status.ok()) return status;
  dim3 grid = tile_grid<r20::BM, r20::BN>(problem);
  grid.x = std::min(grid.x, static_cast<unsigned>(std::max(1, device.sm_count)));
  return gpu::launch(r20::specialised,
                     {.grid = grid,
                      .block = dim3(r20::threads),
                      .shared_bytes = sizeof(r20::Shared),
                      .stream = stream},
                     work);
}

}  // namespace KW_TARGET
