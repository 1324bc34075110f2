// The split kernels on host SIMT: which path the data takes, elements that fp16's pieces cannot
// hold. Kernels come from the registry, as in kernels_test.cpp, which has shapes, paddings and
// batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hopper_fixture.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace kw {

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST_P(Hopper, OrdinaryDataTakesTheKernelsOwnPath) {
  multiply();
  EXPECT_EQ(path_, kernel().name);
  expect_product();
}

// Rows and columns far from 1: what an element of C is scaled back by is nearly too large or too
// small for a float.
TEST_P(Hopper, RowsAndColumnsFarFromOne) {
  const TestMatrix a = a_, b = b_;
  for (const auto& [of_a, of_b] : {std::pair{80, -75}, {-50, -48}, {-3, -95}, {60, 55}, {119, 0}}) {
    SCOPED_TRACE(testing::Message() << "2^" << of_a << ", 2^" << of_b);
    a_ = a, b_ = b;
    for (float& x : a_.values) x = std::ldexp(x, of_a);
    for (float& x : b_.values) x = std::ldexp(x, of_b);
    multiply();
    EXPECT_EQ(path_, kernel().name);
    expect_product();
  }
}

TEST_P(Hopper, EveryTailOfK) {
  for (const std::int64_t k : {1, 7, 8, 31, 32, 33, 63, 65, 130}) {
    if (in_fp16() && k < hopper::fp16x3_scheme.min_k) continue;
    SCOPED_TRACE(k);
    a_ = random_matrix(65, k, 3);
    b_ = random_matrix(k, 67, 4);
    multiply();
    EXPECT_EQ(path_, kernel().name);
    expect_product();
  }
}

// Some warps come far later than others to where a block selects its path. Were they not waited
// for, the block would exit early or leave the product to the fallback.
TEST_P(Hopper, TheDataAloneSelectsThePath) {
  const TestMatrix ordinary = a_, graded = random_matrix(70, 50, 5, 60);
  host_simt::options().order = host_simt::Order::random;
  host_simt::uneven_warps() = true;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    SCOPED_TRACE(seed);
    host_simt::options().seed = seed;
    a_ = ordinary;
    multiply();
    EXPECT_EQ(path_, kernel().name);
    expect_product();
    if (!in_fp16()) continue;
    a_ = graded;
    multiply();
    EXPECT_TRUE(is_in("hopper_bf16x6", path_)) << path_;
    expect_product();
  }
}

// Rows far from each other, and outliers. A wrong scale would leave more elements that the pieces
// cannot hold.
TEST_P(Hopper, EveryBlockOfTheSplitPassHasItsRowsScales) {
  host_simt::options().workers = 8;  // segments of k
  a_ = random_matrix(65, 40 * hopper::stage_k, 3);
  b_ = random_matrix(40 * hopper::stage_k, 67, 4);
  for (std::int64_t i = 0; i < a_.rows; ++i)
    for (std::int64_t k = 0; k < a_.cols; ++k)
      a_.at(i, k) = std::ldexp(a_.at(i, k), static_cast<int>(i * 7 % 60 - 30));
  constexpr int most = hopper::listed_outliers;
  for (int k = 0; k < most; ++k) a_.at(k % 60, 2 * k + 1) *= 0x1p-40f;
  for (const bool apart : {true, false}) {
    SCOPED_TRACE(apart);
    multiply_by(Sampled::row(kernel(), apart));
    EXPECT_EQ(path_, kernel().name);
    expect_product();
  }
}

// Far more elements than are listed lie below 2^-25 of their row's or column's largest.
TEST_P(Hopper, GradedDataTakesBf16) {
  a_ = random_matrix(70, 50, 5, 60);
  b_ = random_matrix(50, 66, 6, 20);
  multiply();
  EXPECT_TRUE(is_in("hopper_bf16x6", path_)) << path_;
  expect_product();
}

TEST_P(Hopper, AsManyElementsAsAListHolds) {
  constexpr int most = hopper::listed_outliers;
  for (const int count : {most, most + 1}) {
    a_ = random_matrix(70, 50, 5);
    for (int i = 0; i < count; ++i) a_.at(i % 60, 10 + i / 60) *= 0x1p-40f;
    multiply();
    EXPECT_TRUE(is_in(in_fp16() && count == most ? "hopper_fp16x3" : "hopper_bf16x6", path_))
        << path_;
    expect_product();
  }
}

// Whatever the number of lists that have no room for all, and whatever their sum is.
TEST_P(Hopper, AnyNumberOfListsThatOverflow) {
  if (!in_fp16()) return;
  constexpr int blocks = 5, most = hopper::listed_outliers;
  b_ = random_matrix(40, 66, 6);
  a_ = random_matrix(64 * blocks, 40, 5);
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i <= most; ++i) a_.at(64 * block + i % 60, 10 + i / 60) *= 0x1p-40f;
    multiply();
    EXPECT_TRUE(is_in("hopper_bf16x6", path_)) << block + 1 << " lists: " << path_;
    expect_product();
  }
}

// Lists of all row blocks, none of them full, of the operand whose outliers take longer.
TEST_P(Hopper, AsManyElementsAsAllMayBe) {
  if (!in_fp16()) return;
  a_ = random_matrix(300, 50, 5);
  for (const int in_b : {hopper::few_outliers, hopper::few_outliers + 1}) {
    b_ = random_matrix(50, 64 * 6, 6);
    for (int j = 0; j < in_b; ++j) b_.at(10 + j % 7, j) *= 0x1p-40f;
    multiply();
    EXPECT_EQ(path_ == kernel().name, in_b == hopper::few_outliers) << path_;
    expect_product();
  }
}

// Each tile adds what the lists of its own rows and columns have, more than a warp has lanes in
// some.
TEST_P(Hopper, OutliersOfManyTiles) {
  if (!in_fp16()) return;
  host_simt::options().workers = 32;  // many segments of k
  std::mt19937 random(11);
  const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(random()) % end; };
  constexpr std::int64_t m = 140, n = 160, k = 1999;
  a_ = random_matrix(m, k, 5);
  b_ = random_matrix(k, n, 6);
  for (int i = 0; i < 80; ++i) {
    a_.at(i < 35 ? 70 + below(40) : below(m), below(k)) *= i % 2 == 0 ? 0x1p20f : 0x1p-40f;
    b_.at(below(k), i < 35 ? 140 + below(9) : below(n)) *= i % 2 == 0 ? 0x1p20f : 0x1p-40f;
  }
  multiply();
  EXPECT_EQ(path_, kernel().name);
  expect_product();
}

TEST_P(Hopper, DataThatThePiecesDoNotHoldTakesFp32) {
  const TestMatrix ordinary = a_;
  for (const float x : {infinity, -infinity, nan, 0x1p-120f, 0x1p-149f, 1e38f}) {
    SCOPED_TRACE(x);
    a_ = ordinary;
    a_.at(37, 21) = x;
    multiply();
    EXPECT_TRUE(is_fp32(path_)) << path_;
    expect_product();
  }
  a_ = ordinary;
  b_.at(49, 65) = -infinity;
  multiply();
  EXPECT_TRUE(is_fp32(path_)) << path_;
  expect_product();
}

// Nothing meets the large elements, but their pieces are infinite and would: 0 * Inf is NaN.
TEST_P(Hopper, ZerosTimesTheLargestFloat) {
  std::fill(a_.values.begin(), a_.values.end(), 0.0f);
  b_.fill_row(3, std::numeric_limits<float>::max());
  multiply();
  expect_product();
}

TEST_P(Hopper, ZerosTimesSubnormalsAndZeros) {
  std::fill(a_.values.begin(), a_.values.end(), 0.0f);
  multiply();
  expect_product();
  std::fill(b_.values.begin(), b_.values.end(), 0x1p-149f);
  multiply();
  expect_product();
  std::fill(b_.values.begin(), b_.values.end(), 0.0f);
  multiply();
  expect_product();
}

// Rows of A and columns of B whose only terms come from elements 2^40 and more below the largest of
// their row or column: without the outliers they would be 0 or have half their bits.
void put_outliers(TestMatrix& a, TestMatrix& b) {
  constexpr std::int64_t unmet = 0, huge = 1, met = 2;  // along k
  b.fill_row(unmet, 0);
  b.fill_row(huge, 0x1.8p20f);
  for (const std::int64_t i : {0, 17, 64, 69}) {
    a.fill_row(i, 0);
    a.at(i, unmet) = 0x1p20f;
    a.at(i, huge) = std::ldexp(1.2345678f, -20 - static_cast<int>(i % 3));
  }
  // Columns 5 and 65 of B have tiny elements that A's meet: of ordinary rows, of a row with nothing
  // else, and in row 41 one that is tiny as well.
  for (const std::int64_t j : {5, 65}) b.at(met, j) = 1.7654321f * 0x1p-25f;
  a.fill_row(40, 0);
  a.at(40, met) = 1000.7f;
  a.fill_row(41, 0);
  a.at(41, unmet) = 0x1p20f;
  a.at(41, met) = 1.1111111f * 0x1p-22f;
}

TEST_P(Hopper, TinyElementsThatMeetHugeOnesCount) {
  put_outliers(a_, b_);
  multiply();
  EXPECT_EQ(path_, kernel().name);
  expect_product();
}

// Outliers are appended in another order each time, tiles computed in another.
TEST_P(Hopper, SameBitsInEveryOrder) {
  put_outliers(a_, b_);
  multiply_in_every_order();
  expect_product();
}

// Scales come from a sample of k: of 13 stages of 32, the first, fifth, ninth and last.
static_assert(hopper::sampled_stages == 4 && hopper::sample_room == 2);
constexpr std::int64_t sampled_k = 400, missed_k = 40;

TEST_P(Hopper, LargeElementsThatTheSampleMisses) {
  const TestMatrix ordinary = random_matrix(70, sampled_k, 7);
  b_ = random_matrix(sampled_k, 66, 8);
  constexpr int most = hopper::listed_outliers;
  for (const int count : {1, most, most + 1}) {
    SCOPED_TRACE(count);
    a_ = ordinary;
    for (int i = 0; i < count; ++i) a_.at(i % 40, missed_k + i / 40) *= 0x1p10f;
    multiply();
    EXPECT_TRUE(is_in(in_fp16() && count <= most ? "hopper_fp16x3" : "hopper_bf16x6", path_))
        << path_;
    expect_product();
  }
  a_ = ordinary;
  for (std::int64_t k = missed_k; k < missed_k + 20; ++k) b_.fill_row(k, 3.999f);
  multiply();
  EXPECT_EQ(path_, kernel().name) << "there is room for a factor of four";
  expect_product();
}

// A matrix whose diagonal outweighs the rest by a power of two.
TestMatrix with_diagonal(std::int64_t size, unsigned seed, int exponent) {
  TestMatrix made = random_matrix(size, size, seed);
  for (std::int64_t i = 0; i < size; ++i) made.at(i, i) = std::ldexp(1.25f, exponent);
  return made;
}

// Most elements of a diagonal are where the sample is not.
TEST_P(Hopper, DiagonalsThatOutweighTheirRows) {
  if (!in_fp16()) return;
  constexpr std::int64_t size = 256;
  for (const auto& [exponent, in_a] : {std::pair{9, true},
                                       {hopper::largest_diagonal, false},
                                       {hopper::largest_diagonal + 2, true}}) {
    SCOPED_TRACE(testing::Message() << "2^" << exponent << " in " << (in_a ? "A" : "B"));
    a_ = in_a ? with_diagonal(size, 9, exponent) : random_matrix(20, size, 7);
    b_ = in_a ? random_matrix(size, 20, 8) : with_diagonal(size, 9, exponent);
    multiply_by(Counted::row(kernel()));
    EXPECT_EQ(path_, kernel().name);
    EXPECT_EQ(Counted::outliers() < 10, exponent <= hopper::largest_diagonal)
        << Counted::outliers();
    expect_product();
  }
}

TEST_P(Hopper, SameBitsWhereARowHasSeveralOutliers) {
  a_ = random_matrix(70, sampled_k, 7);
  b_ = random_matrix(sampled_k, 66, 8);
  // In stages that the sample misses, found by several threads.
  for (const std::int64_t i : {0, 17, 64, 69}) {
    for (const std::int64_t k : {40, 61, 100, 200, 300}) a_.at(i, k) *= 0x1p10f;
  }
  multiply_in_every_order();
  EXPECT_TRUE(is_in(in_fp16() ? "hopper_fp16x3" : "hopper_bf16x6", path_)) << path_;
  expect_product();
}

// Where the sample is not, 80 elements of each row are there, which are enough (hopper_terms_test).
TEST_P(Hopper, RowsThatAreZerosInTheSample) {
  a_ = TestMatrix(70, sampled_k);
  b_ = random_matrix(sampled_k, 66, 9);
  const auto set_elements = [&](float x) {
    for (std::int64_t i = 0; i < a_.rows; ++i)
      for (std::int64_t k = missed_k; k < missed_k + 80; ++k) a_.at(i, k) = x;
  };
  set_elements(1.2345678f);
  multiply();
  EXPECT_EQ(path_, kernel().name) << "no row of 64 says how large they are";
  expect_product();
  set_elements(1.2345678f * 0x1p40f);
  a_.at(3, 0) = a_.at(66, 0) = 0x1p41f;
  multiply();
  EXPECT_EQ(path_, kernel().name) << "one of 64 rows does";
  expect_product();
}

TEST_P(Hopper, InfAndNanThatTheSampleMisses) {
  b_ = random_matrix(sampled_k, 66, 8);
  for (const float x : {infinity, nan}) {
    a_ = random_matrix(70, sampled_k, 7);
    a_.at(11, missed_k) = x;
    multiply();
    EXPECT_TRUE(is_fp32(path_)) << path_;
    expect_product();
  }
}

TEST_P(Hopper, AlphaZeroOnTheDeviceReadsNothing) {
  check::DeviceBuffer alpha(*runtime_, sizeof(float));
  const float zero = 0;
  check::require(runtime_->copy(alpha.data(), &zero, sizeof zero, bench_.stream()));
  alpha_at_ = alpha.as<float>();
  a_.at(1, 1) = nan;
  b_.at(2, 2) = infinity;
  multiply();
  EXPECT_TRUE(is_fp32(path_)) << path_;
  for (const float x : c_.values) ASSERT_EQ(x, 0);
}

INSTANTIATE_TEST_SUITE_P(Registry, Hopper, testing::ValuesIn(split_kernels()), kernel_name);

}  // namespace
}  // namespace kw
