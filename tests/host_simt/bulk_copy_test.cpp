// Bulk copies in host SIMT, and the bytes that mbarriers count: that right kernels pass in every
// order and wrong ones are found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "device/bulk_copy.hpp"
#include "planted_mistakes.hpp"

namespace KW_TARGET {
namespace {

using host_simt::Order;

constexpr int seeds = 40;

// --- one thread fills a ring of stages, 64 others sum them up

constexpr int stages = 2, tiles = 9, stage_floats = 96;
constexpr unsigned consumers = 64, ring_threads = consumers + 32;
constexpr unsigned piece_bytes = stage_floats / 3 * sizeof(float);  // three copies a stage

enum class Mistake {
  none,
  no_wait_for_full,
  no_wait_for_empty,
  arrival_before_read,
  bytes_forgotten,
  one_piece_not_announced,
  one_piece_too_many_announced,
  one_piece_never_copied,
  one_piece_at_the_other_barrier,
};

struct Ring {
  alignas(16) float stage[stages][stage_floats];
  Mbarrier full[stages], empty[stages];
};

template <Mistake mistake>
__device__ void produce(Ring& ring, const float* from) {
  for (int tile = 0; tile < tiles; ++tile) {
    const int s = tile % stages;
    if (mistake != Mistake::no_wait_for_empty) {
      mbarrier_wait(&ring.empty[s], static_cast<unsigned>(tile / stages % 2) ^ 1);
    }
    unsigned announced = 3 * piece_bytes;
    if (mistake == Mistake::one_piece_not_announced) announced -= piece_bytes;
    if (mistake == Mistake::one_piece_too_many_announced) announced += piece_bytes;
    const auto arrive = [&] {
      if (mistake == Mistake::bytes_forgotten) {
        mbarrier_arrive(&ring.full[s]);
      } else {
        mbarrier_arrive_expecting(&ring.full[s], announced);
      }
    };
    if (tile % 2 == 0) arrive();  // or after the copies, which may have landed by then
    for (int piece = 0; piece < 3; ++piece) {
      if (mistake == Mistake::one_piece_never_copied && tile == 4 && piece == 1) continue;
      const int other =
          mistake == Mistake::one_piece_at_the_other_barrier && piece == 1 ? s ^ 1 : s;
      const int at = piece * stage_floats / 3;
      bulk_copy(ring.stage[s] + at, from + tile * stage_floats + at, piece_bytes,
                &ring.full[other]);
    }
    if (tile % 2 != 0) arrive();
  }
}

// out[i] = sum of (tile + 1) * from[tile][j], for each consumer i of each block.
template <Mistake mistake>
__global__ void ring(const float* from, float* out) {
  __shared__ Ring shared;
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(&shared.full[s], 1);
      mbarrier_init(&shared.empty[s], consumers);
    }
  }
  __syncthreads();
  if (threadIdx.x >= consumers) {
    if (threadIdx.x == consumers) produce<mistake>(shared, from);
    return;
  }
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const int s = tile % stages;
    if (mistake != Mistake::no_wait_for_full) {
      mbarrier_wait(&shared.full[s], static_cast<unsigned>(tile / stages % 2));
    }
    if (mistake == Mistake::arrival_before_read) mbarrier_arrive(&shared.empty[s]);
    for (const float x : shared.stage[s]) sum += static_cast<float>(tile + 1) * x;
    if (mistake != Mistake::arrival_before_read) mbarrier_arrive(&shared.empty[s]);
  }
  out[blockIdx.x * consumers + threadIdx.x] = sum;
}

struct Input {
  static constexpr std::size_t floats = tiles * stage_floats;
  alignas(16) float from[floats];
  float want = 0;  // of small integers: exact
  Input() {
    for (std::size_t i = 0; i < floats; ++i) {
      from[i] = static_cast<float>(i % 13);
      const std::size_t tile = i / stage_floats;
      want += static_cast<float>(tile + 1) * from[i];
    }
  }
};

template <Mistake mistake>
Status launch_ring(const Input& input, std::vector<float>* out) {
  constexpr unsigned blocks = 3;
  out->assign(blocks * consumers, -1);
  return gpu::launch(ring<mistake>, {blocks, ring_threads}, input.from, out->data());
}

// Whether a fault or a wrong result, NaN included, shows it.
template <Mistake mistake>
bool is_caught() {
  const Input input;
  std::vector<float> out;
  if (!launch_ring<mistake>(input, &out).ok()) return true;
  return !std::all_of(out.begin(), out.end(), [&](float x) { return x == input.want; });
}

TEST_F(HostSimt, RingsOfBulkCopiesWorkInEveryOrder) {
  const Input input;
  std::vector<float> out;
  in_every_order(seeds, [&] {
    expect_ok(launch_ring<Mistake::none>(input, &out));
    ASSERT_EQ(out, std::vector<float>(out.size(), input.want));
  });
}

TEST_F(HostSimt, MissingWaitsForBulkCopiesAreCaughtInEveryOrder) {
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_wait_for_full>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_wait_for_empty>);
}

// Copies must land early.
TEST_F(HostSimt, BulkCopiesOverWhatIsReadAreCaughtInRandomOrder) {
  EXPECT_EQ(times_caught_in_random_order(seeds, is_caught<Mistake::arrival_before_read>), seeds);
}

TEST_F(HostSimt, WrongByteCountsAreCaughtInEveryOrder) {
  expect_caught_in_every_order(seeds, is_caught<Mistake::bytes_forgotten>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::one_piece_not_announced>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::one_piece_too_many_announced>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::one_piece_never_copied>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::one_piece_at_the_other_barrier>);
}

TEST_F(HostSimt, BytesThatNeverComeAreDeadlocksThatSayHowMany) {
  const Input input;
  std::vector<float> out;
  for (const Order order : orders) {
    options().order = order;
    expect_fault(launch_ring<Mistake::one_piece_never_copied>(input, &out),
                 {"kernel ring<", "thread (0,0,0), mbarrier.hpp:",
                  "deadlock: an mbarrier waits for bytes that no bulk_copy brings",
                  "64 threads at mbarrier_wait for parity 0 of shared + 768 bytes, whose phase 2 "
                  "has had 1 of 1 arrivals and 128 bytes too few (mbarrier.hpp:"});
    expect_ok(launch_ring<Mistake::none>(input, &out));
    EXPECT_EQ(out, std::vector<float>(out.size(), input.want));
  }
}

// --- single calls

enum class Misuse {
  none,
  bytes_not_of_16,
  no_bytes,
  odd_destination,
  odd_source,
  past_the_array,
  into_global_memory,
  no_mbarrier,
  odd_announcement,
  huge_announcement,
  arrival_while_bytes_are_missing,
  more_than_announced,
  left_under_way,
  left_announced,
  left_unannounced,
  barrier_overwritten,
};

template <Misuse misuse>
__global__ void misuse_bulk_copy(float* from) {
  alignas(16) __shared__ float to[64];
  __shared__ Mbarrier barrier, other;
  const auto is = [](Misuse which) { return misuse == which; };
  mbarrier_init(&barrier, is(Misuse::left_unannounced) || is(Misuse::left_announced) ? 2 : 1);
  if (!is(Misuse::left_unannounced)) {
    mbarrier_arrive_expecting(&barrier, is(Misuse::odd_announcement)    ? 24
                                        : is(Misuse::huge_announcement) ? 524288
                                                                        : 64);
  }
  if (is(Misuse::arrival_while_bytes_are_missing)) mbarrier_arrive(&barrier);
  if (!is(Misuse::left_announced)) {
    bulk_copy(is(Misuse::odd_destination)      ? to + 1
              : is(Misuse::past_the_array)     ? to + 52
              : is(Misuse::into_global_memory) ? from + 16
                                               : to,
              is(Misuse::odd_source) ? from + 2 : from,
              is(Misuse::bytes_not_of_16)       ? 40
              : is(Misuse::no_bytes)            ? 0
              : is(Misuse::more_than_announced) ? 80
                                                : 64,
              is(Misuse::no_mbarrier) ? &other : &barrier);
  }
  if (is(Misuse::barrier_overwritten)) barrier.state = 0;
  if (is(Misuse::left_unannounced)) {
    mbarrier_init(&other, 1);
    mbarrier_arrive_expecting(&other, 64);
    bulk_copy(to, from, 64, &other);
    mbarrier_wait(&other, 0);
  } else if (is(Misuse::barrier_overwritten)) {
    mbarrier_init(&other, 1);
    mbarrier_wait(&other, 0);
  } else if (!is(Misuse::left_under_way) && !is(Misuse::left_announced)) {
    mbarrier_wait(&barrier, 0);
  }
}

template <Misuse misuse>
Status launch_misuse(Order order) {
  alignas(16) float from[64] = {};
  host_simt::options().order = order;
  return gpu::launch(misuse_bulk_copy<misuse>, {1, 1}, from);
}

TEST_F(HostSimt, ImpossibleBulkCopiesAreFaults) {
  for (const Order order : orders) {
    expect_ok(launch_misuse<Misuse::none>(order));
    expect_fault(launch_misuse<Misuse::bytes_not_of_16>(order),
                 {"kernel misuse_bulk_copy<", "thread (0,0,0), bulk_copy.hpp:",
                  "bulk_copy of 40 bytes is impossible: copy a multiple of 16"});
    expect_fault(launch_misuse<Misuse::no_bytes>(order), {"bulk_copy of 0 bytes is impossible"});
    expect_fault(launch_misuse<Misuse::odd_destination>(order),
                 {"writes to an address 4 past a multiple of 16", "align the shared array"});
    expect_fault(launch_misuse<Misuse::odd_source>(order),
                 {"reads from an address 8 past a multiple of 16", "align the source"});
    expect_fault(launch_misuse<Misuse::past_the_array>(order),
                 {"bulk_copy of 64 bytes writes from to + 208 bytes on", "copy less"});
    expect_fault(launch_misuse<Misuse::into_global_memory>(order),
                 {"bulk_copy of 64 bytes writes from address"});
    expect_fault(launch_misuse<Misuse::no_mbarrier>(order),
                 {"bulk_copy of other, which is no mbarrier"});
  }
}

TEST_F(HostSimt, ImpossibleAnnouncementsAreFaults) {
  for (const Order order : orders) {
    expect_fault(launch_misuse<Misuse::odd_announcement>(order),
                 {"bulk_copy.hpp:", "mbarrier_arrive_expecting of 24 bytes at barrier",
                  "announce multiples of 16"});
    expect_fault(launch_misuse<Misuse::huge_announcement>(order),
                 {"mbarrier_arrive_expecting of 524288 bytes", "at most 524272"});
    expect_fault(launch_misuse<Misuse::arrival_while_bytes_are_missing>(order),
                 {"mbarrier_arrive at barrier, whose phase 0 has had 1 of 1 arrivals and 64 bytes "
                  "too few",
                  "let somebody see the end of that phase before"});
  }
}

TEST_F(HostSimt, BytesThatDoNotMatchAreFaults) {
  for (const Order order : orders) {
    expect_fault(launch_misuse<Misuse::more_than_announced>(order),
                 {"thread (0,0,0), bulk_copy.hpp:",
                  "bulk_copy at barrier, whose phase 0 has had 1 "
                  "of 1 arrivals and 16 bytes too many",
                  "mbarrier_arrive_expecting"});
    expect_fault(launch_misuse<Misuse::left_announced>(order),
                 {"the block ends with barrier, whose phase 0 has had 1 of 2 arrivals and 64 bytes "
                  "too few"});
  }
  for (const Order order : {Order::forward, Order::reverse}) {
    expect_fault(launch_misuse<Misuse::left_under_way>(order),
                 {"bulk_copy.hpp:", "the block ends while a bulk_copy of 64 bytes to to is under"});
    expect_fault(launch_misuse<Misuse::barrier_overwritten>(order),
                 {"bulk_copy of barrier, which is no mbarrier or has been overwritten"});
  }
  options().order = Order::forward;
  expect_fault(launch_misuse<Misuse::left_unannounced>(Order::forward),
               {"the block ends with barrier, whose phase 0 has had 0 of 2 arrivals and 64 bytes "
                "too many"});
}

// --- no order among copies

// Waits for the last of some copies and takes the others for granted.
__global__ void rely_on_order(const float* from, int* wrong) {
  constexpr int copies = 4, floats = 4;
  alignas(16) __shared__ float to[copies][floats];
  __shared__ Mbarrier first, last;
  mbarrier_init(&first, 1);
  mbarrier_init(&last, 1);
  mbarrier_arrive_expecting(&first, (copies - 1) * sizeof to[0]);
  mbarrier_arrive_expecting(&last, sizeof to[0]);
  for (int i = 0; i < copies; ++i) {
    bulk_copy(to[i], from + i * floats, sizeof to[0], i == copies - 1 ? &last : &first);
  }
  mbarrier_wait(&last, 0);
  for (int i = 0; i < copies; ++i) *wrong += to[i][1] == from[i * floats + 1] ? 0 : 1;
  mbarrier_wait(&first, 0);
}

TEST_F(HostSimt, OrderAmongBulkCopiesIsNotToBeReliedOn) {
  alignas(16) float from[16];
  std::iota(from, from + 16, 1.0f);
  const auto count_wrong = [&] {
    int wrong = 0;
    expect_ok(gpu::launch(rely_on_order, {1, 1}, from, &wrong));
    return wrong;
  };
  options().order = Order::forward;
  EXPECT_EQ(count_wrong(), 0);
  options().order = Order::reverse;
  EXPECT_EQ(count_wrong(), 3);
  options().order = Order::random;
  int caught = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    options().seed = static_cast<std::uint64_t>(seed);
    caught += count_wrong() > 0 ? 1 : 0;
  }
  EXPECT_GT(caught, seeds / 4);
  EXPECT_LT(caught, seeds);
}

}  // namespace
}  // namespace KW_TARGET
