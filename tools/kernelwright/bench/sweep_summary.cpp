// Geometric means, order statistics, counts. report/kernelwright_report/sweeps.py computes the same
// of result files; tests/program/sweep_summary.json holds both to it.
#include "bench/sweep_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "bench/statistics.hpp"
#include "bench/table.hpp"

namespace kw::bench {
namespace {

constexpr double slack_us = 0.3, slack_below_us = 4;
constexpr const char* plain_choice = "kernelwright";

double time_of(const Row& row) { return row.time_us->median; }

// The timed rows of one product, by kernel.
using Product = std::map<std::string, const Row*>;

std::map<std::int64_t, Product> products_of(const std::vector<Row>& rows) {
  std::map<std::int64_t, Product> products;
  for (const Row& row : rows) {
    if (row.sweep && row.time_us) products[row.sweep->number][row.kernel] = &row;
  }
  return products;
}

const Row* find(const Product& product, const std::string& kernel) {
  const auto found = product.find(kernel);
  return found == product.end() ? nullptr : found->second;
}

// Sums of one line while its products come in.
struct Tally {
  SweepSummary summary;
  std::vector<double> ratios, over_roofline, vendor_over_roofline;
  int below = 0, beside_fp32 = 0, slower_than_fp32 = 0;

  void add(const Row& row, const Row* vendor, const Row* plain) {
    ++summary.products;
    const std::optional<double> roofline_us = row.sweep->roofline_us;
    if (roofline_us) over_roofline.push_back(time_of(row) / *roofline_us);
    if (vendor != nullptr) {
      add_ratio(ratio_with_slack(time_of(row), time_of(*vendor)), row);
      if (roofline_us) vendor_over_roofline.push_back(time_of(*vendor) / *roofline_us);
    }
    if (plain != nullptr && plain->math != row.math) {
      ++beside_fp32;
      if (time_of(row) > losing_factor * time_of(*plain)) ++slower_than_fp32;
    }
  }

  void add_ratio(double ratio, const Row& row) {
    ratios.push_back(ratio);
    if (ratio < losing_ratio) ++below;
    if (summary.least && *summary.least <= ratio) return;
    summary.least = ratio;
    summary.least_at = row.shape();
    const std::string ops = row.op_a.value_or("N") + row.op_b.value_or("N");
    if (ops != "NN") summary.least_at += " " + ops;
  }

  SweepSummary finished() const {
    SweepSummary result = summary;
    result.mean = geometric_mean(ratios);
    result.over_roofline = geometric_mean(over_roofline);
    result.vendor_over_roofline = geometric_mean(vendor_over_roofline);
    if (!ratios.empty()) {
      result.fifth_percentile = quantile(ratios, 0.05);
      result.below = below;
    }
    if (beside_fp32 > 0) result.slower_than_fp32 = slower_than_fp32;
    return result;
  }
};

std::string shown(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string shown(const std::optional<int>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

}  // namespace

double ratio_with_slack(double us, double vendor_us) {
  const bool has_slack = vendor_us < slack_below_us && us > vendor_us;
  return vendor_us / (has_slack ? std::max(us - slack_us, vendor_us) : us);
}

std::vector<SweepSummary> summarise_sweep(const std::vector<Row>& rows) {
  const std::map<std::int64_t, Product> products = products_of(rows);
  std::vector<std::string> kernels;
  for (const Row& row : rows) {
    const bool is_known = std::find(kernels.begin(), kernels.end(), row.kernel) != kernels.end();
    if (row.role != to_string(Role::peer) && !is_known) kernels.push_back(row.kernel);
  }
  std::vector<SweepSummary> summaries;
  for (const std::string& kernel : kernels) {
    for (const std::string third : {"short", "middle", "long", "all"}) {
      Tally tally;
      tally.summary.kernel = kernel;
      tally.summary.third = third;
      for (const auto& [number, product] : products) {
        const Row* row = find(product, kernel);
        if (row == nullptr || (third != "all" && row->sweep->third != third)) continue;
        tally.add(*row, find(product, row->peer.value_or("")), find(product, plain_choice));
      }
      if (tally.summary.products > 0) summaries.push_back(tally.finished());
    }
  }
  return summaries;
}

std::string sweep_table(const std::vector<Row>& rows) {
  const std::vector<SweepSummary> summaries = summarise_sweep(rows);
  if (summaries.empty()) return {};
  std::vector<std::vector<std::string>> cells = {{"kernel", "third", "products", "mean", "5th pct",
                                                  "least", "below 0.97", "over roofline",
                                                  "vendor's", "slower than fp32", "least at"}};
  for (const SweepSummary& s : summaries) {
    cells.push_back({s.kernel, s.third, fmt::format("{}", s.products), shown(s.mean),
                     shown(s.fifth_percentile), shown(s.least), shown(s.below),
                     shown(s.over_roofline), shown(s.vendor_over_roofline),
                     shown(s.slower_than_fp32), s.least_at.empty() ? "-" : s.least_at});
  }
  return align(cells, 2) +
         "\nmean, 5th pct, least: the vendor's time by the kernel's; means are geometric. Where "
         "the "
         "vendor\ntakes under 4 us and the kernel longer, 0.3 us of slack: its time counts as so "
         "much shorter, but\nnever as shorter than the vendor's. Thirds: under 4 us, 4 to 50 and "
         "over 50 by an H200's roofline;\nover roofline: by this device's. Slower than fp32: by "
         "more "
         "than 3 %, without slack.\n";
}

}  // namespace kw::bench
