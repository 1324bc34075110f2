// The exact test for shared bytes, against sets of addresses.
#include "api/overlap.hpp"
#include "support/run_seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
  std::mt19937 engine(seed_of(7));
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

TEST(Overlap, OfBatchesAgreesWithThatOfEveryPair) {
  std::mt19937 engine(seed_of(11));
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
  };
  const auto nth = [](const Footprints& all, std::int64_t i) {
    Footprint one = all.first;
    one.address += static_cast<std::uintptr_t>(i * all.stride);
    return one;
  };
  int shared = 0;
  int apart = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const auto batch = [&](std::int64_t ld, std::int64_t stride) {
      Footprints all;
      all.first.ld = ld > 0 ? ld : draw(1, 40);
      all.first.width = draw(0, std::min<std::int64_t>(all.first.ld, 5));
      all.first.lines = draw(0, 3);
      all.first.address = 4096 + static_cast<std::uintptr_t>(draw(0, 150));
      all.count = draw(0, 5);
      all.stride = stride > 0 ? stride : draw(1, 50);
      return all;
    };
    const Footprints x = batch(0, 0);
    const Footprints y = batch(trial % 3 < 2 ? x.first.ld : 0, trial % 3 < 1 ? x.stride : 0);
    bool want = false;
    for (std::int64_t i = 0; i < x.count; ++i) {
      for (std::int64_t j = 0; j < y.count; ++j) want |= shares_byte(nth(x, i), nth(y, j));
    }
    ASSERT_EQ(any_shares_byte(x, y), want) << "trial " << trial;
    ASSERT_EQ(any_shares_byte(y, x), want) << "trial " << trial;
    ++(want ? shared : apart);
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(apart, 1000);
}

TEST(Overlap, HugeBatchesTakeNoTime) {
  constexpr std::int64_t many = std::int64_t{1} << 40;
  const Footprint small{1 << 20, 4, 16, 64};
  EXPECT_TRUE(
      any_shares_byte({small, many, 256}, {{(1 << 20) + 256 * 5 + 64, 1, 16, 16}, many, 256}));
  EXPECT_FALSE(any_shares_byte({small, many, 256}, {{(1 << 20) + 16, 4, 16, 64}, many, 256}));
  // Too many pairs to look at count as separate.
  EXPECT_FALSE(any_shares_byte({small, many, 256}, {{(1 << 20) + 16, 4, 16, 64}, many, 512}));
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
  constexpr std::int64_t lines = max_lines_compared + 1;
  EXPECT_FALSE(shares_byte({4096, lines, 3, 3}, {4096, lines, 2, 2}));
  EXPECT_TRUE(shares_byte({4096, lines, 3, 3}, {4096, lines - 1, 2, 2}));
}

}  // namespace
}  // namespace kw::detail
