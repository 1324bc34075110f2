// The choice among kernels, on invented rows.
#include "select.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace kw {
namespace {

struct Work {
  int size = 0;
};

using Row = Kernel<Work>;

bool always(const Work&, const Device&) { return true; }
bool never(const Work&, const Device&) { return false; }
bool below_100(const Work& work, const Device&) { return work.size < 100; }
double constant_9_us(const Work&, const Device&) { return 9; }
double size_us(const Work& work, const Device&) { return work.size; }
double sm_count_us(const Work&, const Device& device) { return device.sm_count; }
double endless(const Work&, const Device&) { return std::numeric_limits<double>::infinity(); }

Row row(const char* name, decltype(Row::supports) supports,
        decltype(Row::predicted_us) predicted_us = nullptr) {
  return {.name = name,
          .parent = nullptr,
          .idea = "",
          .role = Role::production,
          .math = Math::fp32,
          .supports = supports,
          .workspace_bytes = no_workspace<Work>,
          .launch = nullptr,
          .predicted_us = predicted_us};
}

const char* chosen(const KernelList<Work>& kernels, const Work& work, const Device& device = {}) {
  const Row* kernel = select_kernel(work, device, kernels);
  return kernel == nullptr ? "none" : kernel->name;
}

TEST(Select, TheShortestPredictionWins) {
  const KernelList<Work> kernels = {row("constant", always, constant_9_us),
                                    row("linear", always, size_us)};
  EXPECT_STREQ(chosen(kernels, {8}), "linear");
  EXPECT_STREQ(chosen(kernels, {10}), "constant");
}

TEST(Select, EqualPredictionsFollowTheList) {
  EXPECT_STREQ(
      chosen({row("constant", always, constant_9_us), row("linear", always, size_us)}, {9}),
      "constant");
  EXPECT_STREQ(
      chosen({row("linear", always, size_us), row("constant", always, constant_9_us)}, {9}),
      "linear");
}

TEST(Select, AKernelWithoutAPredictionComesLast) {
  const KernelList<Work> kernels = {row("unpredicted", always), row("linear", always, size_us),
                                    row("unpredicted_too", always)};
  EXPECT_STREQ(chosen(kernels, {1000000}), "linear");
}

TEST(Select, AmongKernelsWithoutPredictionsTheFirstOfTheListThatSupports) {
  const KernelList<Work> kernels = {row("special", below_100), row("general", always),
                                    row("late", always)};
  EXPECT_STREQ(chosen(kernels, {99}), "special");
  EXPECT_STREQ(chosen(kernels, {100}), "general");
}

TEST(Select, WhatSupportsNotIsNotChosenHoweverFast) {
  const KernelList<Work> kernels = {row("fast", below_100, constant_9_us),
                                    row("slow", always, size_us)};
  EXPECT_STREQ(chosen(kernels, {50}), "fast");
  EXPECT_STREQ(chosen(kernels, {100}), "slow");
}

TEST(Select, PredictionsKnowTheDevice) {
  const KernelList<Work> kernels = {row("by_sms", always, sm_count_us),
                                    row("constant", always, constant_9_us)};
  Device device;
  device.sm_count = 4;
  EXPECT_STREQ(chosen(kernels, {}, device), "by_sms");
  device.sm_count = 132;
  EXPECT_STREQ(chosen(kernels, {}, device), "constant");
}

TEST(Select, AnEndlessPredictionIsStillAKernel) {
  EXPECT_STREQ(chosen({row("endless", always, endless)}, {}), "endless");
}

std::size_t size_bytes(const Work& work, const Device&) {
  return static_cast<std::size_t>(work.size);
}
std::size_t ten_bytes(const Work&, const Device&) { return 10; }

TEST(Select, AWorkspaceLeavesOutWhatNeedsMore) {
  Row whole = row("whole", always, constant_9_us), sliced = row("sliced", always, size_us);
  whole.workspace_bytes = sliced.workspace_bytes = size_bytes;
  sliced.min_workspace_bytes = ten_bytes;
  const KernelList<Work> kernels = {whole, sliced, row("none_needed", always)};
  const auto chosen_with = [&](std::size_t bytes) {
    return std::string(select_kernel(Work{100}, {}, kernels, Math::fp32, bytes)->name);
  };
  EXPECT_EQ(chosen_with(any_workspace), "whole");
  EXPECT_EQ(chosen_with(100), "whole");
  EXPECT_EQ(chosen_with(99), "sliced");
  EXPECT_EQ(chosen_with(10), "sliced");
  EXPECT_EQ(chosen_with(9), "none_needed");
}

TEST(Select, Fp32ServesOtherArithmeticButNotTheOtherWayRound) {
  Row split = row("split", always, constant_9_us);
  split.math = Math::fp32_split;
  const KernelList<Work> kernels = {split, row("fp32", always, size_us)};
  const auto chosen_in = [&](Math math, int size) {
    return std::string(select_kernel(Work{size}, {}, kernels, math)->name);
  };
  EXPECT_EQ(chosen_in(Math::fp32, 100), "fp32");
  EXPECT_EQ(chosen_in(Math::fp32_split, 100), "split");
  EXPECT_EQ(chosen_in(Math::fp32_split, 8), "fp32");
}

TEST(Select, NothingWhereNothingIsLeft) {
  EXPECT_STREQ(chosen({}, {1}), "none");
  EXPECT_STREQ(chosen({row("refuses", never, constant_9_us)}, {1}), "none");
}

}  // namespace
}  // namespace kw
