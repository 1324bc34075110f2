// Which kernel solves a block of a real triangular system, and how long that takes. Made on the
// host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "level3/solve_block.hpp"

namespace KW_TARGET {

enum class SolveWay { chain, lines, lanes, warps, block };

struct SolveWayChoice {
  SolveWay way;
  double us;
  OwnLines<1> warps = {};
  int lines_of_warp = 0;  // by lanes
};

// --- solve_block.cu

// A launch takes launch_us, and its blocks of threads by turns, two of 32 lines at a time on a
// multiprocessor: 16 unknowns step_us, and square_us more for each 16 before them, where a block
// is alone and where another one is beside it. A million unknowns take million_us more.
struct SolveBlockTimes {
  int lines;  // of a block of threads
  double launch_us, step_us, square_us, step_beside_us, square_beside_us, million_us;
};
// Fitted to 33 to 128 unknowns with 400 to 50000 lines on an H200; off by a seventieth on average.
inline constexpr SolveBlockTimes solve_block_times[] = {
    {32, 1.06, 1.25, 0.0529, 1.71, 0.0759, 0.975},
    {16, 0.76, 1.16, 0.0197, 0, 0, 0},
    {8, 1.13, 0.924, 0.0168, 0, 0, 0},
};

// Of blocks of threads with the fewest lines of which each has a multiprocessor to itself, else of
// those with the most.
inline const SolveBlockTimes& solve_block_times_of(std::int64_t lines_of_all,
                                                   const Device& device) {
  const SolveBlockTimes* found = solve_block_times;
  for (const SolveBlockTimes& t : solve_block_times) {
    if (ceil_div(lines_of_all, std::int64_t{t.lines}) <= device.sm_count) found = &t;
  }
  return *found;
}

inline double solve_by_block_us(int size, std::int64_t lines_of_all, const Device& device) {
  const SolveBlockTimes& t = solve_block_times_of(lines_of_all, device);
  const double steps = ceil_div(size, solve_at_once);
  const double alone = steps * (t.step_us + steps * t.square_us);
  const double beside = steps * (t.step_beside_us + steps * t.square_beside_us);
  const std::int64_t sms = std::max(device.sm_count, 1);
  const std::int64_t blocks = ceil_div(lines_of_all, std::int64_t{t.lines});
  const std::int64_t turns = blocks / (2 * sms), rest = blocks % (2 * sms);
  return t.launch_us + static_cast<double>(turns) * beside +
         (rest > sms ? beside
          : rest > 0 ? alone
                     : 0) +
         t.million_us * 1e-6 * steps * solve_at_once * static_cast<double>(lines_of_all);
}

// --- solve_lines.cu

// Its straight code, which is fetched cold, is most of the time.
inline double solve_lines_us(const SolveBlock& b) {
  constexpr double launch_us = 1, unknown_us = 0.012, million_us = 1.3;
  const double size = solve_lines_size(b.size), product_us = b.unit_diagonal ? 0.0017 : 0.0024;
  return launch_us + size * (unknown_us + size * product_us) +
         million_us * 1e-6 * size * static_cast<double>(b.batch * b.lines);
}

// --- solve_lanes.cu

// Where each block of threads has a multiprocessor to itself. A launch takes launch_us, and each
// unknown step_us, quotient_us more where the diagonal is not of ones, and panel_us more for each
// 32 unknowns. A million unknowns take million_us more.
struct SolveLanesTimes {
  int lines;         // of a warp
  bool along_lines;  // whether neighbours in memory are of two lines
  double launch_us, step_us, quotient_us, panel_us, million_us;
};
// Fitted to 9 to 128 unknowns with 50 to 4200 lines on an H200; off by a twentieth on average.
inline constexpr SolveLanesTimes solve_lanes_times[] = {
    {2, false, 1.09, 0.0138, 0.0104, 0.0125, 3.38},
    {2, true, 0.83, 0.0378, 0.0101, 0.0109, 10.9},
    {4, false, 1.16, 0.0213, 0.0133, 0.0148, 1.75},
    {4, true, 0.44, 0.0722, 0.0087, 0.0094, 12.5},
};

inline SolveWayChoice choose_solve_lanes(const SolveBlock& b, const Device& device) {
  SolveWayChoice best{SolveWay::lanes, std::numeric_limits<double>::infinity()};
  const double size = b.size, panels = ceil_div(b.size, 32);
  for (const SolveLanesTimes& t : solve_lanes_times) {
    const std::int64_t of_block = std::int64_t{solve_lanes_warps} * t.lines;
    if (b.size > solve_lanes_most || t.along_lines != (b.line_step == 1) ||
        b.batch * ceil_div(b.lines, of_block) > device.sm_count)
      continue;
    const double us =
        t.launch_us +
        size * (t.step_us + (b.unit_diagonal ? 0 : t.quotient_us) + panels * t.panel_us +
                t.million_us * 1e-6 * static_cast<double>(b.batch * b.lines));
    if (us < best.us) best.us = us, best.lines_of_warp = t.lines;
  }
  return best;
}

// --- solve_warps.cu

// Of panel_us, where the diagonal is of ones.
inline constexpr double solve_warps_unit_panel = 0.87;
// Fitted to 17 to 128 unknowns with 100 to 50000 lines on an H200; off by a fortieth on average.
inline constexpr OwnLinesTimes<1> solve_warps_times[] = {
    {{8, 4}, 1.40, 0.455, 0.0517, 0.0781, 0.0027, 0.513},
    {{16, 4}, 1.16, 0.589, 0.0432, 0.0851, 0.0099, 0.467},
    {{32, 2}, 1.12, 0.619, 0.0418, 0.1092, 0.0286, 0.818},
    {{32, 4}, 1.04, 0.664, 0.0693, 0.1171, 0.0210, 0.334},
};

// --- the quickest

inline SolveWayChoice choose_solve_way(const SolveBlock& b, const Device& device) {
  if (b.size <= solve_lines_least) return {SolveWay::lines, solve_lines_us(b)};
  SolveWayChoice best{SolveWay::block, solve_by_block_us(b.size, b.batch * b.lines, device)};
  const OwnLinesChoice<1> warps =
      choose_own_lines(solve_warps_times, b.size, b.lines, b.batch,
                       b.unit_diagonal ? solve_warps_unit_panel : 1, device);
  if (warps.us < best.us) best = {SolveWay::warps, warps.us, warps.warps};
  // Few lines, and the only way for more unknowns than a block of solve_block.cu has.
  if (solves_by_chain(b.size, b.lines, b.batch, device))
    best = {SolveWay::chain, solve_chain_us(b.size, b.lines)};
  const SolveWayChoice lanes = choose_solve_lanes(b, device);
  if (lanes.us < best.us) best = lanes;
  if (b.size <= solve_lines_most && solve_lines_us(b) < best.us)
    best = {SolveWay::lines, solve_lines_us(b)};
  return best;
}

}  // namespace KW_TARGET
