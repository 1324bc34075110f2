// What a sweep of many reductions comes to: one line for each third and shape and one for all.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bench/row.hpp"

namespace kw::bench {

// From so many bytes on a reduction of types of four bytes and more reads at least such a share of
// the read bandwidth.
struct BandwidthBar {
  double bytes, share;
};
inline constexpr std::array<BandwidthBar, 3> bandwidth_bars = {
    {{64.0 * (1 << 20), 0.75}, {128.0 * (1 << 20), 0.85}, {512.0 * (1 << 20), 0.90}}};

// Means are geometric. Empty: without a peer, without large reductions.
struct ReductionSummary {
  std::string group;  // "short", "middle", "long", "whole", "rows", "columns", "segments", "all"
  int reductions = 0, with_peer = 0;
  std::optional<double> mean, fifth_percentile,
      least;  // the fastest peer's time by ours, with slack
  std::string least_at;
  int below = 0, far_below = 0;              // losing_ratio, far_losing_ratio
  int large = 0, below_bar = 0;              // of bandwidth_bars
  std::optional<double> share, least_share;  // of the read bandwidth, of large ones
  std::string least_share_at;
};

constexpr double far_losing_ratio = 0.90;

// Of the rows that carry a time; groups that are empty are left out.
std::vector<ReductionSummary> summarise_reductions(const std::vector<Row>& rows);

// The same for a terminal, and below it what the columns mean.
std::string reduction_table(const std::vector<Row>& rows);

}  // namespace kw::bench
