// report/kernelwright_report/rowwise.py computes the same of result files.
#include "bench/rowwise_summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/statistics.hpp"
#include "bench/sweep_summary.hpp"
#include "bench/table.hpp"

namespace kw::bench {
namespace {

struct SharesTally {
  CopyShares found;
  std::vector<double> shares;

  void add(double share, double bar, const Row& row) {
    ++found.calls;
    shares.push_back(share);
    if (share < bar) ++found.below_bar;
    if (found.least && *found.least <= share) return;
    found.least = share;
    found.least_at = fmt::format("{} {}", row.rowwise->dtype, row.shape());
  }
  CopyShares finished() const {
    CopyShares all = found;
    all.mean = geometric_mean(shares);
    return all;
  }
};

bool is_large(const Row& row) {
  return row.role == to_string(Role::production) && row.rowwise && row.time_us && row.gbs &&
         *row.gbs * row.time_us->median * 1e3 >= rowwise_bar_bytes;
}

double bar_of(const Row& row) {
  const double element = row.rowwise->dtype == "float32" ? 4 : 2;
  const double row_bytes = element * static_cast<double>(row.rowwise->cols);
  return row_bytes > rowwise_long_row ? rowwise_long_bar : rowwise_bar;
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

void append_cells(std::vector<std::string>& line, const CopyShares& shares) {
  line.insert(line.end(), {percent(shares.mean), percent(shares.least),
                           shares.calls > 0 ? fmt::format("{}", shares.below_bar) : "-"});
}

}  // namespace

std::vector<RowwiseSummary> summarise_rowwise(const std::vector<Row>& rows) {
  std::vector<std::string> groups;
  for (const Row& row : rows) {
    if (is_large(row) && std::find(groups.begin(), groups.end(), row.op) == groups.end())
      groups.push_back(row.op);
  }
  if (!groups.empty()) groups.emplace_back("all");
  std::vector<RowwiseSummary> summaries;
  for (const std::string& group : groups) {
    SharesTally of_large, of_the_rows;
    for (const Row& row : rows) {
      if (!is_large(row) || (group != "all" && row.op != group)) continue;
      if (row.of_peak) of_large.add(*row.of_peak, bar_of(row), row);
      if (row.vs_peer) of_the_rows.add(*row.vs_peer, bar_of(row), row);
    }
    summaries.push_back({group, of_large.finished(), of_the_rows.finished()});
  }
  return summaries;
}

std::string rowwise_table(const std::vector<Row>& rows) {
  const std::vector<RowwiseSummary> summaries = summarise_rowwise(rows);
  if (summaries.empty()) return {};
  std::vector<std::vector<std::string>> cells = {{"operation", "least beside the rows' copy",
                                                  "calls", "of peak", "least", "below bar",
                                                  "of the rows' copy", "least", "below bar"}};
  for (const RowwiseSummary& s : summaries) {
    const std::string& least_at = s.of_the_rows.least_at;
    std::vector<std::string> line = {
        s.group, least_at.empty() ? "-" : least_at,
        fmt::format("{}", std::max(s.of_large.calls, s.of_the_rows.calls))};
    append_cells(line, s.of_large);
    append_cells(line, s.of_the_rows);
    cells.push_back(line);
  }
  return align(cells, 2) +
         "\nCalls that read and write 64 MiB or more. Of peak: share of the bandwidth of a copy of "
         "4 GiB, one read\nand one write counted. Of the rows' copy: the time of a plain copy of "
         "the same rows, in the same run, by\nthe library's. Means are geometric. Below bar: under "
         "0.85 where a row has at most 4 MiB, 0.60 beyond.\n";
}

}  // namespace kw::bench
