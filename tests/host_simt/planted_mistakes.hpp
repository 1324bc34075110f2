// What the tests of copies, barriers and products under way share: right kernels are right in every
// order of threads, and mistakes that are planted in them are caught.
#pragma once

#include <cstdint>

#include "fixture.hpp"
#include "support/run_seed.hpp"

namespace KW_TARGET {

// body() in every order, in the random one with so many seeds, with warps of both sizes.
template <class Body>
void in_every_order(int seeds, const Body& body) {
  host_simt::Options& options = host_simt::options();
  for (const int warp_size : {32, 64}) {
    for (const host_simt::Order order : orders) {
      for (int seed = 0; seed < (order == host_simt::Order::random ? seeds : 1); ++seed) {
        options.warp_size = warp_size;
        options.order = order;
        options.seed = run_seed() + static_cast<std::uint64_t>(seed);
        SCOPED_TRACE(testing::Message()
                     << to_string(order) << " seed " << seed << " warp size " << warp_size);
        body();
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// is_caught(): whether a launch of a kernel with a mistake ends with a fault or a wrong result.

template <class IsCaught>
bool caught_in(host_simt::Order order, const IsCaught& is_caught, int seed = 1) {
  host_simt::options().order = order;
  host_simt::options().seed = static_cast<std::uint64_t>(seed);
  return is_caught();
}

// With how many of so many seeds.
template <class IsCaught>
int times_caught_in_random_order(int seeds, const IsCaught& is_caught) {
  int caught = 0;
  for (int seed = 0; seed < seeds; ++seed)
    caught += caught_in(host_simt::Order::random, is_caught, seed) ? 1 : 0;
  return caught;
}

template <class IsCaught>
void expect_caught_in_every_order(int seeds, const IsCaught& is_caught) {
  EXPECT_TRUE(caught_in(host_simt::Order::forward, is_caught));
  EXPECT_TRUE(caught_in(host_simt::Order::reverse, is_caught));
  EXPECT_EQ(times_caught_in_random_order(seeds, is_caught), seeds);
}

}  // namespace KW_TARGET
