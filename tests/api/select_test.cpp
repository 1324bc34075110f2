// The choice among kernels, on invented rows.
#include "select.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

namespace kw {
namespace {

struct Work {
  int size = 0;
};

using Row = Kernel<Work>;
using Us = double(const Work&, const Device&);

bool always(const Work&, const Device&) { return true; }
bool never(const Work&, const Device&) { return false; }
bool below_100(const Work& work, const Device&) { return work.size < 100; }
double constant_9_us(const Work&, const Device&) { return 9; }
double size_us(const Work& work, const Device&) { return work.size; }
double sm_count_us(const Work&, const Device& device) { return device.sm_count; }
double endless(const Work&, const Device&) { return std::numeric_limits<double>::infinity(); }

// Without a plan of its own, so without a prediction.
Row row(const char* name, decltype(Row::supports) supports) {
  Row made = {};
  made.name = name;
  made.math = Math::fp32;
  made.supports = supports;
  made.workspace_bytes = no_workspace<Work>;
  return made;
}

template <Us us, bool supports(const Work&, const Device&) = always>
Row row(const char* name) {
  Row made = {};
  made.name = name;
  made.math = Math::fp32;
  made.make_plan = [](const Work& work, const Device& device) {
    std::optional<Plan<Work>> plan;
    if (!supports(work, device)) return plan;
    plan.emplace();
    plan->time_us = plan->cost = us(work, device);
    return plan;
  };
  return made;
}

const char* chosen(const KernelList<Work>& kernels, const Work& work, const Device& device = {}) {
  const auto choice = select_kernel(work, device, kernels);
  return choice ? choice->kernel->name : "none";
}

TEST(Select, TheShortestPredictionWins) {
  const KernelList<Work> kernels = {row<constant_9_us>("constant"), row<size_us>("linear")};
  EXPECT_STREQ(chosen(kernels, {8}), "linear");
  EXPECT_STREQ(chosen(kernels, {10}), "constant");
}

TEST(Select, EqualPredictionsFollowTheList) {
  EXPECT_STREQ(chosen({row<constant_9_us>("constant"), row<size_us>("linear")}, {9}), "constant");
  EXPECT_STREQ(chosen({row<size_us>("linear"), row<constant_9_us>("constant")}, {9}), "linear");
}

TEST(Select, AKernelWithoutAPredictionComesLast) {
  const KernelList<Work> kernels = {row("unpredicted", always), row<size_us>("linear"),
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
  const KernelList<Work> kernels = {row<constant_9_us, below_100>("fast"), row<size_us>("slow")};
  EXPECT_STREQ(chosen(kernels, {50}), "fast");
  EXPECT_STREQ(chosen(kernels, {100}), "slow");
}

TEST(Select, PredictionsKnowTheDevice) {
  const KernelList<Work> kernels = {row<sm_count_us>("by_sms"), row<constant_9_us>("constant")};
  Device device;
  device.sm_count = 4;
  EXPECT_STREQ(chosen(kernels, {}, device), "by_sms");
  device.sm_count = 132;
  EXPECT_STREQ(chosen(kernels, {}, device), "constant");
}

TEST(Select, AnEndlessPredictionIsStillAKernel) {
  EXPECT_STREQ(chosen({row<endless>("endless")}, {}), "endless");
}

// The time decides nothing where the error counts too.
TEST(Select, TheLeastCostWinsNotTheLeastTime) {
  Row exact = row<size_us>("exact"), quick = row<size_us>("quick");
  quick.make_plan = [](const Work& work, const Device&) -> std::optional<Plan<Work>> {
    return Plan<Work>{.time_us = work.size / 2.0, .cost = work.size * 2.0};
  };
  const KernelList<Work> kernels = {quick, exact};
  const auto choice = select_kernel(Work{10}, {}, kernels);
  ASSERT_TRUE(choice);
  EXPECT_STREQ(choice->kernel->name, "exact");
  EXPECT_EQ(choice->plan.time_us, 10);
}

// Of as many bytes as the work's size; with Sliced, ten are enough.
template <Us us, bool Sliced>
Row row_with_bytes(const char* name) {
  Row made = row<us>(name);
  made.make_plan = [](const Work& work, const Device& device) -> std::optional<Plan<Work>> {
    const double time_us = us(work, device);
    Plan<Work> plan = {.time_us = time_us,
                       .cost = time_us,
                       .workspace_bytes = static_cast<std::size_t>(work.size)};
    if (Sliced) plan.min_workspace_bytes = 10;
    return plan;
  };
  return made;
}

TEST(Select, AWorkspaceLeavesOutWhatNeedsMore) {
  const KernelList<Work> kernels = {row_with_bytes<constant_9_us, false>("whole"),
                                    row_with_bytes<size_us, true>("sliced"),
                                    row("none_needed", always)};
  const auto chosen_with = [&](std::size_t bytes) {
    return std::string(select_kernel(Work{100}, {}, kernels, Math::fp32, bytes)->kernel->name);
  };
  EXPECT_EQ(chosen_with(any_workspace), "whole");
  EXPECT_EQ(chosen_with(100), "whole");
  EXPECT_EQ(chosen_with(99), "sliced");
  EXPECT_EQ(chosen_with(10), "sliced");
  EXPECT_EQ(chosen_with(9), "none_needed");
}

// A kernel of others: its plan has a part and 50 bytes more once it is complete.
void add_a_part(const Work&, const Device&, Plan<Work>& plan) {
  plan.workspace_bytes += 50;
  plan.parts.emplace_back();
}

TEST(Select, CompletesThePlanOfTheChosenKernelOnce) {
  Row composed = row_with_bytes<constant_9_us, false>("composed"), other = row<size_us>("other");
  composed.complete_plan = add_a_part;
  other.complete_plan = [](const Work&, const Device&, Plan<Work>&) {
    ADD_FAILURE() << "completed, though it was not chosen";
  };
  const KernelList<Work> kernels = {composed, other};
  for (const std::size_t limit : {any_workspace, std::size_t{150}}) {
    const auto choice = select_kernel(Work{100}, {}, kernels, Math::fp32, limit);
    ASSERT_TRUE(choice);
    EXPECT_STREQ(choice->kernel->name, "composed");
    EXPECT_EQ(choice->plan.workspace_bytes, 150u);
    EXPECT_EQ(choice->plan.parts.size(), 1u);
  }
}

TEST(Select, AWorkspaceIsForTheWholePlan) {
  Row composed = row_with_bytes<constant_9_us, false>("composed");
  composed.complete_plan = add_a_part;
  const KernelList<Work> kernels = {composed, row<size_us>("other")};
  const auto choice = select_kernel(Work{100}, {}, kernels, Math::fp32, 149);
  ASSERT_TRUE(choice);
  EXPECT_STREQ(choice->kernel->name, "other");
}

TEST(Select, TheLaunchGetsThePlanThatTheChoiceMade) {
  Row planned = row<size_us>("planned");
  planned.make_plan = [](const Work& work, const Device&) -> std::optional<Plan<Work>> {
    Plan<Work> plan = {.time_us = 1, .cost = 1};
    plan.data.set(3 * work.size);
    return plan;
  };
  planned.launch_plan = [](const Work&, const Device&, const Plan<Work>& plan, Workspace, Stream) {
    return Status::failure(StatusCode::internal_error, std::to_string(plan.data.get<int>()));
  };
  Row simple = row("simple", always);
  simple.launch = [](const Work& work, const Device&, Workspace, Stream) {
    return Status::failure(StatusCode::internal_error, std::to_string(work.size));
  };
  const auto launched = [](const KernelList<Work>& kernels) {
    const Work work{7};
    return launch_planned(*select_kernel(work, {}, kernels), work, {}, {}, {}).message;
  };
  EXPECT_EQ(launched({planned}), "21");
  EXPECT_EQ(launched({simple}), "7");
}

TEST(Select, Fp32ServesOtherArithmeticButNotTheOtherWayRound) {
  Row split = row<constant_9_us>("split");
  split.math = Math::fp32_split;
  const KernelList<Work> kernels = {split, row<size_us>("fp32")};
  const auto chosen_in = [&](Math math, int size) {
    return std::string(select_kernel(Work{size}, {}, kernels, math)->kernel->name);
  };
  EXPECT_EQ(chosen_in(Math::fp32, 100), "fp32");
  EXPECT_EQ(chosen_in(Math::fp32_split, 100), "split");
  EXPECT_EQ(chosen_in(Math::fp32_split, 8), "fp32");
}

TEST(Select, NothingWhereNothingIsLeft) {
  EXPECT_STREQ(chosen({}, {1}), "none");
  EXPECT_STREQ(chosen({row<constant_9_us, never>("refuses")}, {1}), "none");
}

}  // namespace
}  // namespace kw
