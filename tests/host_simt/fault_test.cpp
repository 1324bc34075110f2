// Every fault that host SIMT promises to report, with the words in which it does.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace KW_TARGET {
namespace {

using host_simt::Order;

constexpr int first_barrier_line = __LINE__ + 3;
__global__ void barriers_in_two_branches() {
  if (threadIdx.x < 40) {  // NOLINT(bugprone-branch-clone)
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST_F(HostSimt, DivergentBarriersAreFaults) {
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    options().order = order;
    expect_fault(
        gpu::launch(barriers_in_two_branches, {2, 64}),
        {"kernel barriers_in_two_branches, block (", ",0,0), thread (", "divergent barrier",
         at_line(first_barrier_line).c_str(), at_line(first_barrier_line + 2).c_str()});
  }
  options().order = Order::forward;
  options().workers = 1;
  EXPECT_EQ(gpu::launch(barriers_in_two_branches, {2, 64}).message,
            "kernel barriers_in_two_branches, block (0,0,0), thread (40,0,0), " +
                at_line(first_barrier_line + 2) +
                ": divergent barrier: it waits at __syncthreads while thread (0,0,0) waits at "
                "__syncthreads (" +
                at_line(first_barrier_line) +
                "): let all threads of the block meet at the same one");
}

constexpr int skipped_barrier_line = __LINE__ + 2;
__global__ void barrier_for_some(unsigned threads) {
  if (threadIdx.x < threads) __syncthreads();
}

TEST_F(HostSimt, LeavingWhileOthersWaitIsAFault) {
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    options().order = order;
    expect_fault(gpu::launch(barrier_for_some, {1, 64}, 63),
                 {"barrier_for_some", "divergent barrier", "left the kernel",
                  at_line(skipped_barrier_line).c_str()});
    expect_ok(gpu::launch(barrier_for_some, {1, 64}, 64));
    expect_ok(gpu::launch(barrier_for_some, {1, 64}, 0));
  }
}

constexpr int stuck_line = __LINE__ + 3;
__global__ void shuffle_or_barrier(int* out) {
  if (threadIdx.x % 32 != 7) {
    *out = __shfl_sync(~0u, *out, 0);
  } else {
    __syncthreads();
  }
}

TEST_F(HostSimt, DeadlockNamesWhoWaitsWhere) {
  int out = 0;
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    options().order = order;
    expect_fault(
        gpu::launch(shuffle_or_barrier, {1, 64}, &out),
        {"shuffle_or_barrier, block (0,0,0), thread (0,0,0)", "deadlock",
         ("62 threads at __shfl_sync (" + at_line(stuck_line) + "), first (0,0,0)").c_str(),
         ("2 threads at __syncthreads (" + at_line(stuck_line + 2) + "), first (7,0,0)").c_str()});
  }
}

__global__ void shuffle_outside_mask(int* out) { *out = __shfl_sync(0x0000FFFFu, 1, 0); }
__global__ void ballot_outside_mask(unsigned* out) { *out = __ballot_sync(0xFFFFFFF0u, 1); }
__global__ void syncwarp_outside_mask() { __syncwarp(0x7FFFFFFFu); }
__global__ void name_absent_lane(int* out) { *out = __shfl_sync(0x00FFFFFFu, 1, 0); }
__global__ void shuffle_after_exit(int* out) {
  if (threadIdx.x == 3) return;
  *out = __shfl_sync(~0u, 1, 0);
}
__global__ void shuffle_width(int* out, int width) { *out = __shfl_sync(~0u, 1, 0, width); }
__global__ void shuffle_in_two_branches(int* out) {
  if (threadIdx.x < 16) {
    out[0] = __shfl_sync(~0u, 1, 0);
  } else {
    out[1] = __shfl_sync(~0u, 1, 0);
  }
}
__global__ void syncwarp_in_two_branches() {
  if (threadIdx.x < 16) {  // NOLINT(bugprone-branch-clone)
    __syncwarp();
  } else {
    __syncwarp();
  }
}

TEST_F(HostSimt, ExchangesWithWrongMasksAreFaults) {
  int out[2];
  unsigned bits = 0;
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    options().order = order;
    expect_fault(gpu::launch(shuffle_outside_mask, {1, 32}, out),
                 {"shuffle_outside_mask", "__shfl_sync with mask 0x0000ffff",
                  "does not name the calling lane"});
    expect_fault(gpu::launch(ballot_outside_mask, {1, 32}, &bits),
                 {"ballot_outside_mask", "__ballot_sync with mask 0xfffffff0"});
    expect_fault(gpu::launch(syncwarp_outside_mask, {1, 32}),
                 {"thread (31,0,0)", "__syncwarp with mask 0x7fffffff", "calling lane 31"});
    expect_fault(gpu::launch(name_absent_lane, {1, 16}, out),
                 {"names lane 16, which the warp does not have"});
    expect_fault(gpu::launch(shuffle_after_exit, {1, 32}, out), {"left the kernel", "lane"});
    expect_fault(gpu::launch(shuffle_width, {1, 32}, out, 12), {"width 12", "power of two"});
    expect_fault(gpu::launch(shuffle_width, {1, 32}, out, 64), {"width 64", "1 to 32"});
    expect_fault(gpu::launch(shuffle_in_two_branches, {1, 32}, out), {"deadlock", "16 threads at"});
    expect_ok(gpu::launch(syncwarp_in_two_branches, {1, 32}));
  }
}

__global__ void throw_in_thread(unsigned thread) {
  if (threadIdx.x == thread) throw std::runtime_error("thirteen");
  __syncthreads();
}

TEST_F(HostSimt, ExceptionsOfKernelsAreFaults) {
  expect_fault(gpu::launch(throw_in_thread, {3, 32}, 13u),
               {"throw_in_thread", "thread (13,0,0)", "exception: thirteen"});
}

__global__ void launch_from_kernel(Status* status) {
  *status = gpu::launch(barrier_for_some, {1, 1}, 1);
}

TEST_F(HostSimt, AKernelCannotLaunch) {
  Status status;
  expect_ok(gpu::launch(launch_from_kernel, {1, 1}, &status));
  expect_fault(status, {"a kernel cannot launch another one"});
}

__global__ void count_threads(std::int64_t* total) {
  if (__syncthreads_and(1) != 0) atomicAdd(total, std::int64_t{1});
}

TEST_F(HostSimt, ImpossibleLaunchesAreFaults) {
  std::int64_t total = 0;
  const auto launch = [&](dim3 grid, dim3 block, std::size_t shared) {
    return gpu::launch(count_threads, {grid, block, shared}, &total);
  };
  expect_fault(launch(1, 1025, 0), {"count_threads", "(1025,1,1)", "1025 threads", "1024"});
  expect_fault(launch(1, dim3(1, 1, 65), 0), {"(1,1,65)", "(1024,1024,64)"});
  expect_fault(launch(1, dim3(32, 0, 1), 0), {"(32,0,1)", "no threads"});
  expect_fault(launch(dim3(1, 65536, 1), 32, 0), {"(1,65536,1)", "(2147483647,65535,65535)"});
  expect_fault(launch(1, 32, 232449), {"232449 bytes", "232448"});
  expect_ok(launch(1, 32, 232448));
  EXPECT_EQ(total, 32);
}

TEST_F(HostSimt, LaunchesWorkAfterAFault) {
  for (int round = 0; round < 20; ++round) {
    options().seed = static_cast<std::uint64_t>(round);
    int out = 0;
    EXPECT_FALSE(gpu::launch(barrier_for_some, {9, 1024}, 1000).ok());
    EXPECT_FALSE(gpu::launch(shuffle_or_barrier, {9, 128}, &out).ok());
    EXPECT_FALSE(gpu::launch(throw_in_thread, {9, 256}, 200u).ok());
    std::int64_t total = 0;
    expect_ok(gpu::launch(count_threads, {5, 512}, &total));
    EXPECT_EQ(total, 5 * 512);
  }
}

TEST_F(HostSimt, KernelsWithoutTheirBarrierAreFoundInRandomOrder) {
  int caught = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    options().seed = seed;
    const auto racy = [](float* out) {
      gpu::dynamic_shared<float>()[threadIdx.x] = 1;
      out[threadIdx.x] = gpu::dynamic_shared<float>()[threadIdx.x ^ 1];  // no barrier between
    };
    std::vector<float> out(64, 0);
    expect_ok(host_simt::launch(nullptr, {1, 64, 256}, [&] { racy(out.data()); }));
    for (const float x : out) {
      if (std::isnan(x)) {
        ++caught;
        break;
      }
    }
  }
  EXPECT_EQ(caught, 20);
}

}  // namespace
}  // namespace KW_TARGET
