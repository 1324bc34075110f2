// Test data: distributions, independence, the same bits from GPU text as on the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "check/input.hpp"
#include "check/tools.hpp"

namespace kw::check {
namespace {

constexpr std::int64_t many = 200'000;

struct Moments {
  double mean = 0, variance = 0;
  float min = INFINITY, max = -INFINITY;
};

Moments moments(const InputStream& stream) {
  Moments found;
  double sum_square = 0;
  for (std::int64_t i = 0; i < many; ++i) {
    const float value = input_value(stream, i);
    found.mean += value;
    sum_square += static_cast<double>(value) * value;
    found.min = std::min(found.min, value);
    found.max = std::max(found.max, value);
  }
  found.mean /= many;
  found.variance = sum_square / many - found.mean * found.mean;
  return found;
}

TEST(Inputs, UniformFillsItsInterval) {
  const Moments found = moments({Input::uniform, 1, Operand::a});
  EXPECT_NEAR(found.mean, 0, 0.01);
  EXPECT_NEAR(found.variance, 1.0 / 3, 0.01);
  EXPECT_GE(found.min, -1.0f);
  EXPECT_LT(found.max, 1.0f);
  EXPECT_LT(found.min, -0.999f);
  EXPECT_GT(found.max, 0.999f);
}

TEST(Inputs, UnitFillsItsInterval) {
  const Moments found = moments({Input::unit, 1, Operand::b});
  EXPECT_NEAR(found.mean, 0.5, 0.01);
  EXPECT_NEAR(found.variance, 1.0 / 12, 0.01);
  EXPECT_GE(found.min, 0.0f);
  EXPECT_LT(found.max, 1.0f);
}

TEST(Inputs, NormalHasItsMoments) {
  const Moments found = moments({Input::normal, 1, Operand::c});
  EXPECT_NEAR(found.mean, 0, 0.01);
  EXPECT_NEAR(found.variance, 1, 0.02);
  EXPECT_GT(found.max, 4.0f);
  EXPECT_LT(found.max, 6.0f);
}

TEST(Inputs, NormalQuantileInvertsTheDistribution) {
  for (const double p :
       {1e-16, 1e-12, 1e-6, 0.001, 0.07, 0.0751, 0.25, 0.5, 0.75, 0.93, 0.999999}) {
    const double back = 0.5 * std::erfc(-normal_quantile(p) / std::sqrt(2.0));
    EXPECT_NEAR(back / p, 1, 2e-5) << p;
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_EQ(normal_quantile(0.25), -normal_quantile(0.75));
}

TEST(Inputs, LogarithmIsRight) {
  for (const double x :
       {1e-300, 1.1102230246251565e-16, 0.01, 0.7, 0.71, 1.0, 1.4142135, 2.0, 1e9}) {
    EXPECT_NEAR(reproducible_log(x), std::log(x), 1e-11 * std::max(1.0, std::fabs(std::log(x))))
        << x;
  }
}

TEST(Inputs, IntegersAreSmallAndAllOccur) {
  std::set<float> seen;
  for (std::int64_t i = 0; i < 1000; ++i) {
    seen.insert(input_value({Input::integers, 1, Operand::a}, i));
  }
  EXPECT_EQ(seen, (std::set<float>{-3, -2, -1, 0, 1, 2, 3}));
}

TEST(Inputs, ConstantsAreThePublishedOnes) {
  EXPECT_EQ(input_value({Input::constant, 9, Operand::a}, 4), 1.23456789f);
  EXPECT_EQ(input_value({Input::constant, 9, Operand::b}, 4), 2.23456789f);
}

TEST(Inputs, OperandsSeedsAndElementsDiffer) {
  std::set<float> seen;
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const Operand operand : {Operand::a, Operand::b, Operand::c}) {
      for (std::int64_t i = 0; i < 100; ++i) {
        seen.insert(input_value({Input::uniform, seed, operand}, i));
      }
    }
  }
  EXPECT_GT(seen.size(), 890u);  // 900 draws of 2^25 values: a repeat is rare, ten are a defect
}

// A change of these values changes every committed result's data.
TEST(Inputs, ValuesAreFixed) {
  EXPECT_EQ(random_bits(1, Operand::a, 0), 0x5E41AB087439611Eu);
  EXPECT_EQ(input_value({Input::uniform, 1, Operand::a}, 0), -0.263620973f);
  EXPECT_EQ(input_value({Input::normal, 1, Operand::a}, 0), -0.336652279f);
}

TEST(Inputs, NamesReadBack) {
  for (const Input input :
       {Input::uniform, Input::unit, Input::normal, Input::constant, Input::integers}) {
    Input parsed{};
    ASSERT_TRUE(parse_input(to_string(input), &parsed));
    EXPECT_EQ(parsed, input);
  }
  Input untouched = Input::unit;
  EXPECT_FALSE(parse_input("gaussian", &untouched));
  EXPECT_EQ(untouched, Input::unit);
}

#ifdef KW_HAVE_HOST_SIMT
TEST(Inputs, GpuTextGivesTheSameBits) {
  for (const Input input :
       {Input::uniform, Input::unit, Input::normal, Input::constant, Input::integers}) {
    const Placement place{33 * 50 + 20, 7, 33, 45, 50};
    const auto size = static_cast<std::size_t>(place.total);
    std::vector<float> by_gpu(size), by_cpu(size);
    FillMatrix fill{by_gpu.data(), place, {input, 3, Operand::b}, false};
    ASSERT_TRUE(on_host::check::tools().fill_matrix(fill, {}).ok());
    fill.base = by_cpu.data();
    ASSERT_TRUE(cpu_tools().fill_matrix(fill, {}).ok());
    EXPECT_EQ(std::memcmp(by_gpu.data(), by_cpu.data(), size * sizeof(float)), 0)
        << to_string(input);
  }
}
#endif

}  // namespace
}  // namespace kw::check
