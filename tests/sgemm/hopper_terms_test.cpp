// Which path the split kernels take on sparse data and on data of which a few elements outweigh all
// others (src/sgemm/hopper/terms.hpp): there the errors of split products do not average out.
#include <gtest/gtest.h>

#include <random>

#include "hopper_fixture.hpp"

namespace kw {
namespace {

class HopperTerms : public Hopper {
 protected:
  // Of so many elements one is not zero.
  static void thin_out(TestMatrix& matrix, int one_in, unsigned seed) {
    std::mt19937 engine(seed_of(seed));
    for (float& x : matrix.values)
      if (engine() % static_cast<unsigned>(one_in) != 0) x = 0;
  }
  void multiply_of(std::int64_t k, int one_in) {
    a_ = random_matrix(40, k, 31);
    b_ = random_matrix(k, 36, 32);
    thin_out(a_, one_in, 33);
    thin_out(b_, one_in, 34);
    multiply();
    expect_product();
  }
};

TEST_P(HopperTerms, DenseDataTakeThePieces) {
  for (const std::int64_t k : {64, 512}) {
    multiply_of(k, 1);
    EXPECT_EQ(path_, kernel().name) << k;
  }
}

// Of 64 products four are not zero, of 576 six.
TEST_P(HopperTerms, SparseDataTakeFp32) {
  multiply_of(64, 4);
  EXPECT_TRUE(is_fp32(path_)) << path_;
  multiply_of(576, 10);
  EXPECT_TRUE(is_fp32(path_)) << path_;
}

// Of each element's 1024 products 48 are not zero, four neighbours along k at a time, so that the
// sample of every second one has 24: enough for three bf16 pieces, too few for two fp16 ones. Where
// zeros are drawn, one sample in a hundred has enough for both.
TEST_P(HopperTerms, LessSparseDataTakeBf16) {
  constexpr std::int64_t k = 1024;
  a_ = random_matrix(40, k, 31);
  b_ = random_matrix(k, 36, 32);
  for (std::int64_t p = 0; p < k; ++p) {
    for (std::int64_t i = 0; i < a_.rows; ++i)
      if ((p / 4 + i) % 8 >= 3) a_.at(i, p) = 0;
    for (std::int64_t j = 0; j < b_.cols; ++j)
      if ((p / 32 + j) % 8 != 0) b_.at(p, j) = 0;
  }
  multiply();
  expect_product();
  EXPECT_TRUE(is_in("hopper_bf16x6", path_)) << path_;
}

// In the last of 600 places of k lies what all sums are made of. It is found by its weight alone.
TEST_P(HopperTerms, APlaceOfKThatOutweighsAllOthersTakesFp32) {
  a_ = random_matrix(40, 600, 35);
  b_ = random_matrix(600, 36, 36);
  for (std::int64_t i = 0; i < 40; ++i) a_.at(i, 0) *= 0x1p40f;
  multiply();
  expect_product();
  EXPECT_TRUE(is_fp32(path_)) << path_;
}

// Whole numbers from 1 to 3, each off by up to `off`; A's on the diagonal times `peak`.
class HopperPeaks : public HopperTerms {
 protected:
  void multiply_beside(float peak, float off, bool is_on_diagonal = true) {
    std::mt19937 engine(seed_of(37));
    std::uniform_real_distribution<float> by(-off, off);
    constexpr std::int64_t k = 1500;
    a_ = random_matrix(40, k, 38);
    b_ = random_matrix(k, 36, 39);
    for (TestMatrix* matrix : {&a_, &b_})
      for (float& x : matrix->values) x = static_cast<float>(1 + engine() % 3) + by(engine);
    for (std::int64_t i = 0; i < 40; ++i) a_.at(i, is_on_diagonal ? i : 3 * i) *= peak;
    multiply();
    expect_product();
  }
};

// FP32's sums lose next to nothing there, tensor cores do.
TEST_P(HopperPeaks, ADiagonalBesideWhichFp32HardlyRoundsTakesFp32) {
  multiply_beside(0x1p22f, 0x1p-8f);
  EXPECT_TRUE(is_fp32(path_)) << path_;
}

// Nothing is lost by either, or by both.
TEST_P(HopperPeaks, OtherDiagonalsTakeThePieces) {
  multiply_beside(0x1p10f, 0);
  EXPECT_FALSE(is_fp32(path_)) << path_;
  multiply_beside(0x1p10f, 0.5f);
  EXPECT_FALSE(is_fp32(path_)) << path_;
}

INSTANTIATE_TEST_SUITE_P(Registry, HopperPeaks, testing::ValuesIn(split_kernels()), kernel_name);
INSTANTIATE_TEST_SUITE_P(Registry, HopperTerms, testing::ValuesIn(split_kernels()), kernel_name);

}  // namespace
}  // namespace kw
