// What the check of a product must catch in batches, arrays of pointers and scalars on the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "check/cases.hpp"
#include "kernels.hpp"

namespace kw::check {
namespace {

void multiply_entry(const Sgemm& p, std::int64_t k_end) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < k_end; ++k) {
        const float a = p.a[p.op_a == Op::none ? i * p.lda + k : k * p.lda + i];
        const float b = p.b[p.op_b == Op::none ? k * p.ldb + j : j * p.ldb + k];
        sum = std::fmaf(a, b, sum);
      }
      float& c = p.c[i * p.ldc + j];
      c = p.beta == 0 ? p.alpha * sum : p.alpha * sum + p.beta * c;
    }
  }
}

// Every entry, as `change` leaves it.
template <class Change>
Status each(const Sgemm& all, const Change& change) {
  for (std::int64_t i = 0; i < all.batch; ++i) {
    Sgemm one = entry_of(all, i);
    change(one, i);
    multiply_entry(one, one.k);
  }
  return Status::success();
}

Status correct_batch(const Sgemm& p, const Device&, Workspace, Stream) {
  return each(p, [](Sgemm&, std::int64_t) {});
}

VerifyResult verify(KernelLaunch<Sgemm>* launch, const SgemmCase& c) {
  const Kernel<Sgemm> kernel{
      "subject",           nullptr,    "",
      Role::production,    Math::fp32, [](const Sgemm&, const Device&) { return true; },
      no_workspace<Sgemm>, launch};
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  return verify_sgemm(*runtime, kernel, c);
}

SgemmCase batch_of(std::int64_t batch) {
  SgemmCase c;
  c.m = 5;
  c.n = 6;
  c.k = 7;
  c.batch = batch;
  return c;
}

TEST(CheckBatch, AcceptsACorrectKernelOnEveryCase) {
  for (const SgemmCase& c : sgemm_batch_cases()) {
    const VerifyResult result = verify(correct_batch, c);
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
  }
}

TEST(CheckBatch, CasesCoverEveryForm) {
  const std::vector<SgemmCase> cases = sgemm_batch_cases();
  const auto count = [&](const auto& is_one) {
    return std::count_if(cases.begin(), cases.end(), is_one);
  };
  for (const bool by_pointers : {false, true}) {
    for (const bool on_device : {false, true}) {
      EXPECT_GE(count([&](const SgemmCase& c) {
                  return c.by_pointers == by_pointers && c.scalars_on_device == on_device;
                }),
                1);
    }
  }
  EXPECT_EQ(count([](const SgemmCase& c) { return c.plain(); }), 0);
  EXPECT_GE(count([](const SgemmCase& c) { return c.batch == 0; }), 1);
  EXPECT_GE(count([](const SgemmCase& c) { return c.shared_a; }), 1);
  EXPECT_GE(count([](const SgemmCase& c) { return c.shared_b; }), 1);
  EXPECT_GE(count([](const SgemmCase& c) { return c.scalars_on_device && c.alpha == 0; }), 2);
  EXPECT_GE(count([](const SgemmCase& c) { return c.gap > 0 && c.gap % 4 != 0; }), 1);
}

TEST(CheckBatch, CatchesAnEntryLeftOut) {
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        Sgemm first = p;
        first.batch = 2;
        return each(first, [](Sgemm&, std::int64_t) {});
      },
      batch_of(3));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failures, 30);
  EXPECT_EQ(result.first_entry, 2);
  EXPECT_EQ(result.first_row, 0);
  EXPECT_EQ(result.first_col, 0);
}

TEST(CheckBatch, NamesTheEntryOfAWrongElement) {
  for (const bool by_pointers : {false, true}) {
    SgemmCase c = batch_of(4);
    c.gap = 3;
    c.by_pointers = by_pointers;
    const VerifyResult result = verify(
        [](const Sgemm& p, const Device& device, Workspace workspace, Stream stream) {
          Status status = correct_batch(p, device, workspace, stream);
          Sgemm third = entry_of(p, 2);
          third.c[3 * third.ldc + 4] = NAN;
          return status;
        },
        c);
    EXPECT_EQ(result.failures, 1);
    EXPECT_EQ(result.first_entry, 2);
    EXPECT_EQ(result.first_row, 3);
    EXPECT_EQ(result.first_col, 4);
    EXPECT_TRUE(std::isnan(result.first_got));
    EXPECT_NE(result.message.find("entry 2, C[3][4]"), std::string::npos) << result.message;
  }
}

TEST(CheckBatch, CatchesAnInputOfAnotherEntry) {
  for (const bool by_pointers : {false, true}) {
    SgemmCase c = batch_of(3);
    c.by_pointers = by_pointers;
    const VerifyResult result = verify(
        [](const Sgemm& p, const Device&, Workspace, Stream) {
          return each(p, [&](Sgemm& one, std::int64_t) { one.b = entry_of(p, 0).b; });
        },
        c);
    EXPECT_EQ(result.failures, 60) << "of entries 1 and 2";
  }
}

TEST(CheckBatch, CatchesPointersTakenForAStride) {
  SgemmCase c = batch_of(3);
  c.by_pointers = true;
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        return each(p, [&](Sgemm& one, std::int64_t i) { one.b = p.b_array[0] - i * 42; });
      },
      c);
  EXPECT_EQ(result.outcome, Outcome::failed);
}

TEST(CheckBatch, CatchesWritesBetweenEntries) {
  SgemmCase c = batch_of(3);
  c.gap = 4;
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device& device, Workspace workspace, Stream stream) {
        Status status = correct_batch(p, device, workspace, stream);
        entry_of(p, 1).c[30 + 2] = 0;
        return status;
      },
      c);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failures, 0) << "the matrices themselves are right";
  EXPECT_NE(result.message.find("entry 1, 32 words from its first element"), std::string::npos)
      << result.message;
}

TEST(CheckBatch, CatchesWritesIntoAnInput) {
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device& device, Workspace workspace, Stream stream) {
        Status status = correct_batch(p, device, workspace, stream);
        const_cast<float*>(entry_of(p, 2).a)[8] += 1;
        return status;
      },
      batch_of(3));
  EXPECT_NE(result.message.find("input A was written: 1 words, first at entry 2, row 1, column 1"),
            std::string::npos)
      << result.message;
}

TEST(CheckBatch, CatchesScalarsTakenFromTheHost) {
  SgemmCase c = batch_of(1);
  c.scalars_on_device = true;
  const VerifyResult result =
      verify([](const Sgemm& p, const Device&, Workspace,
                Stream) { return each(p, [&](Sgemm& one, std::int64_t) { one.alpha = p.alpha; }); },
             c);
  EXPECT_EQ(result.failures, 30);
}

TEST(CheckBatch, CatchesReadingAWhereAlphaOnTheDeviceIsZero) {
  SgemmCase c = batch_of(2);
  c.scalars_on_device = true;
  c.alpha = 0;
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        return each(p, [&](Sgemm& one, std::int64_t i) {
          one.k = p.k;
          one.a = p.a + i * p.stride_a;
          one.b = p.b + i * p.stride_b;
        });
      },
      c);
  EXPECT_EQ(result.failures, 60);
}

TEST(CheckBatch, ARungMayRefuseWhatIsNotPlain) {
  const SgemmCase plain = batch_of(1);
  SgemmCase by_pointers = plain, on_device = plain;
  by_pointers.by_pointers = true;
  on_device.scalars_on_device = true;
  EXPECT_FALSE(may_refuse(Role::rung, plain));
  for (const SgemmCase& c : {batch_of(0), batch_of(2), by_pointers, on_device}) {
    EXPECT_TRUE(may_refuse(Role::rung, c)) << describe(c);
    EXPECT_FALSE(may_refuse(Role::peer, c)) << describe(c);
  }
}

}  // namespace
}  // namespace kw::check
