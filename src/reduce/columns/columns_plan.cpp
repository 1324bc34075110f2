// The cut of reduce_columns: a time is predicted for each length of a block's run of chunks, and
// the shortest wins.
#include "reduce/columns/columns_plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "arithmetic.hpp"

namespace kw {

namespace {

// Fitted on an H200 to the times of all lengths of a run and three widths of a strip
// (results/h200/explored-reduce-strips.txt).
struct ColumnTuning {
  double bytes_a_ns = 30;  // that an SM reads where all of them do
  double round_ns = 2000;  // of a round of a block that has its SM for itself
  double block_ns = 3000;  // beginning and end of a block
  double merge_ns = 1400;  // of a level of merging
  double again_ns = 400;   // of a level whose threads ask twice
  double edge_bytes = 16;  // that a row of a strip costs besides its own
  double odd_cost = 1.1;   // of rounds that are no power of two
  int blocks_per_sm = 3;   // of 256 threads
  int most_rounds = 64;
  int most_odd = 15;  // by which a power of two of rounds is multiplied
  int most_odd_blocks_per_sm = 2;
  std::int64_t most_item_bytes = 32 << 20;
  int widest_packs[3] = {32, 24, 16};  // of a strip's row; the narrower ones of small matrices
  std::int64_t most_narrow_bytes_an_sm = 512 << 10;
  std::size_t most_shared_bytes = 48 << 10;
  // Columns that are threads' (results/h200/explored-reduce-low.txt): of so many rows always; of up
  // to so many, where memory is the limit, from so many columns an SM on.
  std::int64_t always_low_rows = 32, most_low_rows = 63, low_columns_an_sm = 512;
  double least_use_of_rows = 0.7;  // of what is read where padding is read, too
};
constexpr ColumnTuning tuning;

// Columns of more than a chunk that are threads': of up to so many rows, where an SM has so many
// columns (results/h200/explored-reduce-neutral.txt, explored-reduce-halves.txt).
struct LowRange {
  std::int64_t most_rows, least_an_sm, most_an_sm;
};
constexpr std::int64_t any_number = std::numeric_limits<std::int64_t>::max();
constexpr LowRange low_ranges[] = {{96, 256, any_number}, {160, 384, any_number}, {224, 448, 768}};
// Of eight bytes, but for norms, sums of integers and variances, and sums of int32, which are of as
// many (explored-reduce-spans.txt).
constexpr LowRange low_wide[] = {
    {96, 256, any_number}, {160, 384, any_number}, {248, 340, any_number}};
constexpr LowRange low_int32_sums[] = {
    {96, 256, any_number}, {160, 384, any_number}, {224, 448, 2500}, {256, 576, 2500}};
constexpr LowRange low_computed[] = {{96, 256, any_number}, {160, 512, any_number}};
constexpr LowRange low_variances[] = {
    {96, 256, any_number}, {160, 512, any_number}, {224, 1500, any_number}};
// Of 16 bits: sums and one extreme, what keeps more, variances.
constexpr LowRange low_narrow[] = {{160, 512, any_number}};
constexpr LowRange low_narrow_computed[] = {{96, 256, any_number}, {256, 512, any_number}};
constexpr LowRange low_narrow_variances[] = {
    {96, 256, any_number}, {256, 512, any_number}, {384, 1000, any_number}};
// Of one byte, but for sums (explored-reduce-lanes.txt).
constexpr LowRange low_bytes[] = {{256, 512, any_number}};
constexpr LowRange low_byte_variances[] = {{most_low_chunks * column_chunk_rows, 384, any_number}};

// More than tickets are enough for.
constexpr std::int64_t most_items = std::int64_t{1} << 30;

int power_of_two_below(std::int64_t x) {
  return static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(x, 1))));
}

// Whether what a lane keeps is more than its element: of 16 bits, all but sums and one extreme.
bool has_wide_lanes(const Reduce& problem) {
  if (size_of(problem.type) != 2) return false;
  switch (problem.op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
    case ReduceOp::l1_norm:
    case ReduceOp::min:
    case ReduceOp::max: return false;
    default: return true;
  }
}

bool adds_up(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
    case ReduceOp::l1_norm:
    case ReduceOp::sum_of_squares:
    case ReduceOp::l2_norm: return true;
    default: return false;
  }
}

std::span<const LowRange> low_ranges_of(const Reduce& problem) {
  const std::size_t bytes = size_of(problem.type);
  if (problem.op == ReduceOp::variance) {
    if (bytes == 1) return low_byte_variances;
    if (bytes == 2) return low_narrow_variances;
    return low_variances;
  }
  if (bytes == 1 && !adds_up(problem.op)) return low_bytes;
  if (has_wide_lanes(problem)) return low_narrow_computed;
  if (bytes < 4) return low_narrow;
  if (problem.op == ReduceOp::l2_norm && bytes == 8) return low_computed;
  if (bytes == 8 && (problem.type == DataType::float64 || !adds_up(problem.op))) return low_wide;
  if (problem.type == DataType::int32 &&
      (problem.op == ReduceOp::sum || problem.op == ReduceOp::mean))
    return low_int32_sums;
  return low_ranges;
}

// Strips, packs and chunks side by side.
void cut_columns(const ColumnElement& element, int widest_packs, ColumnPlan& plan) {
  const std::int64_t skip = element.off_boundary ? element.width - 1 : 0;
  const std::int64_t one_row = column_lanes * plan.ld;
  const std::int64_t packs_of_one = ceil_div(one_row + skip, element.width);
  plan.rows_are_one =
      packs_of_one <= column_threads &&
      static_cast<double>(plan.cols) >= tuning.least_use_of_rows * static_cast<double>(plan.ld);
  if (plan.rows_are_one) {
    plan.strips = 1;
    plan.strip_columns = static_cast<int>(plan.cols);
    plan.packs = static_cast<int>(packs_of_one);
  } else {
    const std::int64_t beside = element.off_boundary ? element.width : 0;
    const std::int64_t widest = std::int64_t{widest_packs} * element.width - beside;
    const std::int64_t strips = ceil_div(plan.cols, widest);
    const std::int64_t packs = ceil_div(ceil_div(plan.cols, strips), element.width);
    plan.strip_columns = static_cast<int>(std::min(packs * element.width, plan.cols));
    plan.strips = ceil_div(plan.cols, std::int64_t{plan.strip_columns});
    plan.packs = static_cast<int>(ceil_div(plan.strip_columns + skip, std::int64_t{element.width}));
  }
  const int of_a_chunk = plan.packs * (plan.rows_are_one ? 1 : column_lanes);
  const std::int64_t chunks = column_chunk_count(plan.rows);
  const auto enough = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(chunks)));
  plan.side_by_side = std::min(power_of_two_below(column_threads / of_a_chunk), enough);
  plan.pitch = plan.rows_are_one ? static_cast<int>(plan.ld) : plan.strip_columns;
  plan.extent = plan.rows_are_one ? column_lanes * plan.pitch : plan.strip_columns;
  plan.tasks = plan.side_by_side * plan.strip_columns;
  plan.threads = static_cast<int>(ceil_div(of_a_chunk * plan.side_by_side, 32) * 32);
}

// Of an SM.
std::int64_t blocks_at_once(const ColumnPlan& plan, const ColumnElement& element) {
  return std::int64_t{element.blocks_per_sm} * column_threads / plan.threads;
}

double time_ns(const ColumnPlan& plan, const ColumnElement& element, int sm_count) {
  const std::int64_t grid = plan.strips * plan.blocks;
  const std::int64_t at_once = blocks_at_once(plan, element);
  const std::int64_t full_waves = grid / (at_once * sm_count);
  const std::int64_t rest = grid - full_waves * at_once * sm_count;
  const double row_bytes = plan.packs * element.pack_bytes;
  const double edges = plan.rows_are_one ? 1 : 1 + tuning.edge_bytes / row_bytes;
  const double bytes = edges * element.pack_bytes * column_chunk_lane_rows * plan.threads;
  const auto rounds =
      static_cast<double>(std::min<std::int64_t>(plan.rounds, column_chunk_count(plan.rows)));
  // A wave's blocks share the SM; what is left after whole waves is spread evenly.
  const double of_a_block = tuning.block_ns + (plan.blocks > 1 ? tuning.merge_ns : 0);
  const auto wave_ns = [&](std::int64_t blocks_a_sm) {
    const double round_ns =
        std::max(tuning.round_ns, static_cast<double>(blocks_a_sm) * bytes / tuning.bytes_a_ns);
    return of_a_block + rounds * round_ns;
  };
  double ns = static_cast<double>(full_waves) * wave_ns(at_once);
  if (rest > 0) ns += wave_ns(ceil_div(rest, std::int64_t{sm_count}));
  const double level_ns =
      tuning.merge_ns + (1 << plan.each_shift > merged_each ? tuning.again_ns : 0);
  for (std::int64_t count = plan.item_count; count > 1;
       count = ceil_div(count, std::int64_t{plan.merged()})) {
    ns += level_ns;
  }
  if (plan.has_one_item()) return ns;
  // What blocks leave is written and read.
  const double left = 2.0 * static_cast<double>(plan.item_count * plan.cols) *
                      static_cast<double>(element.total_bytes);
  return tuning.odd_cost * (ns + left / (tuning.bytes_a_ns * sm_count));
}

void share_memory(const ColumnElement& element, ColumnPlan& plan) {
  const std::size_t slots = static_cast<std::size_t>(plan.side_by_side) * column_lanes *
                            static_cast<std::size_t>(plan.pitch);
  const std::size_t places = slots + slots / static_cast<std::size_t>(element.width);
  plan.lane_bytes = (places * element.lane_bytes + 15) / 16 * 16;
  const std::size_t stack =
      static_cast<std::size_t>(plan.item_shift * plan.tasks) * element.total_bytes;
  const std::size_t across = static_cast<std::size_t>(plan.threads) * element.total_bytes;
  plan.shared_bytes = std::max(plan.lane_bytes + stack, across);
}

// Whether there is room for what its blocks leave, and in a block's shared memory.
bool fits(const ColumnPlan& plan, const ColumnElement& element) {
  const std::int64_t left = plan.waiting_totals() * static_cast<std::int64_t>(element.total_bytes);
  const bool has_room = plan.has_one_item() || (plan.blocks > 1 && left <= tuning.most_item_bytes);
  return has_room && plan.tickets() <= static_cast<std::int64_t>(ticket_count) &&
         plan.shared_bytes <= tuning.most_shared_bytes;
}

// The quickest of all widths of a strip and lengths of a run.
class QuickestPlan {
 public:
  QuickestPlan(const ColumnElement& element, int sm_count, const ColumnPlan& matrix)
      : element_(element), sm_count_(sm_count), best_(matrix) {}
  ColumnPlan best() const { return doubled(best_); }

  // All lengths for a width.
  void consider_lengths(const ColumnPlan& plan) {
    const std::int64_t all =
        ceil_div(column_chunk_count(plan.rows), std::int64_t{plan.side_by_side});
    for (int rounds = 1;; rounds *= 2) {
      consider(plan, rounds, all);
      if (rounds >= all || (rounds >= tuning.most_rounds && best_ns_ < 1e300)) break;
    }
    // As few rounds as leave all blocks resident, and somewhat more of them in larger items: where
    // an SM has few blocks.
    const std::int64_t of_strip = blocks_at_once(plan, element_) * sm_count_ / plan.strips;
    if (of_strip < 2 || element_.blocks_per_sm > tuning.most_odd_blocks_per_sm) return;
    const auto least =
        static_cast<int>(std::min(ceil_div(all, of_strip), std::int64_t{tuning.most_rounds} * 2));
    for (int step = 1; step < least; step *= 2) {
      const int rounds = ceil_div(least, step) * step;
      const int odd = rounds >> std::countr_zero(static_cast<unsigned>(rounds));
      if (odd > 1 && odd <= tuning.most_odd) consider(plan, rounds, all);
    }
  }

 private:
  // The same by twice as many threads, in half of the rounds, where no other block is on its SM.
  ColumnPlan doubled(ColumnPlan plan) const {
    const int of_a_chunk = plan.packs * (plan.rows_are_one ? 1 : column_lanes);
    const int threads = ceil_div(2 * plan.side_by_side * of_a_chunk, 32) * 32;
    if (plan.blocks != 1 || plan.rounds == 1 || plan.strips > sm_count_ ||
        threads > most_column_threads) {
      return plan;
    }
    plan.side_by_side *= 2, plan.tasks *= 2, plan.threads = threads;
    plan.rounds /= 2, --plan.item_shift;
    share_memory(element_, plan);
    return fits(plan, element_) ? plan : best_;
  }

  void consider(ColumnPlan plan, int rounds, std::int64_t all) {
    plan.rounds = rounds;
    plan.item_shift = std::countr_zero(static_cast<unsigned>(rounds));
    plan.blocks = ceil_div(all, std::int64_t{rounds});
    const std::int64_t items = plan.has_one_item() ? plan.blocks
                                                   : ceil_div(column_chunk_count(plan.rows),
                                                              std::int64_t{plan.item_rounds()});
    plan.item_count = static_cast<int>(std::min(items, most_items));
    share_memory(element_, plan);
    const int beside = power_of_two_below(plan.threads / plan.strip_columns);
    for (int each = merged_each; each <= most_merged_each; each *= 2) {
      plan.each_shift = std::countr_zero(static_cast<unsigned>(each));
      plan.merge_shift = std::countr_zero(static_cast<unsigned>(each * beside));
      const double ns = time_ns(plan, element_, sm_count_);
      // Of one chunk narrow strips, which come later, are smaller blocks in as long a round.
      const bool is_as_good = ns == best_ns_ && plan.rows <= column_chunk_rows;
      if ((ns < best_ns_ || is_as_good) && fits(plan, element_)) best_ = plan, best_ns_ = ns;
      if (plan.item_count <= plan.merged()) break;  // one level as it is
    }
  }

  const ColumnElement& element_;
  int sm_count_;
  ColumnPlan best_;
  double best_ns_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::int64_t ColumnPlan::waiting_totals() const {
  std::int64_t totals = 0;
  for (std::int64_t count = item_count; count > 1;
       count = ceil_div(count, std::int64_t{merged()})) {
    totals += count * cols;
  }
  return totals;
}

std::int64_t ColumnPlan::tickets() const {
  std::int64_t groups = 0;
  for (std::int64_t count = item_count; count > 1;) {
    count = ceil_div(count, std::int64_t{merged()});
    groups += count;
  }
  return groups * strips;
}

ColumnPlan plan_columns(const Reduce& problem, const ColumnElement& element, int sm_count) {
  ColumnPlan plan = {};
  plan.rows = problem.rows;
  plan.cols = problem.cols;
  plan.ld = problem.ld;
  plan.elements = plan.rows > 0 ? (plan.rows - 1) * plan.ld + plan.cols : 0;
  const std::int64_t bytes =
      plan.rows * plan.cols * static_cast<std::int64_t>(size_of(problem.type));
  const bool is_small = bytes <= tuning.most_narrow_bytes_an_sm * sm_count;
  QuickestPlan quickest(element, sm_count, plan);
  for (const int packs : tuning.widest_packs) {
    cut_columns(element, packs, plan);
    quickest.consider_lengths(plan);
    if (plan.rows_are_one || !is_small) break;
  }
  ColumnPlan best = quickest.best();
  // Those that come while the previous kernel ends. Of one round, of a strip that is one block's
  // and of types of one or two bytes calls take longer for it (explored-reduce-shadow.txt).
  if (best.rounds > 1 && best.blocks > 1 && element.pack_bytes >= 4 * element.width)
    best.asking = static_cast<unsigned>(blocks_at_once(best, element) * sm_count);
  return best;
}

bool are_low_columns(const Reduce& problem, int sm_count) {
  const bool is_computed = size_of(problem.type) < 4 || problem.op == ReduceOp::variance;
  if (problem.rows > column_chunk_rows) {
    for (const LowRange& range : low_ranges_of(problem)) {
      if (problem.rows > range.most_rows) continue;
      const std::int64_t an_sm = problem.cols / sm_count;
      return an_sm >= range.least_an_sm && an_sm <= range.most_an_sm;
    }
    return false;
  }
  const std::int64_t most = is_computed ? column_chunk_rows : tuning.most_low_rows;
  if (problem.rows < 1 || problem.rows > most) return false;
  return problem.rows <= tuning.always_low_rows ||
         problem.cols >= tuning.low_columns_an_sm * sm_count;
}

}  // namespace kw
