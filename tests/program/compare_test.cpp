// kernelwright compare: which rows are joined, what counts as a change, what is printed.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/compare.hpp"
#include "bench/row.hpp"
#include "program.hpp"
#include "program_run.hpp"

namespace kw::bench {
namespace {

using nlohmann::ordered_json;

ordered_json product_row(const char* kernel, std::int64_t n, double us, double iqr_us) {
  Row row;
  row.op = "sgemm";
  row.kernel = kernel;
  row.role = kernel == std::string("vendor") ? "peer" : "production";
  row.m = row.n = n;
  row.k = n;
  row.op_a = row.op_b = "N";
  row.lda = n;
  row.math = "fp32";
  row.input = "uniform";
  row.l2 = "hot";
  row.timing = "clock";
  row.time_us = TimeStatistics{us, us, us, us, iqr_us, 5};
  row.gflops = 1000 / us;
  row.verified = true;
  return to_json(row);
}

ordered_json file_of(std::vector<ordered_json> rows) {
  return {{"schema", 1},
          {"command", "kernelwright bench"},
          {"device", {{"name", "GPU"}, {"measured_read_gbs", 100.0}, {"l2_bytes", 5}}},
          {"software", {{"kernelwright", "1"}, {"driver", "580"}}},
          {"rows", std::move(rows)}};
}

Comparison compared(const ordered_json& before, const ordered_json& after) {
  return compare(before, "before.json", after, "after.json", 0.03);
}

Verdict verdict(double before_us, double before_iqr, double after_us, double after_iqr) {
  return compared(file_of({product_row("a", 8, before_us, before_iqr)}),
                  file_of({product_row("a", 8, after_us, after_iqr)}))
      .pairs.at(0)
      .verdict;
}

TEST(Compare, AChangeExceedsBothSpreadsAndTheThreshold) {
  EXPECT_EQ(verdict(100, 0, 110, 0), Verdict::slower);
  EXPECT_EQ(verdict(100, 0, 90, 0), Verdict::faster);
  EXPECT_EQ(verdict(100, 12, 110, 0), Verdict::same);
  EXPECT_EQ(verdict(100, 0, 110, 12), Verdict::same);
  EXPECT_EQ(verdict(100, 9, 110, 9), Verdict::slower);
  EXPECT_EQ(verdict(100, 0, 102.9, 0), Verdict::same);
  EXPECT_EQ(verdict(100, 0, 103.1, 0), Verdict::slower);
}

TEST(Compare, RowsAreJoinedByAllThatDescribesThem) {
  ordered_json cold = product_row("a", 8, 50, 0);
  cold["l2"] = "cold";
  ordered_json padded = product_row("a", 8, 70, 0);
  padded["lda"] = 9;
  const Comparison found =
      compared(file_of({product_row("a", 8, 10, 0), cold, padded, product_row("b", 8, 1, 0)}),
               file_of({product_row("c", 8, 1, 0), padded, product_row("a", 8, 5, 0), cold}));
  ASSERT_EQ(found.pairs.size(), 5u);
  EXPECT_EQ(found.pairs[0].verdict, Verdict::faster);
  EXPECT_EQ(found.pairs[0].ratio(), 2.0);
  EXPECT_EQ(found.pairs[1].verdict, Verdict::same);
  EXPECT_EQ(found.pairs[2].verdict, Verdict::same);
  EXPECT_EQ(found.pairs[3].verdict, Verdict::only_before);
  EXPECT_EQ(found.pairs[4].verdict, Verdict::only_after);
  EXPECT_EQ(found.pairs[4].kernel, "c");
  EXPECT_EQ(found.pairs[0].problem, "8x8x8 NN l2=hot lda=8") << "what tells alike rows apart";
  EXPECT_EQ(found.pairs[1].problem, "8x8x8 NN l2=cold lda=8");
  EXPECT_EQ(found.pairs[3].problem, "8x8x8 NN");
}

TEST(Compare, RowsThatOccurTwiceAreJoinedInOrder) {
  const Comparison found =
      compared(file_of({product_row("a", 8, 10, 0), product_row("a", 8, 20, 0)}),
               file_of({product_row("a", 8, 10, 0), product_row("a", 8, 40, 0)}));
  ASSERT_EQ(found.pairs.size(), 2u);
  EXPECT_EQ(found.pairs[0].verdict, Verdict::same);
  EXPECT_EQ(found.pairs[1].verdict, Verdict::slower);
}

TEST(Compare, WhatIsMeasuredDoesNotTellRowsApart) {
  ordered_json before = product_row("a", 8, 10, 0);
  ordered_json after = product_row("a", 8, 10, 0);
  before["path"] = "other";
  before["power_w"] = 300;
  before["joules_per_call"] = 2.5;
  before["launch"] = {{"grid", {1, 2, 3}}};
  before["timing"] = "graph";
  EXPECT_EQ(compared(file_of({before}), file_of({after})).pairs.size(), 1u);
  after["timing"] = "alone";
  EXPECT_EQ(compared(file_of({before}), file_of({after})).pairs.size(), 2u)
      << "launch latency is in one of them";
  before["timing"] = "enqueue";
  EXPECT_EQ(compared(file_of({before}), file_of({after})).pairs.size(), 2u);
  after["timing"] = "graph";
  EXPECT_EQ(compared(file_of({before}), file_of({after})).pairs.size(), 2u)
      << "one of them is the host's time";
}

TEST(Compare, TheSummaryHasMeanBestAndWorst) {
  const Comparison found =
      compared(file_of({product_row("a", 8, 40, 0), product_row("a", 16, 10, 0),
                        product_row("b", 8, 10, 0)}),
               file_of({product_row("a", 8, 10, 0), product_row("a", 16, 10, 0),
                        product_row("b", 8, 20, 0)}));
  const Summary all = found.summary();
  EXPECT_EQ(all.compared(), 3);
  EXPECT_EQ(all.faster, 1);
  EXPECT_EQ(all.same, 1);
  EXPECT_EQ(all.slower, 1);
  EXPECT_NEAR(all.mean, std::cbrt(4.0 * 1 * 0.5), 1e-12);
  EXPECT_EQ(all.best->problem, "8x8x8 NN");
  EXPECT_EQ(all.worst->kernel, "b");
  EXPECT_NEAR(found.summary("a").mean, 2, 1e-12);
}

TEST(Compare, AResultThatIsWrongNowIsBroken) {
  ordered_json wrong = product_row("a", 8, 10, 0);
  wrong["verified"] = false;
  wrong["time_us"] = nullptr;
  EXPECT_EQ(compared(file_of({product_row("a", 8, 10, 0)}), file_of({wrong})).pairs[0].verdict,
            Verdict::broken);
}

TEST(Compare, NotesSayWhatElseDiffers) {
  ordered_json before = file_of({product_row("a", 8, 10, 0)});
  ordered_json after = before;
  EXPECT_TRUE(compared(before, after).notes.empty());
  after["device"]["measured_read_gbs"] = 101.0;
  EXPECT_TRUE(compared(before, after).notes.empty()) << "within the threshold";
  after["device"]["name"] = "Another";
  after["device"]["measured_read_gbs"] = 120.0;
  after["software"]["driver"] = nullptr;
  after["interrupted"] = true;
  EXPECT_EQ(compared(before, after).notes,
            (std::vector<std::string>{"device name: GPU before, Another after",
                                      "device measured_read_gbs: 100.0 before, 120.0 after",
                                      "software driver: 580 before, none after",
                                      "after.json is of an interrupted run"}));
}

TEST(Compare, FilesOfOtherKindsAreRefused) {
  const ordered_json good = file_of({product_row("a", 8, 10, 0)});
  for (const char* text : {"[]", "3", "{}", R"({"schema":2,"rows":[]})", R"({"schema":1,"rows":3})",
                           R"({"schema":1,"rows":[3]})"}) {
    EXPECT_THROW(compared(good, ordered_json::parse(text)), UsageError) << text;
  }
  // What is odd within rows is no reason to fail.
  for (const char* row :
       {"{}", R"({"kernel":3,"time_us":7})", R"({"time_us":{"median":"x"},"role":1})",
        R"({"op":"reduce"})", R"({"timing":[],"verified":null})"}) {
    EXPECT_EQ(compared(good, file_of({ordered_json::parse(row)})).pairs.size(), 2u) << row;
  }
}

class CompareCommand : public testing::Test {
 protected:
  CompareCommand() {
    std::ofstream(before_) << file_of({product_row("a", 8, 10, 0.5), product_row("a", 16, 30, 0),
                                       product_row("vendor", 8, 10, 0)})
                                  .dump();
    std::ofstream(after_) << file_of({product_row("a", 8, 5, 0), product_row("a", 16, 60, 0),
                                      product_row("vendor", 8, 10.1, 0)})
                                 .dump();
  }
  ~CompareCommand() override {
    std::filesystem::remove(before_);
    std::filesystem::remove(after_);
  }
  ProgramRun run(const std::string& options) const {
    return run_kernelwright("compare '" + before_ + "' '" + after_ + "' " + options);
  }

  std::string before_ = temporary_path("before.json"), after_ = temporary_path("after.json");
};

TEST_F(CompareCommand, PrintsTimesRatiosAndASummary) {
  const ProgramRun shown = run("");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* part :
       {"10.00 us   5.0 %   5.00 us   0.0 %  2.000 x   faster", "0.500 x   SLOWER",
        "0.990 x     same", "2.000 x at 8x8x8 NN", "0.500 x at 16x16x16 NN",
        "The peers' own rows are 0.990 x in the mean"}) {
    EXPECT_TRUE(contains(shown.out, part)) << part << "\n" << shown.out;
  }
}

TEST_F(CompareCommand, FailsOnlyWhereAsked) {
  EXPECT_EQ(run("--fail-slower").exit_code, 1);
  EXPECT_EQ(run("--fail-slower --threshold 150").exit_code, 0);
  EXPECT_EQ(run_kernelwright("compare --fail-slower '" + before_ + "' '" + before_ + "'").exit_code,
            0);
}

TEST_F(CompareCommand, WritesOtherFormats) {
  const ordered_json json = ordered_json::parse(run("--json -").out);
  EXPECT_EQ(json["faster"], 1);
  EXPECT_EQ(json["slower"], 1);
  EXPECT_EQ(json["same"], 1);
  EXPECT_EQ(json["pairs"].size(), 3u);
  EXPECT_EQ(json["pairs"][0]["ratio"], 2.0);
  const ProgramRun csv = run("--format csv");
  EXPECT_TRUE(contains(csv.out, "sgemm,a,8x8x8 NN,10,0.5,5,0,2,faster\n")) << csv.out;
  const ProgramRun markdown = run("--format markdown");
  EXPECT_TRUE(contains(markdown.out, "| sgemm | a | 8x8x8 NN | 10.00 us |")) << markdown.out;
  EXPECT_TRUE(contains(markdown.out, "| :-- | :-- | :-- | --: |")) << markdown.out;
}

TEST_F(CompareCommand, SaysWhatItCannotCompare) {
  std::ofstream(after_) << "{ \"schema\": 1, \"rows\": [";
  EXPECT_EQ(run("").exit_code, 2);
  EXPECT_TRUE(contains(run("").err, after_ + ": cannot be read as JSON")) << run("").err;
  std::ofstream(after_) << file_of({product_row("other", 8, 5, 0)}).dump();
  EXPECT_EQ(run("").exit_code, 2);
  EXPECT_TRUE(contains(run("").err, "have no timed row in common")) << run("").err;
}

// Of two real runs.
TEST_F(CompareCommand, ReadsWhatBenchWrites) {
  for (const std::string& path : {before_, after_}) {
    const std::string json = " --budget-ms 3 --json '" + path + "'";
    ASSERT_EQ(run_kernelwright(
                  "bench reduce --device cpu --no-ceilings --shape 1000,30x20 --op sum,max" + json)
                  .exit_code,
              0);
  }
  const ProgramRun shown = run("");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* part : {"max float32 30x20 rows", "sum float32 1000 whole", "cpu_reduce"}) {
    EXPECT_TRUE(contains(shown.out, part)) << part << "\n" << shown.out;
  }
  EXPECT_FALSE(contains(shown.out, "only")) << shown.out;
}

}  // namespace
}  // namespace kw::bench
