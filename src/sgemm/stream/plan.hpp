// How a configuration of stream_tile cuts a product into blocks, and how long that will take: a
// function of the problem, the configuration and the device, made on the host.
//
//   shape       tiles and iterations of the product, where their numbers fit
//   candidates  a few ways to cut the tiles: which of them are shared among blocks, among how many
//   steps       what an iteration and a tile of this product take, however it is cut
//   timing      of one candidate; the quickest is the plan
//   sums        how they are cut, so that no accumulator adds up too much
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "arithmetic.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/shape.hpp"
#include "sgemm/spread_blocks.hpp"
#include "sgemm/stream/clusters.hpp"
#include "sgemm/stream/schedule.hpp"
#include "sgemm/stream/sum_length.hpp"
#include "sgemm/stream/tuning.hpp"

namespace kw {

struct StreamPlan {
  StreamSchedule schedule;
  double time_us = std::numeric_limits<double>::infinity();  // predicted
};

// Whether lines of both operands lie along k in memory.
inline bool both_along_k(const Sgemm& p) { return p.op_a == Op::none && p.op_b != Op::none; }

namespace detail {

// A schedule's numbers are ints.
constexpr std::int64_t stream_limit = std::numeric_limits<int>::max();

// Tiles and iterations of whole matrices, not cut yet; nothing where their numbers exceed an int.
template <class Config, class Product>
std::optional<StreamSchedule> shape_of_tiles(const Config& config, const Product& p) {
  const std::int64_t tiles_m = ceil_div(p.m, config.bm), tiles_n = ceil_div(p.n, config.bn);
  const std::int64_t iterations = ceil_div(p.loop_k(), config.bk);
  if (tiles_m > stream_limit / std::max<std::int64_t>(1, tiles_n) ||
      tiles_m * tiles_n > stream_limit / std::max<std::int64_t>(1, p.batch) ||
      iterations > stream_limit / config.bk)
    return std::nullopt;
  StreamSchedule shape;
  shape.tiles_m = static_cast<int>(tiles_m);
  shape.tiles_n = static_cast<int>(tiles_n);
  shape.tiles = static_cast<int>(tiles_m * tiles_n * p.batch);
  shape.iterations = static_cast<int>(iterations);
  return shape;
}

// The same, of the tiles that a triangle has; nothing where the configuration has no such shapes.
inline std::optional<StreamSchedule> stream_shape(const StreamTileConfig& config, const Sgemm& p) {
  if (!p.is_full() && !config.shaped) return std::nullopt;
  if (p.k_range != KRange::all && (p.diagonal_apart || p.batch > 1 || config.bm % config.bk != 0))
    return std::nullopt;
  auto shape = shape_of_tiles(config, p);
  if (shape && p.triangle != Triangle::none) {
    const TriangleOfTiles tiles{p.triangle, p.column_shift, shape->tiles_m, shape->tiles_n};
    shape->tiles = static_cast<int>(tiles.count() * p.batch);
  }
  return shape;
}

// The last `shared` of the tiles are cut along k into equal shares for `blocks` blocks; 0: all
// tiles stay whole. Nothing where a block would have no iteration of them, or their number exceeds
// an int.
inline std::optional<StreamSchedule> cut_stream(const StreamSchedule& shape, std::int64_t blocks,
                                                std::int64_t shared) {
  const std::int64_t work = shared * shape.iterations;
  if (shared > 0 && (work < blocks || work > stream_limit)) return std::nullopt;
  StreamSchedule schedule = shape;
  schedule.blocks = static_cast<int>(blocks);
  schedule.whole_tiles = static_cast<int>(shape.tiles - shared);
  schedule.share = static_cast<int>(work / blocks);
  schedule.longer = static_cast<int>(work % blocks);
  schedule.piece = shape.iterations;
  return schedule;
}

// Each tile is cut along k into equal shares for the blocks of a cluster, no more than there are
// iterations.
inline StreamSchedule cut_stream_by_clusters(const StreamSchedule& shape, int parts) {
  StreamSchedule schedule = shape;
  schedule.blocks = shape.tiles * parts;
  schedule.whole_tiles = 0;
  schedule.share = shape.iterations / parts;
  schedule.longer = shape.iterations % parts;
  schedule.cluster = parts;
  schedule.piece = shape.iterations;
  return schedule;
}

// Calls consider(blocks, shared) for each candidate: whole tiles only; the tiles of the last,
// incomplete wave cut evenly over all blocks; or, where there are fewer tiles than blocks, each
// tile cut into equal parts. `slots` blocks are resident at a time.
template <class Consider>
void each_stream_cut(const StreamSchedule& shape, std::int64_t slots, const Consider& consider) {
  const std::int64_t tiles = shape.tiles;
  const std::int64_t max_parts = std::min<std::int64_t>(slots / tiles, shape.iterations);
  const bool can_cut = shape.iterations >= 2;
  consider(std::min(slots, tiles), 0);
  if (!can_cut) return;
  if (tiles % slots != 0) consider(slots, tiles % slots);
  if (tiles >= slots) return;
  for (const std::int64_t parts : {max_parts, max_parts / 2, std::int64_t{8}, std::int64_t{4},
                                   std::int64_t{3}, std::int64_t{2}})
    if (parts >= 2 && parts <= max_parts) consider(tiles * parts, tiles);
}

// Calls consider(parts) for each size of a cluster whose blocks are all resident at a time, where
// the configuration has clusters.
template <class Consider>
void each_cluster_cut(bool clusters, int blocks_per_sm, const StreamSchedule& shape,
                      const Device& device, const Consider& consider) {
  if (!clusters || !device_has_clusters(device)) return;
  const int most = std::min(stream_cluster_parts, shape.iterations);
  for (int parts = 2; parts <= most; ++parts) {
    if (std::int64_t{shape.tiles} * parts <=
        blocks_in_clusters(device.sm_count, blocks_per_sm, parts))
      consider(parts);
  }
}

// What does not depend on the cut.
struct StreamSteps {
  double start_us, store_us, tile_us, iteration_us, crowded_iteration_us;
  double alone_us;        // added where a multiprocessor has one block and could have more
  double last_iteration;  // of a tile, as a part of one
  double cut_us;          // added where tiles are cut
  double least_us;        // of a launch
  StreamFew few;
};

// Of a tile's last iteration, the part that is multiplied: the warps along k take as many pairs
// each.
template <class Config>
double multiplied_part(const Config& config, std::int64_t loop_k) {
  const std::int64_t k = loop_k % config.bk, pairs = 2 * std::int64_t{config.warps_k};
  return k == 0 ? 1 : static_cast<double>(ceil_div(k, pairs) * pairs) / config.bk;
}

// A tile's last iteration, as a part of one.
inline double last_iteration(const StreamTileConfig& config, const Sgemm& p) {
  if (p.loop_k() % config.bk == 0 || config.whole_stages()) return 1;
  return stream_short_stage + (1 - stream_short_stage) * multiplied_part(config, p.loop_k());
}

// What an iteration takes longer by the way in which the operands lie. `Times`: StreamTileTimes, or
// what has its along_k_us and by_4_us.
template <class Times>
double stream_copies_us(const StreamTileConfig& config, const Times& t, const Sgemm& p) {
  double copies_us = 0;
  const auto add = [&](int extent, bool along_k, std::int64_t ld, std::int64_t stride) {
    copies_us += extent * (along_k ? t.along_k_us : rows_by_4(p, ld, stride) ? t.by_4_us : 0);
  };
  add(config.bm, p.op_a == Op::none, p.lda, p.stride_a);
  add(config.bn, p.op_b != Op::none, p.ldb, p.stride_b);
  return copies_us / (config.bm + config.bn);
}

// So much of an iteration's time it then takes.
template <class Times>
double stream_turned(const Times& t, const Sgemm& p) {
  return both_along_k(p) ? t.both_along_k : 1;
}

// As far as the product's shape tells, not its addresses: a workspace that was asked for without
// them is then the right one with them.
inline StreamSteps stream_steps(const StreamTile& tile, const Sgemm& p, const Device& device) {
  const StreamTileTimes& t = tile.times;
  double copies_us = stream_copies_us(tile.config, t, p);
  if (!p.is_full()) {
    constexpr std::int64_t page = 1024;
    copies_us += t.shaped_page_us * ((p.op_a == Op::none && p.lda % page == 0 ? 1 : 0) +
                                     (p.op_b != Op::none && p.ldb % page == 0 ? 1 : 0));
  }
  const double store_us =
      (is_c_by_4(p) ? t.store_by_4_us : 0) + (p.triangle == Triangle::none ? 0 : t.shaped_tile_us);
  const double turned = stream_turned(t, p);
  const double of_memory_us = memory_us(p, device), exposed_us = t.exposed * of_memory_us;
  return {.start_us = t.start_us + exposed_us,
          .store_us = store_us,
          .tile_us = t.tile_us + store_us,
          .iteration_us = (t.iteration_us + copies_us) * turned,
          .crowded_iteration_us = (t.crowded_iteration_us + copies_us) * turned,
          .alone_us = tile.config.blocks_per_sm > 1 ? stream_alone_exposed * exposed_us : 0,
          .last_iteration = last_iteration(tile.config, p),
          .cut_us = p.is_full() ? 0 : t.shaped_cut_us,
          .least_us = stream_memory_floor * of_memory_us,
          .few = is_c_by_4(p) ? stream_few_by_4 : stream_few};
}

// Iterations of the block that has the most, where a tile's last one is a part `last` of one.
inline double most_iterations(const StreamSchedule& s, double last = 1) {
  const auto rounds = static_cast<double>(ceil_div(std::int64_t{s.whole_tiles}, s.blocks));
  const int share = s.whole_tiles < s.tiles ? s.share + (s.longer > 0 ? 1 : 0) : 0;
  return rounds * (s.iterations - 1 + last) + share;
}

// Iterations of a tile that one block has, at most.
inline int longest_run(const StreamSchedule& s) {
  const int share = s.share + (s.longer > 0 ? 1 : 0);
  return s.whole_tiles > 0 ? s.iterations : std::min(s.iterations, share);
}

// What it takes to add up the parts of a tile that blocks share: groups of stream_fan, then groups
// of those groups' sums, until one is left (fixup.hpp).
template <class Times>
double parts_us(const Times& t, const StreamSchedule& s) {
  double us = 0;
  for (int parts = ceil_div(s.iterations, s.share); parts > 1; parts = ceil_div(parts, stream_fan))
    us += t.part_us + t.each_part_us * std::min(parts, stream_fan);
  return us;
}

// Blocks up to which each has an SM to itself.
inline std::int64_t blocks_alone(const StreamSchedule& s, int sms) {
  return s.in_clusters() ? blocks_in_clusters(sms, 1, s.cluster) : sms;
}

// All tiles whole, from the longest to the shortest: blocks that have the longest of a round have
// the shortest of another.
inline StreamSchedule whole_ranges(const StreamSchedule& shape, std::int64_t slots) {
  StreamSchedule s = shape;
  s.piece = shape.iterations;
  s.blocks = static_cast<int>(std::min<std::int64_t>(slots, shape.tiles));
  s.whole_tiles = shape.tiles;
  return s;
}
// A schedule of tiles whose k has a range each: the longest whole, in an even number of rounds, and
// the iterations of the others in equal shares; all whole where shares would be of nothing, or
// their numbers exceed an int.
inline StreamSchedule cut_ranges(const StreamTileConfig& config, const StreamSchedule& shape,
                                 KRange range, std::int64_t slots) {
  StreamSchedule s = whole_ranges(shape, slots);
  if (std::int64_t{shape.tiles} * shape.iterations > stream_limit) return s;
  const RangeLines lines = range_lines(shape, range, config.bm / config.bk);
  const std::int64_t rounds = shape.tiles / (2 * slots) * 2, whole = rounds * slots;
  const int work = lines.steps_before(shape.tiles) - lines.steps_before(static_cast<int>(whole));
  if (work < slots) return s;
  s.blocks = static_cast<int>(slots);
  s.whole_tiles = static_cast<int>(whole);
  s.share = work / s.blocks;
  s.longer = work % s.blocks;
  return s;
}
// Iterations of the block that has the most of them, where all tiles are whole.
inline int most_in_turns(const StreamSchedule& s, const RangeLines& lines) {
  int most = 0;
  for (int block = 0; block < s.blocks; ++block) {
    int own = 0;
    for (int round = 0; round * s.blocks < s.tiles; ++round) {
      const int tile = tile_in_turn(round, block, s.blocks);
      own += tile < s.tiles ? lines.length_of_tile(tile) : 0;
    }
    most = std::max(most, own);
  }
  return most;
}
// Tiles up to which they are counted.
constexpr int tiles_in_turns = 4096;

inline double predict_ranges_us(const StreamTile& tile, const StreamSchedule& s,
                                const StreamSteps& steps, KRange range, int sms) {
  const StreamTileTimes& t = tile.times;
  const double per_block = ceil_div(s.tiles, s.blocks);
  const double iteration_us = s.blocks > sms ? steps.crowded_iteration_us : steps.iteration_us;
  const double us = steps.start_us + steps.store_us + (per_block - 1) * steps.tile_us;
  const RangeLines lines = range_lines(s, range, tile.config.bm / tile.config.bk);
  if (s.whole_tiles == s.tiles) {
    const double most =
        s.tiles <= tiles_in_turns ? most_in_turns(s, lines) : per_block * s.iterations;
    return us + most * iteration_us;
  }
  // Measured: shares take a fifth longer than as many iterations of whole tiles.
  constexpr double shared = 1.2;
  const double iterations =
      static_cast<double>(lines.steps_before(s.whole_tiles)) / s.blocks + shared * (s.share + 1);
  const int longest = lines.length_of_tile(s.whole_tiles);
  const int parts = std::min(ceil_div(longest, s.share) + 1, stream_fan);
  return us + iterations * iteration_us + t.part_us + t.each_part_us * parts + steps.cut_us;
}

inline double predict_stream_us(const StreamTile& tile, const StreamSchedule& s,
                                const StreamSteps& steps, int sms) {
  const StreamTileTimes& t = tile.times;
  const bool is_crowded = s.blocks > blocks_alone(s, sms);
  const double iteration_us = is_crowded ? steps.crowded_iteration_us : steps.iteration_us;
  const double start_us = steps.start_us + (is_crowded ? 0 : steps.alone_us);
  if (s.in_clusters())
    return start_us + most_iterations(s, steps.last_iteration) * iteration_us +
           (is_crowded ? t.crowded_cluster_us : t.cluster_us);
  const bool shared = s.whole_tiles < s.tiles;
  const std::int64_t rounds = ceil_div(std::int64_t{s.whole_tiles}, s.blocks);
  const double further_tiles =
      static_cast<double>(std::max<std::int64_t>(0, rounds - 1) + (shared && rounds > 0 ? 1 : 0));
  const double few = !shared && s.iterations <= steps.few.iterations ? steps.few.longer : 0;
  const double us = start_us + steps.store_us + further_tiles * steps.tile_us +
                    (most_iterations(s, steps.last_iteration) + few) * iteration_us;
  return shared ? us + (parts_us(t, s) + steps.cut_us) : us;
}

// Further cuts of a block's work on each of its tiles that take a small share of the predicted
// time.
inline int quick_cuts(const StreamTileConfig& config, const StreamSchedule& s, double time_us) {
  constexpr ShortSumTuning t = short_sum_tuning;
  const bool is_shared = config.warps_k > 1, is_alone = !is_shared && config.blocks_per_sm == 1;
  const double each_us = (is_shared ? t.shared_us : 0) +
                         (is_alone ? t.output_alone_us : t.output_us) * config.bm * config.bn;
  const std::int64_t works =
      ceil_div(std::int64_t{s.whole_tiles}, s.blocks) + (s.whole_tiles < s.tiles ? 1 : 0);
  const double cuts = t.most_time * time_us / (each_us * static_cast<double>(works));
  return static_cast<int>(std::min(cuts, 1e6));
}

// How long the sums of an accumulator may be, and how short they are to be with so many further
// cuts.
struct SumLengths {
  std::int64_t longest, wanted;
  int further_cuts = 0;
};

// Cuts a block's work on a tile into equal pieces in which an accumulator adds up about so many
// elements along k. Left out of the prediction: at most a few hundredths.
inline void cut_sums(const StreamTileConfig& config, const SumLengths& lengths, StreamSchedule* s) {
  const int work = longest_run(*s);
  const double sum = static_cast<double>(work) * config.bk / config.warps_k;
  const auto pieces_of = [&](std::int64_t length) {
    return std::ceil(sum / static_cast<double>(length) / sum_length_tuning.tolerance);
  };
  const double pieces = std::min(pieces_of(lengths.wanted),
                                 std::max(1.0, pieces_of(lengths.longest)) + lengths.further_cuts);
  if (!(pieces > 1)) return;
  s->piece = ceil_div(work, std::min(work, static_cast<int>(pieces)));
  s->totals = s->piece < work && config.warps_k == 1 ? 1 : 0;
}
inline void cut_sums(const StreamTileConfig& config, const Sgemm& p, int sms, StreamPlan* plan) {
  const std::int64_t longest = longest_sum(p, sms);
  cut_sums(
      config,
      {longest, wanted_sum(p, longest, sms), quick_cuts(config, plan->schedule, plan->time_us)},
      &plan->schedule);
}

}  // namespace detail

// Nothing where the configuration cannot compute the problem.
inline std::optional<StreamPlan> plan_stream_tile(const StreamTile& tile, const Sgemm& p,
                                                  const Device& device) {
  const auto shape = detail::stream_shape(tile.config, p);
  if (!shape) return std::nullopt;
  if (shape->tiles == 0) return StreamPlan{.schedule = {}, .time_us = 0};
  const int sms = std::max(1, device.sm_count);
  const std::int64_t slots =
      std::min(max_stream_blocks, std::int64_t{sms} * tile.config.blocks_per_sm);

  const detail::StreamSteps steps = detail::stream_steps(tile, p, device);
  std::optional<StreamPlan> best;
  const auto consider = [&](const StreamSchedule& schedule) {
    const double us =
        std::max(steps.least_us, detail::predict_stream_us(tile, schedule, steps, sms));
    if (!best || us < best->time_us) best = {.schedule = schedule, .time_us = us};
  };
  if (p.k_range != KRange::all) {
    for (const StreamSchedule& ranges : {detail::cut_ranges(tile.config, *shape, p.k_range, slots),
                                         detail::whole_ranges(*shape, slots)}) {
      const double us = detail::predict_ranges_us(tile, ranges, steps, p.k_range, sms);
      if (best && best->time_us <= us) continue;
      best = {.schedule = ranges, .time_us = us};
    }
    detail::cut_sums(tile.config, p, sms, &*best);
    return best;
  }
  detail::each_stream_cut(*shape, slots, [&](std::int64_t blocks, std::int64_t shared) {
    if (const auto schedule = detail::cut_stream(*shape, blocks, shared)) consider(*schedule);
  });
  if (p.is_full())
    detail::each_cluster_cut(
        tile.config.clusters, tile.config.blocks_per_sm, *shape, device,
        [&](int parts) { consider(detail::cut_stream_by_clusters(*shape, parts)); });
  if (best) detail::cut_sums(tile.config, p, sms, &*best);
  return best;
}

// The dynamic shared memory of a launch whose blocks need so much. Blocks that are no more than the
// SMs are predicted to have one each to themselves; the shortest launches rather overlap.
inline std::size_t stream_shared_bytes(const StreamTile& tile, const StreamSchedule& schedule,
                                       const Device& device, std::size_t needed) {
  if (schedule.blocks == 0 || schedule.blocks > detail::blocks_alone(schedule, device.sm_count))
    return needed;
  const double us = detail::most_iterations(schedule) * tile.times.iteration_us;
  if (us < stream_alone_from_us) return needed;
  return shared_bytes_that_spread(schedule.blocks, needed, device);
}

// What the launch has use for; without `totals`, which it can do without, by longer sums.
inline std::size_t stream_workspace_bytes(const StreamTile& tile, const StreamSchedule& schedule) {
  return static_cast<std::size_t>(schedule.slots()) * tile.config.bm * tile.config.bn *
         sizeof(float);
}
inline StreamSchedule without_totals(StreamSchedule schedule) {
  schedule.piece = schedule.iterations;
  schedule.totals = 0;
  return schedule;
}
// All tiles whole. Not for a schedule of clusters, which needs no workspace for its shares.
inline StreamSchedule without_shares(StreamSchedule schedule) {
  schedule = without_totals(schedule);
  schedule.whole_tiles = schedule.tiles;
  schedule.blocks = std::min(schedule.blocks, schedule.tiles);
  schedule.share = schedule.longer = 0;
  return schedule;
}
// Whether C is alpha * op(A) op(B) alone, by sums of one piece.
inline bool is_plain(const Sgemm& p, const StreamSchedule& schedule) {
  return p.is_full() && p.beta_at == nullptr && p.beta == 0 && !p.epilogue.any() &&
         schedule.piece >= schedule.iterations;
}
// The schedule for less workspace than the plan asks for.
inline StreamSchedule in_less_workspace(const StreamSchedule& schedule, const Sgemm& p) {
  return p.is_full() ? without_totals(schedule) : without_shares(schedule);
}

}  // namespace kw
