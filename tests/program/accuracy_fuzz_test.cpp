// The accuracy fuzzer as a command: split kernels on host SIMT over data that have broken the
// promise or would show a fault in a kernel, and what it prints where one fails.
#include <gtest/gtest.h>

#include <set>

#include "json_schema.hpp"

namespace kw {
namespace {

std::string fuzz(const std::string& kernels, const std::string& shape, const std::string& data) {
  return "accuracy sgemm --fuzz --device host-simt --outputs 1 --seed 5 --kernel '" + kernels +
         "' --shape " + shape + " --data " + data;
}

#ifdef KW_HAVE_HOST_SIMT
void expect_no_violation(const std::string& kernels, const std::string& shape,
                         const std::string& data) {
  const ProgramRun run = run_kernelwright(fuzz(kernels, shape, data));
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_TRUE(contains(run.out, "0 violations in 1 draws")) << run.out;
}

// Sums in tensor cores lean towards zero, and some elements are larger than a sample of their row.
TEST(AccuracyFuzz, OneSignedLongTails) {
  const std::string data =
      "a.body=longtail,a.spread=4,a.one_sign=1,b.body=longtail,b.spread=4,b.one_sign=1";
  expect_no_violation("hopper_fp16x3_128x128", "48x48x576", data);
  expect_no_violation("hopper_bf16x6_128x128", "40x40x192", data);
}

// Few products matter in an element.
TEST(AccuracyFuzz, SparseData) {
  const std::string data = "a.body=normal,a.zeros=900000,b.body=normal,b.zeros=900000";
  expect_no_violation("hopper_fp16x3_128x128", "48x48x576", data);
  expect_no_violation("hopper_bf16x6_128x128", "40x40x192", data);
}
TEST(AccuracyFuzz, AFewElementsOutweighAllOthers) {
  const std::string data =
      "a.body=normal,a.outliers=10000,a.outlier_size=50,"
      "b.body=normal,b.outliers=10000,b.outlier_size=50";
  expect_no_violation("hopper_bf16x6_128x128", "40x40x192", data);
}

// Numbers near one beside a diagonal, of which FP32's sums lose next to nothing: all places of k
// are seen, and some.
TEST(AccuracyFuzz, ADiagonalBesideNumbersNearOne) {
  const std::string data =
      "a.body=near_one,a.spread=7,a.one_sign=1,a.diagonal=20,"
      "b.body=near_one,b.spread=7,b.one_sign=1";
  expect_no_violation("hopper_bf16x6_128x128", "40x40x192", data);
  expect_no_violation("hopper_fp16x3_128x128", "40x40x1000", data);
}

TEST(AccuracyFuzz, DrawsAreRepeatedAndWritten) {
  const std::string arguments =
      "accuracy sgemm --fuzz --device host-simt --outputs 1 --seed 2 --count 2 --first 40 --kernel "
      "kernelwright_split";
  const ordered_json file = run_json(arguments), again = run_json(arguments);
  ASSERT_EQ(file["rows"].size(), 2u);
  EXPECT_EQ(file["rows"], again["rows"]);
  std::vector<std::string> fields = row_fields;
  for (const char* name :
       {"draw", "seed", "data", "products", "outputs", "one_sum_rms", "rms_vs_one_sum", "excess"}) {
    fields.emplace_back(name);
  }
  std::int64_t draw = 40;
  for (const ordered_json& row : file["rows"]) {
    EXPECT_EQ(names(row), fields);
    EXPECT_EQ(row["input"], "drawn");
    EXPECT_EQ(row["draw"], draw++);
    EXPECT_EQ(row["products"], 8);
    EXPECT_EQ(row["outputs"], 8 * row["m"].get<std::int64_t>() * row["n"].get<std::int64_t>());
    EXPECT_EQ(row["verified"], true);
    EXPECT_TRUE(is_positive(row["one_sum_rms"]));
    EXPECT_NEAR(row["rms_vs_one_sum"].get<double>(),
                row["error"]["rms"].get<double>() / row["one_sum_rms"].get<double>(), 1e-9);
  }
}
#endif

TEST(AccuracyFuzz, MisuseIsTold) {
  for (const auto& [arguments, message] :
       {std::pair{"--fuzz --device cpu --data a.body=normal", "--shape"},
        {"--fuzz --device cpu --shape 8 --data a.colour=3",
         "--data: no property of data is called \"a.colour\"; there are:\n  a.body"},
        {"--fuzz --device cpu --shape 8,9 --data a.body=normal", "--shape: name one shape"},
        {"--fuzz --device cpu --count 0", "--count"},
        {"--fuzz --device cpu --classes unit", "--classes"},
        {"--count 3", "--fuzz"},
        {"--fuzz --device cpu --kernel r00*", "--kernel: none of these computes in fp32_split"}}) {
    const ProgramRun run = run_kernelwright(std::string("accuracy sgemm ") + arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments << "\n" << run.out << run.err;
    EXPECT_TRUE(contains(run.err, message)) << arguments << "\n" << run.err;
  }
}

}  // namespace
}  // namespace kw
