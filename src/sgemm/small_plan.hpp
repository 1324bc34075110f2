// What a launch of small_tile needs, and how long it will take. Made on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "gpu/device.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/small_tuning.hpp"
#include "sgemm/spread_blocks.hpp"

namespace kw {

inline std::int64_t small_tile_count(const SmallTileConfig& tile, const Sgemm& p) {
  return ceil_div(p.m, tile.bm) * ceil_div(p.n, tile.bn);
}

inline constexpr std::size_t small_stage_bytes(const SmallTileConfig& tile, Op op_a, Op op_b) {
  return sizeof(float) *
         (small_operand_floats(tile.bm, tile.bk, tile.lies_along_k(op_a == Op::none)) +
          small_operand_floats(tile.bn, tile.bk, tile.lies_along_k(op_b != Op::none)));
}

// Dynamic shared memory of a block: the ring, as far as k fills it, in which the parts of k are
// added up in the end.
inline std::size_t small_shared_bytes(const SmallTileConfig& tile, const Sgemm& p) {
  const auto stages = std::clamp<std::int64_t>(ceil_div(p.k, tile.bk), 1, tile.stages);
  const std::size_t sums = tile.parts_k > 1 ? sizeof(float) * tile.parts_k * tile.bm * tile.bn : 0;
  return std::max(static_cast<std::size_t>(stages) * small_stage_bytes(tile, p.op_a, p.op_b), sums);
}

// What the launch asks for: where an SM has few blocks, and these are three or have some work, they
// are kept apart.
inline std::size_t small_shared_bytes_asked(const SmallTileConfig& tile, const Sgemm& p,
                                            const Device& device) {
  const std::size_t needed = small_shared_bytes(tile, p);
  const std::int64_t blocks = small_tile_count(tile, p) * p.batch, sms = device.sm_count;
  if (sms <= 0) return needed;
  const std::int64_t of_sm = ceil_div(blocks, sms);
  if (of_sm < small_apart_from && p.loop_k() < small_alone_k) return needed;
  if (of_sm > std::min(tile.blocks_per_sm, small_alone_blocks)) return needed;
  return shared_bytes_that_spread(blocks, needed, device);
}

inline bool small_tile_supports(const SmallTileConfig& tile, const Sgemm& p, const Device& device) {
  constexpr std::int64_t most_blocks = std::numeric_limits<int>::max();
  const std::int64_t tiles = small_tile_count(tile, p);
  return p.is_full() && tiles <= most_blocks &&
         p.batch <= most_blocks / std::max<std::int64_t>(1, tiles) &&
         small_shared_bytes(tile, p) <= device.shared_bytes_per_block_optin;
}

// Of the floats that a block copies, the share that is copied by 4 bytes instead of 16.
inline double share_copied_by_4(const SmallTileConfig& tile, const Sgemm& p) {
  // Columns of B that lie apart for single stores of C are copied one by one.
  const bool b_apart = p.op_b == Op::none && is_c_by_4(p);
  const bool turns_a = tile.turns && p.op_a == Op::none, turns_b = tile.turns && p.op_b != Op::none;
  const int floats = (turns_a || rows_by_4(p, p.lda, p.stride_a) ? tile.bm : 0) +
                     (turns_b || b_apart || rows_by_4(p, p.ldb, p.stride_b) ? tile.bn : 0);
  return static_cast<double>(floats) / (tile.bm + tile.bn);
}

// Of the operands, the share that lies along k, beyond the half that does where none is transposed.
inline double share_along_k(const Sgemm& p) {
  return ((p.op_a == Op::none ? 1 : 0) + (p.op_b != Op::none ? 1 : 0) - 1) / 2.0;
}

// Blocks one after the other on an SM that is full of them, with so many an SM on average. As many
// as fit start together, and the fullest SM ends last. They also end together, so a second set that
// is hardly filled takes longer than its share; with each further set their ends lie less together.
inline double small_rounds(double blocks, int blocks_per_sm, double together = small_together) {
  if (blocks <= blocks_per_sm) return std::ceil(blocks);
  const double missing = std::ceil(blocks / blocks_per_sm) * blocks_per_sm - blocks;
  return blocks + together * missing * blocks_per_sm / blocks;
}

// Blocks that are fewer than an SM holds hide less of each other's latencies; 0 where none is
// missing.
inline double missing_blocks(double blocks, int blocks_per_sm) {
  return 1 / std::clamp(std::ceil(blocks), 1.0, 1.0 * blocks_per_sm) - 1.0 / blocks_per_sm;
}

// What memory takes for operands and C together, so many times as long as at its best; 0 where they
// lie in L2.
inline double small_memory_us(const Sgemm& p, double longer, const Device& device) {
  const double all = static_cast<double>(p.batch) *
                     static_cast<double>(p.m * p.n + p.loop_k() * (p.m + p.n)) * sizeof(float);
  if (all <= small_l2_share * l2_bytes_of(device)) return 0;
  return longer * all / (small_memory_share * memory_bytes_per_us(device));
}

// Infinite where the times were not measured.
inline double predict_small_us(const SmallTile& tile, const Sgemm& p, const Device& device) {
  if (p.loop_k() > small_max_k) return std::numeric_limits<double>::infinity();
  const SmallTileTimes& t = tile.times;
  const double chunks = static_cast<double>(p.loop_k()) / tile.config.bk;
  const double blocks = static_cast<double>(small_tile_count(tile.config, p)) *
                        static_cast<double>(p.batch) / std::max(1, device.sm_count);
  const int most = tile.config.blocks_per_sm;
  const double rounds = small_rounds(blocks, most);
  const double block_us = t.block_us + (is_c_by_4(p) ? t.c_by_4_us : 0);
  const double chunk_us = t.busy_chunk_us * (1 + t.few_blocks * missing_blocks(blocks, most)) +
                          share_copied_by_4(tile.config, p) * t.copies_by_4_us +
                          share_along_k(p) * t.along_k_us;
  return std::max({t.first_us + chunks * t.chunk_us,
                   small_launch_us + (rounds + t.tail) * (block_us + chunks * chunk_us),
                   small_launch_us + small_memory_us(p, t.memory, device)});
}

}  // namespace kw
