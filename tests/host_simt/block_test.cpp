// Host SIMT itself: order, launches, shared and device memory, options.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "host_simt/device_memory.hpp"
#include "host_simt/uneven_warps.hpp"

namespace KW_TARGET {
namespace {

using host_simt::Options;
using host_simt::Order;

// --- order and indices

__global__ void note_arrival(int* arrivals, int* count) {
  const int place = atomicAdd(count, 1);
  arrivals[place] = static_cast<int>(threadIdx.x);
}

std::vector<int> arrivals(unsigned threads) {
  std::vector<int> order(threads, -1);
  int count = 0;
  EXPECT_TRUE(gpu::launch(note_arrival, {1, threads}, order.data(), &count).ok());
  return order;
}

TEST_F(HostSimt, ForwardAndReverseOrderAreExact) {
  std::vector<int> forward(100);
  std::iota(forward.begin(), forward.end(), 0);
  options().order = Order::forward;
  EXPECT_EQ(arrivals(100), forward);
  options().order = Order::reverse;
  EXPECT_EQ(arrivals(100), std::vector<int>(forward.rbegin(), forward.rend()));
}

TEST_F(HostSimt, RandomOrderFollowsTheSeed) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    options().seed = seed;
    const auto order = arrivals(64);
    EXPECT_EQ(order, arrivals(64)) << "seed " << seed;
    EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 64u);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 20u);
}

__global__ void note_indices(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  atomicAdd(&out[block * blockDim.x * blockDim.y * blockDim.z + thread], 1u);
}

TEST_F(HostSimt, EveryThreadOfAThreeDimensionalGridRunsOnce) {
  std::vector<unsigned> count(2 * 3 * 4 * 5 * 6 * 7, 0);
  expect_ok(gpu::launch(note_indices, {dim3(2, 3, 4), dim3(5, 6, 7)}, count.data()));
  EXPECT_EQ(count, std::vector<unsigned>(count.size(), 1));
}

TEST_F(HostSimt, GridsWithoutBlocksDoNothing) {
  expect_ok(gpu::launch(note_indices, {dim3(3, 0, 1), 32}, nullptr));
  expect_ok(host_simt::launch(nullptr, {dim3(0), dim3(32), 0}, [] { FAIL(); }));
}

__global__ void count_threads(std::int64_t* total) {
  if (__syncthreads_count(1) != static_cast<int>(blockDim.x)) return;
  if (threadIdx.x == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(total),
              static_cast<unsigned long long>(blockDim.x));
  }
}

TEST_F(HostSimt, LargeBlocksAndGrids) {
  std::int64_t total = 0;
  expect_ok(gpu::launch(count_threads, {7, 1024}, &total));
  EXPECT_EQ(total, 7 * 1024);
  total = 0;
  expect_ok(gpu::launch(count_threads, {50000, 3}, &total));
  EXPECT_EQ(total, 150000);
}

TEST_F(HostSimt, AnyNumberOfWorkers) {
  for (const int workers : {1, 2, 7, 3}) {
    options().workers = workers;
    std::int64_t total = 0;
    expect_ok(gpu::launch(count_threads, {40, 64}, &total));
    EXPECT_EQ(total, 40 * 64);
  }
  host_simt::shutdown();
  std::int64_t total = 0;
  expect_ok(gpu::launch(count_threads, {4, 64}, &total));
  EXPECT_EQ(total, 4 * 64);
}

TEST_F(HostSimt, ManyThreadsMayLaunchAtOnce) {
  std::vector<std::int64_t> totals(8, 0);
  std::vector<std::thread> callers;
  callers.reserve(totals.size());
  for (std::int64_t& total : totals) {
    callers.emplace_back([&total] {
      for (int i = 0; i < 50; ++i) {
        if (!gpu::launch(count_threads, {5, 96}, &total).ok()) total = -1000000;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::int64_t total : totals) EXPECT_EQ(total, 50 * 5 * 96);
}

// --- shared memory

__device__ float* scratch_of_device_function() {
  __shared__ float scratch[3];
  return scratch;
}

template <class T>
__global__ void look_at_shared(T* seen, float* seen_by_function) {
  __shared__ T array[2][5];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 10; ++i) seen[blockIdx.x * 10 + i] = array[i / 5][i % 5];
    for (int i = 0; i < 3; ++i) {
      seen_by_function[blockIdx.x * 3 + i] = scratch_of_device_function()[i];
    }
  }
  __syncthreads();
  if (threadIdx.x < 10) array[threadIdx.x / 5][threadIdx.x % 5] = T(7);
  if (threadIdx.x < 3) scratch_of_device_function()[threadIdx.x] = 7;
}

TEST_F(HostSimt, StaticSharedMemoryIsPoisonedBeforeEachBlock) {
  ASSERT_EQ(host_simt::poison_obstacle(), "");
  std::vector<float> seen(50 * 10, 0), function(50 * 3, 0);
  std::vector<int> seen_int(50 * 10, 0);
  for (int round = 0; round < 2; ++round) {
    expect_ok(gpu::launch(look_at_shared<float>, {50, 32}, seen.data(), function.data()));
    expect_ok(gpu::launch(look_at_shared<int>, {50, 32}, seen_int.data(), function.data()));
    for (const float x : seen) EXPECT_TRUE(std::isnan(x));
    for (const float x : function) EXPECT_TRUE(std::isnan(x));
    EXPECT_EQ(seen_int, std::vector<int>(50 * 10, -1));
  }
}

TEST_F(HostSimt, SharedArraysHaveNames) {
  const auto arrays =
      host_simt::shared_arrays(reinterpret_cast<const void*>(&look_at_shared<float>));
  std::multiset<std::pair<std::string, std::size_t>> found;
  for (const auto& array : arrays) found.insert({array.name, array.bytes});
  EXPECT_EQ(found.count({"array", 2 * 5 * sizeof(float)}), 1u);
  EXPECT_EQ(found.count({"scratch", 3 * sizeof(float)}), 1u);
}

TEST_F(HostSimt, WithoutPoisonABlockFindsWhatTheLastOneLeft) {
  options().poison = false;
  options().workers = 1;
  std::vector<float> seen(2 * 10, 0), function(2 * 3, 0);
  expect_ok(gpu::launch(look_at_shared<float>, {2, 32}, seen.data(), function.data()));
  EXPECT_EQ(seen.back(), 7.0f);
  EXPECT_EQ(function.back(), 7.0f);
}

thread_local float beside_shared[16] = {1, 2, 3};

__global__ void read_thread_local(float* out) {
  __shared__ float array[16];
  array[threadIdx.x] = 0;
  out[threadIdx.x] = beside_shared[threadIdx.x] + array[threadIdx.x];
}

TEST_F(HostSimt, PoisonTouchesNothingButSharedArrays) {
  std::vector<float> out(16, -1);
  expect_ok(gpu::launch(read_thread_local, {1, 16}, out.data()));
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[2], 3);
  EXPECT_EQ(out[15], 0);
}

__global__ void look_at_dynamic(float* seen, int words, std::uintptr_t* address) {
  float* array = gpu::dynamic_shared<float>();
  if (threadIdx.x != 0) return;
  *address = reinterpret_cast<std::uintptr_t>(array);
  for (int i = 0; i < words; ++i) seen[i] = array[i];
  for (int i = 0; i < words; ++i) array[i] = 1;
}

TEST_F(HostSimt, DynamicSharedMemoryIsAlignedAndPoisoned) {
  for (const int words : {1, 33, 58112}) {
    std::vector<float> seen(static_cast<std::size_t>(words), 0);
    std::uintptr_t address = 1;
    for (int round = 0; round < 2; ++round) {
      expect_ok(gpu::launch(look_at_dynamic,
                            {1, 32, static_cast<std::size_t>(words) * sizeof(float)}, seen.data(),
                            words, &address));
      EXPECT_EQ(address % 128, 0u);
      for (const float x : seen) ASSERT_TRUE(std::isnan(x));
    }
  }
}

__global__ void write_dynamic(int word) { gpu::dynamic_shared<float>()[word] = 1; }

TEST_F(HostSimt, WritingBesideDynamicSharedMemoryIsAFault) {
  for (const int word : {-1, 100}) {
    const auto launch = [=] { return gpu::launch(write_dynamic, {1, 1, 400}, word); };
    if constexpr (host_simt::address_sanitizer) {
      GTEST_FLAG_SET(death_test_style, "threadsafe");
      EXPECT_DEATH((void)launch(), "AddressSanitizer: use-after-poison");
    } else {
      expect_fault(launch(), {"write_dynamic", "400 bytes of dynamic shared memory"});
    }
  }
  expect_ok(gpu::launch(write_dynamic, {1, 1, 400}, 99));
}

#if defined(__SANITIZE_ADDRESS__)
__global__ void write_static(int word) {
  __shared__ float array[10];
  array[word] = 1;
  array[0] = array[word];
}
__global__ void read_float4(const float* from, float* to) {
  *to = reinterpret_cast<const float4*>(from)->x;
}

TEST_F(HostSimt, SanitizersSeeInsideKernels) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  expect_ok(gpu::launch(write_static, {1, 1}, 9));
  EXPECT_DEATH((void)gpu::launch(write_static, {1, 1}, 10),
               "global-buffer-overflow|ILL .*write_static");
  std::vector<float> data(8);
  float* end = data.data() + 8;
  EXPECT_DEATH((void)gpu::launch(read_float4, {1, 1}, end, data.data()), "heap-buffer-overflow");
  alignas(16) float aligned[8] = {};
  EXPECT_DEATH((void)gpu::launch(read_float4, {1, 1}, &aligned[1], data.data()),
               "ILL .*read_float4");
}
#endif

// --- uneven warps

// Four warps, each of which says that it has been somewhere; one that does not wait for the others
// there may find that they have not.
template <bool waits>
__global__ void meet(int* missed) {
  __shared__ int has_come[4];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (threadIdx.x < 4) has_come[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < 20; ++i) __syncwarp();
  has_come[warp] = 1;
  for (int i = 0; i < 20; ++i) __syncwarp();
  if (waits) __syncthreads();
  for (const int here : has_come)
    if (here == 0) atomicAdd(missed, 1);
}

TEST_F(HostSimt, UnevenWarpsMissABarrierThatIsNotThere) {
  const auto misses = [](auto kernel, bool uneven) {
    int launches = 0;
    host_simt::uneven_warps() = uneven;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      options().seed = seed;
      int missed = 0;
      expect_ok(gpu::launch(kernel, {1, 128}, &missed));
      launches += missed > 0 ? 1 : 0;
    }
    host_simt::uneven_warps() = false;
    return launches;
  };
  EXPECT_EQ(misses(meet<false>, true), 10);
  EXPECT_EQ(misses(meet<true>, true), 0);
  EXPECT_LT(misses(meet<false>, false), 5) << "why else have uneven warps";
}

// --- options and memory

TEST_F(HostSimt, OrdersHaveNames) {
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    Order parsed = Order::forward;
    EXPECT_TRUE(host_simt::parse_order(host_simt::to_string(order), &parsed));
    EXPECT_EQ(parsed, order);
  }
  Order order = Order::reverse;
  EXPECT_FALSE(host_simt::parse_order("sideways", &order));
  EXPECT_EQ(order, Order::reverse);
}

// The options are read once a program, so each value needs one of its own: a death test's child.
void expect_with_environment(const char* name, const char* value, const char* output) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* const set = std::getenv(name);
  const std::string before = set == nullptr ? "" : set;  // nothing is as good as unset
  ASSERT_EQ(setenv(name, value, 1), 0);
  EXPECT_EXIT(
      {
        const Options& o = host_simt::options();
        const Status status = host_simt::launch(nullptr, {1, 1, 0}, [] {});
        std::cerr << "warp_size=" << o.warp_size << " order=" << to_string(o.order)
                  << " seed=" << o.seed << " poison=" << o.poison << " fences=" << o.fences
                  << " workers=" << o.workers << "; " << status.message << std::endl;
        std::_Exit(status.ok() ? 0 : 3);
      },
      [](int) { return true; }, output);
  ASSERT_EQ(setenv(name, before.c_str(), 1), 0);
}

TEST(HostSimtEnvironment, SetsTheOptions) {
  expect_with_environment("KW_HOST_SIMT_WARP_SIZE", "64", "warp_size=64 .*; *\n");
  expect_with_environment("KW_HOST_SIMT_ORDER", "reverse", "order=reverse .*; *\n");
  expect_with_environment("KW_HOST_SIMT_SEED", "77", "seed=77 .*; *\n");
  expect_with_environment("KW_HOST_SIMT_POISON", "0", "poison=0 .*; *\n");
  expect_with_environment("KW_HOST_SIMT_FENCES", "1", "fences=1 .*; *\n");
  expect_with_environment("KW_HOST_SIMT_WORKERS", "3", "workers=3; *\n");
}

TEST(HostSimtEnvironment, RefusesWhatMeansNothing) {
  expect_with_environment("KW_HOST_SIMT_ORDER", "sideways",
                          "environment variable KW_HOST_SIMT_ORDER is \"sideways\": set it to "
                          "forward, reverse or random");
  expect_with_environment("KW_HOST_SIMT_WARP_SIZE", "48", "KW_HOST_SIMT_WARP_SIZE.*32 or 64");
  expect_with_environment("KW_HOST_SIMT_SEED", "1x", "KW_HOST_SIMT_SEED is \"1x\"");
  expect_with_environment("KW_HOST_SIMT_POISON", "yes", "KW_HOST_SIMT_POISON.*0 or 1");
  expect_with_environment("KW_HOST_SIMT_FENCES", "2", "KW_HOST_SIMT_FENCES.*0 or 1");
  expect_with_environment("KW_HOST_SIMT_WORKERS", "0", "KW_HOST_SIMT_WORKERS.*1 to 1024");
}

TEST_F(HostSimt, DeviceMemoryIsAlignedAndNaN) {
  host_simt::DeviceMemory memory;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{4}, std::size_t{1000}}) {
    auto* data = static_cast<float*>(memory.allocate(bytes));
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 256, 0u);
    for (std::size_t i = 0; i < bytes / 4; ++i) EXPECT_TRUE(std::isnan(data[i]));
    memory.release(data);
  }
  EXPECT_EQ(memory.allocate(~std::size_t{0} - 100), nullptr);
  memory.release(nullptr);
}

__global__ void write_word(float* data, int word) { data[word] = 1; }

TEST_F(HostSimt, WritingBesideDeviceMemoryIsFound) {
  host_simt::DeviceMemory memory;
  for (const int word : {-1, 10}) {
    auto* data = static_cast<float*>(memory.allocate(40));
    const auto launch = [=] { return gpu::launch(write_word, {1, 1}, data, word); };
    if constexpr (host_simt::address_sanitizer) {
      GTEST_FLAG_SET(death_test_style, "threadsafe");
      EXPECT_DEATH((void)launch(), "heap-buffer-overflow");
      memory.release(data);
    } else {
      const std::int64_t before = host_simt::DeviceMemory::damaged();
      expect_ok(launch());
      memory.release(data);
      EXPECT_EQ(host_simt::DeviceMemory::damaged(), before + 1);
    }
  }
}

__global__ void read_word(const float* data, int word, float* to) { *to = data[word]; }

// A fence begins at the end of what is a multiple of 16 bytes long, and less than 16 behind it
// otherwise.
TEST_F(HostSimt, ReadingBeyondFencedMemoryEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  options().fences = true;
  for (const auto& [words, word] : {std::pair{12, 12}, {4096, 4096}, {9, 12}, {1, 40}}) {
    host_simt::DeviceMemory memory;
    const auto bytes = static_cast<std::size_t>(words) * sizeof(float);
    auto* data = static_cast<float*>(memory.allocate(bytes));
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 16, 0u);
    auto* to = static_cast<float*>(memory.allocate(sizeof(float)));
    const auto launch = [&](int at) { return gpu::launch(read_word, {1, 1}, data, at, to); };
    expect_ok(launch(words - 1));
    EXPECT_TRUE(std::isnan(*to));
    const std::string found = host_simt::address_sanitizer
                                  ? "heap-buffer-overflow"
                                  : fmt::format(
                                        "read_word.* touches byte {} of an allocation of {} bytes, "
                                        "block .0,0,0., thread .0,0,0.",
                                        word * 4, bytes);
    EXPECT_DEATH((void)launch(word), found);
    memory.release(to);
    memory.release(data);
  }
}

// Less than 16 bytes lie between its end and its fence: what is written there is found as
// elsewhere.
TEST_F(HostSimt, WritingBesideFencedMemoryIsFound) {
  if constexpr (host_simt::address_sanitizer) return;
  options().fences = true;
  host_simt::DeviceMemory memory;
  for (const int word : {-1, -64, 9, 11}) {
    auto* data = static_cast<float*>(memory.allocate(36));
    const std::int64_t before = host_simt::DeviceMemory::damaged();
    expect_ok(gpu::launch(write_word, {1, 1}, data, word));
    memory.release(data);
    EXPECT_EQ(host_simt::DeviceMemory::damaged(), before + 1) << word;
  }
  auto* data = static_cast<float*>(memory.allocate(36));
  const std::int64_t before = host_simt::DeviceMemory::damaged();
  expect_ok(gpu::launch(write_word, {1, 1}, data, 8));
  memory.release(data);
  EXPECT_EQ(host_simt::DeviceMemory::damaged(), before);
}

}  // namespace
}  // namespace KW_TARGET
