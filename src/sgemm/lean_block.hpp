// The parts of lean_tile's blocks, of which level 3 makes blocks of its own: a block's part of C,
// the products of a stage, and the ways to store.
#pragma once

#include "device/overlap.hpp"
#include "device/quad.hpp"
#include "sgemm/finish.hpp"
#include "sgemm/lanes.hpp"
#include "sgemm/lean_tuning.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET {

// Floats beyond a line of a stage: the eight k of four rows that a warp turns lie in 32 banks.
constexpr int lean_padding = 4;

// Where a warp copies sixteen k of two lines (LeanTileConfig::turned), the rows of every second
// eight k lie swapped, the halves of each four, so that the copies lie in 32 banks. By the bits of
// this they lie apart from their place.
__device__ constexpr int lean_swapped(int turned, int k) {
  return turned == 16 ? k / 8 % 2 * 2 : 0;
}

template <LeanTileConfig tile>
struct LeanShape {
  static constexpr int bm = tile.bm(), bn = tile.bn(), bk = tile.bk, tm = tile.tm, tn = tile.tn;
  static constexpr int pitch_a = bm + lean_padding, pitch_b = bn + lean_padding;
  static constexpr int stage = bk * (pitch_a + pitch_b);  // floats; B behind A
  using Lanes = kw::Lanes<tile.lanes_m, tile.lanes_n>;
  static constexpr int warp_m = tm * tile.lanes_m, warp_n = tn * tile.lanes_n;
  // Rows of its part of C that a warp puts into shared memory at a time.
  static constexpr int rows_at_once = 4 * tile.lanes_m, out_pitch = warp_n + lean_padding;
  static_assert(tile.lanes_m * tile.lanes_n == 32 && tm % 4 == 0 && tn % 4 == 0);
  static_assert(tile.stages * stage >= tile.warps() * rows_at_once * out_pitch);
};

// The part of C that a block computes, and a thread's place in it.
template <LeanTileConfig tile>
struct LeanOutputs {
  using S = LeanShape<tile>;
  std::int64_t row, col;
  int rows, cols;

  __device__ __forceinline__ LeanOutputs(const Sgemm& p, unsigned tile_row, unsigned tile_col)
      : row(tile_row * std::int64_t{S::bm}),
        col(tile_col * std::int64_t{S::bn}),
        rows(static_cast<int>(p.m - row < S::bm ? p.m - row : S::bm)),
        cols(static_cast<int>(p.n - col < S::bn ? p.n - col : S::bn)) {}
};
template <LeanTileConfig tile>
struct LeanPlace {
  using S = LeanShape<tile>;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row0 = warp / tile.warps_n * S::warp_m, col0 = warp % tile.warps_n * S::warp_n;
  const int m = row0 + S::Lanes::row(lane) * 4, n = col0 + S::Lanes::col(lane) * 4;

  // Puts four rows of the thread's sums into the warp's rows in shared memory.
  __device__ __forceinline__ void put_quads(float* rows, const float (*sums)[tile.tn]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < tile.tn; j += 4)
        *reinterpret_cast<float4*>(rows + (m - row0 + i) * S::out_pitch + n - col0 +
                                   j * tile.lanes_n) = quad_of(&sums[i][j]);
  }
};

// A thread's elements of one k, fours that lie `lanes` fours apart.
template <int count, int lanes>
struct LeanFragment {
  alignas(16) float x[count];

  __device__ __forceinline__ void load(const float* from) {
#pragma unroll
    for (int i = 0; i < count; i += 4)
      *reinterpret_cast<float4*>(&x[i]) = *reinterpret_cast<const float4*>(from + i * lanes);
  }
};

template <LeanTileConfig tile>
using LeanSums = float[tile.tm][tile.tn];

// A thread's elements of one k and of the next. `swapped_a`: the rows of A lie swapped
// (lean_swapped).
template <LeanTileConfig tile, bool swapped_a = false, bool swapped_b = false>
struct LeanElements {
  using S = LeanShape<tile>;
  static constexpr bool swaps = (swapped_a || swapped_b) && tile.turned == 16;
  LeanFragment<S::tm, tile.lanes_m> x[2];
  LeanFragment<S::tn, tile.lanes_n> y[2];

  // Those of `k`, in a stage whose elements start at a and b.
  __device__ __forceinline__ void load(const float* a, const float* b, int k) {
    x[k % 2].load(a + k * S::pitch_a);
    y[k % 2].load(b + k * S::pitch_b);
  }
  __device__ __forceinline__ void multiply(LeanSums<tile>& acc, int k) const {
    const int swap_a = swapped_a ? lean_swapped(tile.turned, k) : 0;
    const int swap_b = swapped_b ? lean_swapped(tile.turned, k) : 0;
#pragma unroll
    for (int i = 0; i < S::tm; ++i)
#pragma unroll
      for (int j = 0; j < S::tn; ++j) {
        // Row by row, back and forth: two neighbouring FFMAs share an element of a or of b.
        const int col = i % 2 == 0 ? j : S::tn - 1 - j;
        acc[i][col] = fmaf(x[k % 2].x[i ^ swap_a], y[k % 2].x[col ^ swap_b], acc[i][col]);
      }
  }
  // Adds the products of a part of a stage, `depth` of k and zeros behind.
  __device__ __forceinline__ void multiply_some(LeanSums<tile>& acc, const float* a, const float* b,
                                                int depth) {
    multiply_pairs<0>(acc, a, b, swaps && depth > 8 ? 8 : depth);
    if constexpr (swaps) multiply_pairs<8>(acc, a + 8 * S::pitch_a, b + 8 * S::pitch_b, depth - 8);
  }

 private:
  // `depth` of k from `first` on.
  template <int first>
  __device__ __forceinline__ void multiply_pairs(LeanSums<tile>& acc, const float* a,
                                                 const float* b, int depth) {
#pragma unroll 1
    for (; depth > 0; depth -= 2, a += 2 * S::pitch_a, b += 2 * S::pitch_b) {
      load(a, b, 0), load(a, b, 1);
      multiply(acc, first), multiply(acc, first + 1);
    }
  }
};

// Stores the sums where rows of C are aligned.
template <LeanTileConfig tile>
__device__ __forceinline__ void store_fours(const Sgemm& p, const LeanOutputs<tile>& out,
                                            const LeanSums<tile>& acc) {
  const LeanPlace<tile> place;
#pragma unroll
  for (int i = 0; i < tile.tm; ++i) {
    const int row = place.m + i % 4 + i / 4 * 4 * tile.lanes_m;
    if (row >= out.rows) break;
#pragma unroll
    for (int j = 0; j < tile.tn; j += 4) {
      const int col = place.n + j * tile.lanes_n;
      if (col < out.cols) store_row<false, 4, true>(p, out.row + row, out.col + col, &acc[i][j]);
    }
  }
}

// The same where C is not read, wherever rows of C start: a warp puts some rows of its part into
// shared memory, and its lanes store neighbours of a row, eight of which they load at a time.
template <LeanTileConfig tile>
__device__ __forceinline__ void store_neighbours(const Sgemm& p, float* shared,
                                                 const LeanOutputs<tile>& out,
                                                 const LeanSums<tile>& acc) {
  using S = LeanShape<tile>;
  constexpr int across = S::warp_n % 32 == 0 ? 32 : 16, down = 32 / across;
  constexpr int lines = S::rows_at_once / down, together = lines % 8 == 0 ? 8 : lines;
  const LeanPlace<tile> place;
  float* const rows = shared + place.warp * S::rows_at_once * S::out_pitch;
  const int row = place.row0 + place.lane / across, col = place.lane % across;
  const int cols = out.cols - place.col0 - col;
  int left = out.rows - row;
  float* to = p.c + (out.row + row) * p.ldc + out.col + place.col0 + col;
  const std::int64_t step = down * p.ldc;
#pragma unroll
  for (int group = 0; group < tile.tm; group += 4) {
    __syncwarp();
    place.put_quads(rows, &acc[group]);
    __syncwarp();
    const float* from = rows + place.lane / across * S::out_pitch + (col ^ 1);
#pragma unroll 1
    for (int i = 0; i < lines; i += together, from += together * down * S::out_pitch) {
      float sums[together][S::warp_n / across];
#pragma unroll
      for (int q = 0; q < together; ++q)
#pragma unroll
        for (int j = 0; j < S::warp_n; j += across)
          sums[q][j / across] = from[q * down * S::out_pitch + j];
#pragma unroll
      for (int q = 0; q < together; ++q, to += step, compute_now(to))
#pragma unroll
        for (int j = 0; j < S::warp_n; j += across)
          if (q * down < left && j < cols) to[j] = p.alpha * sums[q][j / across];
      left -= together * down;
    }
  }
}

// All columns of a row of the block's part of C.
struct AllColumns {
  __device__ __forceinline__ bool operator()(int, int) const { return true; }
};

// The same where C may be read, of those elements which `is_wanted`(row, column) of the block's
// part.
template <LeanTileConfig tile, bool adds, class Wanted = AllColumns>
__device__ __forceinline__ void store_rows(const Sgemm& p, float* shared,
                                           const LeanOutputs<tile>& out, const LeanSums<tile>& acc,
                                           const Wanted& is_wanted = {}) {
  using S = LeanShape<tile>;
  constexpr int across = S::warp_n % 32 == 0 ? 32 : 16, down = 32 / across;
  const LeanPlace<tile> place;
  float* const rows = shared + place.warp * S::rows_at_once * S::out_pitch;
  const int row0 = place.lane / across, col0 = place.lane % across;
  const int cols = out.cols - place.col0 - col0;
#pragma unroll
  for (int group = 0; group < tile.tm; group += 4) {
    __syncwarp();
    place.put_quads(rows, &acc[group]);
    __syncwarp();
    const int row = place.row0 + group * tile.lanes_m + row0;
    float* to = p.c + (out.row + row) * p.ldc + out.col + place.col0 + col0;
    const float* from = rows + row0 * S::out_pitch + (col0 ^ 1);
    const auto is_here = [&](int line, int j) {
      return row + line * down < out.rows && j < cols &&
             is_wanted(row + line * down, place.col0 + col0 + j);
    };
    constexpr int lines = S::rows_at_once / down;
    if constexpr (!adds) {
#pragma unroll 4
      for (int i = 0; i < lines; ++i, to += down * p.ldc, from += down * S::out_pitch)
#pragma unroll
        for (int j = 0; j < S::warp_n; j += across)
          if (is_here(i, j)) to[j] = p.alpha * from[j];
    } else {
      constexpr int together = lines % 4 == 0 ? 4 : lines;
#pragma unroll 1
      for (int i = 0; i < lines; i += together) {
        // What is read of C before any of it is written: else one load would wait for the next.
        float before[together][S::warp_n / across] = {};
#pragma unroll
        for (int q = 0; q < together; ++q)
#pragma unroll
          for (int j = 0; j < S::warp_n; j += across)
            if (is_here(i + q, j)) before[q][j / across] = to[q * down * p.ldc + j];
#pragma unroll
        for (int q = 0; q < together; ++q, to += down * p.ldc, from += down * S::out_pitch)
#pragma unroll
          for (int j = 0; j < S::warp_n; j += across)
            if (is_here(i + q, j))
              to[j] = add_scaled(p.alpha, from[j], p.beta, before[q][j / across]);
      }
    }
  }
}

}  // namespace KW_TARGET
