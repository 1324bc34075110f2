// Counts of kernels whose accesses follow from their definition: sectors, wavefronts, lanes.
#include <gtest/gtest.h>

#include "trace/fixture.hpp"
#include "trace/kernels.hpp"
#include "trace/source_lines.hpp"

namespace kw::trace {
namespace {

namespace planted = on_host::planted;

class Counts : public TraceTest {
 protected:
  float* in_ = floats(4096);
  float* out_ = floats(4096);
};

TEST_F(Counts, BankConflictsFollowFromThePitch) {
  struct Expected {
    int pitch;
    std::uint64_t wavefronts;  // 32 lanes on 32 / gcd(pitch, 32) banks
  };
  for (const Expected& expected :
       {Expected{1, 1}, {2, 2}, {3, 1}, {8, 8}, {9, 1}, {16, 16}, {32, 32}, {33, 1}, {0, 1}}) {
    const LaunchCounts launch =
        traced_one([&] { return planted::column(expected.pitch, in_, out_); });
    SCOPED_TRACE(expected.pitch);
    expect_counts(launch, Kind::shared_load, 1, 32, expected.wavefronts);
    expect_counts(launch, Kind::shared_store, 33, 33 * 32, 33);
    EXPECT_EQ(launch.block_barriers, 1u);
    EXPECT_EQ(launch.shared_bytes, 32u * 33 * 4);
  }
}

TEST_F(Counts, AVectorIsOneAccess) {
  const auto expect = [&](const LaunchCounts& launch, std::uint64_t loaded, std::uint64_t stored) {
    expect_counts(launch, Kind::global_load, 1, 32, loaded);
    expect_counts(launch, Kind::global_store, 1, 32, stored);
    EXPECT_EQ(launch.bytes_read, loaded * 32);
    EXPECT_EQ(launch.bytes_written, stored * 32);
  };
  expect(traced_one([&] { return planted::wide<1>(in_, 0, out_); }), 4, 4);
  expect(traced_one([&] { return planted::wide<1>(in_, 1, out_); }), 5, 4);  // askew
  expect(traced_one([&] { return planted::wide<2>(in_, 0, out_); }), 8, 8);
  expect(traced_one([&] { return planted::wide<4>(in_, 0, out_); }), 16, 16);
  expect(traced_one([&] { return planted::wide<4>(in_, 4, out_); }), 17, 16);
}

// Lane l executes the load l % 4 times: 24 lanes a first time, 16 a second, 8 a third.
TEST_F(Counts, LanesDropOutOfALoop) {
  const LaunchCounts launch = traced_one([&] { return planted::uneven(in_, out_); });
  expect_counts(launch, Kind::global_load, 3, 24 + 16 + 8, 3 * 4);
}

// The same instruction, but the warp meets in between: two accesses of 16 lanes, not one of 32.
TEST_F(Counts, AWarpThatMeetsBeginsAnew) {
  const LaunchCounts launch = traced_one([&] { return planted::halves(in_, out_); });
  expect_counts(launch, Kind::global_load, 2, 32, 2 * 2);
  EXPECT_EQ(launch.warp_meetings, 2u);
}

TEST_F(Counts, AsynchronousCopiesReadAndWriteWithoutRegisters) {
  const LaunchCounts launch = traced_one([&] { return planted::copies(true, in_, out_); });
  expect_counts(launch, Kind::async_copy_from, 3, 96, 3 * 16);
  expect_counts(launch, Kind::async_copy_to, 3, 96, 3 * 4);
  expect_counts(launch, Kind::global_load, 0, 0, 0);
  expect_counts(launch, Kind::shared_store, 0, 0, 0);
}

TEST_F(Counts, SomeBlocksOfALaunch) {
  const auto launch = [&] { return planted::rounds(planted::Fault::none, in_, out_); };
  const std::vector<LaunchCounts> some = traced(launch, 1), all = traced(launch);
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some.front().blocks, 2u);
  EXPECT_EQ(some.front().traced_blocks, 1u);
  EXPECT_EQ(all.front().traced_blocks, 2u);
  EXPECT_EQ(2 * some.front().total(Kind::shared_load).requests,
            all.front().total(Kind::shared_load).requests);
}

TEST_F(Counts, PlacesAreLinesOfTheKernelsFile) {
  const LaunchCounts launch = traced_one([&] { return planted::uneven(in_, out_); });
  for (const auto& [site, counts] : launch.sites) {
    const std::string place = source_lines({site.call}).at(site.call);
    EXPECT_EQ(place.rfind("kernels.cu:", 0), 0u) << place;
  }
}

TEST(SourceLines, TheInnermostPlaceAndTheKernelsOwn) {
  EXPECT_EQ(place_of({"/x/ladder/sgemm/r07_conflict_free.cu:41 (discriminator 2)"}),
            "r07_conflict_free.cu:41");
  EXPECT_EQ(place_of({"/x/src/host_simt/vector_types.hpp:12", "/x/ladder/sgemm/rung.hpp:34",
                      "/x/ladder/sgemm/r05_float4.cu:31"}),
            "rung.hpp:34 from r05_float4.cu:31");
  EXPECT_EQ(place_of({"/x/src/device/wgmma.hpp:9"}), "wgmma.hpp:9");
  EXPECT_EQ(place_of({"??:0"}), "");
}

}  // namespace
}  // namespace kw::trace
