// The rules by which one access of a warp is counted, on addresses given by hand.
#include "trace/warp_access.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace kw::trace {
namespace {

constexpr std::uintptr_t base = 1 << 20;  // of every alignment that matters

WarpAccess access_of(std::uint32_t lanes, const std::function<std::uintptr_t(unsigned)>& offset) {
  WarpAccess access;
  access.lanes = lanes;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) access.address[lane] = base + offset(lane);
  return access;
}
constexpr std::uint32_t all = ~0u;

int sectors(const WarpAccess& access, int bytes) {
  return count_sectors(access, bytes, [](std::uintptr_t) {}).sectors;
}
int wavefronts(const WarpAccess& access, int bytes) {
  return count_wavefronts(access, bytes).wavefronts;
}

TEST(Sectors, DifferentOnesAreCounted) {
  EXPECT_EQ(sectors(access_of(all, [](unsigned) { return 0; }), 4), 1);
  EXPECT_EQ(sectors(access_of(all, [](unsigned l) { return 4 * l; }), 4), 4);
  EXPECT_EQ(sectors(access_of(all, [](unsigned l) { return 124 - 4 * l; }), 4), 4);  // backwards
  EXPECT_EQ(sectors(access_of(all, [](unsigned l) { return 4 + 4 * l; }), 4), 5);
  EXPECT_EQ(sectors(access_of(all, [](unsigned l) { return 1024 * l; }), 4), 32);
  EXPECT_EQ(sectors(access_of(all, [](unsigned l) { return 16 * l; }), 16), 16);
  EXPECT_EQ(sectors(access_of(0xFF, [](unsigned l) { return 4 * l; }), 4), 1);
  EXPECT_EQ(sectors(access_of(1, [](unsigned) { return 24; }), 16), 2);  // over an edge
}

TEST(Sectors, ALaneThatCopiesNothingTouchesNone) {
  WarpAccess access = access_of(all, [](unsigned l) { return 4 * l; });
  for (unsigned lane = 8; lane < warp_lanes; ++lane) access.address[lane] = 0;
  EXPECT_EQ(sectors(access, 4), 1);
}

TEST(Wavefronts, FourBytesALane) {
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned) { return 0; }), 4), 1);  // a broadcast
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 4 * l; }), 4), 1);
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 4 * (31 - l); }), 4), 1);
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 8 * l; }), 4), 2);
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 128 * l; }), 4), 32);
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 132 * l; }), 4), 1);
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 128 * (l / 16); }), 4), 2);
  EXPECT_EQ(wavefronts(access_of(0x11, [](unsigned l) { return 32 * l; }), 4), 2);  // lanes 0 and 4
  EXPECT_EQ(wavefronts(access_of(0x3, [](unsigned l) { return 32 * l; }), 4), 1);
}

TEST(Wavefronts, WiderAccessesGoInHalvesAndQuarters) {
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 8 * l; }), 8), 2);
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 16 * l; }), 16), 4);
  // Lanes 2i and 2i + 1 share an address: twice as many lanes at a time.
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 8 * (l / 2); }), 8), 1);
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 16 * (l / 16); }), 16), 2);
  // Likewise lanes i and i + 2, but not i and i + 4 (hardware counters of r11's orders of lanes and
  // of the AMD ladder's Z of Zs).
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 16 * (l % 2 + l / 4 * 2); }), 16), 2);
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 16 * (l % 4 + l / 8 * 4); }), 16), 4);
  // r04's read of B: 16 bytes at a stride of 32, twice in the banks of each quarter.
  EXPECT_EQ(wavefronts(access_of(all, [](unsigned l) { return 32 * (l % 16); }), 16), 8);
  EXPECT_EQ(wavefronts(access_of(0xFF, [](unsigned l) { return 16 * l; }), 16), 1);
}

}  // namespace
}  // namespace kw::trace
