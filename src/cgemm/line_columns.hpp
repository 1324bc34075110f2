// What cgemm_outer, cgemm_rank_one and cgemm_strip share: elements that lanes read for themselves,
// and lines of C that a warp stores.
#pragma once

#include <cstdint>

#include "cgemm/problem.hpp"

namespace KW_TARGET {

// An element of an operand; zero where it is not `inside`.
__device__ __forceinline__ float2 element_of(const Complex* from, bool inside) {
  return inside ? __ldg(reinterpret_cast<const float2*>(from)) : make_float2(0, 0);
}

// A lane's columns of C, in pairs of neighbours where lines of C begin at 16 bytes, else 32 apart.
template <int TN>
struct LineColumns {
  static constexpr int width = 32 * TN;  // of the warp
  bool in_pairs;
  std::int64_t first;
  int left;  // of the matrix, from the first one on

  // `strip`: which `width` columns of C.
  __device__ __forceinline__ LineColumns(const Cgemm& p, const Complex* c, std::int64_t strip) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    in_pairs = TN % 2 == 0 && p.ldc % 2 == 0 && reinterpret_cast<std::uintptr_t>(c) % 16 == 0;
    first = strip * width + (in_pairs ? 2 * lane : lane);
    const std::int64_t rest = p.n - first;
    left = rest < width ? static_cast<int>(rest) : width;
  }
  __device__ __forceinline__ int at(int j) const { return in_pairs ? j / 2 * 64 + j % 2 : 32 * j; }
  __device__ __forceinline__ bool has(int j) const { return at(j) < left; }
};

// Where Finish::is_plain. `to`: the lane's first element of the line; `re` and `im`: alpha, which
// is real, and the same with the sign of a conjugate.
template <int TN>
__device__ __forceinline__ void store_line(const float2 (&sums)[TN], Complex* to,
                                           const LineColumns<TN>& columns, float re, float im) {
  if (TN % 2 == 0 && columns.in_pairs) {
#pragma unroll
    for (int j = 0; j + 1 < TN; j += 2) {
      if (columns.has(j + 1))
        *reinterpret_cast<float4*>(to + j * 32) =
            make_float4(sums[j].x * re, sums[j].y * im, sums[j + 1].x * re, sums[j + 1].y * im);
      else if (columns.has(j))
        to[j * 32] = {sums[j].x * re, sums[j].y * im};
    }
  } else {
#pragma unroll
    for (int j = 0; j < TN; ++j)
      if (32 * j < columns.left) to[32 * j] = {sums[j].x * re, sums[j].y * im};
  }
}

}  // namespace KW_TARGET
