// y = activation(x + bias + residual), rows gathered or not: an elementwise pass, and the
// embedding.
#pragma once

#include <cmath>

#include "rowwise/row_memory.hpp"

namespace KW_TARGET::rowwise {

constexpr int map_threads = 256, map_values = 16;

template <int values, class F>
__device__ __forceinline__ void apply(float (&v)[values], const F& f) {
#pragma unroll
  for (float& each : v) each = f(each);
}

template <int values>
__device__ __forceinline__ void activate(RowActivation activation, float (&v)[values]) {
  constexpr float sqrt_half = 0.70710678118654752440f;
  constexpr float two_sqrt_2_over_pi = 1.59576912160573071175f;
  switch (activation) {
    case RowActivation::none: break;
    case RowActivation::relu: apply(v, [](float x) { return x < 0 ? 0.0f : x; }); break;
    case RowActivation::gelu_tanh:
      apply(v, [](float x) {
        return x / (1 + expf(-two_sqrt_2_over_pi * fmaf(0.044715f * x * x, x, x)));
      });
      break;
    case RowActivation::gelu_erf:
      apply(v, [](float x) { return 0.5f * x * (1 + erff(sqrt_half * x)); });
      break;
    case RowActivation::silu: apply(v, [](float x) { return x / (1 + expf(-x)); }); break;
  }
}

// `lanes` threads a row; rows from `first_row` on, rows * lanes of them fit an unsigned.
__global__ void __launch_bounds__(map_threads, 4)
    map_rows(const __grid_constant__ Rowwise p, Format format, std::int64_t first_row,
             unsigned rows, unsigned lanes) {
  const unsigned thread = blockIdx.x * map_threads + threadIdx.x;
  if (thread >= rows * lanes) return;
  const std::int64_t row = first_row + thread / lanes;
  const Places places(format, static_cast<int>(thread % lanes), static_cast<int>(lanes),
                      static_cast<int>(p.cols), skip_of(p, format, row), 0);
  const RowAt at = row_at(p, row);
  float v[map_values];
  load_row(p, at, places, 0.0f, v);
  store_sum(p, at, places, v);
  activate(p.activation, v);
  store_row<false>(p, at, places, v);
}

}  // namespace KW_TARGET::rowwise
