// The C interface, called from C.
#include "c_abi_client.h"

#include <gtest/gtest.h>

#include <thread>

#include "kernelwright/kernelwright.h"

namespace {

void expect_passes(const char* (*check)()) {
  const char* failure = check();
  EXPECT_EQ(failure, nullptr) << failure;
}

TEST(CAbi, Product) { expect_passes(c_abi_product); }
TEST(CAbi, ColumnMajorProduct) { expect_passes(c_abi_column_major_product); }
TEST(CAbi, StridedBatched) { expect_passes(c_abi_strided_batched); }
TEST(CAbi, PointerBatched) { expect_passes(c_abi_pointer_batched); }
TEST(CAbi, PointerMode) { expect_passes(c_abi_pointer_mode); }
TEST(CAbi, Math) { expect_passes(c_abi_math); }
TEST(CAbi, BatchedErrors) { expect_passes(c_abi_batched_errors); }
TEST(CAbi, ScaleAdd) { expect_passes(c_abi_scale_add); }
TEST(CAbi, OutOfCore) { expect_passes(c_abi_out_of_core); }
TEST(CAbi, Distributed) { expect_passes(c_abi_distributed); }
TEST(CAbi, Reduce) { expect_passes(c_abi_reduce); }
TEST(CAbi, ReduceOptions) { expect_passes(c_abi_reduce_options); }
TEST(CAbi, ReduceErrors) { expect_passes(c_abi_reduce_errors); }
TEST(CAbi, Errors) { expect_passes(c_abi_errors); }
TEST(CAbi, Handles) { expect_passes(c_abi_handles); }
TEST(CAbi, TuneCache) { expect_passes(c_abi_tune_cache); }

TEST(CAbi, MessagesWithoutAHandleAreTheThreadsOwn) {
  EXPECT_EQ(kwSynchronize(nullptr), KW_STATUS_INVALID_ARGUMENT);
  EXPECT_STRNE(kwLastErrorMessage(nullptr), "");
  const char* seen_elsewhere = nullptr;
  std::thread([&] {
    seen_elsewhere = *kwLastErrorMessage(nullptr) == '\0' ? "empty" : "another thread's";
  }).join();
  EXPECT_STREQ(seen_elsewhere, "empty");
}

}  // namespace
