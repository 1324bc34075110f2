// Where elements of lines along k lie in a stage (turned_lines.hpp): each has a place of its own,
// and a warp's copies lie in 32 banks.
#include "sgemm/stream/turned_lines.hpp"

#include <gtest/gtest.h>

#include <set>

namespace {

constexpr int pitch = 64 + 4, lines = 64;

template <class Turned>
void expect_places_of_their_own(int depth, int k_each) {
  std::set<int> places;
  for (int k = 0; k < depth; ++k)
    for (int i = 0; i < lines; ++i) {
      const int place = Turned::place(i, k, k_each, depth, pitch);
      EXPECT_TRUE(0 <= place && place < depth * pitch && place % pitch < lines) << i << " " << k;
      places.insert(place);
    }
  EXPECT_EQ(static_cast<int>(places.size()), depth * lines);
}

// Lanes side by side copy `along` k of a line each, and the lines are neighbours.
template <class Turned>
void expect_32_banks(int depth) {
  for (int k0 = 0; k0 < depth; k0 += Turned::along)
    for (int i0 = 0; i0 < lines; i0 += 32 / Turned::along) {
      std::set<int> banks;
      for (int lane = 0; lane < 32; ++lane)
        banks.insert(
            Turned::place(i0 + lane / Turned::along, k0 + lane % Turned::along, 0, depth, pitch) %
            32);
      EXPECT_EQ(banks.size(), 32u) << k0 << " " << i0;
    }
}

template <class Turned>
void expect_turned(int depth) {
  expect_places_of_their_own<Turned>(depth, 0);
  for (int k_each = 2; k_each < depth; k_each += 2)
    expect_places_of_their_own<Turned>(depth, k_each);
  expect_32_banks<Turned>(depth);
}

TEST(TurnedLines, ElementsHaveAPlaceEachAndCopiesABankEach) {
  expect_turned<kw::TurnedLines<8, false, 1>>(32);
  expect_turned<kw::TurnedLines<16, false, 2>>(32);
  expect_turned<kw::TurnedLines<16, false, 4>>(64);
  expect_turned<kw::TurnedLines<32, false, 4>>(32);
  expect_turned<kw::TurnedLines<32, false, 8>>(64);
  expect_turned<kw::TurnedLines<16, true, 1>>(32);
}

// A warp's rows lie apart alike in all eights of k that are its own, whole stages and the last.
TEST(TurnedLines, AWarpsRowsAreSwappedAlike) {
  using Turned = kw::TurnedLines<32, false, 4>;
  for (int k = 0; k < 64; ++k)
    EXPECT_EQ(Turned::place(5, k, 0, 64, pitch) % pitch, 5 ^ k / 8 % 4) << k;
  for (int k = 0; k < 24; ++k) EXPECT_EQ(Turned::place(5, k, 6, 64, pitch) % pitch, 5 ^ k / 6) << k;
}

}  // namespace
