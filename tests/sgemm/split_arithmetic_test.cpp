// Floats as sums of narrower pieces, against tables of all 16-bit numbers and long double; and
// which data the pieces hold.
#include "sgemm/split_arithmetic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "sgemm/hopper/control.hpp"
#include "support/run_seed.hpp"

namespace kw::split {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float next_below(float x) { return std::nextafter(x, -infinity); }

// A format of 16 bits as its definition has it: sizes of all finite numbers, in ascending order,
// which is that of their bits.
class Format {
 public:
  Format(int exponent_bits, int mantissa_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    for (int exponent = 0; exponent < (1 << exponent_bits) - 1; ++exponent) {
      for (int mantissa = 0; mantissa < 1 << mantissa_bits; ++mantissa) {
        const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
        sizes_.push_back(
            std::ldexp(static_cast<double>(whole), std::max(exponent, 1) - bias - mantissa_bits));
      }
    }
  }
  const std::vector<double>& sizes() const { return sizes_; }

  // To nearest, ties to even bits. Beyond the largest number, where rounding reaches it.
  std::uint16_t nearest(float x) const {
    const double size = std::fabs(static_cast<double>(x));
    auto above = std::lower_bound(sizes_.begin(), sizes_.end(), size);
    if (above == sizes_.end()) --above;
    auto best = above - sizes_.begin();
    if (best > 0) {
      const double up = *above - size, down = size - sizes_[static_cast<std::size_t>(best - 1)];
      if (down < up || (down == up && best % 2 == 1)) --best;
    }
    return static_cast<std::uint16_t>(best + (std::signbit(x) ? 0x8000 : 0));
  }

 private:
  std::vector<double> sizes_;
};

const Format& bf16() {
  static const Format format(8, 7);
  return format;
}
const Format& fp16() {
  static const Format format(5, 10);
  return format;
}

// Each number, halfway to the next and a float's step on either side of that; both signs.
std::vector<float> around_all(const Format& format) {
  std::vector<float> found;
  const std::vector<double>& sizes = format.sizes();
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const auto middle = static_cast<float>((sizes[i] + sizes[i + 1]) / 2);
    for (const float x : {static_cast<float>(sizes[i]), middle, next_below(middle),
                          std::nextafter(middle, infinity)}) {
      found.push_back(x);
      found.push_back(-x);
    }
  }
  return found;
}

// Any sign and mantissa, exponents from `low` to `high`.
class RandomFloats {
 public:
  RandomFloats(int low, int high, unsigned seed) : engine_(seed_of(seed)), exponent_(low, high) {}
  float operator()() {
    const auto bits = static_cast<std::uint32_t>(engine_());
    const auto exponent = static_cast<std::uint32_t>(exponent_(engine_) + 127);
    return std::bit_cast<float>((bits & 0x807FFFFFu) | exponent << 23);
  }

 private:
  std::mt19937 engine_;
  std::uniform_int_distribution<int> exponent_;
};

constexpr int many = 200000;

TEST(SplitArithmetic, EveryBf16RoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto x = static_cast<std::uint16_t>(bits);
    if ((bits & 0x7FFF) >= bf16().sizes().size()) continue;
    const float value = from_bf16(x);
    ASSERT_EQ(std::fabs(static_cast<double>(value)), bf16().sizes()[bits & 0x7FFF]);
    ASSERT_EQ(std::signbit(value), bits >= 0x8000);
    ASSERT_EQ(to_bf16(value), x);
  }
}

TEST(SplitArithmetic, EveryFp16RoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto x = static_cast<std::uint16_t>(bits);
    if ((bits & 0x7FFF) >= fp16().sizes().size()) continue;
    const float value = from_fp16(x);
    ASSERT_EQ(std::fabs(static_cast<double>(value)), fp16().sizes()[bits & 0x7FFF]);
    ASSERT_EQ(std::signbit(value), bits >= 0x8000);
    ASSERT_EQ(to_fp16(value), x);
  }
}

TEST(SplitArithmetic, RoundsToTheNearest) {
  for (const float x : around_all(bf16())) ASSERT_EQ(to_bf16(x), bf16().nearest(x)) << x;
  for (const float x : around_all(fp16())) ASSERT_EQ(to_fp16(x), fp16().nearest(x)) << x;
  RandomFloats any(-126, 126, 1), half(-40, 14, 2);
  for (int i = 0; i < many; ++i) {
    const float wide = any(), narrow = half();
    ASSERT_EQ(to_bf16(wide), bf16().nearest(wide)) << wide;
    ASSERT_EQ(to_fp16(narrow), fp16().nearest(narrow)) << narrow;
  }
  EXPECT_EQ(from_fp16(to_fp16(next_below(65520))), 65504);
}

TEST(SplitArithmetic, PairsHoldTheFirstInTheLowHalf) {
  float first = 0, second = 0;
  EXPECT_EQ(to_bf16_pair(1, -2), 0xC0003F80u);
  from_bf16_pair(0xC0003F80u, &first, &second);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, -2);
  EXPECT_EQ(to_fp16_pair(1, -2), 0xC0003C00u);
  from_fp16_pair(0xC0003C00u, &first, &second);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, -2);
}

// The two floats that the pieces add up to.
struct Sums {
  double first = 0, second = 0;
};
Sums bf16_sums(float first, float second) {
  Pair pieces[bf16_pieces];
  split_bf16(first, second, pieces);
  Sums sums;
  for (const Pair piece : pieces) {
    sums.first += from_bf16(static_cast<std::uint16_t>(piece & 0xFFFF));
    sums.second += from_bf16(static_cast<std::uint16_t>(piece >> 16));
  }
  return sums;
}

TEST(SplitArithmetic, Bf16PiecesAddUpExactly) {
  RandomFloats any(-109, 126, 3);
  for (int i = 0; i < many; ++i) {
    const float x = any(), y = any();
    const Sums sums = bf16_sums(x, y);
    ASSERT_EQ(sums.first, x);
    ASSERT_EQ(sums.second, y);
  }
  const float edges[] = {
      0, -0.0f, 0x1p-109f, 0x1.FFFFFEp-109f, 0x1.000002p-109f, next_below(0x1p127f)};
  for (const float x : edges) {
    EXPECT_EQ(bf16_sums(x, -x).first, x);
    EXPECT_EQ(bf16_sums(x, -x).second, -x);
  }
  // Below the range the third piece's last bits are missing, so the range says something.
  EXPECT_NE(bf16_sums(0x1.FFFFFEp-113f, 0).first, 0x1.FFFFFEp-113f);
}

// What two pieces make of x in a row of that scale, less x, in units of |x|.
double fp16_relative_error(float x, int scale_exponent) {
  Pair pieces[fp16_pieces];
  split_fp16(scale(x, scale_exponent), 0, pieces);
  const double high = from_fp16(static_cast<std::uint16_t>(pieces[0] & 0xFFFF));
  const double low = from_fp16(static_cast<std::uint16_t>(pieces[1] & 0xFFFF));
  const double sum = std::ldexp(high + low / 2048, -scale_exponent);
  return std::fabs(sum - x) / std::fabs(static_cast<double>(x));
}

TEST(SplitArithmetic, Fp16PiecesHoldWhatTheySay) {
  const double limit = std::ldexp(1.0, -23);
  for (const int largest : {-80, -3, 0, 60, 125}) {
    const int scale_exponent = fp16_scale(static_cast<std::uint32_t>(largest + 127) << 23);
    RandomFloats held(largest - 27, largest, 4);
    for (int i = 0; i < many / 4; ++i) {
      const float x = held();
      ASSERT_TRUE(fp16_holds(x, scale_exponent)) << x;
      ASSERT_LE(fp16_relative_error(x, scale_exponent), limit) << x;
    }
    const float edge = std::ldexp(1.0f, largest - 27);
    for (const float x : {edge, std::nextafter(edge, infinity), next_below(2 * edge)}) {
      EXPECT_TRUE(fp16_holds(x, scale_exponent));
      EXPECT_TRUE(fp16_holds(-x, scale_exponent));
      EXPECT_LE(fp16_relative_error(x, scale_exponent), limit);
    }
    EXPECT_FALSE(fp16_holds(next_below(edge), scale_exponent));
    EXPECT_FALSE(fp16_holds(-next_below(edge), scale_exponent));
    const float beyond = std::ldexp(1.0f, largest + 1);
    EXPECT_TRUE(fp16_holds(next_below(beyond), scale_exponent));
    EXPECT_FALSE(fp16_holds(beyond, scale_exponent));
    EXPECT_FALSE(fp16_holds(infinity, scale_exponent));
    EXPECT_TRUE(fp16_holds(0.0f, scale_exponent));
    EXPECT_TRUE(fp16_holds(-0.0f, scale_exponent));
  }
  EXPECT_GT(fp16_relative_error(0x1.555556p-16f, 0), limit) << "what is not held needs help";
}

// What ladder/sgemm/r21_fp16x3.cu adds to FP32's bound: high by high and high by low twice, of the
// factors that pieces hold worst.
TEST(SplitArithmetic, ThreeProductsErrByEightUnitsAtMost) {
  struct Pieces {
    double whole, high, low;
  };
  std::vector<Pieces> factors;
  for (std::uint32_t significand = 0; significand < 0x3000; ++significand) {
    const float x = std::bit_cast<float>(0x46800000u + significand);  // 2^14 and on
    Pair pair[fp16_pieces];
    split_fp16(x, 0, pair);
    const Pieces pieces{
        x, from_fp16(static_cast<std::uint16_t>(pair[0] & 0xFFFF)),
        static_cast<double>(from_fp16(static_cast<std::uint16_t>(pair[1] & 0xFFFF))) * low_unscale};
    const double units = std::fabs(x - pieces.high - pieces.low) / x * 0x1p24;
    ASSERT_LE(units, 2);
    if (units > 1.995) factors.push_back(pieces);
  }
  ASSERT_GT(factors.size(), 100u);
  double largest = 0;
  for (const Pieces& a : factors) {
    for (const Pieces& b : factors) {
      const double got = a.high * b.high + a.high * b.low + a.low * b.high;
      largest = std::max(largest, std::fabs(a.whole * b.whole - got) / (a.whole * b.whole));
    }
  }
  EXPECT_LE(largest * 0x1p24, 8);
  EXPECT_GT(largest * 0x1p24, 7.9) << "the bound is no larger than it must be";
}

TEST(SplitArithmetic, TheScalePutsTheLargestBelowTwoToTheFifteen) {
  for (std::uint32_t exponent = 1; exponent < 255; ++exponent) {
    for (const std::uint32_t mantissa : {0u, 1u, 0x7FFFFFu}) {
      const std::uint32_t bits = exponent << 23 | mantissa;
      const double scaled = std::ldexp(std::bit_cast<float>(bits), fp16_scale(bits));
      ASSERT_GE(scaled, 0x1p14);
      ASSERT_LT(scaled, 0x1p15);
    }
  }
  EXPECT_EQ(fp16_scale(0), 0);
  EXPECT_EQ(fp16_scale(1), fp16_scale(0x00800000)) << "a subnormal counts as 2^-126";
}

void expect_rounded_once(float x, int exponent) {
  const auto want = static_cast<float>(std::ldexp(static_cast<long double>(x), exponent));
  ASSERT_EQ(std::bit_cast<std::uint32_t>(scale(x, exponent)), std::bit_cast<std::uint32_t>(want))
      << x << " * 2^" << exponent;
}

TEST(SplitArithmetic, ScalingRoundsOnce) {
  std::mt19937 engine(seed_of(5));
  std::uniform_int_distribution<int> up(0, 252), down(-252, 0);
  RandomFloats any(-127, 127, 6), not_small(-63, 127, 7);
  for (int i = 0; i < many; ++i) {
    expect_rounded_once(any(), up(engine));
    expect_rounded_once(not_small(), down(engine));
    if (HasFatalFailure()) return;
  }
  for (const int exponent : {-252, -251, -150, -149, -127, -126, -1, 0, 1, 127, 251, 252}) {
    for (const float x : {1.0f, 0x1.FFFFFEp0f, 0x1.000002p0f, -0x1.8p0f, 0.0f, -0.0f})
      expect_rounded_once(x, exponent);
  }
}

}  // namespace
}  // namespace kw::split

namespace kw::hopper {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

SizeRange of(std::initializer_list<float> values) {
  SizeRange found;
  for (const float x : values) found.add(SizeRange::of({x}));
  return found;
}
bool hold(std::initializer_list<float> a, std::initializer_list<float> b, std::int64_t k = 1) {
  const bool forth = pieces_hold(of(a), of(b), k), back = pieces_hold(of(b), of(a), k);
  EXPECT_EQ(forth, back) << "A and B are alike";
  return forth;
}

TEST(PiecesHold, RangesAreSizes) {
  const SizeRange found = SizeRange::of({0.0f, -3.0f, 1.0f, -0.5f, -0.0f});
  EXPECT_EQ(std::bit_cast<float>(found.largest), 3);
  EXPECT_EQ(std::bit_cast<float>(found.smallest()), 0.5f);
  for (const float x : {infinity, -infinity, not_a_number, -not_a_number}) {
    const SizeRange wild = SizeRange::of({1.0f, x, 2.0f, -0x1p-149f});
    EXPECT_GE(wild.largest, std::bit_cast<std::uint32_t>(infinity)) << x;
    EXPECT_EQ(wild.smallest(), 1u) << x;
  }
  EXPECT_EQ(of({0, -0.0f}).largest, 0u);
  EXPECT_EQ(of({0, -0.0f}).below, 0u);
}

TEST(PiecesHold, OrdinaryData) {
  EXPECT_TRUE(hold({1, -2, 0}, {0.25f, 3}, 1 << 20));
  EXPECT_TRUE(hold({0}, {0}));
  EXPECT_TRUE(hold({0}, {0x1.FFFFFEp125f, 0x1p-149f})) << "nothing meets them";
  EXPECT_FALSE(hold({0}, {3e38f})) << "a piece may be infinite, and 0 times that is NaN";
}

TEST(PiecesHold, NothingThatIsNotFinite) {
  for (const float x : {infinity, -infinity, not_a_number, -not_a_number}) {
    EXPECT_FALSE(hold({1, x}, {1}));
    EXPECT_FALSE(hold({x}, {0})) << "0 times it is NaN";
  }
}

TEST(PiecesHold, LargestElement) {
  EXPECT_TRUE(hold({split::power_of_two(126) - split::power_of_two(102)}, {0x1p-10f}));
  EXPECT_FALSE(hold({0x1p126f}, {0x1p-10f}));
}

TEST(PiecesHold, SmallestElement) {
  EXPECT_TRUE(hold({0x1p-109f, 1}, {0x1p9f}));
  EXPECT_FALSE(hold({0x1.FFFFFEp-110f, 1}, {0x1p12f}));
  EXPECT_FALSE(hold({0x1p-149f}, {0x1p100f}));
}

TEST(PiecesHold, SmallestProduct) {
  EXPECT_TRUE(hold({0x1p-50f}, {0x1p-50f, 1}));
  EXPECT_FALSE(hold({0x1p-50f}, {0x1.FFFFFEp-51f, 1}));
}

TEST(PiecesHold, LargestSum) {
  // 2^62 and less than 2^63 each: products below 2^126.
  EXPECT_TRUE(hold({0x1.FFFFFEp62f}, {0x1.FFFFFEp62f}, 2));
  EXPECT_FALSE(hold({0x1.FFFFFEp62f}, {0x1.FFFFFEp62f}, 3)) << "k counts as the next power of two";
  EXPECT_TRUE(hold({0x1p62f}, {0x1p52f}, 1024));
  EXPECT_TRUE(hold({0x1p62f}, {0x1p52f}, 2048));
  EXPECT_FALSE(hold({0x1p62f}, {0x1p52f}, 2049));
}

TEST(PiecesHold, MoreOutliersThanTheListHasAreForBf16) {
  EXPECT_EQ(path_of(false, 0), Path::fp16x3);
  EXPECT_EQ(path_of(false, too_many - 1), Path::fp16x3);
  EXPECT_EQ(path_of(false, too_many), Path::bf16x6);
  EXPECT_EQ(path_of(true, too_many), Path::fp32);
  EXPECT_EQ(path_of(true, 0), Path::fp32);
}

}  // namespace
}  // namespace kw::hopper
