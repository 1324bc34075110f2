// How blocks of the split kernels select their path (sgemm/hopper/select_path.hpp), where some
// warps come later than others: none of them may read what the others have not written yet.
#include "sgemm/hopper/select_path.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <string>

#include "fixture.hpp"

namespace KW_TARGET {
namespace {

using hopper::BlockRanges;
using hopper::Control;
using hopper::Path;
using hopper::SelectedPath;

constexpr int threads = 256, warps = threads / warp_lanes;
constexpr hopper::Drift drift = {.mixed = 0x1p-24f, .one_sign = 0x1p-22f};

// `first` comes at once, the other warps after many exchanges of their lanes.
template <bool at_once>
__global__ void select_with_late_warps(const Sgemm problem, const Control* control,
                                       int range_blocks, int first, SelectedPath* selected) {
  const int tid = static_cast<int>(threadIdx.x);
  if (tid / warp_lanes != first) {
    for (int i = 0; i < 100; ++i) __syncwarp();
  }
  selected[tid] = hopper::select_path<threads, at_once>(problem, *control, range_blocks,
                                                        control->outlier_count == hopper::too_many,
                                                        drift, tid, [] { __syncthreads(); });
}

class SelectPath : public HostSimt {
 protected:
  SelectPath() {
    options().workers = 1;
    problem_.m = problem_.n = 64, problem_.k = 512;
    for (hopper::ElementWeight& weight : control_->weights) weight = {2, 2, 1};
    for (int block = 0; block < range_blocks; ++block) {
      set_range(block, 1, 1);
      infinite_->ranges[block] = {{0x7F800000u, 0x7F800000u, 0x7F800000u, 0x7F800000u}};
    }
  }

  // The sizes of A's elements that a block has read; B's are 1.
  void set_range(int block, float smallest, float largest) {
    const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
    const std::uint32_t one = bits(1);
    control_->ranges[block] = {{bits(largest), ~bits(smallest), one, ~one}};
  }

  // Every thread of every order comes to the same path, whatever shared memory has from a launch
  // before: there all data were infinite.
  void expect_path(Path want) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      options().seed = seed;
      for (int first = 0; first < warps; ++first) {
        SCOPED_TRACE("first warp " + std::to_string(first));
        expect_path_of(select_with_late_warps<false>, first, want);
        expect_path_of(select_with_late_warps<true>, first, want);
      }
    }
  }

  template <class Kernel>
  void expect_path_of(Kernel* kernel, int first, Path want) {
    SelectedPath selected[threads] = {};
    for (const Control* const control : {infinite_.get(), control_.get()})
      expect_ok(
          gpu::launch(kernel, {1, threads}, problem_, control, range_blocks, first, selected));
    for (int tid = 0; tid < threads; ++tid) ASSERT_EQ(selected[tid].path, want) << "thread " << tid;
    drift_ = selected[0].drift;
  }

  float drift_ = 0;                         // that the last of them found
  static constexpr int range_blocks = 300;  // more than there are threads
  Sgemm problem_;
  std::unique_ptr<Control> control_ = std::make_unique<Control>();
  std::unique_ptr<Control> infinite_ = std::make_unique<Control>();
};

TEST_F(SelectPath, OrdinaryDataTakeThePieces) {
  expect_path(Path::fp16x3);
  control_->outlier_count = hopper::too_many;
  expect_path(Path::bf16x6);
}

// Each warp reads the ranges of other blocks.
TEST_F(SelectPath, OneBlocksRangeCounts) {
  for (const int block : {0, 31, 32, 100, 255, 256, range_blocks - 1}) {
    SCOPED_TRACE(block);
    set_range(block, 0x1p-120f, 1);
    expect_path(Path::fp32);
    set_range(block, 1, 0x1p126f);
    expect_path(Path::fp32);
    set_range(block, 1, 1);
  }
  set_range(7, 0x1p-60f, 0x1p60f);
  expect_path(Path::fp16x3);
}

// An eighth of the elements that were weighed may be light.
TEST_F(SelectPath, LightElementsTakeWhatRoundsLess) {
  const auto set_weights = [&](int first, int count, hopper::ElementWeight weight) {
    for (int element = first; element < first + count; ++element)
      control_->weights[element] = weight;
  };
  set_weights(0, hopper::sampled_elements, {1, 1});
  expect_path(Path::fp16x3);
  set_weights(3, 4, {0.9f, 0.9f});
  expect_path(Path::fp16x3);
  set_weights(3, 5, {0.9f, 1});
  expect_path(Path::bf16x6);
  set_weights(3, 5, {0.9f, 0.9f});
  expect_path(Path::fp32);
  // Those of zeros say nothing, unless all are.
  set_weights(0, hopper::sampled_elements, {0, 0});
  expect_path(Path::fp32);
  set_weights(31, 1, {1, 1});
  expect_path(Path::fp16x3);
  set_weights(31, 1, {0.5f, 0.5f});
  expect_path(Path::fp32);
  // For so short a sum the library does not choose the kernels.
  problem_.k = hopper::bf16x6_scheme.chosen_k - 1;
  expect_path(Path::fp16x3);
}

// Beside a peak one element decides.
TEST_F(SelectPath, OneElementMayDecide) {
  control_->weights[17] = {hopper::decisive_weight, 2};
  expect_path(Path::bf16x6);
  control_->weights[17] = {hopper::decisive_weight, hopper::decisive_weight};
  expect_path(Path::fp32);
}

// The sums' drift is that of elements whose sums are rounded; those that are sums of zeros say
// nothing.
TEST_F(SelectPath, DriftIsThatOfTheSumsThatAreRounded) {
  expect_path(Path::fp16x3);
  EXPECT_EQ(drift_, drift.mixed);
  for (hopper::ElementWeight& weight : control_->weights) weight = {0, 0, 1, 1};
  control_->weights[5] = {2, 2, 0, 1}, control_->weights[9] = {2, 2, 1};
  control_->weights[10] = {2, 2, 0}, control_->weights[31] = {2, 2, 0};
  expect_path(Path::fp16x3);
  EXPECT_EQ(drift_, drift.mixed / 4);
}

// Sums of products of one sign lose more.
TEST_F(SelectPath, DriftIsLargerWhereSignsAreEqual) {
  for (hopper::ElementWeight& weight : control_->weights) weight = {2, 2, 1, 1};
  expect_path(Path::fp16x3);
  EXPECT_EQ(drift_, drift.one_sign);
  for (int lane = 0; lane < warp_lanes; lane += 2) control_->weights[lane] = {2, 2, 1, 0.5f};
  for (int lane = 1; lane < warp_lanes; lane += 2) control_->weights[lane] = {2, 2, 1, 0};
  expect_path(Path::fp16x3);
  EXPECT_EQ(drift_, drift.mixed + (drift.one_sign - drift.mixed) / 4);
}

TEST_F(SelectPath, NothingIsReadWhereAlphaIsZero) {
  problem_.alpha = 0;
  expect_path(Path::fp32);
}

}  // namespace
}  // namespace KW_TARGET
