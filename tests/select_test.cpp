// The choice among kernels, on invented rows.
#include "select.hpp"

#include <gtest/gtest.h>

#include <limits>

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

TEST(Select, NothingWhereNothingIsLeft) {
  EXPECT_STREQ(chosen({}, {1}), "none");
  EXPECT_STREQ(chosen({row("refuses", never, constant_9_us)}, {1}), "none");
}

}  // namespace
}  // namespace kw
