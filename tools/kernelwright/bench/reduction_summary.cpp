// The library's row of a reduction is the production kernel that took it; beside it the fastest
// peer. report/kernelwright_report/reductions.py computes the same of result files.
#include "bench/reduction_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/statistics.hpp"
#include "bench/sweep_summary.hpp"
#include "bench/table.hpp"

namespace kw::bench {
namespace {

struct Reduction {
  const Row* own = nullptr;
  const Row* peer = nullptr;
};

void keep_faster(const Row*& known, const Row& row) {
  if (known == nullptr || row.time_us->median < known->time_us->median) known = &row;
}

std::map<std::int64_t, Reduction> reductions_of(const std::vector<Row>& rows) {
  std::map<std::int64_t, Reduction> found;
  for (const Row& row : rows) {
    if (!row.sweep || !row.reduction || !row.time_us) continue;
    Reduction& reduction = found[row.sweep->number];
    keep_faster(row.role == to_string(Role::peer) ? reduction.peer : reduction.own, row);
  }
  return found;
}

std::string name_of(const Row& row) {
  return fmt::format("{} {} {}", row.reduction->reduce_op, row.reduction->dtype, row.shape());
}

// The share that the row must reach; none where it is small or its elements are.
std::optional<double> bar_of(const Row& row) {
  const std::string& type = row.reduction->dtype;
  if (type == "float16" || type == "bfloat16" || type == "int8") return std::nullopt;
  const double bytes = *row.gbs * row.time_us->median * 1e3;
  std::optional<double> bar;
  for (const BandwidthBar& each : bandwidth_bars) {
    if (bytes >= each.bytes) bar = each.share;
  }
  return bar;
}

struct ReductionTally {
  ReductionSummary summary;
  std::vector<double> ratios, shares;

  void add(const Reduction& reduction) {
    const Row& own = *reduction.own;
    ++summary.reductions;
    if (reduction.peer != nullptr) {
      add_ratio(ratio_with_slack(own.time_us->median, reduction.peer->time_us->median), own);
    }
    const std::optional<double> bar = own.gbs ? bar_of(own) : std::nullopt;
    if (bar && own.of_peak) add_share(*own.of_peak, *bar, own);
  }

  void add_ratio(double ratio, const Row& row) {
    ++summary.with_peer;
    ratios.push_back(ratio);
    if (ratio < losing_ratio) ++summary.below;
    if (ratio < far_losing_ratio) ++summary.far_below;
    if (summary.least && *summary.least <= ratio) return;
    summary.least = ratio;
    summary.least_at = name_of(row);
  }

  void add_share(double share, double bar, const Row& row) {
    ++summary.large;
    shares.push_back(share);
    if (share < bar) ++summary.below_bar;
    if (summary.least_share && *summary.least_share <= share) return;
    summary.least_share = share;
    summary.least_share_at = name_of(row);
  }

  ReductionSummary finished() const {
    ReductionSummary result = summary;
    result.mean = geometric_mean(ratios);
    result.share = geometric_mean(shares);
    if (!ratios.empty()) result.fifth_percentile = quantile(ratios, 0.05);
    return result;
  }
};

std::string ratio_cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

}  // namespace

std::vector<ReductionSummary> summarise_reductions(const std::vector<Row>& rows) {
  const std::map<std::int64_t, Reduction> reductions = reductions_of(rows);
  std::vector<ReductionSummary> summaries;
  for (const char* group :
       {"short", "middle", "long", "whole", "rows", "columns", "segments", "all"}) {
    ReductionTally tally;
    tally.summary.group = group;
    for (const auto& [number, reduction] : reductions) {
      if (reduction.own == nullptr) continue;
      const Row& own = *reduction.own;
      if (tally.summary.group == "all" || own.sweep->third == group ||
          own.reduction->shape == group) {
        tally.add(reduction);
      }
    }
    if (tally.summary.reductions > 0) summaries.push_back(tally.finished());
  }
  return summaries;
}

std::string reduction_table(const std::vector<Row>& rows) {
  const std::vector<ReductionSummary> summaries = summarise_reductions(rows);
  if (summaries.empty()) return {};
  std::vector<std::vector<std::string>> cells = {
      {"group", "least at", "least share at", "reductions", "with peer", "mean", "5th pct", "least",
       "below 0.97", "below 0.90", "large", "share", "least share", "below bar"}};
  for (const ReductionSummary& s : summaries) {
    cells.push_back({s.group, s.least_at.empty() ? "-" : s.least_at,
                     s.least_share_at.empty() ? "-" : s.least_share_at,
                     fmt::format("{}", s.reductions), fmt::format("{}", s.with_peer),
                     ratio_cell(s.mean), ratio_cell(s.fifth_percentile), ratio_cell(s.least),
                     fmt::format("{}", s.below), fmt::format("{}", s.far_below),
                     fmt::format("{}", s.large), ratio_cell(s.share), ratio_cell(s.least_share),
                     fmt::format("{}", s.below_bar)});
  }
  return align(cells, 3) +
         "\nmean, 5th pct, least: the fastest peer's time by the library's; means are geometric. "
         "Where the peer\ntakes under 4 us and the library longer, 0.3 us of slack. Thirds: under "
         "4 "
         "us, 4 to 50 and over 50 by\nan H200's bandwidth. Share of the measured read bandwidth: "
         "of "
         "types of four bytes and more from 64 MiB on;\nbelow bar: under 0.75 there, 0.85 from 128 "
         "MiB, 0.90 from 512 MiB.\n";
}

}  // namespace kw::bench
