// The commands of complex products and systems.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program_run.hpp"

namespace kw {
namespace {

TEST(CgemmCommands, VerifyAndBenchWriteRowsOfComplexProducts) {
  for (const char* command :
       {"verify cgemm --device cpu --shape 5x7x9 --json -",
        "bench cgemm --device cpu --shape 5x7x9 --ops tn --conjugate --alpha-im 0.5 --beta-im -2 "
        "--quick --no-ceilings --json -"}) {
    const ProgramRun run = run_kernelwright(command);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const auto file = nlohmann::json::parse(run.out);
    ASSERT_FALSE(file["rows"].empty());
    for (const auto& row : file["rows"]) {
      EXPECT_EQ(row["op"], "cgemm");
      EXPECT_TRUE(row["verified"]);
      EXPECT_TRUE(row["alpha_im"].is_number());
      if (row["time_us"].is_null()) continue;
      EXPECT_EQ(row["op_a"], "C");
      EXPECT_EQ(row["op_b"], "N");
      EXPECT_EQ(row["alpha_im"], 0.5);
      EXPECT_NEAR(row["gflops"].get<double>() * row["time_us"]["median"].get<double>(),
                  8 * 5 * 7 * 9 * 1e-3, 1e-6);
    }
  }
}

TEST(CtrsmCommands, VerifyBenchAndAccuracyWriteRowsOfComplexSystems) {
  for (const char* command :
       {"verify ctrsm --device cpu --shape 5x7 --json -",
        "bench ctrsm --device cpu --shape 5x7 --side right --trans c --diag u --uplo upper "
        "--alpha-im 0.5 --quick --no-ceilings --json -",
        "bench ctrsm --device cpu --sweep random --seed 3 --count 3 --quick --no-ceilings --json -",
        "accuracy ctrsm --device cpu --lines 5 --max-size 33 --json -"}) {
    const ProgramRun run = run_kernelwright(command);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const auto file = nlohmann::json::parse(run.out);
    ASSERT_FALSE(file["rows"].empty()) << command;
    for (const auto& row : file["rows"]) {
      EXPECT_EQ(row["op"], "ctrsm");
      EXPECT_TRUE(row["verified"]);
      EXPECT_EQ(row["k"], row["side"] == "left" ? row["m"] : row["n"]);
      if (row["time_us"].is_null() || row.contains("sweep")) continue;
      EXPECT_EQ(row["op_a"], "C");
      EXPECT_EQ(row["side"], "right");
      EXPECT_EQ(row["uplo"], "upper");
      EXPECT_EQ(row["unit_diagonal"], true);
      EXPECT_EQ(row["alpha_im"], 0.5);
      EXPECT_NEAR(row["gflops"].get<double>() * row["time_us"]["median"].get<double>(),
                  4 * 5 * 7 * 7 * 1e-3, 1e-6);
    }
  }
}

}  // namespace
}  // namespace kw
