// Races in shared memory: each planted one is found and no correct kernel is blamed, in whatever
// order the threads run.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/run_seed.hpp"
#include "trace/fixture.hpp"
#include "trace/kernels.hpp"
#include "trace/source_lines.hpp"

namespace kw::trace {
namespace {

namespace planted = on_host::planted;

class Races : public TraceTest {
 protected:
  void expect_race(bool wanted, const std::function<Status()>& launch) {
    for (const host_simt::Order order :
         {host_simt::Order::forward, host_simt::Order::reverse, host_simt::Order::random}) {
      host_simt::options().order = order;
      host_simt::options().seed = run_seed();
      const LaunchCounts counts = traced_one(launch);
      EXPECT_EQ(!counts.races.empty(), wanted) << host_simt::to_string(order);
    }
  }

  float* in_ = floats(1024);
  float* out_ = floats(1024);
};

TEST_F(Races, BarriersOfTheBlock) {
  expect_race(false, [&] { return planted::rounds(planted::Fault::none, in_, out_); });
  expect_race(true, [&] { return planted::rounds(planted::Fault::no_barrier, in_, out_); });
  expect_race(true, [&] { return planted::rounds(planted::Fault::no_second_barrier, in_, out_); });
}

TEST_F(Races, BarriersOfAWarp) {
  expect_race(false, [&] { return planted::last_warp(true, in_, out_); });
  expect_race(true, [&] { return planted::last_warp(false, in_, out_); });
}

TEST_F(Races, Mbarriers) {
  expect_race(false, [&] { return planted::hand_over(true, in_, out_); });
  expect_race(true, [&] { return planted::hand_over(false, in_, out_); });
}

TEST_F(Races, AsynchronousCopies) {
  expect_race(false, [&] { return planted::copies(true, in_, out_); });
  expect_race(true, [&] { return planted::copies(false, in_, out_); });
}

TEST_F(Races, AtomicOperationsDoNotRaceWithEachOther) {
  expect_race(false, [&] { return planted::atomics(out_); });
}

TEST_F(Races, NameBothPlacesThreadsAndTheWord) {
  const LaunchCounts counts =
      traced_one([&] { return planted::rounds(planted::Fault::no_second_barrier, in_, out_); });
  ASSERT_FALSE(counts.races.empty());
  const auto& [pair, example] = *counts.races.begin();
  EXPECT_NE(pair.first_writes, pair.second_writes);
  EXPECT_NE(example.first_thread, example.second_thread);
  EXPECT_EQ(example.place.rfind("part + ", 0), 0u) << example.place;
  const auto places = source_lines({pair.first, pair.second});
  for (const std::uintptr_t call : {pair.first, pair.second}) {
    const std::string& place = places.at(call);
    EXPECT_EQ(place.rfind("kernels.cu:", 0), 0u) << place;
  }
  EXPECT_NE(places.at(pair.first), places.at(pair.second));
}

}  // namespace
}  // namespace kw::trace
