// How `ragged` cuts a product: the tiles, and the few rows and columns beyond them. Made on the
// host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "arithmetic.hpp"
#include "sgemm/beside.hpp"
#include "sgemm/lean_plan.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/stream/schedule.hpp"

namespace kw {

// Where a product is cut into tiles and the few rows and columns beyond them (ragged.cu).
struct RaggedTuning {
  int tile;               // tiles have multiples of it
  int max_left;           // rows or columns that `thin` computes
  double min_flops;       // of smaller products the launches cost more than the tiles
  std::int64_t max_size;  // of rows and columns: `thin` has a block per 32 of them, and `tickets`
  int tickets;
  // One launch is taken where several are not predicted to take less than this share of its time,
  // which is longer by so much than the tiles' and the others' together.
  double several_share;
  double behind_us;
  // A sum of predictions, each the least of many, is too short by so much.
  double longer;
  // Where tiles of lean_tile all run at once, and such a share of the multiprocessors has a block
  // fewer, the other parts take so much of their time. Where tiles of stream_tile take all
  // multiprocessors, those of the next call wait for the other parts, so much longer.
  double room, beside_share, full_us;
};
// The last three: results/h200/explored-choice-terms.txt.
inline constexpr RaggedTuning ragged_tuning = {.tile = 32,
                                               .max_left = 8,
                                               .min_flops = 2e8,
                                               .max_size = 1 << 17,
                                               .tickets = 1 << 12,
                                               .several_share = 0.95,
                                               .behind_us = 2.5,
                                               .longer = 1.02,
                                               .room = 1.0 / 16,
                                               .beside_share = 0.25,
                                               .full_us = 3};

// Rows or columns beyond the last tile, where they are few.
inline std::int64_t ragged_left_over(std::int64_t size) {
  const std::int64_t left = size % ragged_tuning.tile;
  return size > ragged_tuning.tile && left <= ragged_tuning.max_left ? left : 0;
}

inline bool is_ragged(const Sgemm& p) {
  return p.batch == 1 && p.a_array == nullptr && p.loop_k() > 0 && p.is_full() &&
         std::max(p.m, p.n) <= ragged_tuning.max_size &&
         (ragged_left_over(p.m) > 0 || ragged_left_over(p.n) > 0);
}

// Whether rows and columns beyond the tiles are cut off.
struct RaggedCut {
  bool rows = true, columns = true;
};

// A plan's data.
struct RaggedData {
  RaggedCut cut;
  int tile = -1;  // of beside_tiles, whose kernel computes all; less than 0: a launch for each part
};

// Calls consider(cut) for each way to cut a product that is ragged. Where both sides have something
// left over, one of them may stay with the tiles: the other operand is not read once more then.
template <class Consider>
void each_ragged_cut(const Sgemm& p, const Consider& consider) {
  const bool rows = ragged_left_over(p.m) > 0, columns = ragged_left_over(p.n) > 0;
  consider(RaggedCut{rows, columns});
  if (!rows || !columns) return;
  consider(RaggedCut{true, false});
  consider(RaggedCut{false, true});
}

// The tiles come first, since they take longest. The parts run concurrently, so each has tickets of
// its own.
struct RaggedParts {
  Sgemm part[3];
  int count = 0;

  RaggedParts(const Sgemm& p, RaggedCut cut) {
    const std::int64_t m = p.m - (cut.rows ? ragged_left_over(p.m) : 0);
    const std::int64_t n = p.n - (cut.columns ? ragged_left_over(p.n) : 0);
    const Sgemm above = some_rows(p, 0, m);
    part[count++] = some_columns(above, 0, n);
    if (n < p.n) part[count++] = some_columns(above, n, p.n - n);
    if (m < p.m) part[count++] = some_rows(p, m, p.m - m);
    for (int i = 0; i < count; ++i) {
      part[i].overlaps_previous = i > 0;
      part[i].next_overlaps = i + 1 < count;
    }
  }

  // One that is no launch of its own.
  Sgemm alone(int i) const {
    Sgemm one = part[i];
    one.overlaps_previous = one.next_overlaps = false;
    return one;
  }
  // The tiles' part has the tickets from the first one on, the other parts have the last ones.
  static std::size_t first_ticket(int i) {
    return i == 0 ? 0 : ticket_count - static_cast<std::size_t>(i * ragged_tuning.tickets);
  }
};

// What the other parts add to the tiles' launch: so much of their own time, and so much more.
struct RaggedBeside {
  double share = 1, us = 0;
};
// Whether enough multiprocessors have a block fewer than the others, where all run at once.
inline bool ragged_has_room(std::int64_t blocks, const Device& device) {
  const std::int64_t sms = std::max(1, device.sm_count);
  return static_cast<double>(ceil_div(blocks, sms) * sms - blocks) >=
         ragged_tuning.room * static_cast<double>(sms);
}
inline RaggedBeside beside_lean(const LeanTileConfig& tile, const Sgemm& p, const Device& device) {
  const std::int64_t blocks = lean_tile_count(tile, p);
  const std::int64_t at_once = std::int64_t{std::max(1, device.sm_count)} * tile.blocks_per_sm;
  if (blocks > at_once || !ragged_has_room(blocks, device)) return {};
  return {.share = ragged_tuning.beside_share};
}
// Measured with a tile or a cluster each; blocks that share tiles do not wait.
inline RaggedBeside beside_stream(const StreamSchedule& s, const Device& device) {
  const bool a_tile_each = s.whole_tiles == s.tiles && s.blocks == s.tiles;
  if (ragged_has_room(s.blocks, device) || (!s.in_clusters() && !a_tile_each)) return {};
  return {.us = ragged_tuning.full_us};
}
inline RaggedBeside ragged_beside(const Choice<Sgemm>& tiles, const Sgemm& p,
                                  const Device& device) {
  const std::string_view name = tiles.kernel->name;
  for (const LeanTile& tile : lean_tiles)
    if (name == tile.name) return beside_lean(tile.config, p, device);
  for (const StreamTile& tile : stream_tiles)
    if (name == tile.name) return beside_stream(tiles.plan.data.get<StreamSchedule>(), device);
  return {};
}

// How blocks behind the tiles' compute rows or columns, and how long that takes beside a launch:
// the cut of the least prediction for blocks that have a multiprocessor each.
struct BesidePlan {
  ThinPlan plan;
  double time_us = std::numeric_limits<double>::infinity();
};
inline BesidePlan plan_beside(const Sgemm& p, const Device& device) {
  ThinPlan operands = thin_operands(p);
  operands.aligned = false;  // one way of loads for lines that start anywhere
  BesidePlan best;
  for (const ThinBlock& block : thin_blocks) {
    ThinCut cut = {beside_config, block.threads_shift, block.row_shift, 1, ThinLoads::shifted};
    if (block.rows != thin_configs[beside_config].rows ||
        1 << block.threads_shift != beside_threads)
      continue;
    if (!is_cut(cut)) continue;
    for (const bool fills : {false, true}) {
      BesidePlan other{operands};
      cut_thin(other.plan, p, cut);
      if (fills) {
        cut.parts = device.sm_count / std::max<std::int64_t>(1, other.plan.row_blocks);
        if (cut.parts < 2) continue;
        cut_thin(other.plan, p, cut);
      }
      other.time_us = std::max(0.0, predict_us(other.plan, p, device) - thin_tuning.start);
      if (other.time_us < best.time_us) best = other;
    }
  }
  return best;
}

}  // namespace kw
