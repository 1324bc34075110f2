// Predictions of distributed products: bounds that hold for any rates, and the model's own numbers.
#include "distributed/simulate.hpp"

#include <gtest/gtest.h>

namespace kw::distributed {
namespace {

TEST(Simulate, RatesAreTheTablesAtTheirEdges) {
  for (const GpuRates* rates : all_rates) {
    for (Math math : {Math::fp32, Math::fp32_split}) {
      for (bool is_step : {false, true}) {
        const auto table = rates->products(math, is_step);
        for (const ProductRate& rate : table) {
          EXPECT_NEAR(interpolated(table, rate.edge), rate.tflops, 1e-9 * rate.tflops);
        }
        EXPECT_NEAR(interpolated(table, 512), table[0].tflops / 2, 1e-9);
        EXPECT_NEAR(interpolated(table, 1e5), table.back().tflops, 1e-9);
      }
    }
  }
  EXPECT_NEAR(interpolated(h200_fp32, 2896.31), (52.1 + 56.0) / 2, 1e-3);
}

TEST(Simulate, RatesAreThoseOfTheDevice) {
  EXPECT_EQ(&rates_of("NVIDIA H100 80GB HBM3"), &h100_rates);
  EXPECT_EQ(&rates_of("NVIDIA H200"), &h200_rates);
  EXPECT_EQ(&rates_of("another"), &h200_rates);
  // The split pass is counted apart: flat products have more of it than a cube of as many
  // multiplications.
  const Speeds h100("H100"), h200("H200");
  EXPECT_GT(one_gpu_us(Math::fp32_split, 1024, 16384, 16384, h100),
            one_gpu_us(Math::fp32_split, 8192, 8192, 4096, h100));
  EXPECT_NEAR(one_gpu_us(Math::fp32_split, 1024, 16384, 16384, h200),
              one_gpu_us(Math::fp32_split, 8192, 8192, 4096, h200), 1e-6);
}

TEST(Simulate, OneRankTakesAsLongAsOneCall) {
  const Prediction one = simulate({Grid{1, 1}, 1, 1}, Math::fp32, 4096, 8192, 2048, 0, Speeds{});
  EXPECT_NEAR(one.time_us, one.one_us + step_us.value, 1e-6);
  EXPECT_EQ(one.copies_us, 0);
  EXPECT_EQ(one.peer_bytes, 0);
}

TEST(Simulate, APlainProductMayBePlannedByOthers) {
  Speeds speeds("H100");
  int steps = 0;
  speeds.fp32_us = [&](double m, double n, double k, bool is_step) {
    if (is_step) {
      ++steps;
      EXPECT_EQ(m, 2048);
      EXPECT_EQ(n, 8192);
      EXPECT_EQ(k, 1024);
    }
    return is_step ? 1000.0 : 3000.0;
  };
  const Prediction two = simulate({Grid{2, 1}, 2, 1}, Math::fp32, 4096, 8192, 2048, 0, speeds);
  EXPECT_EQ(steps, 2 * 2);  // of two ranks
  EXPECT_EQ(two.one_us, 3000);
  EXPECT_GT(two.products_us, 2000);
  const double split = one_gpu_us(Math::fp32_split, 4096, 8192, 2048, speeds);
  EXPECT_EQ(split, one_gpu_us(Math::fp32_split, 4096, 8192, 2048, Speeds("H100")));
}

TEST(Simulate, TwoRanksReceiveHalfOfAnOperandUnderTheFirstProduct) {
  const double n = 32768;
  const Prediction two = simulate({Grid{2, 1}, 2, 1}, Math::fp32, 32768, 32768, 32768, 0, Speeds{});
  EXPECT_EQ(two.peer_bytes, 4 * n * n / 2);
  EXPECT_NEAR(two.copies_us, two.peer_bytes / (h200_rates.peer_gbs.value * 1e3), 1e-6);
  EXPECT_NEAR(two.time_us, two.products_us + h200_rates.copy_share.value * two.copies_us, 1e-6);
  EXPECT_LT(two.speedup(), 2);
  EXPECT_GT(two.speedup(), 1.9);
}

TEST(Simulate, ASlowLinkShows) {
  Speeds slow;
  slow.peer_gbs = 1;
  const Prediction two = simulate({Grid{2, 1}, 2, 1}, Math::fp32, 8192, 8192, 8192, 0, slow);
  EXPECT_GE(two.time_us, two.copies_us);
  EXPECT_GT(two.time_us, two.one_us);
}

TEST(Simulate, NodesShareWhatComesOverTheNetwork) {
  const auto all = plan(4, 4, Math::fp32_split, 65536, 65536, 65536, Speeds{});
  ASSERT_FALSE(all.empty());
  for (const Prediction& p : all) {
    EXPECT_EQ(p.cluster.grid.ranks(), 16);
    EXPECT_EQ(p.cluster.node_p * p.cluster.node_q, 4);
    EXPECT_GE(p.time_us, all.front().time_us);
    EXPECT_GT(p.network_bytes, 0);
    EXPECT_LE(p.speedup(), 16);
  }
  // A rank of a 4 x 4 grid needs three quarters of a row of A and of a column of B from others. Of
  // nodes of 2 x 2, two ranks share what comes from the other half of the row.
  const Prediction square =
      simulate({Grid{4, 4}, 2, 2}, Math::fp32_split, 65536, 65536, 65536, 0, Speeds{});
  const double part = 4.0 * 16384 * 65536;  // of A in a row of ranks
  EXPECT_NEAR(square.network_bytes, 2 * part / 2 / 2, 1);
  EXPECT_NEAR(square.peer_bytes, 2 * part / 4, 1);
  // Each reads all of it from the node's memory.
  Speeds slow;
  slow.host_gbs = 1;
  const Prediction waiting =
      simulate({Grid{4, 4}, 2, 2}, Math::fp32_split, 65536, 65536, 65536, 0, slow);
  EXPECT_NEAR(waiting.copies_us, 2 * part / 2 / 1e3 + 2 * part / 4 / (slow.peer_gbs * 1e3), 1);
  EXPECT_GT(waiting.time_us, waiting.copies_us);
}

}  // namespace
}  // namespace kw::distributed
