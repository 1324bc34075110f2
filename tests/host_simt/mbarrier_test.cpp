// Barriers of some of a block's threads in host SIMT: mbarriers, arrivals after copies, named
// barriers; that right kernels pass in every order and wrong ones are found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/async_copy.hpp"
#include "device/mbarrier.hpp"
#include "planted_mistakes.hpp"
#include "support/run_seed.hpp"

namespace KW_TARGET {
namespace {

using host_simt::Order;

constexpr int seeds = 40;

// --- a ring of buffers between producers and consumers

constexpr int stages = 2;
constexpr unsigned producers = 64, consumers = 128;

enum class Mistake {
  none,
  no_wait_for_full,
  no_wait_for_empty,
  arrival_before_copies,  // have landed
  arrival_before_read,
  no_arrival_of_consumers,
  no_arrival_of_one_producer,
};

// out[i] = sum of (tile + 1) * from[tile][j], for each consumer i of each block.
template <Mistake mistake>
__global__ void ring(const float* from, int tiles, float* out) {
  __shared__ float buffer[stages][producers];
  __shared__ Mbarrier full[stages], empty[stages];
  const unsigned tid = threadIdx.x;
  if (tid == 0) {
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(&full[s], producers);
      mbarrier_init(&empty[s], consumers);
    }
  }
  __syncthreads();
  if (tid < producers) {
    for (int t = 0; t < tiles; ++t) {
      const int s = t % stages;
      const unsigned parity = static_cast<unsigned>(t / stages % 2);
      if (mistake != Mistake::no_wait_for_empty) mbarrier_wait(&empty[s], parity ^ 1);
      async_copy<4>(&buffer[s][tid], from + t * static_cast<int>(producers) + tid, 4);
      if (mistake == Mistake::no_arrival_of_one_producer && tid == 40) continue;
      if (mistake == Mistake::arrival_before_copies) {
        mbarrier_arrive(&full[s]);
      } else {
        mbarrier_arrive_after_copies(&full[s]);
      }
    }
    return;
  }
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    const int s = t % stages;
    const unsigned parity = static_cast<unsigned>(t / stages % 2);
    if (mistake != Mistake::no_wait_for_full) mbarrier_wait(&full[s], parity);
    if (mistake == Mistake::arrival_before_read) mbarrier_arrive(&empty[s]);
    for (const float x : buffer[s]) sum += static_cast<float>(t + 1) * x;
    if (mistake != Mistake::arrival_before_read && mistake != Mistake::no_arrival_of_consumers) {
      mbarrier_arrive(&empty[s]);
    }
  }
  out[blockIdx.x * consumers + tid - producers] = sum;
}

constexpr int tiles = 7;

std::vector<float> ring_input() {
  std::vector<float> from(tiles * producers);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i % 13);
  return from;
}

float ring_sum(const std::vector<float>& from) {
  float sum = 0;  // of small integers: exact
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t tile = i / producers;
    sum += static_cast<float>(tile + 1) * from[i];
  }
  return sum;
}

template <Mistake mistake>
Status launch_ring(const std::vector<float>& from, std::vector<float>* out) {
  constexpr unsigned blocks = 3;
  out->assign(blocks * consumers, -1);
  return gpu::launch(ring<mistake>, {blocks, producers + consumers}, from.data(), tiles,
                     out->data());
}

// Whether a fault or a wrong result, NaN included, shows it.
template <Mistake mistake>
bool is_caught() {
  const std::vector<float> from = ring_input();
  const float want = ring_sum(from);
  std::vector<float> out;
  if (!launch_ring<mistake>(from, &out).ok()) return true;
  return !std::all_of(out.begin(), out.end(), [&](float x) { return x == want; });
}

TEST_F(HostSimt, RingsOfMbarriersWorkInEveryOrder) {
  const std::vector<float> from = ring_input();
  const float want = ring_sum(from);
  std::vector<float> out;
  in_every_order(seeds, [&] {
    expect_ok(launch_ring<Mistake::none>(from, &out));
    ASSERT_EQ(out, std::vector<float>(out.size(), want));
  });
}

TEST_F(HostSimt, MissingWaitsForCopiesAreCaughtInEveryOrder) {
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_wait_for_full>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::arrival_before_copies>);
}

// Copying over what others still read: copies must land early, so only the random order finds it.
TEST_F(HostSimt, BuffersThatAreFilledTooEarlyAreCaughtInRandomOrder) {
  EXPECT_EQ(times_caught_in_random_order(seeds, is_caught<Mistake::no_wait_for_empty>), seeds);
  EXPECT_EQ(times_caught_in_random_order(seeds, is_caught<Mistake::arrival_before_read>), seeds);
}

TEST_F(HostSimt, ForgottenArrivalsAreDeadlocksThatNameTheMbarrier) {
  const std::vector<float> from = ring_input();
  std::vector<float> out;
  for (const Order order : orders) {
    options().order = order;
    expect_fault(launch_ring<Mistake::no_arrival_of_consumers>(from, &out),
                 {"kernel ring<", "thread (0,0,0), mbarrier.hpp:", "deadlock: an mbarrier waits",
                  "64 threads at mbarrier_wait for parity 0 of empty, whose phase 0 has had 0 of "
                  "128 arrivals (mbarrier.hpp:",
                  "128 threads at mbarrier_wait for parity 1 of full, whose phase 1 has had 0 of "
                  "64 arrivals (mbarrier.hpp:"});
    expect_fault(launch_ring<Mistake::no_arrival_of_one_producer>(from, &out),
                 {"parity 0 of full, whose phase 0 has had 63 of 64 arrivals", "(64,0,0)"});
  }
}

// --- what an mbarrier cannot be used for

__global__ void arrive_behind_the_waiter() {
  __shared__ Mbarrier barrier;
  if (threadIdx.x == 0) mbarrier_init(&barrier, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_wait(&barrier, 0);
  } else {
    mbarrier_arrive(&barrier);
  }
}

TEST_F(HostSimt, MoreArrivalsThanExpectedAreFaults) {
  constexpr unsigned threads = 31;  // 30 phases: parity 0 again
  options().order = Order::forward;
  expect_fault(gpu::launch(arrive_behind_the_waiter, {1, threads}),
               {"arrive_behind_the_waiter", "thread (2,0,0), mbarrier.hpp:",
                "mbarrier_arrive ends a phase of barrier, whose phase 1", "thread (0,0,0)",
                "has not yet seen the end of the phase before", "1 arrivals"});
  expect_ok(gpu::launch(arrive_behind_the_waiter, {1, 2}));
  options().order = Order::reverse;
  expect_fault(gpu::launch(arrive_behind_the_waiter, {1, threads}),
               {"deadlock", "thread (0,0,0)", "barrier, whose phase 30 has had 0 of 1 arrivals"});
  expect_ok(gpu::launch(arrive_behind_the_waiter, {1, 2}));
}

enum class Call { wait, arrive, arrive_after_copies };

__global__ void use(Call call, unsigned overwrite) {
  __shared__ Mbarrier barriers[2];
  if (overwrite != 0) {
    mbarrier_init(&barriers[1], 1);
    if (overwrite == 2) barriers[1].state = 0;
  }
  switch (call) {
    case Call::wait: mbarrier_wait(&barriers[1], 1); break;
    case Call::arrive: mbarrier_arrive(&barriers[1]); break;
    case Call::arrive_after_copies: mbarrier_arrive_after_copies(&barriers[1]); break;
  }
}

__global__ void use_dynamic() { mbarrier_arrive(gpu::dynamic_shared<Mbarrier>() + 2); }

TEST_F(HostSimt, WhatIsNoMbarrierIsAFault) {
  for (const Order order : orders) {
    options().order = order;
    for (const Call call : {Call::wait, Call::arrive, Call::arrive_after_copies}) {
      expect_fault(gpu::launch(use, {1, 1}, call, 0u),
                   {"kernel use", "mbarrier.hpp:", "of barriers + 8 bytes, which is no mbarrier"});
      expect_fault(gpu::launch(use, {1, 1}, call, 2u), {"which is no mbarrier or has been"});
      expect_ok(gpu::launch(use, {1, 1}, call, 1u));
    }
    expect_fault(gpu::launch(use_dynamic, {1, 1, 64}),
                 {"mbarrier_arrive of dynamic shared memory + 16 bytes, which is no mbarrier"});
  }
}

// The arrival lands when nothing else can go on, and finds something else there.
__global__ void overwrite_before_arrival() {
  __shared__ Mbarrier barriers[2];
  mbarrier_init(&barriers[0], 1);
  mbarrier_init(&barriers[1], 1);
  mbarrier_arrive_after_copies(&barriers[0]);
  barriers[0].state = 0;
  mbarrier_wait(&barriers[1], 0);
}

TEST_F(HostSimt, ArrivalsThatLandOnSomethingElseAreFaults) {
  options().order = Order::forward;
  expect_fault(gpu::launch(overwrite_before_arrival, {1, 1}),
               {"mbarrier_arrive_after_copies of barriers, which is no mbarrier"});
}

__global__ void init_for(unsigned arrivals) {
  __shared__ Mbarrier barrier;
  mbarrier_init(&barrier, arrivals);
}
__global__ void wait_for(unsigned parity) {
  __shared__ Mbarrier barrier;
  mbarrier_init(&barrier, 1);
  mbarrier_wait(&barrier, parity);
}
__global__ void init_again() {
  __shared__ Mbarrier barrier;
  if (threadIdx.x == 0) mbarrier_init(&barrier, 2);
  __syncthreads();
  if (threadIdx.x < 32) mbarrier_wait(&barrier, 0);
  __syncwarp();
  if (threadIdx.x == 40) mbarrier_init(&barrier, 2);
}

TEST_F(HostSimt, ImpossibleCallsOfMbarriersAreFaults) {
  expect_fault(gpu::launch(init_for, {1, 1}, 0u), {"mbarrier_init for 0 arrivals", "1 to 4095"});
  expect_fault(gpu::launch(init_for, {1, 1}, 4096u), {"mbarrier_init for 4096 arrivals"});
  expect_ok(gpu::launch(init_for, {1, 1}, 4095u));
  expect_fault(gpu::launch(wait_for, {1, 1}, 2u), {"mbarrier_wait for parity 2", "0 or 1"});
  expect_ok(gpu::launch(wait_for, {1, 1}, 1u));
  options().order = Order::forward;
  expect_fault(gpu::launch(init_again, {1, 64}),
               {"thread (40,0,0)", "mbarrier_init while thread (0,0,0) waits for barrier"});
}

// --- named barriers

template <bool Sync>
__global__ void exchange_among_some(int rounds, int* wrong) {
  __shared__ int values[2][consumers];
  if (threadIdx.x < producers) return;
  const unsigned own = threadIdx.x - producers;
  for (int round = 0; round < rounds; ++round) {
    values[round % 2][own] = round + static_cast<int>(own);
    if (Sync) sync_some_threads<1, consumers>();
    const unsigned other = (own + 77) % consumers;
    if (values[round % 2][other] != round + static_cast<int>(other)) atomicAdd(wrong, 1);
  }
}

TEST_F(HostSimt, NamedBarriersLetOthersLeave) {
  for (const int warp_size : {32, 64}) {
    options().warp_size = warp_size;
    for (const Order order : orders) {
      options().order = order;
      int wrong = 0;
      expect_ok(gpu::launch(exchange_among_some<false>, {1, producers + consumers}, 5, &wrong));
      EXPECT_GT(wrong, 0);
      for (int seed = 0; seed < (order == Order::random ? seeds : 1); ++seed) {
        options().seed = run_seed() + static_cast<std::uint64_t>(seed);
        wrong = 0;
        expect_ok(gpu::launch(exchange_among_some<true>, {2, producers + consumers}, 5, &wrong));
        EXPECT_EQ(wrong, 0) << to_string(order) << " seed " << seed;
      }
    }
  }
}

// Halves of a block that meet at barriers of their own.
__global__ void meet_in_groups(int* violations) {
  __shared__ int come[2];
  if (threadIdx.x < 2) come[threadIdx.x] = 0;
  __syncthreads();
  const bool low = threadIdx.x < 64;
  const int at = low ? 0 : 1;
  for (int round = 1; round <= 6; ++round) {
    atomicAdd(&come[at], 1);
    if (low) {
      sync_some_threads<1, 64>();
    } else {
      sync_some_threads<15, 64>();
    }
    if (come[at] < 64 * round) atomicAdd(violations, 1);
  }
}

TEST_F(HostSimt, NamedBarriersAreIndependent) {
  for (int seed = 0; seed < seeds; ++seed) {
    options().seed = static_cast<std::uint64_t>(seed);
    int violations = 0;
    expect_ok(gpu::launch(meet_in_groups, {1, 128}, &violations));
    EXPECT_EQ(violations, 0) << "seed " << seed;
  }
}

__global__ void disagree() {
  if (threadIdx.x < 32) {
    sync_some_threads<3, 64>();
  } else {
    sync_some_threads<3, 96>();
  }
}
__global__ void come_in_part() {
  if (threadIdx.x >= 64) return;
  sync_some_threads<2, 128>();
}
__global__ void split_warps() {
  if (threadIdx.x >= 16 && threadIdx.x < 48) sync_some_threads<1, 32>();
}
__global__ void sync_at(int id, int threads) { host_simt::sync_some_threads(id, threads); }

TEST_F(HostSimt, NamedBarriersThatCannotCompleteAreFaults) {
  for (const Order order : orders) {
    options().order = order;
    expect_fault(gpu::launch(disagree, {1, 96}),
                 {"disagree", "mbarrier.hpp:", "at barrier 3", "waits there for", "same number"});
    expect_fault(
        gpu::launch(come_in_part, {1, 128}),
        {"deadlock: a barrier of some threads",
         "64 threads at sync_some_threads of barrier 2, where 64 of 128 have come (mbarrier.hpp:"});
    expect_fault(gpu::launch(split_warps, {1, 64}), {"barrier 1", "one warp, but not all of them"});
  }
  expect_fault(gpu::launch(sync_at, {1, 32}, 0, 32), {"32 threads at barrier 0", "1 to 15"});
  expect_fault(gpu::launch(sync_at, {1, 32}, 16, 32), {"32 threads at barrier 16", "1 to 15"});
  expect_fault(gpu::launch(sync_at, {1, 32}, 1, 64), {"64 threads", "the 32 threads"});
  expect_fault(gpu::launch(sync_at, {1, 32}, 1, 16), {"16 threads", "whole warps of 32"});
  expect_ok(gpu::launch(sync_at, {1, 32}, 1, 32));
}

TEST_F(HostSimt, LaunchesWorkAfterFaultsAtMbarriers) {
  const std::vector<float> from = ring_input();
  const float want = ring_sum(from);
  std::vector<float> out;
  for (int seed = 0; seed < 10; ++seed) {
    options().seed = static_cast<std::uint64_t>(seed);
    EXPECT_FALSE(launch_ring<Mistake::no_arrival_of_consumers>(from, &out).ok());
    EXPECT_FALSE(gpu::launch(come_in_part, {3, 128}).ok());
    EXPECT_FALSE(gpu::launch(disagree, {3, 96}).ok());
    expect_ok(launch_ring<Mistake::none>(from, &out));
    EXPECT_EQ(out, std::vector<float>(out.size(), want));
  }
}

}  // namespace
}  // namespace KW_TARGET
