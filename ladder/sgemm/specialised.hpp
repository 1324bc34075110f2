// What r20 introduces and r21 keeps: a thread that fills a ring of stages, two warpgroups that
// multiply, a block per SM that walks through the tiles. Each rung then holds what a warpgroup does
// with a stage, and with its sums at the end of a tile.
#pragma once

#include <algorithm>

#include "device/ring.hpp"
#include "pieces.hpp"

namespace KW_TARGET::specialised {

using namespace pieces;

constexpr int BM = 128, BN = 128;
constexpr int threads = 3 * warpgroup;  // one that copies, two that multiply

template <Form form, int stages>
struct Shared {
  Stage<form, BM, BN> ring[stages];
  Mbarrier full[stages], free[stages];
};

// The tiles of a block: every gridDim.x-th. They run down groups of eight tile rows, so that those
// under way at a time share rows of A and columns of B in L2.
struct Tiles {
  std::int64_t m, n, index;  // of C in tiles; the current one
  __device__ __forceinline__ explicit Tiles(const PlainSgemm& p)
      : m(ceil_div(p.m, BM)), n(ceil_div(p.n, BN)), index(blockIdx.x) {}
  __device__ __forceinline__ bool has_tile() const { return index < m * n; }
  __device__ __forceinline__ void next() { index += gridDim.x; }
  __device__ __forceinline__ TileOrigin origin() const {
    constexpr std::int64_t group = 8;
    const std::int64_t first = index / (group * n) * group, in_group = index - first * n;
    const std::int64_t rows = m - first < group ? m - first : group;
    return {(first + in_group % rows) * BM, in_group / rows * BN};
  }
};

template <Form form, int stages>
__device__ __forceinline__ void produce(Shared<form, stages>& shared, const Work& work) {
  Ring<stages> ring;
  for (Tiles tiles(work.problem); tiles.has_tile(); tiles.next()) {
    const TileOrigin tile = tiles.origin();
    for (std::int64_t stage = 0; stage < work.a.stages; ++stage, ring.advance()) {
      mbarrier_wait(&shared.free[ring.stage], ring.round ^ 1);
      copy_stage(work, tile, stage, shared.ring[ring.stage], &shared.full[ring.stage]);
    }
  }
}

// multiply_stage(stage, half, free, partial, sums): sums += the product of one half of the tile's
// rows over the stage; says at `free` when it has been read. finish(own, sums): at the tile's end,
// `own` being where the thread's sums lie in C.
template <Form form, int stages, class MultiplyStage, class Finish>
__device__ __forceinline__ void consume(Shared<form, stages>& shared, const Work& work, int half,
                                        MultiplyStage multiply_stage, Finish finish) {
  const int thread = static_cast<int>(threadIdx.x) % warpgroup;
  Ring<stages> ring;
  float partial[BN / 2];
  for (Tiles tiles(work.problem); tiles.has_tile(); tiles.next()) {
    float sums[BN / 2] = {};
    for (std::int64_t stage = 0; stage < work.a.stages; ++stage, ring.advance()) {
      mbarrier_wait(&shared.full[ring.stage], ring.round);
      multiply_stage(shared.ring[ring.stage], half, &shared.free[ring.stage], partial, sums);
    }
    TileOrigin own = tiles.origin();
    own.row += half * block_rows;
    own = own_corner(own, thread);
    finish(own, sums);
    store_sums(work.problem, own, sums);
  }
}

template <Form form, int stages, class MultiplyStage, class Finish>
__device__ __forceinline__ void run_block(const Work& work, MultiplyStage multiply_stage,
                                          Finish finish) {
  auto& shared = *gpu::dynamic_shared<Shared<form, stages>>();
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
    setmaxnreg_dealloc<40>();
    if (threadIdx.x == 0) produce(shared, work);
  } else {
    setmaxnreg_alloc<232>();
    consume(shared, work, group - 1, multiply_stage, finish);
  }
}

template <Form form, int stages>
Status launch(void (*kernel)(Work), const Sgemm& problem, const Device& device,
              const Workspace& workspace, Stream stream) {
  dim3 grid = tile_grid<BM, BN>(problem);
  grid.x = std::min(grid.x, static_cast<unsigned>(std::max(1, device.sm_count)));
  return launch_product(kernel, form,
                        {.grid = grid,
                         .block = dim3(threads),
                         .shared_bytes = sizeof(Shared<form, stages>),
                         .stream = stream},
                        problem, workspace);
}

}  // namespace KW_TARGET::specialised
