// The asynchrony of Hopper's matrix instruction in host SIMT: a ring of bulk copies and products
// passes in every order, and kernels that rely on more than they may are found.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "device/bulk_copy.hpp"
#include "device/mbarrier.hpp"
#include "device/wgmma.hpp"
#include "planted_mistakes.hpp"
#include "wgmma_operands.hpp"

namespace KW_TARGET {
namespace {

using host_simt::Order;

// --- a ring of stages: one thread has bulk copies fill them, a warpgroup multiplies

constexpr int stages = 3, ring_steps = 8, ring_n = 64;
constexpr unsigned consumers = 128, ring_threads = consumers + 32;
constexpr unsigned tile_bytes = rows * depth * sizeof(Bits);

enum class Mistake {
  none,
  no_wait_for_full,
  no_wait_for_empty,
  announced_too_little,
  announced_too_much,
  nothing_announced,
  stage_freed_before_wait,
  read_before_wait,
  no_wait_at_the_end,
  no_commit,
  no_fence_at_first,
  no_fence_after_promotion,
  written_under_way,
  one_warp_stays_away,
  one_lane_stays_away,
  warps_disagree,
};

struct Ring {
  alignas(128) Bits a[stages][rows * depth];
  alignas(128) Bits b[stages][ring_n * depth];
  Mbarrier full[stages], empty[stages];
};

template <Mistake mistake>
__device__ void produce(Ring& ring, const Bits* a, const Bits* b) {
  constexpr unsigned announced = mistake == Mistake::announced_too_little ? tile_bytes
                                 : mistake == Mistake::announced_too_much ? 2 * tile_bytes + 16
                                                                          : 2 * tile_bytes;
  for (int step = 0; step < ring_steps; ++step) {
    const int s = step % stages;
    if (mistake != Mistake::no_wait_for_empty) {
      mbarrier_wait(&ring.empty[s], static_cast<unsigned>(step / stages % 2) ^ 1);
    }
    if (mistake == Mistake::nothing_announced) {
      mbarrier_arrive(&ring.full[s]);
    } else {
      mbarrier_arrive_expecting(&ring.full[s], announced);
    }
    bulk_copy(ring.a[s], a + step * rows * depth, tile_bytes, &ring.full[s]);
    bulk_copy(ring.b[s], b + step * ring_n * depth, tile_bytes, &ring.full[s]);
  }
}

// One group stays under way while the next stage is awaited; every fourth step is promoted.
template <Mistake mistake>
__device__ void consume(Ring& ring, float (&sum)[ring_n / 2]) {
  const unsigned warp = threadIdx.x / 32;
  float acc[ring_n / 2] = {};
  for (int step = 0; step < ring_steps; ++step) {
    const int s = step % stages, before = (step + stages - 1) % stages;
    if (mistake != Mistake::no_wait_for_full) {
      mbarrier_wait(&ring.full[s], static_cast<unsigned>(step / stages % 2));
    }
    if (mistake == Mistake::one_warp_stays_away && warp == 2) continue;
    if (mistake == Mistake::one_lane_stays_away && threadIdx.x == 37) continue;
    const bool anew = step % 4 == 0;
    if (anew && mistake != Mistake::no_fence_at_first &&
        (mistake != Mistake::no_fence_after_promotion || step == 0)) {
      wgmma_fence();
    }
    const int b_stage = mistake == Mistake::warps_disagree && warp == 3 ? before : s;
    wgmma<Half::fp16, ring_n>(acc, wgmma_operand(ring.a[s], 128, 256),
                              wgmma_operand(ring.b[b_stage], ring_n * 16, 128), !anew);
    if (mistake != Mistake::no_commit) wgmma_commit();
    if (mistake == Mistake::stage_freed_before_wait) mbarrier_arrive(&ring.empty[s]);
    if (mistake == Mistake::written_under_way && step == 5) acc[3] = 1;
    const bool last = step % 4 == 3;
    if (!last) {
      wgmma_wait<1>();
    } else if (mistake != Mistake::read_before_wait && mistake != Mistake::no_wait_at_the_end) {
      wgmma_wait<0>();
    }
    if (mistake != Mistake::stage_freed_before_wait) {
      if (!anew) mbarrier_arrive(&ring.empty[before]);
      if (last) mbarrier_arrive(&ring.empty[s]);
    }
    if (!last) continue;
    for (int i = 0; i < ring_n / 2; ++i) sum[i] += acc[i];
    if (mistake == Mistake::read_before_wait) wgmma_wait<0>();
  }
}

template <Mistake mistake>
__global__ void ring(const Bits* a, const Bits* b, float* c) {
  __shared__ Ring shared;
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(&shared.full[s], 1);
      mbarrier_init(&shared.empty[s], consumers);
    }
  }
  __syncthreads();
  if (threadIdx.x >= consumers) {
    if (threadIdx.x == consumers) produce<mistake>(shared, a, b);
    return;
  }
  float sum[ring_n / 2] = {};
  consume<mistake>(shared, sum);
  const int t = static_cast<int>(threadIdx.x);
  for (int i = 0; i < ring_n / 2; ++i) {
    c[accumulator_place(t, i, ring_n)] = sum[i];
  }
}

struct RingCase {
  std::vector<Bits> a, b;
  std::vector<float> want;
};

const RingCase& ring_case() {
  static const RingCase made = [] {
    constexpr int k = ring_steps * depth;
    std::mt19937 random(seed_of(3));
    Matrix a = matrix(rows, k), b = matrix(ring_n, k);
    const auto integer = [&] { return encode(Half::fp16, static_cast<int>(random() % 9) - 4); };
    for (Bits& x : a.elements) x = integer();
    for (Bits& x : b.elements) x = integer();
    std::vector<float> want;
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < ring_n; ++j) {
        double sum = 0;
        for (int x = 0; x < k; ++x) {
          sum += decode(Half::fp16, a.at(i, x)) * decode(Half::fp16, b.at(j, x));
        }
        want.push_back(static_cast<float>(sum));
      }
    }
    return RingCase{packed(a, true), packed(b, false), want};
  }();
  return made;
}

template <Mistake mistake>
Status launch_ring(std::vector<float>* c) {
  c->assign(rows * ring_n, -1);
  return gpu::launch(ring<mistake>, {1, ring_threads}, ring_case().a.data(), ring_case().b.data(),
                     c->data());
}

// Whether a fault or a wrong result, NaN included, shows it.
template <Mistake mistake>
bool is_caught() {
  std::vector<float> c;
  return !launch_ring<mistake>(&c).ok() || c != ring_case().want;
}

constexpr int seeds = 30;

TEST_F(HostSimt, RingsOfBulkCopiesAndWgmmaWorkInEveryOrder) {
  std::vector<float> c;
  in_every_order(seeds, [&] {
    expect_ok(launch_ring<Mistake::none>(&c));
    ASSERT_EQ(c, ring_case().want);
  });
}

TEST_F(HostSimt, StagesThatAreReadTooEarlyAreCaughtInEveryOrder) {
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_wait_for_full>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::nothing_announced>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::announced_too_little>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::announced_too_much>);
}

// Copies must land before the product is computed, so forward order need not find it.
TEST_F(HostSimt, StagesThatAreFilledTooEarlyAreCaughtInRandomOrder) {
  EXPECT_EQ(times_caught_in_random_order(seeds, is_caught<Mistake::no_wait_for_empty>), seeds);
  EXPECT_GE(times_caught_in_random_order(seeds, is_caught<Mistake::stage_freed_before_wait>),
            seeds * 9 / 10);
  EXPECT_TRUE(caught_in(Order::reverse, is_caught<Mistake::stage_freed_before_wait>));
}

TEST_F(HostSimt, AccumulatorsThatAreUsedTooEarlyAreCaughtInEveryOrder) {
  expect_caught_in_every_order(seeds, is_caught<Mistake::read_before_wait>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_wait_at_the_end>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::written_under_way>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_commit>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_fence_at_first>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_fence_after_promotion>);
}

TEST_F(HostSimt, WarpgroupsThatDisagreeAreCaughtInEveryOrder) {
  expect_caught_in_every_order(seeds, is_caught<Mistake::one_warp_stays_away>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::one_lane_stays_away>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::warps_disagree>);
}

// --- single calls

enum class Misuse {
  none,
  operand_off_by_2,
  stride_off_by_8,
  stride_too_long,
  operand_past_the_end,
  operand_in_global_memory,
  other_type,
  other_shape,
  other_choice,
  other_groups,
  accumulator_under_way_in_another_shape,
  lanes_swap_accumulators,
  lane_stops_early,
  warp_stops_early,
};

template <Misuse misuse>
__global__ void misuse_wgmma(const Bits* global) {
  alignas(128) __shared__ Bits tile[192 * depth + 8];
  const unsigned t = threadIdx.x;
  for (unsigned i = t; i < 192 * depth; i += blockDim.x) tile[i] = 0;
  __syncthreads();
  float acc[96] = {}, other[96] = {};
  const auto b = wgmma_operand(tile, 128, 256);
  auto a = b;
  if (misuse == Misuse::operand_off_by_2) a = wgmma_operand(tile + 1, 128, 256);
  if (misuse == Misuse::stride_off_by_8) a = wgmma_operand(tile, 128, 264);
  if (misuse == Misuse::stride_too_long) a = wgmma_operand(tile, 262144, 256);
  if (misuse == Misuse::operand_past_the_end) a = advance(b, 128 * depth * sizeof(Bits) + 32);
  if (misuse == Misuse::operand_in_global_memory) a = wgmma_operand(global, 128, 256);
  const auto multiply_64 = [&](float* to, bool add) {
    wgmma<Half::bf16, 64>(reinterpret_cast<float(&)[32]>(*to), a, b, add);
  };
  const bool odd = t == 77;
  wgmma_fence();
  if (misuse == Misuse::other_type && odd) {
    wgmma<Half::fp16, 64>(reinterpret_cast<float(&)[32]>(acc), a, b, false);
  } else if (misuse == Misuse::other_shape && odd) {
    wgmma<Half::bf16, 192>(acc, a, b, false);
  } else {
    multiply_64(acc, misuse == Misuse::other_choice && odd);
  }
  if (misuse == Misuse::other_groups && odd) wgmma_commit();
  if (misuse == Misuse::lanes_swap_accumulators) multiply_64(other, false);
  const bool leaves_out = (misuse == Misuse::lane_stops_early && odd) ||
                          (misuse == Misuse::warp_stops_early && t / 32 == 2);
  if (misuse == Misuse::accumulator_under_way_in_another_shape) {
    wgmma<Half::bf16, 192>(acc, a, b, true);
  } else if (!leaves_out) {
    // A thread may get here before all others: its second product must not be a misuse of its own.
    const bool to_other =
        misuse == Misuse::other_shape || (misuse == Misuse::lanes_swap_accumulators && odd);
    multiply_64(to_other ? other : acc, true);
  }
  wgmma_commit();
  wgmma_wait<0>();
}

template <Misuse misuse>
void expect_misuse(std::initializer_list<const char*> parts) {
  const std::vector<Bits> global(192 * depth + 8);
  const auto aligned = (reinterpret_cast<std::uintptr_t>(global.data()) + 15) / 16 * 16;
  for (const Order order : orders) {
    host_simt::options().order = order;
    const Status status =
        gpu::launch(misuse_wgmma<misuse>, {1, 128}, reinterpret_cast<const Bits*>(aligned));
    EXPECT_EQ(status.code, StatusCode::device_error);
    for (const char* part : parts) {
      EXPECT_NE(status.message.find(part), std::string::npos) << part << " in " << status.message;
    }
  }
}

TEST_F(HostSimt, ImpossibleCallsOfWgmmaAreFaults) {
  for (const Order order : orders) {
    options().order = order;
    expect_ok(gpu::launch(misuse_wgmma<Misuse::none>, {2, 256}, nullptr));
    expect_fault(gpu::launch(misuse_wgmma<Misuse::none>, {1, 96}, nullptr),
                 {"wgmma.hpp:", "a block of 96 threads", "warpgroups of 128"});
  }
  expect_misuse<Misuse::operand_off_by_2>(
      {"wgmma.hpp:", "wgmma whose A starts 2 bytes past a multiple of 16"});
  expect_misuse<Misuse::stride_off_by_8>({"A has a stride of 264 bytes", "below 262144"});
  expect_misuse<Misuse::stride_too_long>({"A has a stride of 262144 bytes", "below 262144"});
  expect_misuse<Misuse::operand_past_the_end>(
      {"A takes 2048 bytes from tile + 4128 bytes on", "(128 along k, 256 along rows)"});
  expect_misuse<Misuse::operand_in_global_memory>({"A takes 2048 bytes from address"});
}

TEST_F(HostSimt, WarpgroupsMustIssueTheSameProducts) {
  expect_misuse<Misuse::other_type>({"another type than", "all 128 threads"});
  expect_misuse<Misuse::other_shape>({"another shape than"});
  expect_misuse<Misuse::other_choice>({"another choice between adding and beginning anew than"});
  expect_misuse<Misuse::other_groups>({"another number of wgmma_commit before it than"});
  expect_misuse<Misuse::accumulator_under_way_in_another_shape>(
      {"accumulator is under way in a product with N = 64"});
  expect_misuse<Misuse::lanes_swap_accumulators>({"not the one that other lanes of the warp name"});
  expect_misuse<Misuse::lane_stops_early>(
      {"thread (", "wgmma.hpp:", "that lane 13 of its warp has not issued"});
  expect_misuse<Misuse::warp_stops_early>(
      {"the block ends, but only 96 of the 128 threads of warpgroup 0 have issued a wgmma"});
}

TEST_F(HostSimt, FaultsOfRingsSayWhatToDo) {
  std::vector<float> c;
  for (const Order order : orders) {
    options().order = order;
    expect_fault(launch_ring<Mistake::announced_too_much>(&c),
                 {"kernel ring<", "deadlock: an mbarrier waits for bytes that no bulk_copy brings",
                  "has had 1 of 1 arrivals and 16 bytes too few"});
    expect_fault(launch_ring<Mistake::no_wait_at_the_end>(&c),
                 {"wgmma.hpp:", "products of wgmma that it has not waited for", "wgmma_wait<0>"});
    expect_fault(launch_ring<Mistake::no_fence_at_first>(&c), {"wgmma_fence"});
    expect_fault(launch_ring<Mistake::written_under_way>(&c),
                 {"wgmma_wait finds", "has written accumulator element 3"});
    expect_fault(launch_ring<Mistake::warps_disagree>(&c), {"another B than other threads"});
    expect_fault(launch_ring<Mistake::one_lane_stays_away>(&c), {"wgmma_wait (wgmma.hpp:"});
    expect_ok(launch_ring<Mistake::none>(&c));
    EXPECT_EQ(c, ring_case().want);
  }
}

}  // namespace
}  // namespace KW_TARGET
