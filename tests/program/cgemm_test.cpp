// The commands of complex products.
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

}  // namespace
}  // namespace kw
