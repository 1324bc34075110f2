// What GPU threads exchange in host SIMT: shuffles, votes, counting barriers, atomics, intrinsics
// and asynchronous copies.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "device/async_copy.hpp"
#include "fixture.hpp"

namespace KW_TARGET {
namespace {

using host_simt::Order;

// --- exchanges

template <class T>
__global__ void shuffle_all(host_simt::Shuffle kind, int argument, int width, T* out) {
  const int tid = static_cast<int>(threadIdx.x);
  const T mine = static_cast<T>(tid) + 1000;
  const auto unsigned_argument = static_cast<unsigned>(argument);
  T got = 0;
  switch (kind) {
    case host_simt::Shuffle::index: got = __shfl_sync(~0u, mine, argument, width); break;
    case host_simt::Shuffle::up: got = __shfl_up_sync(~0u, mine, unsigned_argument, width); break;
    case host_simt::Shuffle::down:
      got = __shfl_down_sync(~0u, mine, unsigned_argument, width);
      break;
    case host_simt::Shuffle::butterfly: got = __shfl_xor_sync(~0u, mine, argument, width); break;
  }
  out[tid] = got;
}

// What CUDA's programming guide says that lane `lane` receives.
int expected_source(host_simt::Shuffle kind, int lane, int argument, int width) {
  const int segment = lane / width * width, in_segment = lane % width;
  switch (kind) {
    case host_simt::Shuffle::index: return segment + argument % width;
    case host_simt::Shuffle::up: return in_segment < argument ? lane : lane - argument;
    case host_simt::Shuffle::down: return in_segment + argument >= width ? lane : lane + argument;
    case host_simt::Shuffle::butterfly:
      return (lane ^ argument) >= segment + width ? lane : lane ^ argument;
  }
  return -1;
}

template <class T>
void check_shuffles(int warp_size) {
  using host_simt::Shuffle;
  const int threads = 2 * warp_size;
  std::vector<T> out(static_cast<std::size_t>(threads));
  for (const Shuffle kind : {Shuffle::index, Shuffle::up, Shuffle::down, Shuffle::butterfly}) {
    for (int width = 8; width <= warp_size; width *= 2) {
      for (const int argument : {0, 1, 3, 8, 13, 31}) {
        ASSERT_TRUE(gpu::launch(shuffle_all<T>, {1, static_cast<unsigned>(threads)}, kind, argument,
                                width, out.data())
                        .ok());
        for (int i = 0; i < threads; ++i) {
          const int lane = i % warp_size;
          const int source = i - lane + expected_source(kind, lane, argument, width);
          ASSERT_EQ(out[static_cast<std::size_t>(i)], static_cast<T>(source) + 1000)
              << "kind " << static_cast<int>(kind) << " width " << width << " argument " << argument
              << " thread " << i;
        }
      }
    }
  }
}

TEST_F(HostSimt, ShufflesOf32Lanes) {
  check_shuffles<float>(32);
  check_shuffles<double>(32);
  check_shuffles<int>(32);
  check_shuffles<unsigned>(32);
  check_shuffles<long long>(32);
  check_shuffles<unsigned long long>(32);
}

TEST_F(HostSimt, ShufflesOf64Lanes) {
  options().warp_size = 64;
  check_shuffles<float>(64);
  check_shuffles<double>(64);
}

__device__ float warp_sum(float x) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    x += __shfl_down_sync(~0u, x, static_cast<unsigned>(offset));
  }
  return x;
}

__global__ void block_sum(float* out) {
  __shared__ float sums[32];
  const int tid = static_cast<int>(threadIdx.x);
  const float sum = warp_sum(static_cast<float>(tid));
  if (tid % warpSize == 0) sums[tid / warpSize] = sum;
  __syncthreads();
  if (tid != 0) return;
  float total = 0;
  for (int i = 0; i < static_cast<int>(blockDim.x) / warpSize; ++i) total += sums[i];
  *out = total;
}

TEST_F(HostSimt, NestedDeviceFunctionsReduceABlock) {
  for (const int warp_size : {32, 64}) {
    options().warp_size = warp_size;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      options().seed = seed;
      float sum = 0;
      expect_ok(gpu::launch(block_sum, {1, 512}, &sum));
      EXPECT_EQ(sum, 512 * 511 / 2);
    }
  }
}

// Halves of a warp that exchange on their own, at one call, in unrelated order.
__global__ void exchange_in_halves(int* out) {
  const unsigned lane = threadIdx.x;
  const unsigned mask = lane < 16 ? 0x0000FFFFu : 0xFFFF0000u;
  int sum = 0;
  for (int round = 0; round < 10; ++round) {
    sum += __shfl_xor_sync(mask, static_cast<int>(lane), 1 + round);
    __syncwarp(mask);
  }
  out[lane] = sum;
}

TEST_F(HostSimt, DisjointMasksExchangeIndependently) {
  std::vector<int> out(32);
  expect_ok(gpu::launch(exchange_in_halves, {1, 32}, out.data()));
  for (int lane = 0; lane < 32; ++lane) {
    int want = 0;
    for (int round = 0; round < 10; ++round) want += lane ^ (1 + round);
    EXPECT_EQ(out[static_cast<std::size_t>(lane)], want);
  }
}

template <class Mask>
__global__ void vote(Mask* ballots, int* any, int* all) {
  const int tid = static_cast<int>(threadIdx.x);
  ballots[tid] = __ballot_sync(static_cast<Mask>(~Mask{0}), tid % 3 == 0);
  any[tid] = __any_sync(~0u, tid == 5);
  all[tid] = __all_sync(~0u, tid != 37);
}

TEST_F(HostSimt, Votes) {
  std::vector<unsigned> ballots(64);
  std::vector<int> any(64), all(64);
  expect_ok(gpu::launch(vote<unsigned>, {1, 64}, ballots.data(), any.data(), all.data()));
  for (unsigned i = 0; i < 64; ++i) {
    unsigned want = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((i / 32 * 32 + lane) % 3 == 0) want |= 1u << lane;
    }
    EXPECT_EQ(ballots[i], want);
    EXPECT_EQ(any[i], i < 32);
    EXPECT_EQ(all[i], i < 32);
  }
  options().warp_size = 64;
  std::vector<unsigned long long> wide(64);
  expect_ok(gpu::launch(vote<unsigned long long>, {1, 64}, wide.data(), any.data(), all.data()));
  EXPECT_EQ(wide[63], 0x9249249249249249ull);
  EXPECT_EQ(any[63], 1);
  EXPECT_EQ(all[0], 0);
  expect_fault(gpu::launch(vote<unsigned>, {1, 64}, ballots.data(), any.data(), all.data()),
               {"vote<unsigned int>", "__ballot_sync", "64 lanes", "unsigned long long"});
}

__global__ void barrier_votes(int* out) {
  const int tid = static_cast<int>(threadIdx.x);
  for (int round = 0; round < 5; ++round) {
    const int count = __syncthreads_count(tid < 10 * round);
    const int any = __syncthreads_or(tid == 20 && round == 3);
    const int all = __syncthreads_and(tid != 20 || round == 3);
    if (tid == round) out[round] = count * 100 + any * 10 + all;
  }
}

TEST_F(HostSimt, BarriersCount) {
  std::vector<int> out(5);
  expect_ok(gpu::launch(barrier_votes, {1, 70}, out.data()));
  EXPECT_EQ(out, (std::vector<int>{0, 1000, 2000, 3011, 4000}));
}

__global__ void partial_warp(int* out) {
  const int tid = static_cast<int>(threadIdx.x);
  out[tid] = __shfl_xor_sync(~0u, tid, 1);
  __syncwarp();
}

TEST_F(HostSimt, AFullMaskNamesTheLanesThatAWarpHas) {
  std::vector<int> out(40);
  expect_ok(gpu::launch(partial_warp, {1, 40}, out.data()));
  EXPECT_EQ(out[38], 39);
  EXPECT_EQ(out[39], 38);
}

// --- atomics

struct Totals {
  int i = 0;
  unsigned u = 0;
  unsigned long long ull = 0;
  float f = 0;
  double d = 0;
  int least = 1 << 30, most = -1;
  unsigned exchanged = 0;
  int locked = 0, lock_count = 0;
};

__global__ void add_atomically(Totals* t) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&t->i, 1);
  atomicAdd(&t->u, 2u);
  atomicAdd(&t->ull, 1ull << 32);
  atomicAdd(&t->f, 0.5f);
  atomicAdd(&t->d, 0.25);
  atomicMin(&t->least, static_cast<int>(id) + 3);
  atomicMax(&t->most, static_cast<int>(id));
  atomicExch(&t->exchanged, id);
  while (atomicCAS(&t->locked, 0, 1) != 0) {
  }
  t->lock_count += 1;
  __threadfence();
  atomicExch(&t->locked, 0);
}

TEST_F(HostSimt, AtomicsHoldAcrossWorkers) {
  options().workers = 4;
  Totals t;
  expect_ok(gpu::launch(add_atomically, {200, 64}, &t));
  EXPECT_EQ(t.i, 12800);
  EXPECT_EQ(t.u, 25600u);
  EXPECT_EQ(t.ull, 12800ull << 32);
  EXPECT_EQ(t.f, 6400.0f);
  EXPECT_EQ(t.d, 3200.0);
  EXPECT_EQ(t.least, 3);
  EXPECT_EQ(t.most, 12799);
  EXPECT_LT(t.exchanged, 12800u);
  EXPECT_EQ(t.lock_count, 12800);
}

TEST_F(HostSimt, IntrinsicsCompute) {
  EXPECT_EQ(__popc(0xF0F0u), 8);
  EXPECT_EQ(__popcll(~0ull), 64);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__float_as_int(1.0f), 0x3F800000);
  EXPECT_EQ(__int_as_float(0x40000000), 2.0f);
  EXPECT_EQ(min(3, 4u), 3u);
  EXPECT_EQ(max(-1, 2), 2);
  EXPECT_EQ(max(NAN, 1.0f), 1.0f);
  EXPECT_EQ(__fmaf_rn(2, 3, 4), 10);
  EXPECT_EQ(alignof(float4), 16u);
  EXPECT_EQ(alignof(float2), 8u);
  EXPECT_EQ(sizeof(uint3), 12u);
}

// --- asynchronous copies

// Copies 4 words each in two groups; `wait` of them may be pending when the words are read.
template <int Wait>
__global__ void copy_in_groups(const float* from, float* at_once, float* after_wait) {
  __shared__ __align__(16) float first[4], second[4];
  async_copy<16>(first, from, 16);
  async_commit();
  async_copy<16>(second, from + 4, 12);
  async_commit();
  for (int i = 0; i < 4; ++i) at_once[i] = first[i];
  async_wait<Wait>();
  for (int i = 0; i < 4; ++i) after_wait[i] = first[i];
  for (int i = 0; i < 4; ++i) after_wait[4 + i] = second[i];
}

TEST_F(HostSimt, AsyncCopiesLandAtTheirWait) {
  alignas(16) const float from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float at_once[4], after[8];
  for (const Order order : {Order::forward, Order::reverse}) {
    options().order = order;
    expect_ok(gpu::launch(copy_in_groups<0>, {1, 1}, from, at_once, after));
    EXPECT_TRUE(std::isnan(at_once[0]));
    EXPECT_EQ(std::vector<float>(after, after + 8), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 0}));
    expect_ok(gpu::launch(copy_in_groups<1>, {1, 1}, from, at_once, after));
    EXPECT_EQ(after[3], 4);
    EXPECT_TRUE(std::isnan(after[4]));
    expect_ok(gpu::launch(copy_in_groups<2>, {1, 1}, from, at_once, after));
    EXPECT_TRUE(std::isnan(after[0]));
  }
}

TEST_F(HostSimt, AsyncCopiesMayLandAtOnceInRandomOrder) {
  alignas(16) const float from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float at_once[4], after[8];
  int early = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    options().seed = seed;
    expect_ok(gpu::launch(copy_in_groups<0>, {1, 1}, from, at_once, after));
    early += std::isnan(at_once[0]) ? 0 : 1;
    EXPECT_EQ(after[3], 4);
    EXPECT_EQ(after[7], 0);
  }
  EXPECT_GT(early, 20);
  EXPECT_LT(early, 80);
}

__global__ void copy_misaligned(const float* from, int to_word) {
  __shared__ __align__(16) float array[8];
  host_simt::async_copy(array + to_word, from, 16, 16);
}
__global__ void copy_amount(const float* from, int bytes, int source_bytes) {
  __shared__ __align__(16) float array[8];
  host_simt::async_copy(array, from, bytes, source_bytes);
}

TEST_F(HostSimt, AsyncCopiesThatNoGpuWouldMakeAreFaults) {
  alignas(16) const float from[8] = {};
  expect_ok(gpu::launch(copy_misaligned, {1, 1}, from, 4));
  expect_fault(
      gpu::launch(copy_misaligned, {1, 1}, from, 1),
      {"copy_misaligned", "async_copy of 16 bytes writes to an address 4 past a multiple of 16"});
  expect_fault(gpu::launch(copy_misaligned, {1, 1}, from + 2, 0), {"reads from an address 8 past"});
  expect_fault(gpu::launch(copy_amount, {1, 1}, from, 12, 12),
               {"async_copy of 12 bytes", "4, 8 or 16"});
  expect_fault(gpu::launch(copy_amount, {1, 1}, from, 8, 9), {"of 8 bytes reads 9"});
  expect_ok(gpu::launch(copy_amount, {1, 1}, from, 8, 0));
}

}  // namespace
}  // namespace KW_TARGET
