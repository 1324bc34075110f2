// Where the lanes of a warp lie (lanes.hpp): each has a place of its own, and both operands' loads
// go by halves.
#include "sgemm/lanes.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace {

template <class Lanes>
void expect_all_places(int rows, int cols) {
  std::set<std::pair<int, int>> places;
  for (int lane = 0; lane < 32; ++lane) {
    const int row = Lanes::row(lane), col = Lanes::col(lane);
    EXPECT_TRUE(0 <= row && row < rows && 0 <= col && col < cols) << lane;
    places.emplace(row, col);
  }
  EXPECT_EQ(places.size(), 32u);
}

// A quarter of a warp stores vectors of a row next to each other, so many at a time.
template <class Lanes>
void expect_neighbours() {
  for (int lane = 0; lane < 32; lane += 8) {
    std::set<int> cols;
    for (int i = 0; i < 8; ++i) cols.insert(Lanes::col(lane + i));
    EXPECT_EQ(static_cast<int>(cols.size()), Lanes::side_by_side) << lane;
    EXPECT_EQ(*cols.rbegin() - *cols.begin(), Lanes::side_by_side - 1) << lane;
  }
}

template <int m, int n>
void expect_shape() {
  SCOPED_TRACE(n);
  using Pairs = kw::Lanes<m, n>;
  using Rows = kw::Lanes<m, n, false>;
  expect_all_places<Pairs>(m, n);
  expect_all_places<Rows>(m, n);
  expect_neighbours<Pairs>();
  expect_neighbours<Rows>();
  if (!Pairs::in_pairs) return;
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(Pairs::row(lane), Pairs::row(lane ^ 1)) << lane;
    EXPECT_EQ(Pairs::col(lane), Pairs::col(lane ^ 2)) << lane;
  }
}

TEST(Lanes, HaveAPlaceEachAndLoadByHalves) {
  expect_shape<32, 1>();
  expect_shape<16, 2>();
  expect_shape<8, 4>();
  expect_shape<4, 8>();
  expect_shape<2, 16>();
  expect_shape<1, 32>();
  EXPECT_FALSE((kw::Lanes<32, 1>::in_pairs));
  EXPECT_FALSE((kw::Lanes<1, 32>::in_pairs));
}

}  // namespace
