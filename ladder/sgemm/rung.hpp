// What the rungs share, so that each file holds its own step and nothing else: guarded loads, and
// the choice between the whole-tile and the edge instance. Tile origins and stores are in
// sgemm/tile.hpp.
#pragma once

#include "gpu/gpu.hpp"
#include "rungs.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET {

// Whether what is being compiled may use sm_90a's instructions. A kernel that needs them is empty
// elsewhere, and its row's `supports` says no.
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__HIP_DEVICE_COMPILE__)
constexpr bool has_sm90a = false;
#else
constexpr bool has_sm90a = true;
#endif

// x[row][col] of a rows x cols matrix; 0 outside of it. Without Edges the caller knows that it is
// inside, and no guard is compiled.
template <bool Edges>
__device__ __forceinline__ float load1(const float* x, std::int64_t ld, std::int64_t rows,
                                       std::int64_t cols, std::int64_t row, std::int64_t col) {
  if (Edges && (row >= rows || col >= cols)) return 0;
  return x[row * ld + col];
}

// x[row][col .. col + 3]: one 16-byte load, or four guarded ones.
template <bool Edges>
__device__ __forceinline__ float4 load4(const float* x, std::int64_t ld, std::int64_t rows,
                                        std::int64_t cols, std::int64_t row, std::int64_t col) {
  if (!Edges) return *reinterpret_cast<const float4*>(x + row * ld + col);
  return make_float4(
      load1<true>(x, ld, rows, cols, row, col), load1<true>(x, ld, rows, cols, row, col + 1),
      load1<true>(x, ld, rows, cols, row, col + 2), load1<true>(x, ld, rows, cols, row, col + 3));
}

// Whether the tiles fit exactly and every row starts on a 16-byte boundary.
template <int BM, int BN, int BK>
bool whole_tiles(const PlainSgemm& p) {
  return p.m % BM == 0 && p.n % BN == 0 && p.k % BK == 0 && rows_aligned_16(p.a, p.lda) &&
         rows_aligned_16(p.b, p.ldb) && rows_aligned_16(p.c, p.ldc);
}

// One block of `threads` a BM x BN tile. Each tiled rung compiles twice: `whole` without guards for
// problems of whole, aligned tiles, `edges` with guards for all others. Same loop, same tile.
template <int BM, int BN, int BK>
Status launch_tiles(void (*whole)(PlainSgemm), void (*edges)(PlainSgemm), int threads, PlainSgemm p,
                    Stream stream, std::size_t shared_bytes = 0) {
  p.k = p.loop_k();
  return gpu::launch(
      whole_tiles<BM, BN, BK>(p) ? whole : edges,
      {tile_grid<BM, BN>(p), dim3(static_cast<unsigned>(threads)), shared_bytes, stream}, p);
}

}  // namespace KW_TARGET
