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
//             (hopper_control.hpp).
// Original    None in the five articles. Ootomo and Yokota 2022.
#include <algorithm>

#include "pieces.hpp"

namespace KW_TARGET {
namespace r21 {

using namespace pieces;

constexpr int BM = 128, BN = 128, stages = 6;
constexpr Form form = Form::fp16_2;
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

// sums += the stage's product. The low pieces are 2^11 times too large, so their products have a
// window of their own.
__device__ __forceinline__ void multiply_stage(const char* a, const char* b, Mbarrier* free,
                                               float (&partial)[BN / 2], float (&sums)[BN / 2]) {
  wgmma_keep(partial);
  wgmma_fence();
#pragma unroll
  for (int k16 = 0; k16 < stage_k / 16; ++k16) {
    const Step<form, BN> step(a, b, k16);
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
    Step<form, BN>(a, b, k16).multiply(partial, 0, 0, k16 > 0);
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
    own = own_corner(own, thread);
    unscale(work, own, sums);
    store_sums(work.problem, own, sums);
  }
}

__global__ void __launch_bounds__(threads, 1) fp16x3(Work work) {
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

}  // namespace r21

std::size_t r21_workspace_bytes(const Sgemm& problem, const Device&) {
  return pieces::workspace_bytes(problem, r21::form);
}

// A factor is held to 2^-23 of itself, and the product of the low pieces, 2^-24, left out: at most
// five units, of which FP32's bound has three.
double r21_extra_error(const Sgemm&) { return 3; }

Status r21_fp16x3(const Sgemm& problem, const Device& device, Workspace workspace, Stream stream) {
  pieces::Work work;
  Status status = pieces::prepare(problem, r21::form, workspace, stream, &work);
  if (!status.ok()) return status;
  dim3 grid = tile_grid<r21::BM, r21::BN>(problem);
  grid.x = std::min(grid.x, static_cast<unsigned>(std::max(1, device.sm_count)));
  return gpu::launch(r21::fp16x3,
                     {.grid = grid,
                      .block = dim3(r21::threads),
                      .shared_bytes = sizeof(r21::Shared),
                      .stream = stream},
                     work);
}

}  // namespace KW_TARGET
