// The exact test for shared bytes, against sets of addresses.
#include "api/overlap.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace kw::detail {
namespace {

std::set<std::uintptr_t> addresses(const Footprint& f) {
  std::set<std::uintptr_t> all;
  for (std::int64_t i = 0; i < f.lines; ++i) {
    for (std::int64_t j = 0; j < f.width; ++j) {
      all.insert(f.address + static_cast<std::uintptr_t>(i * f.ld + j));
    }
  }
  return all;
}

bool shares_by_sets(const Footprint& x, const Footprint& y) {
  const std::set<std::uintptr_t> of_y = addresses(y);
  for (std::uintptr_t address : addresses(x)) {
    if (of_y.contains(address)) return true;
  }
  return false;
}

TEST(Overlap, AgreesWithSetsOfAddresses) {
  std::mt19937 engine(7);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  };
  int shared = 0;
  int apart = 0;
  for (int trial = 0; trial < 40000; ++trial) {
    const auto matrix = [&](std::int64_t ld) {
      Footprint f;
      f.ld = ld > 0 ? ld : draw(1, 12);
      f.width = draw(0, f.ld);
      f.lines = draw(0, 6);
      f.address = 4096 + static_cast<std::uintptr_t>(draw(0, 70));
      return f;
    };
    const Footprint x = matrix(0);
    const Footprint y = matrix(trial % 2 == 0 ? x.ld : 0);
    const bool want = shares_by_sets(x, y);
    ASSERT_EQ(shares_byte(x, y), want) << "trial " << trial;
    ASSERT_EQ(shares_byte(y, x), want) << "trial " << trial;
    ++(want ? shared : apart);
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(apart, 1000);
}

TEST(Overlap, LargeMatricesAreDecidedAtOnce) {
  constexpr std::int64_t lines = std::int64_t{1} << 40;
  const Footprint left{1 << 20, lines, 400, 800};
  const Footprint right{(1 << 20) + 400, lines, 400, 800};
  EXPECT_FALSE(shares_byte(left, right));
  const Footprint wider{(1 << 20) + 400, lines, 401, 800};
  EXPECT_TRUE(shares_byte(left, wider));
  EXPECT_FALSE(shares_byte(left, {(1 << 20) + 800 * 5000 + 400, 1, 400, 1 << 30}));
  EXPECT_TRUE(shares_byte(left, {(1 << 20) + 800 * 5000 + 399, 1, 400, 1 << 30}));
}

TEST(Overlap, TooManyLinesToCompareCountAsSeparate) {
  constexpr std::int64_t lines = most_lines_compared + 1;
  EXPECT_FALSE(shares_byte({4096, lines, 3, 3}, {4096, lines, 2, 2}));
  EXPECT_TRUE(shares_byte({4096, lines, 3, 3}, {4096, lines - 1, 2, 2}));
}

}  // namespace
}  // namespace kw::detail
