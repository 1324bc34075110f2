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
  // Where tiles are cut along k (sgemm/tile_cut.hpp): added to a launch, for each part of a tile,
  // and to a part's block.
  double cut_us = 0, cut_part_us = 0, cut_block_us = 0;
  double longer = 0;  // of launches of four times lean_long_from_us and more
};

struct UpdateSize {
  std::int64_t k;
  int products;
  bool reads_c, c_by_4, along_k, by_4;
};
// What a launch and its blocks take of an update.
struct UpdateBlock {
  double first_us, us, steps, step_us;
};
inline UpdateBlock update_block(const UpdateTimes& t, int bk, const UpdateSize& size) {
  const double part = size.k % bk != 0 ? t.part_steps : 0;
  return {
      .first_us = t.first_us + (size.reads_c ? t.reads_first_us : 0),
      .us = t.block_us + (size.c_by_4 ? t.c_by_4_us : 0) + (size.reads_c ? t.reads_block_us : 0),
      .steps = size.products * (static_cast<double>(size.k) / 16 + part),
      .step_us = t.step_us + (size.along_k ? t.along_k_us
                              : size.by_4  ? t.by_4_us
                                           : 0)};
}

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
  const UpdateBlock block = update_block(t, bk,
                                         {.k = p.k,
                                          .products = p.routine == Routine::syr2k ? 2 : 1,
                                          .reads_c = p.reads_c(),
                                          .c_by_4 = p.ldc % 4 != 0,
                                          .along_k = p.op_a == Op::none,
                                          .by_4 = p.lda % 4 != 0});
  const double blocks = static_cast<double>(update_tiles(side, p)) / std::max(1, device.sm_count);
  const double rounds = small_rounds(blocks, blocks_per_sm, t.together);
  return std::max({block.first_us + block.steps * t.alone_step_us,
                   block.first_us + (rounds + t.tail) * (block.us + block.steps * block.step_us),
                   memory_us(bytes, device)});
}

}  // namespace kw
