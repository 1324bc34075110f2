// NaN and infinity as the values that a result should have.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "check/elementwise.hpp"
#include "program/program_run.hpp"

namespace kw::check {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Whether `got` is right where float64 has `product` and `magnitude`, C was not there before.
bool is_right(float got, double alpha, double product, double magnitude = 1) {
  const JudgeSgemm judge{&got, 1, 1, 1, &product, &magnitude, alpha, 0, {}, 4};
  Partial found = empty_partial();
  judge(0, found);
  EXPECT_TRUE(found.failures > 0 || std::isfinite(found.max));
  return found.failures == 0;
}

TEST(SpecialValues, NanWantsNan) {
  const auto canary = std::bit_cast<float>(canary_word);
  for (const double alpha : {static_cast<double>(nan), -static_cast<double>(nan)}) {
    EXPECT_TRUE(is_right(nan, alpha, 0.5));
    EXPECT_TRUE(is_right(-nan, alpha, 0.5));
    EXPECT_FALSE(is_right(0.5f, alpha, 0.5));
    EXPECT_FALSE(is_right(infinity, alpha, 0.5));
    EXPECT_FALSE(is_right(canary, alpha, 0.5)) << "nobody computed this NaN";
  }
  EXPECT_FALSE(is_right(nan, 1, 0.5));
}

TEST(SpecialValues, AnInfinityWantsTheSameOne) {
  EXPECT_TRUE(is_right(infinity, infinity, 0.5));
  EXPECT_TRUE(is_right(-infinity, infinity, -0.5));
  EXPECT_FALSE(is_right(-infinity, infinity, 0.5));
  EXPECT_FALSE(is_right(nan, infinity, 0.5));
  EXPECT_FALSE(is_right(3e38f, infinity, 0.5));
  EXPECT_FALSE(is_right(infinity, 1, 0.5));
}

// The sum in float32 may be zero, or of either sign.
TEST(SpecialValues, InfinityTimesAlmostNothingIsOpen) {
  for (const float got : {infinity, -infinity, nan}) {
    EXPECT_TRUE(is_right(got, infinity, 0));
    EXPECT_TRUE(is_right(got, infinity, 1e-8));
  }
  EXPECT_FALSE(is_right(1.0f, infinity, 0));
  EXPECT_FALSE(is_right(nan, infinity, 1e-3));
}

TEST(SpecialValues, WhatExceedsTheLargestFloatIsInfinite) {
  EXPECT_TRUE(is_right(infinity, 1e38, 4, 4));
  EXPECT_TRUE(is_right(-infinity, 1e38, -4, 4));
  EXPECT_FALSE(is_right(-infinity, 1e38, 4, 4));
  EXPECT_FALSE(is_right(infinity, 1e38, 3, 4));
  EXPECT_FALSE(is_right(3.4e38f, 1e38, 4, 4));
}

TEST(SpecialValues, OfScaleAdd) {
  const auto right = [](float got, float scale, float shift) {
    const JudgeScaleAdd judge{&got, 1, 1, 1, scale, shift, {Input::constant, 1, Operand::a}};
    Partial found = empty_partial();
    judge(0, found);
    return found.failures == 0;
  };
  EXPECT_TRUE(right(std::bit_cast<float>(0x7FFFFFFFu), nan, 1)) << "a GPU's NaN";
  EXPECT_TRUE(right(std::bit_cast<float>(0xFFC00000u), infinity, -infinity)) << "a CPU's NaN";
  EXPECT_FALSE(right(std::bit_cast<float>(canary_word), nan, 1));
  EXPECT_FALSE(right(1, nan, 1));
  EXPECT_TRUE(right(infinity, infinity, 1));
  EXPECT_FALSE(right(-infinity, infinity, 1));
}

TEST(SpecialValues, AsScalarsOfTheProgram) {
  for (const char* scalars : {"--alpha nan", "--alpha inf", "--alpha -inf --beta nan",
                              "--alpha inf --beta inf", "--beta inf", "--alpha 3e38"}) {
    const ProgramRun run =
        run_kernelwright(std::string("verify sgemm --shape 33x34x35 --device cpu ") + scalars);
    EXPECT_EQ(run.exit_code, 0) << scalars << "\n" << run.out << run.err;
  }
  for (const char* arguments : {"sgemm --shape 33x34x35 --alpha -inf --beta nan",
                                "scale_add --shape 9 --scale inf --shift nan"}) {
    const ProgramRun run =
        run_kernelwright(std::string("bench ") + arguments + " --quick --no-ceilings --device cpu");
    EXPECT_EQ(run.exit_code, 0) << arguments << "\n" << run.out << run.err;
  }
}

}  // namespace
}  // namespace kw::check
