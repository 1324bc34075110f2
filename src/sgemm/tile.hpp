// What the tiled matrix kernels share: which tile of C a block computes, and the stores of its
// elements.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET {

// First row and column of a tile.
struct TileOrigin {
  std::int64_t row, col;
};

// The grid is flat: neither m nor n then meets the limit of 65535 blocks in grid.y and grid.z.
// Neighbouring blocks lie next to each other along n.
template <int BM, int BN>
__device__ __forceinline__ TileOrigin tile_origin(const PlainSgemm& p) {
  const unsigned tiles_n = static_cast<unsigned>(ceil_div(p.n, BN));
  return {static_cast<std::int64_t>(blockIdx.x / tiles_n) * BM,
          static_cast<std::int64_t>(blockIdx.x % tiles_n) * BN};
}

template <int BM, int BN>
dim3 tile_grid(const PlainSgemm& p) {
  return dim3(static_cast<unsigned>(ceil_div(p.m, BM) * ceil_div(p.n, BN)));
}

// Whether rows of x, which start ld floats apart, all start on a 16-byte boundary.
KW_HOST_DEVICE inline bool rows_aligned_16(const float* x, std::int64_t ld) {
  return reinterpret_cast<std::uintptr_t>(x) % 16 == 0 && ld % 4 == 0;
}

// The same for every matrix of a batch, which lie `stride` floats apart. False for arrays of
// pointers, which only the device can read.
inline bool batch_aligned_16(const Sgemm& p, const float* x, std::int64_t ld, std::int64_t stride) {
  return p.a_array == nullptr && rows_aligned_16(x, ld) && (p.batch == 1 || stride % 4 == 0);
}

// alpha * sum + beta * c; of the two products the smaller one is rounded before they are added.
__device__ __forceinline__ float add_scaled(float alpha, float sum, float beta, float c) {
  const float x = alpha * sum, y = beta * c;
  return fabsf(x) < fabsf(y) ? fmaf(beta, c, x) : fmaf(alpha, sum, y);
}

// The same, where C is not even read when beta is 0 (it may hold NaN).
__device__ __forceinline__ float blend(float alpha, float sum, float beta, const float* c) {
  return beta == 0 ? alpha * sum : add_scaled(alpha, sum, beta, *c);
}

// C[row][col] = alpha * sum + beta * C[row][col]; with Edges only where that is inside C.
template <bool Edges>
__device__ __forceinline__ void store1(const PlainSgemm& p, std::int64_t row, std::int64_t col,
                                       float sum) {
  if (Edges && (row >= p.m || col >= p.n)) return;
  float* c = p.c + row * p.ldc + col;
  *c = blend(p.alpha, sum, p.beta, c);
}

// The same for N = 2 or 4 neighbours in a row: one 8- or 16-byte access, or with Edges one by one.
// With Branches, one branch on beta for all of them takes fewer instructions than a selection for
// each. The ladder's rungs, which are measured as they are, have none.
template <bool Edges, int N, bool Branches = false>
__device__ __forceinline__ void store_row(const PlainSgemm& p, std::int64_t row, std::int64_t col,
                                          const float* sums) {
  using Vector = std::conditional_t<N == 4, float4, float2>;
  static_assert(sizeof(Vector) == N * sizeof(float));
  if (Edges) {
#pragma unroll
    for (int j = 0; j < N; ++j) store1<true>(p, row, col + j, sums[j]);
    return;
  }
  union {
    Vector vector;
    float element[N];
  } c;
  Vector* to = reinterpret_cast<Vector*>(p.c + row * p.ldc + col);
  if (Branches && p.beta == 0) {
#pragma unroll
    for (int j = 0; j < N; ++j) c.element[j] = p.alpha * sums[j];
    *to = c.vector;
    return;
  }
  if (Branches || p.beta != 0) c.vector = *to;
#pragma unroll
  for (int j = 0; j < N; ++j)
    c.element[j] = Branches ? add_scaled(p.alpha, sums[j], p.beta, c.element[j])
                            : blend(p.alpha, sums[j], p.beta, &c.element[j]);
  *to = c.vector;
}

}  // namespace KW_TARGET
