// How long tiles take that update a triangle, a block of threads each: level3_tile's and
// level3_lean's. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gpu/device.hpp"
#include "level3/problem.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/small_plan.hpp"

namespace kw {

// A step is 16 k.
struct UpdateTimes {
  double first_us, alone_step_us;  // one block alone: its beginning and end, a step
  double block_us, step_us;        // the same per block on a multiprocessor that is full of them
  double c_by_4_us;                // added to a block where rows of C are not aligned
  double along_k_us, by_4_us;      // added to a step: operands along k, or rows not aligned
  double reads_first_us, reads_block_us;  // where C is read
  double part_steps;                      // added to the steps where the last stage is not whole
  double tail;      // so many blocks' time goes by while multiprocessors are not full
  double together;  // small_rounds
};

// From where on they are those that choose best: fitted to some hundred random updates of 300 to
// 8100 rows with a k of 12 to 800 on an NVIDIA H200; off by a twentieth on average.
inline constexpr std::int64_t update_least_rows = 1000, update_least_k = 12;

inline std::int64_t update_tiles(std::int64_t side, const Level3& p) {
  const std::int64_t tiles = ceil_div(p.m, side);
  return tiles * (tiles + 1) / 2;
}

// A tile of side x side, so many blocks a multiprocessor, `bk` of k a stage; `bytes` of operands.
inline double predict_update_us(const UpdateTimes& t, int side, int bk, int blocks_per_sm,
                                double bytes, const Level3& p, const Device& device) {
  const double steps = (p.routine == Routine::syr2k ? 2 : 1) *
                       (static_cast<double>(p.k) / 16 + (p.k % bk != 0 ? t.part_steps : 0));
  const double blocks = static_cast<double>(update_tiles(side, p)) / std::max(1, device.sm_count);
  const double first_us = t.first_us + (p.reads_c() ? t.reads_first_us : 0);
  const double block_us =
      t.block_us + (p.ldc % 4 != 0 ? t.c_by_4_us : 0) + (p.reads_c() ? t.reads_block_us : 0);
  const double step_us = t.step_us + (p.op_a == Op::none ? t.along_k_us
                                      : p.lda % 4 != 0   ? t.by_4_us
                                                         : 0);
  const double rounds = small_rounds(blocks, blocks_per_sm, t.together);
  return std::max({first_us + steps * t.alone_step_us,
                   first_us + (rounds + t.tail) * (block_us + steps * step_us),
                   memory_us(bytes, device)});
}

}  // namespace kw
