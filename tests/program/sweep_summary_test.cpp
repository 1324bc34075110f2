// The summary of a sweep against sweep_summary.inc, which tests/report/sweeps_test.py holds the
// report's to.
#include "bench/sweep_summary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kw::bench {
namespace {

using nlohmann::ordered_json;

const char* const summary_text =
#include "program/sweep_summary.inc"
    ;

std::optional<std::string> text_or_none(const ordered_json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
}

Row row_of(const ordered_json& json) {
  Row row;
  row.op = json["op"];
  row.kernel = json["kernel"];
  row.role = json["role"];
  row.math = json["math"];
  row.m = json["m"];
  row.n = json["n"];
  row.k = json["k"].get<std::int64_t>();
  row.op_a = json["op_a"].get<std::string>();
  row.op_b = json["op_b"].get<std::string>();
  row.batch = json["batch"];
  row.peer = text_or_none(json["peer"]);
  if (!json["time_us"].is_null()) {
    row.time_us = TimeStatistics{};
    row.time_us->median = json["time_us"]["median"];
  }
  row.sweep =
      SweepRow{json["sweep"], json["seed"].get<std::uint64_t>(), json["number"], std::nullopt,
               json["third"], json["roofline_us"].get<double>()};
  return row;
}

std::vector<Row> summary_rows(const ordered_json& file) {
  std::vector<Row> rows;
  for (const ordered_json& json : file["rows"]) rows.push_back(row_of(json));
  return rows;
}

void expect_near(const std::optional<double>& found, const ordered_json& wanted) {
  ASSERT_EQ(found.has_value(), !wanted.is_null());
  if (found) {
    EXPECT_NEAR(*found / wanted.get<double>(), 1, 1e-12);
  }
}

TEST(SweepSummary, IsThatOfTheFile) {
  const ordered_json file = ordered_json::parse(summary_text);
  const std::vector<SweepSummary> found = summarise_sweep(summary_rows(file));
  ASSERT_EQ(found.size(), file["expected"].size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ordered_json& wanted = file["expected"][i];
    SCOPED_TRACE(wanted.dump());
    EXPECT_EQ(found[i].kernel, wanted["kernel"]);
    EXPECT_EQ(found[i].third, wanted["third"]);
    EXPECT_EQ(found[i].products, wanted["products"]);
    expect_near(found[i].mean, wanted["mean"]);
    expect_near(found[i].fifth_percentile, wanted["fifth_percentile"]);
    expect_near(found[i].least, wanted["least"]);
    EXPECT_EQ(found[i].below, wanted["below"].get<int>());
    expect_near(found[i].over_roofline, wanted["over_roofline"]);
    expect_near(found[i].vendor_over_roofline, wanted["vendor_over_roofline"]);
    EXPECT_EQ(found[i].slower_than_fp32.has_value(), wanted["slower_than_fp32"].is_number());
    if (found[i].slower_than_fp32) {
      EXPECT_EQ(*found[i].slower_than_fp32, wanted["slower_than_fp32"].get<int>());
    }
  }
  EXPECT_EQ(found.back().least_at, "1313x6317x2 NT");
  EXPECT_EQ(found.front().least_at, "289x1x1817 TN");
}

TEST(SweepSummary, GivesSlackToShortCallsThatLoseAndToNoOthers) {
  EXPECT_DOUBLE_EQ(ratio_with_slack(2.0, 2.4), 1.2);
  EXPECT_DOUBLE_EQ(ratio_with_slack(2.2, 2.0), 1) << "never as shorter than the vendor's";
  EXPECT_DOUBLE_EQ(ratio_with_slack(4.3, 2.0), 0.5);
  EXPECT_DOUBLE_EQ(ratio_with_slack(4.0 / 0.9, 4.0), 0.9) << "4 us is not under 4 us";
}

TEST(SweepSummary, SaysNothingOfWhatWasNotMeasured) {
  std::vector<Row> rows = summary_rows(ordered_json::parse(summary_text));
  std::erase_if(rows, [](const Row& row) { return row.kernel != "kernelwright"; });
  for (Row& row : rows) row.sweep->roofline_us.reset();
  for (const SweepSummary& summary : summarise_sweep(rows)) {
    EXPECT_FALSE(summary.mean || summary.fifth_percentile || summary.least || summary.below);
    EXPECT_FALSE(summary.over_roofline || summary.vendor_over_roofline);
    EXPECT_FALSE(summary.slower_than_fp32);
    EXPECT_GT(summary.products, 0);
  }
  EXPECT_NE(sweep_table(rows).find("kernelwright  all"), std::string::npos) << sweep_table(rows);
  EXPECT_EQ(sweep_table({}), "");
}

}  // namespace
}  // namespace kw::bench
