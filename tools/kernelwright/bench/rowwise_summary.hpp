// What a sweep of many row-wise operations comes to: one line for each operation and one for all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/row.hpp"

namespace kw::bench {

// Calls that read and write so many bytes are to reach a share of a copy's bandwidth: more where a
// row is no longer than so many bytes than beyond.
inline constexpr double rowwise_bar_bytes = 64.0 * (1 << 20), rowwise_long_row = 4.0 * (1 << 20);
inline constexpr double rowwise_bar = 0.85, rowwise_long_bar = 0.60;

// Shares of a copy's bandwidth: their geometric mean, the least, and how many are under their bar.
struct CopyShares {
  int calls = 0;
  std::optional<double> mean, least;
  std::string least_at;
  int below_bar = 0;
};

// Of calls of rowwise_bar_bytes and more.
struct RowwiseSummary {
  std::string group;       // an operation, or "all"
  CopyShares of_large;     // of the copy that the device's limits are measured by
  CopyShares of_the_rows;  // of the peer that copies the same rows
};

// Of the rows that carry a time; groups that are empty are left out.
std::vector<RowwiseSummary> summarise_rowwise(const std::vector<Row>& rows);

// The same for a terminal, and below it what the columns mean.
std::string rowwise_table(const std::vector<Row>& rows);

}  // namespace kw::bench
