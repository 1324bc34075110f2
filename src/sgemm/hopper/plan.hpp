// How a split product is computed, decided on the host before any launch: which block computes
// what, what lies where in the workspace, how long the call will take (predicted_us), whether it
// may be chosen (predicted_cost), and which sub-problems it becomes where the workspace is smaller.
// Constants are in tuning.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "gpu/device.hpp"
#include "kernel.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/range_time.hpp"
#include "sgemm/hopper/schedule.hpp"
#include "sgemm/hopper/split_cut.hpp"
#include "sgemm/hopper/split_items.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"
#include "sgemm/hopper/tuning.hpp"
#include "sgemm/memory_time.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/shape.hpp"
#include "sgemm/sub_problems.hpp"
#include "workspace_parts.hpp"

namespace kw::hopper {

// --- which problems the kernels take

// The kernels in plain fp32 compute empty products.
inline bool has_work(const Sgemm& p) { return p.m > 0 && p.n > 0 && p.batch > 0 && p.loop_k() > 0; }

// Numbers of tiles, rows and k are ints in the kernels.
inline bool fits_ints(const Sgemm& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (p.m > most || p.n > most || p.k > most || p.batch > most) return false;
  return static_cast<double>(p.m) / 64 * (static_cast<double>(p.n) / 64) *
             static_cast<double>(p.batch) <
         static_cast<double>(most);
}

// --- which block computes which tiles, and which parts of k (schedule.hpp)

inline std::int64_t output_tiles(const Tile& tile, const Sgemm& p) {
  const std::int64_t tiles_m = ceil_div(p.m, tile.bm());
  if (p.triangle != Triangle::none)
    return TriangleOfTiles{p.triangle, p.column_shift, static_cast<int>(tiles_m),
                           static_cast<int>(ceil_div(p.n, tile.bn))}
               .count() *
           p.batch;
  return tiles_m * ceil_div(p.n, tile.bn) * p.batch;
}

// What the split pass reads.
inline double bytes_to_split(const TileRow& row, const Sgemm& p) {
  const std::int64_t rows =
      (row.tile.direct == Direct::a ? 0 : p.m) + (row.tile.direct == Direct::b ? 0 : p.n);
  return sizeof(float) * static_cast<double>(rows) * static_cast<double>(p.k) *
         static_cast<double>(p.batch);
}
inline double bytes_of_c(const Sgemm& p) {
  const double part = p.triangle == Triangle::none ? 1 : 0.5;
  return part * sizeof(float) * static_cast<double>(p.m) * static_cast<double>(p.n) *
         static_cast<double>(p.batch);
}
inline double packed_bytes(const TileRow& row, const Sgemm& p) {
  const int pieces = scheme_of(row.fp16).pieces;
  const auto bytes_of = [&](std::int64_t rows) {
    return static_cast<double>(PackedLayout(rows, p.k).bytes(p.batch, pieces));
  };
  return (row.tile.direct == Direct::a ? 0 : bytes_of(p.m)) +
         (row.tile.direct == Direct::b ? 0 : bytes_of(p.n));
}
// Of some rows of an operand, a stage as the product reads it.
inline double stage_bytes_read(const TileRow& row, Direct operand, int rows) {
  return row.tile.direct == operand ? static_cast<double>(rows) * stage_k * sizeof(float)
                                    : stage_bytes(rows, scheme_of(row.fp16).pieces);
}

// A stage of a tile. Makers that read rows along k by single floats take longer.
inline double stage_us_of(const TileRow& row, const Sgemm& p) {
  const Direct direct = row.tile.direct;
  const bool is_slow =
      (direct == Direct::a && p.op_a == Op::none && !rows_by_4(p, p.lda, p.stride_a)) ||
      (direct == Direct::b && p.op_b != Op::none && !rows_by_4(p, p.ldb, p.stride_b));
  return row.stage_us + (is_slow ? row.unaligned_stage_us : 0);
}

// A stage of the last `tiles` tiles where they are cut. The blocks are at different k then, so none
// copies what another one just has. Rows of A are copied once for each column of tiles; the more
// bytes all blocks copy between two of those, the less likely L2 still has them. Likewise columns
// of B.
inline double cut_stage_us(const TileRow& row, const Sgemm& p, std::int64_t tiles,
                           const Device& device) {
  const int bm = row.tile.bm(), bn = row.tile.bn;
  const auto count = static_cast<double>(tiles);
  const auto tiles_m = static_cast<double>(ceil_div(p.m, bm)),
             tiles_n = static_cast<double>(ceil_div(p.n, bn));
  const double rows = std::min(std::max<double>(row.tile.strip_tiles(), count / tiles_n), tiles_m);
  const double columns = std::min(count / rows, tiles_n);
  const double of_a = stage_bytes_read(row, Direct::a, bm),
               of_b = stage_bytes_read(row, Direct::b, bn);
  const double copied = count * static_cast<double>(ceil_div(p.k, stage_k)) * (of_a + of_b);
  const auto lost = [&](double bytes, double times) {
    return bytes * std::exp(-cut_l2_share * l2_bytes_of(device) * times / copied);
  };
  const double from_memory = lost(of_a, columns) + lost(of_b, rows);
  return std::max(stage_us_of(row, p), from_memory * device.sm_count / memory_bytes_per_us(device));
}

// A share of so many stages of `tiles` tiles that are cut into shares.
inline double share_us(const TileRow& row, const Sgemm& p, std::int64_t share, std::int64_t tiles,
                       const Device& device) {
  const std::int64_t tile_ends = ceil_div(share, PackedLayout(p.m, p.k).stages);
  return static_cast<double>(tile_ends) * row.tile_us +
         static_cast<double>(share) * cut_stage_us(row, p, tiles, device) + rounds_cut_us +
         each_rounds_cut_us * row.tile.bm() * row.tile.bn / 4096;
}

// A schedule, and the time of its block that takes longest.
struct TimedSchedule {
  Schedule schedule;
  double us = std::numeric_limits<double>::infinity();
};

// The schedule of the least time: all tiles whole, in rounds, of which the last may be nearly
// empty; or the last two rounds cut evenly over all blocks, so that a tile has two parts at most;
// or each tile in some parts, where tiles are fewer than half of the SMs.
inline TimedSchedule fastest_of_any_runs(const TileRow& row, const Sgemm& p, const Device& device) {
  const std::int64_t tiles = std::max<std::int64_t>(output_tiles(row.tile, p), 1);
  const std::int64_t stages = PackedLayout(p.m, p.k).stages, sms = device.sm_count;
  const std::int64_t rounds = ceil_div(tiles, sms);
  const double stage_us = stage_us_of(row, p);
  const auto us = [&](std::int64_t tile_ends, std::int64_t stage_count) {
    return static_cast<double>(tile_ends) * row.tile_us +
           static_cast<double>(stage_count) * stage_us;
  };
  const auto as_int = [](std::int64_t x) { return static_cast<int>(x); };
  const TimedSchedule whole = {whole_schedule(as_int(tiles), as_int(stages), as_int(sms)),
                               us(rounds, rounds * stages)};
  constexpr std::int64_t countable = std::numeric_limits<int>::max();

  // Where k has a range a tile has as many stages as its place says: cuts of equal shares would be
  // in other places.
  if (p.k_range != KRange::all && row.ranges.any())
    return {whole.schedule, ranges_us(row, p, whole.schedule)};
  if (p.k_range != KRange::all) return whole;
  TimedSchedule in_parts = whole;
  if (2 * tiles <= sms) {
    const std::int64_t parts = std::min({sms / tiles, stages / min_k_split_stages, max_k_splits});
    const bool takes_parts = row.tile.shares_rows || row.tile.is_direct();
    if (!takes_parts || parts < 2 || tiles * (stages + parts) > countable) return whole;
    in_parts = {split_schedule(as_int(tiles), as_int(stages), as_int(parts)),
                us(1, ceil_div(stages, parts)) + k_split_us +
                    static_cast<double>(parts) * each_k_split_us * row.tile.bn / 64};
    if (!row.tile.is_direct()) return in_parts;
  }
  const std::int64_t whole_rounds = std::max<std::int64_t>(rounds - 2, 0);
  const std::int64_t cut_tiles = tiles - whole_rounds * sms, cut = cut_tiles * stages;
  const std::int64_t share = ceil_div(cut, sms);
  if (tiles % sms == 0 || share < min_k_split_stages || cut > countable) return in_parts;
  const double cut_us =
      us(whole_rounds, whole_rounds * stages) + share_us(row, p, share, cut_tiles, device);
  if (cut_us >= in_parts.us) return in_parts;
  return {cut_schedule(as_int(tiles), as_int(stages), as_int(sms), as_int(whole_rounds)), cut_us};
}
// Whether the vendor's sums are short, so that a sum of many windows may be less exact than its.
inline bool has_few_outputs(const Sgemm& p) { return p.m * p.n < few_outputs; }
// Stages of the longest run that a block adds up.
inline std::int64_t longest_run(const Schedule& schedule) {
  if (schedule.whole_tiles > 0) return schedule.stages;
  return std::min(schedule.stages, schedule.share + (schedule.longer > 0 ? 1 : 0));
}
// All stages of all tiles in equal shares of max_windows_without_totals at most, as many for each
// SM as that takes. They are more blocks than SMs: those of a later round begin where others end.
inline TimedSchedule in_short_runs(const TileRow& row, const Sgemm& p, const Device& device) {
  const std::int64_t tiles = output_tiles(row.tile, p), sms = device.sm_count;
  const std::int64_t stages = PackedLayout(p.m, p.k).stages, total = tiles * stages;
  const std::int64_t most = row.tile.stages_of(max_windows_without_totals);
  const std::int64_t rounds = ceil_div(total, sms * (most - 1)), blocks = rounds * sms;
  const bool has_tickets = 2 * tiles <= static_cast<std::int64_t>(ticket_count) / 2;
  if (!has_tickets || total + blocks > std::numeric_limits<int>::max()) return {};
  return {
      cut_schedule(static_cast<int>(tiles), static_cast<int>(stages), static_cast<int>(blocks), 0),
      static_cast<double>(rounds) * share_us(row, p, ceil_div(total, blocks), tiles, device)};
}
// The one that a call takes. Makers split an operand anew for each part of k, so theirs may be cut
// as short as a sum should be.
inline TimedSchedule fastest_schedule(const TileRow& row, const Sgemm& p, const Device& device) {
  const TimedSchedule fastest = fastest_of_any_runs(row, p, device);
  const bool is_long = row.tile.windows(longest_run(fastest.schedule)) > max_windows_without_totals;
  if (!row.tile.is_direct() || !is_long || !has_few_outputs(p)) return fastest;
  const TimedSchedule short_runs = in_short_runs(row, p, device);
  return short_runs.schedule.blocks > 0 ? short_runs : fastest;
}
// The same, for a launch. Blocks keep pace where L2 could lose what tiles in flight share.
inline Schedule product_schedule(const TileRow& row, const Sgemm& p, const Device& device) {
  Schedule schedule = fastest_schedule(row, p, device).schedule;
  const int bm = row.tile.bm(), bn = row.tile.bn, pieces = scheme_of(row.fp16).pieces;
  const std::int64_t rows = std::min<std::int64_t>(row.tile.strip_tiles(), ceil_div(p.m, bm));
  const std::int64_t columns = std::min(ceil_div(schedule.blocks, rows), ceil_div(p.n, bn));
  const std::int64_t stage = rows * stage_bytes(bm, pieces) + columns * stage_bytes(bn, pieces);
  const double in_flight = static_cast<double>(schedule.stages) * static_cast<double>(stage);
  if (keeps_pace(row.tile) && p.k_range == KRange::all &&
      in_flight > cut_l2_share * l2_bytes_of(device))
    schedule.paced_tiles = schedule.whole_tiles / schedule.blocks * schedule.blocks;
  return schedule;
}

// Parts of tiles that blocks share, and behind them the totals of long runs.
inline std::int64_t sum_floats(const TileRow& row, const Sgemm& p, const Device& device) {
  const Schedule schedule = fastest_schedule(row, p, device).schedule;
  const std::int64_t parts = std::int64_t{schedule.slots()} * row.tile.bm() * row.tile.bn;
  const bool is_long = longest_run(schedule) > stages_per_total(scheme_of(row.fp16), row.tile);
  return parts + (is_long ? schedule.blocks * row.tile.sums() : 0);
}

// --- the workspace

// Where the lists of outliers begin, behind their counts.
inline std::int64_t outlier_list_offset(std::int64_t lists) {
  return ceil_div(lists * static_cast<std::int64_t>(sizeof(unsigned)), 16) * 16;
}

// Offsets in bytes. The fp32 fallback's workspace begins at `end`. bf16x6 may follow fp16x3, and
// then overwrites its packed operands.
struct WorkspaceLayout {
  std::size_t scales_a = 0, scales_b = 0, packed_a = 0, packed_b = 0, split_k_sums = 0;
  std::size_t outliers_a = 0, outliers_b = 0;  // their counts, then their lists
  std::size_t end = 0;

  WorkspaceLayout() = default;
  WorkspaceLayout(const TileRow& own, const Sgemm& p, const SplitCut& cut, const Device& device) {
    const bool fp16 = own.fp16;
    end = whole_part(sizeof(Control));
    const auto take = [&](std::int64_t bytes) {
      return take_part(end, static_cast<std::size_t>(bytes));
    };
    if (fp16) {
      constexpr std::int64_t word = sizeof(int);
      scales_a = take(p.batch * p.m * word);
      scales_b = take(p.batch * p.n * word);
      const auto lists_of = [&](std::int64_t rows, std::int64_t segments) {
        const std::int64_t lists = p.batch * PackedLayout(rows, p.k).blocks * segments;
        return outlier_list_offset(lists) +
               lists * static_cast<std::int64_t>(listed_outliers * sizeof(Outlier));
      };
      outliers_a = take(lists_of(p.m, cut.a));
      outliers_b = take(lists_of(p.n, cut.b));
    }
    const auto packed = [&](Direct operand, std::int64_t rows) {
      return own.tile.direct == operand
                 ? 0
                 : PackedLayout(rows, p.k).bytes(p.batch, split::bf16_pieces);
    };
    packed_a = take(packed(Direct::a, p.m));
    packed_b = take(packed(Direct::b, p.n));
    std::int64_t sums = 0;
    for (const TileRow& row : bf16x6_tiles) sums = std::max(sums, sum_floats(row, p, device));
    if (fp16) {
      for (const TileRow& row : fp16x3_tiles) sums = std::max(sums, sum_floats(row, p, device));
    }
    split_k_sums = take(sums * static_cast<std::int64_t>(sizeof(float)));
  }
};

inline std::size_t whole_workspace(const TileRow& row, const Sgemm& p, const Device& device) {
  return WorkspaceLayout(row, p, split_cut(row, p, device), device).end;
}

// The least workspace with which a call works: of its smallest sub-problem (sub_problems).
inline std::size_t min_workspace_bytes(const TileRow& row, const Sgemm& p, const Device& device) {
  if (p.diagonal_apart) return whole_workspace(row, p, device);
  Sgemm least = p;
  least.batch = 1;
  if (p.a_array == nullptr) {
    least.m = std::min<std::int64_t>(p.m, block_rows);
    least.n = std::min<std::int64_t>(p.n, block_rows);
  }
  return whole_workspace(row, least, device);
}

// The problem as sub-problems of about half the workspace each: half the batch, else half of m or
// n, whichever is longer (sub_problems.hpp). None where it is one block of rows of A and of B, or
// where pointers in the device's memory would have to be moved.
inline SubProblems sub_problems(const Sgemm& p) {
  if (p.batch > 1) {
    const std::int64_t taken = p.batch / 2;
    return {some_entries(p, 0, taken), some_entries(p, taken, p.batch - taken)};
  }
  if (std::max(p.m, p.n) <= block_rows || p.a_array != nullptr) return {};
  if (p.triangle != Triangle::none && p.n != p.m << p.column_shift) return cut_off_triangle(p);
  const auto half = [](std::int64_t size) { return ceil_div(size / 2, block_rows) * block_rows; };
  return p.m >= p.n || p.triangle != Triangle::none ? cut_rows(p, half(p.m))
                                                    : cut_columns(p, half(p.n));
}

// --- the choice

// Whether the result is at least as exact as that of the kernels in plain fp32, the vendor's
// included; only then does the library choose the tile.
inline bool is_exact_enough(const TileRow& row, const Sgemm& p, const Device& device) {
  const Scheme& scheme = scheme_of(row.fp16);
  const std::int64_t least_mn = row.chosen_mn != 0 ? row.chosen_mn : scheme.chosen_mn;
  if (p.k < scheme.chosen_k || p.m * p.n < least_mn) return false;
  // What a sample of such rows says is often not enough, and the call goes to bf16x6 after all.
  if (row.fp16 && begins_apart(p.k_range) && p.k < fp16x3_from_diagonal_k) return false;
  const std::int64_t stages = longest_run(fastest_schedule(row, p, device).schedule);
  const std::int64_t most = row.most_windows != 0 ? row.most_windows : max_windows_without_totals;
  return !has_few_outputs(p) || has_totals(scheme, row.tile) || row.tile.windows(stages) <= most;
}

// The split pass reads A and B and writes their packed operands: in L2, or in memory, where what it
// has written is not in L2 any more when the product reads it.
inline double split_pass_us(const TileRow& row, const Sgemm& p, const Device& device) {
  const double packed = packed_bytes(row, p), bytes = bytes_to_split(row, p) + packed;
  constexpr MemoryTuning t = memory_tuning;
  const double lost = share_lost(packed, device, t.kept_share, t.lost_share);
  return bytes * ((1 - lost) / split_pass_bytes_per_us +
                  lost / (split_pass_share_of_memory * memory_bytes_per_us(device)));
}

// The waves of tiles that shift what they store (epilogue.hpp): all, where rows of C are not
// aligned; else those with tiles at an edge, of which a part costs the wave time.
inline double waves_that_shift(const Tile& tile, const Sgemm& p, const Device& device) {
  const std::int64_t waves = ceil_div(output_tiles(tile, p), device.sm_count);
  if (rows_by_4(p, p.ldc, p.stride_c)) return static_cast<double>(waves);
  const bool has_diagonal = p.triangle != Triangle::none;
  const std::int64_t at_edges = (p.m % tile.bm() != 0 ? ceil_div(p.n, tile.bn) : 0) +
                                (p.n % tile.bn != 0 || has_diagonal ? ceil_div(p.m, tile.bm()) : 0);
  return edge_wave_share *
         static_cast<double>(std::min(waves, ceil_div(at_edges * p.batch, device.sm_count)));
}

// The time of a call: its launches, the split pass, the product, and its stores.
inline double predicted_us(const TileRow& row, const Sgemm& p, const Device& device) {
  const double split_us = split_pass_us(row, p, device);
  const double unaligned = row.unaligned_us * ((rows_by_4(p, p.lda, p.stride_a) ? 1 : 0) +
                                               (rows_by_4(p, p.ldb, p.stride_b) ? 1 : 0));
  const double shift_us = row.shift_us * waves_that_shift(row.tile, p, device);
  const double stored_us = row.stored_us * bytes_of_c(p) * 1e-6;
  const double us = row.launch_us + split_us + unaligned + fastest_schedule(row, p, device).us +
                    shift_us + stored_us;
  return us * (1 + row.longer * std::clamp(std::log2(us / long_from_us) / 3, 0.0, 1.0));
}

// What the choice compares: the time, infinite where the tile must not be chosen. With a margin, as
// a call must not take longer than one in plain fp32, and predictions err.
inline double predicted_cost(const TileRow& row, const Sgemm& p, const Device& device) {
  return is_exact_enough(row, p, device) ? choice_margin * predicted_us(row, p, device)
                                         : std::numeric_limits<double>::infinity();
}

// --- outliers

// What all tiles take for one: of A those of its row, of B those of its column.
inline int time_of_outlier(const Tile& tile, const Sgemm& p, int operand) {
  const std::int64_t tiles = operand == 0 ? ceil_div(p.n, tile.bn) : ceil_div(p.m, tile.bm());
  return static_cast<int>(
      std::min<std::int64_t>(tiles * outlier_ns[operand], std::numeric_limits<int>::max()));
}

// With how much of it fp16x3 is still far from bf16x6's time.
inline std::int64_t most_time_of_outliers(const TileRow& row, const Sgemm& p,
                                          const Device& device) {
  const double us = outlier_share * fastest_schedule(row, p, device).us * device.sm_count;
  const std::int64_t of_few =
      std::int64_t{few_outliers} *
      std::max(time_of_outlier(row.tile, p, 0), time_of_outlier(row.tile, p, 1));
  return std::max(of_few, static_cast<std::int64_t>(1e3 * us));
}

// --- what the launches of a call take from its plan

struct CallPlan {
  SplitCut split;
  WorkspaceLayout layout;
  Schedule schedule;
  int outlier_ns[2] = {0, 0};  // time_of_outlier
  std::int64_t most_outlier_ns = 0;
  int second_tile = 0;       // fp16x3: the row of bf16x6_tiles that computes what fp16x3 cannot
  Schedule second_schedule;  // and its schedule

  CallPlan() = default;
  CallPlan(const TileRow& row, const Sgemm& p, const Device& device)
      : split(split_cut(row, p, device)),
        layout(row, p, split, device),
        schedule(product_schedule(row, p, device)),
        outlier_ns{time_of_outlier(row.tile, p, 0), time_of_outlier(row.tile, p, 1)},
        most_outlier_ns(row.fp16 ? most_time_of_outliers(row, p, device) : 0) {}
};

}  // namespace kw::hopper
