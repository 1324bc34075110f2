// The check itself: what it must catch and what it must let pass.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "check/cases.hpp"
#include "kernels.hpp"

namespace kw::check {
namespace {

float identity(float x) { return x; }

// TF32: ten bits of mantissa, rounded to nearest.
float to_tf32(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & 0xFFFFE000u);
}

using Rounding = float (*)(float);

// A plain float product with a chance to go wrong in each respect.
void multiply(const Sgemm& p, std::int64_t k_end, Rounding round = identity) {
  const std::int64_t a_row = p.op_a == Op::none ? p.lda : 1;
  const std::int64_t a_col = p.op_a == Op::none ? 1 : p.lda;
  const std::int64_t b_row = p.op_b == Op::none ? p.ldb : 1;
  const std::int64_t b_col = p.op_b == Op::none ? 1 : p.ldb;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < k_end; ++k) {
        sum = std::fmaf(round(p.a[i * a_row + k * a_col]), round(p.b[k * b_row + j * b_col]), sum);
      }
      float& c = p.c[i * p.ldc + j];
      c = p.beta == 0 ? p.alpha * sum : p.alpha * sum + p.beta * c;
    }
  }
}

void multiply(const Sgemm& p) { multiply(p, p.loop_k()); }

bool always(const Sgemm&, const Device&) { return true; }
bool never(const Sgemm&, const Device&) { return false; }
std::size_t hundred_bytes(const Sgemm&, const Device&) { return 100; }

Kernel<Sgemm> kernel(KernelLaunch<Sgemm>* launch) {
  return {"subject", nullptr, "", Role::rung, Math::fp32, always, no_workspace<Sgemm>, launch};
}

Status correct(const Sgemm& p, const Device&, Workspace, Stream) {
  multiply(p);
  return Status::success();
}

class Check : public testing::Test {
 protected:
  Check() : runtime_(open_device("cpu")) {}

  VerifyResult verify(KernelLaunch<Sgemm>* launch, const SgemmCase& c) {
    return verify_sgemm(*runtime_, kernel(launch), c);
  }

  static SgemmCase square(std::int64_t size, std::int64_t k, Input input = Input::uniform) {
    SgemmCase c;
    c.m = c.n = size;
    c.k = k;
    c.input = input;
    return c;
  }

  std::unique_ptr<Runtime> runtime_;
};

float to_eight_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x8000u) & 0xFFFF0000u);
}
Status in_eight_bits(const Sgemm& p, const Device&, Workspace, Stream) {
  multiply(p, p.loop_k(), to_eight_bits);
  return Status::success();
}

TEST_F(Check, ARungsOwnBoundCountsBesideFp32s) {
  Kernel<Sgemm> rung = kernel(in_eight_bits);
  EXPECT_EQ(verify_sgemm(*runtime_, rung, square(40, 30)).outcome, Outcome::failed);
  rung.extra_error = [](const Sgemm& p) { return p.k == 30 ? 140000.0 : 0.0; };
  const VerifyResult judged = verify_sgemm(*runtime_, rung, square(40, 30));
  EXPECT_TRUE(judged.ok()) << judged.message;
  EXPECT_EQ(judged.error.bound, 140000 + 32);
  EXPECT_EQ(verify_sgemm(*runtime_, rung, square(40, 31)).outcome, Outcome::failed);
  // What is exact stays so: integers have few bits.
  EXPECT_EQ(verify_sgemm(*runtime_, rung, square(40, 30, Input::integers)).error.bound, 0);
  rung.extra_error = [](const Sgemm&) { return 10.0; };
  EXPECT_EQ(verify_sgemm(*runtime_, rung, square(40, 30)).outcome, Outcome::failed);
}

TEST_F(Check, AcceptsACorrectKernelOnEveryCase) {
  std::vector<SgemmCase> cases = sgemm_edge_cases();
  for (const SgemmCase& c : sgemm_transpose_cases()) cases.push_back(c);
  for (const SgemmCase& c : cases) {
    const VerifyResult result = verify(correct, c);
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
  }
}

TEST_F(Check, AcceptsALongProduct) {
  for (const Input input : {Input::uniform, Input::unit, Input::normal, Input::constant}) {
    const VerifyResult result = verify(correct, square(16, 16384, input));
    EXPECT_TRUE(result.ok()) << to_string(input) << ": " << result.message;
    EXPECT_GT(result.error.max, 0);
    EXPECT_GE(result.error.max, result.error.rms);
    EXPECT_GE(result.error.rms, std::fabs(result.error.mean_signed));
  }
}

TEST_F(Check, CatchesOneNaN) {
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        multiply(p);
        p.c[3 * p.ldc + 5] = NAN;
        return Status::success();
      },
      square(17, 9));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failures, 1);
  EXPECT_EQ(result.first_row, 3);
  EXPECT_EQ(result.first_col, 5);
  EXPECT_TRUE(std::isnan(result.first_got));
  EXPECT_NE(result.message.find("C[3][5]"), std::string::npos) << result.message;
}

TEST_F(Check, CatchesOneElementOffByALittle) {
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        multiply(p);
        p.c[(p.m - 1) * p.ldc + p.n - 1] += 1e-4f;
        return Status::success();
      },
      square(33, 64));
  EXPECT_EQ(result.failures, 1);
  EXPECT_EQ(result.first_row, 32);
  EXPECT_EQ(result.first_col, 32);
  EXPECT_NEAR(result.first_got - result.first_want, 1e-4, 1e-5);
}

TEST_F(Check, CatchesTf32) {
  for (const Input input : {Input::uniform, Input::unit, Input::normal}) {
    const VerifyResult result = verify(
        [](const Sgemm& p, const Device&, Workspace, Stream) {
          multiply(p, p.k, to_tf32);
          return Status::success();
        },
        square(64, 1024, input));
    EXPECT_EQ(result.outcome, Outcome::failed) << to_string(input) << " " << result.error.max;
  }
}

TEST_F(Check, CatchesADroppedTail) {
  for (const Input input : {Input::uniform, Input::unit, Input::normal, Input::integers}) {
    const VerifyResult result = verify(
        [](const Sgemm& p, const Device&, Workspace, Stream) {
          multiply(p, p.k / 8 * 8);
          return Status::success();
        },
        square(64, 1025, input));
    EXPECT_EQ(result.outcome, Outcome::failed) << to_string(input);
  }
}

TEST_F(Check, IntegersMustBeExact) {
  const SgemmCase c = square(20, 100, Input::integers);
  EXPECT_TRUE(verify(correct, c).ok());
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        multiply(p);
        p.c[0] = std::nextafter(p.c[0], 1e9f);
        return Status::success();
      },
      c);
  EXPECT_EQ(result.failures, 1);
  EXPECT_EQ(result.error.bound, 0);
}

TEST_F(Check, CatchesAnUnwrittenElement) {
  const VerifyResult result = verify(
      [](const Sgemm& problem, const Device&, Workspace, Stream) {
        Sgemm p = problem;
        --p.n;
        multiply(p);
        return Status::success();
      },
      square(8, 8));
  EXPECT_EQ(result.failures, 8);
}

TEST_F(Check, CatchesReadingCWhereBetaIsZero) {
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        for (std::int64_t i = 0; i < p.m * p.n; ++i) p.c[i] = 0 * p.c[i];
        return Status::success();
      },
      square(8, 0));
  EXPECT_EQ(result.failures, 64);
}

TEST_F(Check, CatchesReadingAWhereAlphaIsZero) {
  SgemmCase c = square(8, 8);
  c.alpha = 0;
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        multiply(p, p.k);
        return Status::success();
      },
      c);
  EXPECT_EQ(result.failures, 64);
  EXPECT_TRUE(verify(correct, c).ok());
}

TEST_F(Check, CatchesReadingPadding) {
  SgemmCase c = square(8, 8);
  c.lda_pad = 3;
  const VerifyResult result = verify(
      [](const Sgemm& problem, const Device&, Workspace, Stream) {
        Sgemm p = problem;
        ++p.k;  // one column of A's padding; B has a guard there
        multiply(p);
        return Status::success();
      },
      c);
  EXPECT_EQ(result.failures, 64);
}

TEST_F(Check, CatchesWritesIntoPadding) {
  SgemmCase c = square(8, 8);
  c.ldc_pad = 4;
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        multiply(p);
        p.c[2 * p.ldc + p.n + 1] = 0;
        return Status::success();
      },
      c);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failures, 0) << "the matrix itself is right";
  EXPECT_NE(result.message.find("row 2's padding, 2 words after its end"), std::string::npos)
      << result.message;
}

// The value written back is the canary itself, gone through arithmetic.
TEST_F(Check, CatchesScalingOfPaddingInPlace) {
  SgemmCase c = square(8, 8);
  c.ldc_pad = 4;
  c.beta = 1;
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        multiply(p);
        p.c[p.n] = 0.0f + p.beta * p.c[p.n];
        return Status::success();
      },
      c);
  EXPECT_EQ(result.outcome, Outcome::failed) << "a signalling NaN becomes quiet";
}

TEST_F(Check, CatchesWritesBeforeAndAfter) {
  const VerifyResult before = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        multiply(p);
        p.c[-7] = 1;
        return Status::success();
      },
      square(8, 8));
  EXPECT_NE(before.message.find("7 words before its first element"), std::string::npos)
      << before.message;
  const VerifyResult after = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        multiply(p);
        p.c[64] = 1;
        return Status::success();
      },
      square(8, 8));
  EXPECT_NE(after.message.find("64 words from its first element"), std::string::npos)
      << after.message;
}

TEST_F(Check, CatchesWritesIntoInputs) {
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        multiply(p);
        const_cast<float*>(p.b)[9] = 0.5f;
        return Status::success();
      },
      square(8, 8));
  EXPECT_NE(result.message.find("input B was written: 1 words, first at row 1, column 1"),
            std::string::npos)
      << result.message;
}

TEST_F(Check, CatchesWritesBeyondTheWorkspace) {
  Kernel<Sgemm> subject = kernel([](const Sgemm& p, const Device&, Workspace workspace, Stream) {
    if (workspace.bytes != 100) return Status::failure(StatusCode::internal_error, "workspace");
    multiply(p);
    static_cast<float*>(workspace.data)[25] = 0;
    return Status::success();
  });
  subject.workspace_bytes = hundred_bytes;
  const VerifyResult result = verify_sgemm(*runtime_, subject, square(8, 8));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.message.find("the workspace was written outside"), std::string::npos)
      << result.message;
}

TEST_F(Check, WorkspaceStartsAsNaN) {
  Kernel<Sgemm> subject = kernel([](const Sgemm& p, const Device&, Workspace workspace, Stream) {
    for (std::int64_t i = 0; i < p.m * p.n; ++i) p.c[i] = *static_cast<float*>(workspace.data);
    return Status::success();
  });
  subject.workspace_bytes = hundred_bytes;
  EXPECT_EQ(verify_sgemm(*runtime_, subject, square(8, 0)).failures, 64);
}

TEST_F(Check, RefusalsAndErrorsAreTheirOwnOutcomes) {
  Kernel<Sgemm> refusing = kernel(correct);
  refusing.supports = never;
  const VerifyResult refused = verify_sgemm(*runtime_, refusing, square(8, 8));
  EXPECT_EQ(refused.outcome, Outcome::unsupported);
  EXPECT_FALSE(refused.ok());

  const VerifyResult failed =
      verify([](const Sgemm&, const Device&, Workspace,
                Stream) { return Status::failure(StatusCode::device_error, "no such luck"); },
             square(8, 8));
  EXPECT_EQ(failed.outcome, Outcome::error);
  EXPECT_NE(failed.message.find("no such luck"), std::string::npos);
}

TEST_F(Check, WhoMayRefuseWhat) {
  SgemmCase plain = square(8, 8);
  SgemmCase transposed = plain;
  transposed.op_b = Op::transpose;
  EXPECT_FALSE(may_refuse(Role::rung, plain));
  EXPECT_TRUE(may_refuse(Role::rung, transposed));
  EXPECT_TRUE(may_refuse(Role::production, plain)) << "the others of the list take it";
  for (const Role role : {Role::peer, Role::reference}) {
    EXPECT_FALSE(may_refuse(role, transposed));
  }
  for (const Role role : {Role::rung, Role::production}) {
    EXPECT_FALSE(may_refuse(role, ScaleAddCase{}));
  }
}

TEST_F(Check, ReportsCorners) {
  SgemmCase c = square(3, 1, Input::constant);
  const VerifyResult result = verify(correct, c);
  EXPECT_EQ(result.c_first, 1.23456789f * 2.23456789f);
  EXPECT_EQ(result.c_last, result.c_first);
}

TEST_F(Check, MisalignmentIsWhatWasAskedFor) {
  SgemmCase c = square(8, 8);
  c.misalign_a = 1;
  c.misalign_b = 2;
  c.misalign_c = 3;
  const VerifyResult result = verify(
      [](const Sgemm& p, const Device&, Workspace, Stream) {
        const auto words = [](const float* x) {
          return reinterpret_cast<std::uintptr_t>(x) / 4 % 64;
        };
        if (words(p.a) != 1 || words(p.b) != 2 || words(p.c) != 3) {
          return Status::failure(StatusCode::internal_error, "alignment");
        }
        multiply(p);
        return Status::success();
      },
      c);
  EXPECT_TRUE(result.ok()) << result.message;
}

}  // namespace
}  // namespace kw::check
