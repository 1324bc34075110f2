// Stacks that are used again, at the same address, by frames of other shapes: what the last ones
// left must not show. Under AddressSanitizer a mark that they left would end the program.
#include "host_simt/fiber.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>

#include "fixture.hpp"

namespace KW_TARGET {
namespace {

// The compiler must take `data` for used.
template <class T>
void use(T& data) {
  asm volatile("" : : "r"(&data) : "memory");
}

template <class T>
void clear_and_use(T& data) {
  std::memset(&data, 0, sizeof data);
  use(data);
}

// Frames whose variables live all the time that the function runs.
template <int depth, int words>
[[gnu::noinline]] void fill_frames() {
  float most_of_the_frame[words];
  double beside_it[3];
  clear_and_use(most_of_the_frame);
  clear_and_use(beside_it);
  if constexpr (depth > 0) fill_frames<depth - 1, words + 5>();
  use(beside_it);
}

struct Guard {
  int value = 1;
  ~Guard() { use(value); }
};

// Frames whose variables come and go, with the barrier at the bottom of them.
template <int depth, int words>
[[gnu::noinline]] void descend_to_barrier() {
  for (int i = 0; i < 2; ++i) {
    float outer[words];
    clear_and_use(outer);
    {
      Guard guard;
      use(guard);
      if (i == 1) {
        if constexpr (depth > 0) {
          descend_to_barrier<depth - 1, words + depth % 3>();
        } else {
          __syncthreads();
        }
      }
    }
    float later[words + 3];
    clear_and_use(later);
  }
}

TEST(Fibers, AnEndedOneLeavesNothingToTheNextOnItsStack) {
  host_simt::Fiber home;
  std::set<std::uintptr_t> pages;  // that the first variables of a stack lie in
  for (std::size_t index = 0; index < 64; ++index) {
    host_simt::Fiber fiber(index, &home, [&pages] {
      const int first = 0;
      pages.insert(reinterpret_cast<std::uintptr_t>(&first) / 65536);
      fill_frames<9, 1>();
      fill_frames<4, 150>();
      fill_frames<2, 2000>();
    });
    home.switch_to(fiber);
  }
  EXPECT_LT(pages.size(), 32u) << "hardly a stack was mapped where another had been";
}

__global__ void all_meet() { descend_to_barrier<9, 16>(); }
template <int words>
__global__ void one_leaves() {
  if (threadIdx.x != 40) descend_to_barrier<9, words>();
}
template <int words>
__global__ void fill() {
  fill_frames<5, words>();
}

TEST_F(HostSimt, AbandonedFramesLeaveNothingToTheNextOnes) {
  for (std::uint64_t round = 0; round < 4; ++round) {
    options().seed = round;
    expect_fault(gpu::launch(one_leaves<5>, {3, 64}), {"one_leaves", "left the kernel"});
    expect_ok(gpu::launch(fill<1>, {3, 128}));
    expect_fault(gpu::launch(one_leaves<40>, {3, 128}), {"one_leaves", "left the kernel"});
    expect_ok(gpu::launch(all_meet, {3, 96}));
    expect_ok(gpu::launch(fill<700>, {3, 128}));
    if (round == 1) host_simt::shutdown();
  }
}

}  // namespace
}  // namespace KW_TARGET
