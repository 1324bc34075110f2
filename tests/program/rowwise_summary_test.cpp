// What a sweep of row-wise operations comes to: shares of two copies, each beside the bar of its
// call.
#include "bench/rowwise_summary.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel.hpp"

namespace kw {
namespace {

using bench::Row;

// Of float32, which reaches such a share of 4000 GB/s; the copy of its rows takes `by_copy` of its
// time.
Row rowwise_row(const char* op, std::int64_t rows, std::int64_t cols, double share,
                double by_copy) {
  Row row;
  row.op = op;
  row.kernel = "kernelwright";
  row.role = to_string(Role::production);
  row.rowwise = bench::RowwiseRow{"float32", rows, cols, cols, 0, false, false};
  row.gbs = 4000 * share;
  const double us = 8e-3 * static_cast<double>(rows * cols) / *row.gbs;
  row.time_us = bench::TimeStatistics{us, us, us, us, 0, 3};
  row.of_peak = share;
  row.peer = "copy";
  row.vs_peer = by_copy;
  return row;
}

TEST(RowwiseSummary, HasSharesOfBothCopiesAndTheBarOfARow) {
  Row copy = rowwise_row("softmax", 1 << 16, 256, 0.9, 1);
  copy.role = to_string(Role::peer);
  Row lone = rowwise_row("rms_norm", 1 << 16, 512, 0.86, 0);
  lone.vs_peer.reset();
  const std::vector<Row> rows = {
      rowwise_row("softmax", 1 << 16, 256, 0.80, 0.88), copy,
      rowwise_row("softmax", 12, 2 << 20, 0.59, 0.61),    // a row of 8 MiB
      rowwise_row("softmax", 1024, 1024, 0.2, 0.2), lone  // the first too small for a bar
  };
  const std::vector<bench::RowwiseSummary> found = bench::summarise_rowwise(rows);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].group, "softmax");
  EXPECT_EQ(found[0].of_large.calls, 2);
  EXPECT_EQ(found[0].of_large.below_bar, 2);
  EXPECT_EQ(found[0].of_the_rows.below_bar, 0);
  EXPECT_NEAR(*found[0].of_large.mean, std::sqrt(0.80 * 0.59), 1e-12);
  EXPECT_NEAR(*found[0].of_the_rows.least, 0.61, 1e-12);
  EXPECT_EQ(found[0].of_the_rows.least_at, "float32 12x2097152");
  EXPECT_EQ(found[1].group, "rms_norm");
  EXPECT_EQ(found[1].of_the_rows.calls, 0);
  EXPECT_FALSE(found[1].of_the_rows.mean);
  EXPECT_EQ(found[2].group, "all");
  EXPECT_EQ(found[2].of_large.calls, 3);
  const std::string table = bench::rowwise_table(rows);
  EXPECT_NE(table.find("73.3 %"), std::string::npos) << table;
  EXPECT_TRUE(bench::rowwise_table({}).empty());
}

}  // namespace
}  // namespace kw
