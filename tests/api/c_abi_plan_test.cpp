// The C interface: plans that are asked for before a call, and workspaces that are reserved and
// limited.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "api/c_handle.hpp"
#include "kernelwright/kernelwright.h"
#include "support.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "host_simt/device_memory.hpp"
#endif

namespace kw::test {
namespace {

const float alpha_of_one = 1, beta_of_zero = 0;

kwStatus_t plan_of(kwHandle_t handle, std::int64_t size, kwSgemmPlan* plan) {
  const auto* const some = reinterpret_cast<const float*>(std::uintptr_t{4096});
  auto* const other = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
  return kwPlanSgemm(handle, KW_COL_MAJOR, KW_OP_NONE, KW_OP_NONE, size, size, size, &alpha_of_one,
                     some, size, some, size, &beta_of_zero, other, size, plan);
}

TEST(CAbiPlan, OnTheCpuNothingIsPredicted) {
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  kwSgemmPlan plan{};
  EXPECT_EQ(plan_of(handle, 64, &plan), KW_STATUS_OK);
  EXPECT_STRNE(plan.kernel, "");
  EXPECT_TRUE(std::isinf(plan.time_us));
  kwDestroy(handle);
}

TEST(CAbiPlan, NothingToDoHasNoKernel) {
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  kwSgemmPlan plan{"kernel", 1, 1};
  EXPECT_EQ(kwPlanSgemm(handle, KW_COL_MAJOR, KW_OP_NONE, KW_OP_NONE, 0, 4, 4, &alpha_of_one,
                        nullptr, 1, nullptr, 4, &beta_of_zero, nullptr, 1, &plan),
            KW_STATUS_OK);
  EXPECT_EQ(plan.kernel, nullptr);
  EXPECT_EQ(plan.time_us, 0);
  kwDestroy(handle);
}

TEST(CAbiPlan, WrongArgumentsAreTheCallsOwn) {
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  kwSgemmPlan plan{};
  EXPECT_EQ(plan_of(nullptr, 64, &plan), KW_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(plan_of(handle, 64, nullptr), KW_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(plan_of(handle, -1, &plan), KW_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(kwLastErrorMessage(handle)).find("m is -1"), std::string::npos);
  const float* const arrays[] = {&alpha_of_one};
  EXPECT_EQ(kwPlanSgemmBatched(handle, KW_COL_MAJOR, KW_OP_NONE, KW_OP_NONE, 1, 1, 1, &alpha_of_one,
                               arrays, 1, arrays, 1, &beta_of_zero, nullptr, 1, 1, &plan),
            KW_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(kwPlanSgemmStridedBatched(handle, KW_COL_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2,
                                      &alpha_of_one, &alpha_of_one, 2, -4, &alpha_of_one, 2, 4,
                                      &beta_of_zero, nullptr, 2, 4, 3, &plan),
            KW_STATUS_INVALID_ARGUMENT);
  kwDestroy(handle);
}

#ifdef KW_HAVE_HOST_SIMT

// A handle on host SIMT, whose kernels are the GPU's and predict their times.
class CAbiPlanOnDevice : public testing::Test {
 protected:
  CAbiPlanOnDevice() {
    present_devices();
    EXPECT_TRUE(
        detail::ContextState::open(host_simt::backend(), 0, Stream{}, &context_.state).ok());
  }
  kwHandle_t handle() { return &context_; }
  // A product of ones on the device; the sum of a column of C is its size squared.
  void multiply(std::int64_t size) {
    Runtime& runtime = context_.state->runtime();
    const auto bytes = static_cast<std::size_t>(size * size) * sizeof(float);
    std::vector<float> ones(static_cast<std::size_t>(size * size), 1.0f);
    void *a = nullptr, *c = nullptr;
    ASSERT_TRUE(runtime.allocate(&a, bytes).ok() && runtime.allocate(&c, bytes).ok());
    ASSERT_TRUE(runtime.copy(a, ones.data(), bytes, Stream{}).ok());
    const std::size_t before = host_simt::DeviceMemory::used_bytes();
    auto* const in = static_cast<float*>(a);
    ASSERT_EQ(
        kwSgemm(handle(), KW_COL_MAJOR, KW_OP_NONE, KW_OP_NONE, size, size, size, &alpha_of_one, in,
                size, in, size, &beta_of_zero, static_cast<float*>(c), size),
        KW_STATUS_OK)
        << kwLastErrorMessage(handle());
    allocated_ = host_simt::DeviceMemory::used_bytes() - before;
    ASSERT_TRUE(runtime.copy(ones.data(), c, bytes, Stream{}).ok());
    for (const float value : ones) ASSERT_EQ(value, static_cast<float>(size));
    runtime.release(a);
    runtime.release(c);
  }
  kwContext context_;
  std::size_t allocated_ = 0;
};

TEST_F(CAbiPlanOnDevice, TheCallTakesThePlan) {
  kwSgemmPlan plan{};
  ASSERT_EQ(kwSetMath(handle(), KW_MATH_FP32), KW_STATUS_OK);
  ASSERT_EQ(plan_of(handle(), 48, &plan), KW_STATUS_OK);
  EXPECT_TRUE(std::isfinite(plan.time_us) && plan.time_us > 0);
  EXPECT_STRNE(plan.kernel, "");
  const std::size_t plans = context_.state->plans().size();
  EXPECT_EQ(plans, 1u);
  multiply(48);
  EXPECT_EQ(context_.state->plans().size(), plans);
}

TEST_F(CAbiPlanOnDevice, FollowsTheArithmetic) {
  kwSgemmPlan plain{}, split{};
  ASSERT_EQ(kwSetMath(handle(), KW_MATH_FP32), KW_STATUS_OK);
  ASSERT_EQ(plan_of(handle(), 4096, &plain), KW_STATUS_OK);
  ASSERT_EQ(kwSetMath(handle(), KW_MATH_FP32_SPLIT), KW_STATUS_OK);
  ASSERT_EQ(plan_of(handle(), 4096, &split), KW_STATUS_OK);
  EXPECT_LT(split.time_us, plain.time_us);
  EXPECT_GT(split.workspace_bytes, plain.workspace_bytes);
}

TEST_F(CAbiPlanOnDevice, ManyProductsHaveOneWay) {
  kwSgemmPlan plan{};
  auto* const c = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
  EXPECT_EQ(kwPlanSgemmStridedBatched(handle(), KW_COL_MAJOR, KW_OP_TRANSPOSE, KW_OP_NONE, 32, 32,
                                      32, &alpha_of_one, &alpha_of_one, 32, 1024, &alpha_of_one, 32,
                                      1024, &beta_of_zero, c, 32, 1024, 10, &plan),
            KW_STATUS_OK)
      << kwLastErrorMessage(handle());
  EXPECT_NE(plan.kernel, nullptr);
  const float* const* const in = reinterpret_cast<const float* const*>(std::uintptr_t{4096});
  auto* const out = reinterpret_cast<float* const*>(std::uintptr_t{8192});
  EXPECT_EQ(kwPlanSgemmBatched(handle(), KW_COL_MAJOR, KW_OP_NONE, KW_OP_NONE, 32, 32, 32,
                               &alpha_of_one, in, 32, in, 32, &beta_of_zero, out, 32, 10, &plan),
            KW_STATUS_OK)
      << kwLastErrorMessage(handle());
  EXPECT_NE(plan.kernel, nullptr);
}

TEST_F(CAbiPlanOnDevice, AReservedAndLimitedWorkspaceIsNeverGrown) {
  ASSERT_EQ(kwSetMath(handle(), KW_MATH_FP32_SPLIT), KW_STATUS_OK);
  kwSgemmPlan free{}, limited{};
  ASSERT_EQ(plan_of(handle(), 1024, &free), KW_STATUS_OK);
  ASSERT_GT(free.workspace_bytes, std::size_t{1} << 20);
  const std::size_t before = host_simt::DeviceMemory::used_bytes();
  ASSERT_EQ(kwReserveWorkspace(handle(), std::size_t{1} << 20), KW_STATUS_OK);
  EXPECT_GE(host_simt::DeviceMemory::used_bytes() - before, std::size_t{1} << 20);
  ASSERT_EQ(kwSetWorkspaceLimit(handle(), 0), KW_STATUS_OK);  // what is there stays
  ASSERT_EQ(plan_of(handle(), 1024, &limited), KW_STATUS_OK);
  EXPECT_LE(limited.workspace_bytes, std::size_t{1} << 20);
  for (const std::int64_t size : {33, 130}) {
    multiply(size);
    EXPECT_EQ(allocated_, 0u) << size;
  }
  ASSERT_EQ(kwSetWorkspaceLimit(handle(), SIZE_MAX), KW_STATUS_OK);
  ASSERT_EQ(plan_of(handle(), 1024, &limited), KW_STATUS_OK);
  EXPECT_EQ(limited.workspace_bytes, free.workspace_bytes);
}

TEST_F(CAbiPlanOnDevice, ReservingLessThanThereIsDoesNothing) {
  ASSERT_EQ(kwReserveWorkspace(handle(), 3 << 20), KW_STATUS_OK);
  const std::size_t before = host_simt::DeviceMemory::used_bytes();
  EXPECT_EQ(kwReserveWorkspace(handle(), 0), KW_STATUS_OK);
  EXPECT_EQ(kwReserveWorkspace(handle(), 3 << 20), KW_STATUS_OK);
  EXPECT_EQ(host_simt::DeviceMemory::used_bytes(), before);
}

TEST_F(CAbiPlanOnDevice, MoreThanTheDeviceHasIsToldAndProductsGoOn) {
  host_simt::set_memory_bytes(host_simt::DeviceMemory::used_bytes() + (2 << 20));
  EXPECT_EQ(kwReserveWorkspace(handle(), std::size_t{1} << 30), KW_STATUS_OUT_OF_MEMORY);
  EXPECT_STRNE(kwLastErrorMessage(handle()), "");
  host_simt::set_memory_bytes(0);
  multiply(65);
}

TEST_F(CAbiPlanOnDevice, AReductionBeyondTheLimitIsRefused) {
  ASSERT_EQ(kwSetWorkspaceLimit(handle(), 0), KW_STATUS_OK);
  // Many rows of a narrow matrix: its columns are added up in parts.
  const std::int64_t rows = std::int64_t{1} << 24, cols = 8;
  std::size_t bytes = 0;
  ASSERT_EQ(kwReduceColumnsWorkspaceBytes(handle(), KW_ROW_MAJOR, KW_REDUCE_SUM, KW_FLOAT32, rows,
                                          cols, cols, &bytes),
            KW_STATUS_OK);
  ASSERT_GT(bytes, 0u);
  const auto* const nobody_reads = reinterpret_cast<const float*>(std::uintptr_t{1} << 40);
  std::vector<float> out(8, -1.0f);
  EXPECT_EQ(kwReduceColumns(handle(), KW_ROW_MAJOR, KW_REDUCE_SUM, KW_FLOAT32, rows, cols,
                            nobody_reads, cols, out.data()),
            KW_STATUS_WORKSPACE_TOO_SMALL);
  EXPECT_EQ(out, std::vector<float>(8, -1.0f));
  EXPECT_NE(std::string(kwLastErrorMessage(handle())).find("set a higher limit"), std::string::npos)
      << kwLastErrorMessage(handle());
}

#endif

TEST(CAbiPlan, WorkspacesOfNoHandle) {
  EXPECT_EQ(kwReserveWorkspace(nullptr, 1), KW_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(kwSetWorkspaceLimit(nullptr, 1), KW_STATUS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace kw::test
