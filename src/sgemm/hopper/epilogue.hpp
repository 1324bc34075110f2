// The epilogue of a tile: C = alpha * sums + beta * C, in two forms, both without branches between
// the elements. A tile's end is fetched cold: with a choice at every pair its 2500 instructions
// take 6 us.
#pragma once

#include "device/cache_hint.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/output_fragment.hpp"
#include "sgemm/hopper/params.hpp"

namespace KW_TARGET::hopper {

struct Scaling {
  float alpha, beta;

  __device__ __forceinline__ explicit Scaling(const Sgemm& p)
      : alpha(p.alpha_at != nullptr ? *p.alpha_at : p.alpha),
        beta(p.beta_at != nullptr ? *p.beta_at : p.beta) {}
};

// Where C has all of the warp's rows and columns, in rows of 16 bytes.
template <bool reads_c, int blocks, int bn>
__device__ __forceinline__ void store_fours(OutputFragment<blocks, bn> own, float* c,
                                            std::int64_t ldc, const Scaling& by) {
#pragma unroll
  for (int h = 0; h < blocks; ++h) {
#pragma unroll
    for (int i = 0; i < bn / 2; i += i % 4 == 0 ? 2 : 6) {
      const float* const sums = &own.sums[h][i];
      auto* const at = reinterpret_cast<float4*>(c + own.row_of(h, i) * ldc + own.column_of(i));
      float4 x = make_float4(by.alpha * sums[0], by.alpha * sums[1], by.alpha * sums[4],
                             by.alpha * sums[5]);
      if constexpr (reads_c) {
        const float4 before = *at;
        x.x = fmaf(by.beta, before.x, x.x), x.y = fmaf(by.beta, before.y, x.y);
        x.z = fmaf(by.beta, before.z, x.z), x.w = fmaf(by.beta, before.w, x.w);
      }
      store_once(at, x);
    }
  }
}

// Anywhere. `rows` x `columns` of the elements are within C.
template <int blocks, int bn>
__device__ __forceinline__ void store_ones(OutputFragment<blocks, bn> own, float* c,
                                           std::int64_t ldc, const Scaling& by, int rows,
                                           int columns) {
  own.each([&](float& sum, int i, int j) {
    if (i >= rows || j >= columns) return;
    float* const at = c + i * ldc + j;
    const float x = by.alpha * sum;
    *at = by.beta != 0 ? fmaf(by.beta, *at, x) : x;
  });
}

template <int blocks, int bn>
__device__ __forceinline__ void store(const ProductParams& params, OutputFragment<blocks, bn> own) {
  const Sgemm& p = params.problem;
  const Scaling by(p);
  float* const c = c_of(p, own.entry) + own.row * p.ldc + own.column;
  const int rows = static_cast<int>(p.m) - own.row, columns = static_cast<int>(p.n) - own.column;
  const int lane_row = own.lane / 4, lane_column = own.lane % 4 * 4;
  const bool in_fours = p.ldc % 4 == 0 && reinterpret_cast<std::uintptr_t>(c) % 16 == 0;
  if (!in_fours || rows + lane_row < 64 * (blocks - 1) + 16 || columns + lane_column < bn)
    store_ones(own, c, p.ldc, by, rows, columns);
  else if (by.beta == 0)
    store_fours<false>(own, c, p.ldc, by);
  else
    store_fours<true>(own, c, p.ldc, by);
}

}  // namespace KW_TARGET::hopper
