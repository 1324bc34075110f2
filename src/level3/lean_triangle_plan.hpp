// What level3's lean products with a triangle compute, in which order of k, and how long that
// takes. Made on the host, but for a tile's order of k.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "arithmetic.hpp"
#include "gpu/device.hpp"
#include "host_device.hpp"
#include "level3/problem.hpp"
#include "sgemm/lean_tuning.hpp"
#include "sgemm/memory_time.hpp"

namespace kw {

// A step is 16 k. Fitted to 358 products with triangles of 50 to 2600 rows and 500 to 20000 lines
// beside them on an NVIDIA H200: off by 8 % on average.
struct LeanTriangleTimes {
  double first_us;           // a launch, its first block and its end
  double block_us, step_us;  // a block and a step of one on a multiprocessor
  double c_by_4_us;          // added to a block where rows of C are not aligned
  double by_4_us;            // added to a step where rows of B are not aligned
  // Where all blocks run at once: of one more, what the busiest multiprocessor has beyond the mean;
  // and by so much they take longer, whose ranges of k differ.
  double busiest, uneven;
  double tail;  // else so many blocks' time goes by while multiprocessors are not full
};
// By so much a prediction must be below those of other kernels.
inline constexpr double lean_triangle_margin = 1.06;

struct LeanTriangleTile {
  const char* name;
  const char* idea;
  LeanTileConfig config;
  bool on_left;  // the side of the triangle
  LeanTriangleTimes times;
};

inline constexpr LeanTriangleTile lean_triangle_tiles[] = {
    {.name = "triangle_lean_64x64l",
     .idea = "a triangle on the left, where it lies: four warps, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5, 16},
     .on_left = true,
     .times = {.first_us = 4.865,
               .block_us = 0.268,
               .step_us = 0.345,
               .c_by_4_us = 0.128,
               .by_4_us = 0,
               .busiest = 0.5,
               .uneven = 0.896,
               .tail = 2.513}},
    {.name = "triangle_lean_48x64l",
     .idea = "two warps, 12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 1, 2, 16, 3, 8},
     .on_left = true,
     .times = {.first_us = 6.021,
               .block_us = 0,
               .step_us = 0.23,
               .c_by_4_us = 0,
               .by_4_us = 0,
               .busiest = 0.805,
               .uneven = 1.19,
               .tail = 7.082}},
    {.name = "triangle_lean_64x128l",
     .idea = "four warps, 8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 2, 2, 16, 3, 3},
     .on_left = true,
     .times = {.first_us = 6.204,
               .block_us = 0,
               .step_us = 0.633,
               .c_by_4_us = 0.441,
               .by_4_us = 0,
               .busiest = 0.71,
               .uneven = 0.823,
               .tail = 1.358}},
    {.name = "triangle_lean_64x64r",
     .idea = "the same on the right: four warps, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5, 16},
     .on_left = false,
     .times = {.first_us = 4.576,
               .block_us = 0.435,
               .step_us = 0.37,
               .c_by_4_us = 0.014,
               .by_4_us = 0.059,
               .busiest = 0.659,
               .uneven = 0.76,
               .tail = 1.557}},
    {.name = "triangle_lean_64x48r",
     .idea = "two warps, 4 x 12 outputs a thread",
     .config = {4, 12, 8, 4, 2, 1, 16, 3, 8},
     .on_left = false,
     .times = {.first_us = 5.548,
               .block_us = 0,
               .step_us = 0.255,
               .c_by_4_us = 0.074,
               .by_4_us = 0.02,
               .busiest = 0.719,
               .uneven = 1.144,
               .tail = 5.206}},
    {.name = "triangle_lean_128x64r",
     .idea = "four warps, 8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 4, 1, 16, 3, 3},
     .on_left = false,
     .times = {.first_us = 6.132,
               .block_us = 0.292,
               .step_us = 0.673,
               .c_by_4_us = 0.045,
               .by_4_us = 0.071,
               .busiest = 0.745,
               .uneven = 0.787,
               .tail = 1.184}},
};

// Tiles lie in lines of one range of k: rows of tiles, or columns where the triangle is on the
// right.
struct LeanTriangleLines {
  std::int64_t lines, of_line;
};
KW_HOST_DEVICE constexpr LeanTriangleLines lean_triangle_lines(const LeanTileConfig& tile,
                                                               const Level3& p) {
  const std::int64_t tiles_m = ceil_div(p.m, tile.bm()), tiles_n = ceil_div(p.n, tile.bn());
  return {p.on_left ? tiles_m : tiles_n, p.on_left ? tiles_n : tiles_m};
}

// The stages of a tile: the first one, which has what is beyond whole stages; those on the
// diagonal; all others. Each with the k that it begins at.
struct LeanTriangleStages {
  int first_at, first_depth;
  bool first_on_diagonal;
  int diagonal_at, diagonal;
  int plain_at, plain;

  KW_HOST_DEVICE constexpr int whole() const { return diagonal + plain; }
};
// Of the tile whose first row or column of the triangle is `line`, with `size` of them at most.
// `ends`: its k end at the diagonal, and do not begin there.
KW_HOST_DEVICE constexpr LeanTriangleStages lean_triangle_stages(int line, int size, int bk, int k,
                                                                 bool ends) {
  if (k == 0) return {};
  const int square = k - line < size ? k - line : size, behind = k - line - square;
  if (!ends && behind > 0) {
    const int depth = (behind - 1) % bk + 1;
    return {.first_at = k - depth,
            .first_depth = depth,
            .first_on_diagonal = false,
            .diagonal_at = line,
            .diagonal = square / bk,
            .plain_at = line + square,
            .plain = (behind - depth) / bk};
  }
  const int depth = (square - 1) % bk + 1;
  return {.first_at = line,
          .first_depth = depth,
          .first_on_diagonal = true,
          .diagonal_at = line + depth,
          .diagonal = (square - depth) / bk,
          .plain_at = 0,
          .plain = ends ? line / bk : 0};
}

inline std::int64_t lean_triangle_tile_count(const LeanTileConfig& tile, const Level3& p) {
  return ceil_div(p.m, tile.bm()) * ceil_div(p.n, tile.bn());
}

// B is read as it is stored. In place, what a block reads no other one may overwrite: all k are in
// one tile.
inline bool lean_triangle_supports(const LeanTriangleTile& tile, const Level3& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  const int side = tile.on_left ? tile.config.bm() : tile.config.bn();
  return p.routine == Routine::trmm && p.on_left == tile.on_left && p.op_b == Op::none &&
         p.batch == 1 && p.k <= lean_max_k && (!p.in_place() || p.k <= side) && p.m < most &&
         p.n < most && lean_triangle_tile_count(tile.config, p) < most;
}

// The k of a tile, of the mean line.
inline double lean_triangle_mean_k(const LeanTriangleTile& tile, const Level3& p) {
  const std::int64_t size = tile.on_left ? tile.config.bm() : tile.config.bn();
  const bool ends = p.is_lower() == p.on_left;
  std::int64_t lines = 0, sum = 0;
  for (std::int64_t first = 0; first < p.k; first += size, ++lines)
    sum += ends ? std::min(p.k, first + size) : p.k - first;
  return static_cast<double>(sum) / static_cast<double>(std::max<std::int64_t>(lines, 1));
}

inline double predict_lean_triangle_us(const LeanTriangleTile& tile, const Level3& p,
                                       const Device& device) {
  const LeanTriangleTimes& t = tile.times;
  const double blocks =
      static_cast<double>(lean_triangle_tile_count(tile.config, p)) / std::max(1, device.sm_count);
  const bool c_by_4 = p.n % 4 != 0 || p.ldc % 4 != 0, b_by_4 = p.on_left && p.ldb % 4 != 0;
  const double block_us =
      t.block_us + (c_by_4 ? t.c_by_4_us : 0) +
      lean_triangle_mean_k(tile, p) / 16 * (t.step_us + (b_by_4 ? t.by_4_us : 0));
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  const double memory = memory_us(sizeof(float) * (2 * m * n + k * k / 2), device);
  if (blocks > tile.config.blocks_per_sm)
    return t.first_us + std::max((blocks + t.tail) * block_us, memory);
  constexpr double most_uneven = 3;  // lines beyond the first
  const auto lines = static_cast<double>(lean_triangle_lines(tile.config, p).lines);
  const double uneven = 1 + t.uneven * std::min(1.0, (lines - 1) / most_uneven);
  const double busiest = blocks + t.busiest * (std::ceil(blocks) - blocks);
  return t.first_us + std::max(busiest * uneven * block_us, memory);
}

}  // namespace kw
