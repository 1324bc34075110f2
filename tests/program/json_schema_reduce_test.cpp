// Result files of reductions, field by field.
#include <set>
#include <utility>

#include "json_schema.hpp"

namespace kw {
namespace {

TEST(JsonSchema, BenchReduceOnTheCpu) {
  for (const char* l2 : {"hot", "cold"}) {
    const ordered_json file = run_json(
        "bench reduce --device cpu --shape 5000 --op sum,variance,argmin --correction 1 "
        "--dtype float32,int8 --misalign 3 --budget-ms 3 --l2 " +
        std::string(l2));
    const double read_gbs = file["device"]["measured_read_gbs"].get<double>();
    std::set<std::pair<std::string, std::string>> seen;
    for (const ordered_json& row : file["rows"]) {
      expect_reduction(row);
      expect_launch(row["launch"], false);
      expect_error(row);
      expect_time(row);
      EXPECT_EQ(row["l2"], l2);
      EXPECT_EQ(row["timing"], "clock");
      EXPECT_EQ(row["shape"], "whole");
      EXPECT_EQ(row["n"], 5000);
      EXPECT_EQ(row["misalign"], 3);
      EXPECT_TRUE(row["verified"].get<bool>());
      if (row["reduce_op"] == "variance") {
        EXPECT_EQ(row["correction"], 1);
      }
      const bool is_wide = row["reduce_op"] == "argmin" || row["dtype"] == "int8";
      const double result = is_wide ? 8 : 4;
      const double bytes = 5000 * bytes_of(row["dtype"]) + result;
      const double gbs = row["gbs"].get<double>();
      EXPECT_NEAR(gbs * row["time_us"]["median"].get<double>() * 1e3 / bytes, 1, 1e-9);
      EXPECT_EQ(row["of_peak"].is_null(), row["l2"] == "hot");
      if (row["l2"] == "cold") {
        EXPECT_NEAR(row["of_peak"].get<double>(), gbs / read_gbs, 1e-9);
      }
      seen.insert({row["reduce_op"].get<std::string>(), row["dtype"].get<std::string>()});
    }
    EXPECT_EQ(seen.size(), 6u);
  }
}

TEST(JsonSchema, ReductionsSayTheirShape) {
  const ordered_json columns = run_json(
      "bench reduce --device cpu --no-ceilings --shape 50x70 --axis columns "
      "--budget-ms 3 --no-peer");
  for (const ordered_json& row : columns["rows"]) {
    expect_reduction(row);
    EXPECT_EQ(row["shape"], "columns");
    EXPECT_EQ(row["rows"], 50);
    EXPECT_EQ(row["cols"], 70);
    EXPECT_EQ(row["n"], 3500);
  }
  const ordered_json segments = run_json(
      "bench reduce --device cpu --no-ceilings --shape 40 --segments equal --budget-ms 3 "
      "--l2 cold");
  for (const ordered_json& row : segments["rows"]) {
    expect_reduction(row);
    EXPECT_EQ(row["segments"], 40);
    EXPECT_EQ(row["lengths"], "equal");
    EXPECT_EQ(row["n"], 40 * 64);
    const double bytes = 40 * 64 * 4 + 41 * 8 + 40 * 4;
    EXPECT_NEAR(row["gbs"].get<double>() * row["time_us"]["median"].get<double>() * 1e3 / bytes, 1,
                1e-9);
  }
}

TEST(JsonSchema, VerifyReduceHasNoTimes) {
  const ordered_json file = run_json("verify reduce --device cpu --shape 1000,20x30 --op mean,min");
  for (const ordered_json& row : file["rows"]) {
    expect_reduction(row);
    expect_untimed(row);
    EXPECT_TRUE(row["verified"].get<bool>());
  }
}

#ifdef KW_HAVE_HOST_SIMT
TEST(JsonSchema, BenchReduceOnHostSimt) {
  const ordered_json file =
      run_json("bench reduce --device host-simt --shape 3000 --budget-ms 3 --kernel 'r*'");
  bool improves = false;
  for (const ordered_json& row : file["rows"]) {
    expect_reduction(row);
    expect_launch(row["launch"], true);
    expect_time(row);
    EXPECT_TRUE(row["verified"].get<bool>());
    improves |= row["vs_previous"].is_number();
  }
  EXPECT_TRUE(improves);
}
#endif

}  // namespace
}  // namespace kw
