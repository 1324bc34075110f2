// What level3's lean products with a triangle compute, in which order of k, and how long that
// takes. Made on the host, but for a tile's order of k.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "gpu/device.hpp"
#include "host_device.hpp"
#include "level3/problem.hpp"
#include "sgemm/lean_plan.hpp"
#include "sgemm/lean_tuning.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/small_plan.hpp"
#include "sgemm/spread_blocks.hpp"

namespace kw {

// A step is 16 k. The square on a tile's diagonal is copied element by element.
struct LeanTriangleTimes {
  double first_us, alone_step_us;  // one block alone: its beginning and end, a step
  double block_us, step_us;        // the same per block on a multiprocessor that is full of them
  double c_by_4_us;                // added to a block where rows of C are not aligned
  double along_k_us, by_4_us;      // added to a step: the triangle along k, B not aligned
  double tail;                     // so many blocks' time goes by while multiprocessors are not full
  double together;                 // small_rounds
};

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
     .times = {}},
    {.name = "triangle_lean_48x64l",
     .idea = "two warps, 12 x 4 outputs a thread",
     .config = {12, 4, 4, 8, 1, 2, 16, 3, 8},
     .on_left = true,
     .times = {}},
    {.name = "triangle_lean_64x128l",
     .idea = "four warps, 8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 2, 2, 16, 3, 3},
     .on_left = true,
     .times = {}},
    {.name = "triangle_lean_64x64r",
     .idea = "the same on the right: four warps, 8 x 4 outputs a thread",
     .config = {8, 4, 4, 8, 2, 2, 16, 3, 5, 16},
     .on_left = false,
     .times = {}},
    {.name = "triangle_lean_64x48r",
     .idea = "two warps, 4 x 12 outputs a thread",
     .config = {4, 12, 8, 4, 2, 1, 16, 3, 8},
     .on_left = false,
     .times = {}},
    {.name = "triangle_lean_128x64r",
     .idea = "four warps, 8 x 8 outputs a thread",
     .config = {8, 8, 4, 8, 4, 1, 16, 3, 3},
     .on_left = false,
     .times = {}},
};

// Tiles lie in lines of one range of k: rows of tiles, or columns where the triangle is on the
// right. `longest_first`: that with the most k, from which blocks are numbered, is the first line.
struct LeanTriangleLines {
  std::int64_t lines, of_line;
  bool longest_first;
};
KW_HOST_DEVICE constexpr LeanTriangleLines lean_triangle_lines(const LeanTileConfig& tile,
                                                               const Level3& p) {
  const std::int64_t tiles_m = ceil_div(p.m, tile.bm()), tiles_n = ceil_div(p.n, tile.bn());
  return {p.on_left ? tiles_m : tiles_n, p.on_left ? tiles_n : tiles_m,
          p.is_lower() != p.on_left};
}

// The stages of a tile: the first one, which has what is beyond whole stages; those on the diagonal;
// all others. Each with the k that it begins at.
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

// B is read as it is stored. In place, what a block reads no other one may overwrite: all k are in
// one tile.
inline bool lean_triangle_supports(const LeanTriangleTile& tile, const Level3& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  const int side = tile.on_left ? tile.config.bm() : tile.config.bn();
  const LeanTriangleLines lines = lean_triangle_lines(tile.config, p);
  return p.routine == Routine::trmm && p.on_left == tile.on_left && p.op_b == Op::none &&
         p.batch == 1 && p.k <= lean_max_k && (!p.in_place() || p.k <= side) && p.m < most &&
         p.n < most && lines.lines * lines.of_line < most;
}

inline std::int64_t lean_triangle_tile_count(const LeanTileConfig& tile, const Level3& p) {
  return ceil_div(p.m, tile.bm()) * ceil_div(p.n, tile.bn());
}

}  // namespace kw
