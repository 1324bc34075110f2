// The sums of the split kernels over a long k, on host SIMT, whose tensor cores round as the
// hardware does. Sums in tensor cores drift towards zero, so windows are promoted and low products
// are folded into FP32 sums (docs/accuracy.md); without that, errors grow with k.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string_view>

#include "hopper_fixture.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace kw {
namespace {

using hopper::LowBand;

const hopper::TileRow& tile_of(std::string_view name) {
  for (const hopper::TileRow& row : hopper::bf16x6_tiles)
    if (row.name == name) return row;
  return hopper::fp16x3_tiles[0];
}

class HopperSums : public Hopper {
 protected:
  HopperSums() {
    host_simt::options().workers = 1;  // so that blocks do not share k
    row_ = tile_of(kernel().name);
  }
  LowBand low_band() const { return low_band_of(hopper::scheme_of(in_fp16())); }

  // The mean over the elements of C of (got - want) / |A||B|, in units of 2^-24.
  double mean_error() const {
    double sum = 0;
    for (std::int64_t i = 0; i < c_.rows; ++i) {
      for (std::int64_t j = 0; j < c_.cols; ++j) sum += error(i, j);
    }
    return sum / static_cast<double>(c_.count());
  }

  // The share of C by which it is too large (or, below 0, too small): the errors' part along C.
  double drift() const {
    double along = 0, size = 0;
    for (std::int64_t i = 0; i < c_.rows; ++i) {
      for (std::int64_t j = 0; j < c_.cols; ++j) {
        double want = 0;
        for (std::int64_t p = 0; p < a_.cols; ++p)
          want += static_cast<double>(a_.at(i, p)) * b_.at(p, j);
        along += (c_.at(i, j) - want) * want;
        size += want * want;
      }
    }
    return along / size;
  }

  hopper::TileRow row_;

 private:
  double error(std::int64_t i, std::int64_t j) const {
    double want = 0, magnitude = 0;
    for (std::int64_t p = 0; p < a_.cols; ++p) {
      const double term = static_cast<double>(a_.at(i, p)) * b_.at(p, j);
      want += term;
      magnitude += std::fabs(term);
    }
    return (c_.at(i, j) - want) / magnitude * 0x1p24;
  }
};

// Elements of [0, 1): every product adds to the sum. 1024 of k are 10 windows or more. What the
// roundings in them take off is given back.
TEST_P(HopperSums, WindowsArePromoted) {
  std::mt19937 engine(seed_of(11));
  std::uniform_real_distribution<float> uniform(0, 1);
  a_ = TestMatrix(16, 1024);
  b_ = TestMatrix(1024, 16);
  for (float& x : a_.values) x = uniform(engine);
  for (float& x : b_.values) x = uniform(engine);
  multiply();
  EXPECT_EQ(path_, kernel().name);
  EXPECT_LT(std::fabs(mean_error()), 2);
}

// Where signs are mixed, what tensor cores' roundings towards zero take off a sum is given back: it
// would add up from product to product where a program multiplies what it has multiplied.
TEST_P(HopperSums, NoDriftWhereSignsAreMixed) {
  std::mt19937 engine(seed_of(13));
  std::normal_distribution<float> normal;
  a_ = TestMatrix(64, 512);
  b_ = TestMatrix(512, 64);
  for (float& x : a_.values) x = normal(engine);
  for (float& x : b_.values) x = normal(engine);
  multiply();
  EXPECT_EQ(path_, kernel().name);
  EXPECT_LT(std::fabs(drift()), 4e-8);
}

// The high pieces of integers below 2^14 are short, and sums of them are exact: nothing is lost
// that could be given back, though there are low pieces.
TEST_P(HopperSums, ExactSumsStayExact) {
  std::mt19937 engine(seed_of(15));
  std::uniform_int_distribution<int> number(0, (1 << 14) - 1);
  a_ = TestMatrix(16, 512);
  b_ = TestMatrix(512, 16);
  for (float& x : a_.values) x = static_cast<float>(number(engine));
  for (float& x : b_.values) x = 1;
  multiply();
  EXPECT_EQ(path_, kernel().name);
  EXPECT_EQ(mean_error(), 0);
  EXPECT_EQ(drift(), 0);
}

// A is +1 or -1 in turn and a little more, B is 1. The high products cancel, and the low ones, all
// of one sign, are the result: so it shows what they lose. Where the tile folds them into the sums,
// that is every `windows_per_fold` windows; in one chain over all of k they would lose 28 units or
// more here.
TEST_P(HopperSums, LowProductsOverALongKAreExactEnough) {
  const bool folds = low_band() == LowBand::folded;
  const std::int64_t windows = hopper::windows_per_fold * (folds ? 8 : 2);
  const std::int64_t k = windows * 32 * (row_.tile.shares_rows ? 2 : 1);
  std::mt19937 engine(seed_of(12));
  std::uniform_real_distribution<float> little(0x1p-10f, 0x1p-9f);
  a_ = TestMatrix(8, k);
  b_ = TestMatrix(k, 8);
  for (std::int64_t i = 0; i < a_.rows; ++i)
    for (std::int64_t p = 0; p < k; ++p) a_.at(i, p) = (p % 2 == 0 ? 1.0f : -1.0f) + little(engine);
  for (float& x : b_.values) x = 1;
  multiply();
  EXPECT_EQ(path_, kernel().name);
  if (low_band() == LowBand::kept) {
    EXPECT_LT(std::fabs(mean_error()), 0.0625) << "far below the last bit of |A||B|";
  } else {
    const double size_of_result = 1.5 * 0x1p-10;  // of |A||B|
    EXPECT_LT(std::fabs(mean_error()) / size_of_result, 2);
  }
}

// All windows have the same sum, and it lies between two multiples of the last bit of a long sum.
// So each addition is rounded to the same side, and one chain of them would be off by 15 units or
// more; totals of short ones are exact here.
TEST_P(HopperSums, EqualWindowsOverALongKAreExactEnough) {
  const float of_a = in_fp16() ? 1 + 0x3p-10f : 1 + 0x1p-7f,
              of_b = in_fp16() ? 1 + 0x1p-5f : 1 + 0x1p-7f;
  const std::int64_t k = (row_.tile.shares_rows ? 2 : 1) * std::int64_t{32768};
  a_ = TestMatrix(4, k);
  b_ = TestMatrix(k, 4);
  for (float& x : a_.values) x = of_a;
  for (float& x : b_.values) x = of_b;
  multiply();
  EXPECT_EQ(path_, kernel().name);
  EXPECT_LT(std::fabs(mean_error()), 2);
}

INSTANTIATE_TEST_SUITE_P(Registry, HopperSums, testing::ValuesIn(split_kernels()), kernel_name);

}  // namespace
}  // namespace kw
