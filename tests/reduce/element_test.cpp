// Element types of reductions: every 16-bit float as a value and back, and min and max of two.
#include "reduce/numbers/element.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace kw {
namespace {

template <class V>
bool same(V a, V b) {
  return is_nan(a) ? is_nan(b) : bits_of(a) == bits_of(b);
}

TEST(ReduceElement, EveryBfloat16ThereAndBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const bfloat16 stored{static_cast<std::uint16_t>(bits)};
    const float value = to_value(stored);
    const std::uint16_t want = is_nan(value) ? 0x7FC0 : stored.bits;
    ASSERT_EQ(from_value<bfloat16>(value).bits, want) << bits;
  }
}

#ifdef __FLT16_MAX__
TEST(ReduceElement, EveryFloat16AsTheCompilerHasIt) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto native = std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits));
    const float value = to_value(float16{static_cast<std::uint16_t>(bits)});
    ASSERT_TRUE(same(value, static_cast<float>(native))) << bits;
    const std::uint16_t want = is_nan(value) ? 0x7E00 : static_cast<std::uint16_t>(bits);
    ASSERT_EQ(from_value<float16>(value).bits, want) << bits;
  }
}

// Halfway between neighbours, and a little to either side.
TEST(ReduceElement, RoundsToFloat16AsTheCompilerDoes) {
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const float low = to_value(float16{static_cast<std::uint16_t>(bits)});
    const float high =
        bits == 0x7BFF ? 65536.0f : to_value(float16{static_cast<std::uint16_t>(bits + 1)});
    const float middle = low + (high - low) / 2;
    for (float x : {std::nextafter(middle, low), middle, std::nextafter(middle, high), -middle}) {
      const auto want = std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
      ASSERT_EQ(from_value<float16>(x).bits, want) << x;
    }
  }
}
#endif

TEST(ReduceElement, RoundsToTheNearestBfloat16TiesToEven) {
  const auto rounded = [](std::uint32_t bits) {
    return from_value<bfloat16>(std::bit_cast<float>(bits)).bits;
  };
  EXPECT_EQ(rounded(0x3F808000), 0x3F80);
  EXPECT_EQ(rounded(0x3F818000), 0x3F82);
  EXPECT_EQ(rounded(0x3F808001), 0x3F81);
  EXPECT_EQ(rounded(0x3F817FFF), 0x3F81);
  EXPECT_EQ(rounded(0x7F7FFFFF), 0x7F80) << "infinity";
  EXPECT_EQ(rounded(0xFF800001), 0x7FC0) << "NaN";
}

template <class V>
void expect_ordered() {
  const V nan = std::numeric_limits<V>::quiet_NaN(), inf = std::numeric_limits<V>::infinity();
  const V ascending[] = {-inf,    V{-1}, -std::numeric_limits<V>::denorm_min(),
                         V{-0.0}, V{0},  std::numeric_limits<V>::denorm_min(),
                         V{2.5},  inf};
  for (const V& a : ascending) {
    for (const V& b : ascending) {
      const V& low = &a < &b ? a : b;
      const V& high = &a < &b ? b : a;
      EXPECT_TRUE(same(minimum(a, b), low)) << a << ' ' << b;
      EXPECT_TRUE(same(maximum(a, b), high)) << a << ' ' << b;
    }
    for (V with_nan : {minimum(a, nan), minimum(nan, a), maximum(a, nan), maximum(nan, a)}) {
      EXPECT_TRUE(is_nan(with_nan)) << a;
    }
  }
  EXPECT_TRUE(is_nan(minimum(nan, nan)) && is_nan(maximum(nan, nan)));
}

TEST(ReduceElement, MinimumAndMaximum) {
  expect_ordered<float>();
  expect_ordered<double>();
  EXPECT_EQ(minimum<std::int64_t>(-3, 2), -3);
  EXPECT_EQ(maximum<std::int64_t>(-3, 2), 2);
}

}  // namespace
}  // namespace kw
