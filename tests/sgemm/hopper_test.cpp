// The split kernels on host SIMT: which path the data takes, elements that fp16's pieces can't
// hold. Kernels come from the registry, as for
// sgemm_kernels_test.cpp, which has shapes, paddings and batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check/run_kernel.hpp"
#include "hopper_subjects.hpp"
#include "host_simt/host_simt.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace kw {

namespace {

using check::VerifyResult;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

// Dense in the test, padded with NaN on the device.
struct Matrix {
  std::int64_t rows, cols;
  std::vector<float> values;

  Matrix(std::int64_t r, std::int64_t c) : rows(r), cols(c), values(count()) {}
  std::size_t count() const { return static_cast<std::size_t>(rows * cols); }
  float& at(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * cols + j)];
  }
  float at(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * cols + j)];
  }
  void fill_row(std::int64_t i, float x) {
    for (std::int64_t j = 0; j < cols; ++j) at(i, j) = x;
  }
};

// Sizes span a factor of 2^`spread`.
Matrix random_matrix(std::int64_t rows, std::int64_t cols, unsigned seed, int spread = 1) {
  Matrix made(rows, cols);
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> mantissa(1, 2);
  std::uniform_int_distribution<int> exponent(-spread / 2, spread - spread / 2 - 1), sign(0, 1);
  for (float& x : made.values)
    x = std::ldexp(mantissa(engine), exponent(engine)) * (sign(engine) == 1 ? 1.0f : -1.0f);
  return made;
}

class Hopper : public testing::TestWithParam<Kernel<Sgemm>> {
 protected:
  Hopper() : before_(host_simt::options()) {}
  ~Hopper() override { host_simt::options() = before_; }

  const Kernel<Sgemm>& kernel() const { return GetParam(); }
  bool in_fp16() const { return is_in("hopper_fp16x3", kernel().name); }
  static bool is_in(std::string_view scheme, std::string_view name) {
    return name.substr(0, scheme.size()) == scheme;
  }
  bool is_fp32(std::string_view name) const {
    for (const Kernel<Sgemm>& row : find_backend(DeviceKind::host_simt)->sgemm()) {
      if (row.name == name) return row.math == Math::fp32;
    }
    return false;
  }

  // C = A B, and the kernel that computed it.
  void multiply() {
    check::GuardedMatrix on_a(bench_, a_.rows, a_.cols, a_.cols + 4, 64, 0),
        on_b(bench_, b_.rows, b_.cols, b_.cols + 3, 64, 1),
        on_c(bench_, a_.rows, b_.cols, b_.cols, 64, 0);
    put(a_, on_a);
    put(b_, on_b);
    on_c.fill({}, false);
    Sgemm p;
    p.m = a_.rows;
    p.n = b_.cols;
    p.k = a_.cols;
    p.a = on_a.data();
    p.lda = on_a.ld();
    p.b = on_b.data();
    p.ldb = on_b.ld();
    p.c = on_c.data();
    p.ldc = on_c.ld();
    p.alpha_at = alpha_at_;
    const VerifyResult result = check::run_kernel(bench_, kernel(), p, 64);
    ASSERT_TRUE(result.ok()) << result.message;
    ASSERT_NE(result.path, nullptr);
    path_ = result.path;
    EXPECT_EQ(on_c.find_change("C", true), "");
    c_ = Matrix(p.m, p.n);
    check::require(bench_.runtime().copy(c_.values.data(), on_c.data(), c_.count() * sizeof(float),
                                         bench_.stream()));
  }

  // Every element within what FP32 may be off by, and twice 2^-23 for fp16's pieces; or of the same
  // kind.
  void expect_product() const {
    const double units = static_cast<double>(a_.cols) + (in_fp16() ? 7 : 3);
    for (std::int64_t i = 0; i < c_.rows; ++i) {
      for (std::int64_t j = 0; j < c_.cols; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t p = 0; p < a_.cols; ++p) {
          const double term = static_cast<double>(a_.at(i, p)) * b_.at(p, j);
          sum += term;
          magnitude += std::fabs(term);
        }
        const double got = c_.at(i, j);
        if (std::isfinite(sum)) {
          ASSERT_LE(std::fabs(got - sum), units * 0x1p-24 * magnitude) << i << ", " << j;
        } else {
          ASSERT_TRUE(std::isnan(sum) ? std::isnan(got) : got == sum) << i << ", " << j;
        }
      }
    }
  }

  std::unique_ptr<Runtime> runtime_ = open_host_simt();
  check::Workbench bench_{*runtime_};
  Matrix a_ = random_matrix(70, 50, 1), b_ = random_matrix(50, 66, 2), c_{0, 0};
  const float* alpha_at_ = nullptr;
  std::string path_;

 private:
  void put(const Matrix& from, check::GuardedMatrix& to) {
    to.fill({}, false);
    for (std::int64_t i = 0; i < from.rows; ++i) {
      check::require(bench_.runtime().copy(
          to.data() + i * to.ld(), &from.values[static_cast<std::size_t>(i * from.cols)],
          static_cast<std::size_t>(from.cols) * sizeof(float), bench_.stream()));
    }
  }

  host_simt::Options before_;
};

TEST_P(Hopper, OrdinaryDataTakesTheKernelsOwnPath) {
  multiply();
  EXPECT_EQ(path_, kernel().name);
  expect_product();
}

TEST_P(Hopper, EveryTailOfK) {
  for (const std::int64_t k : {1, 7, 8, 31, 32, 33, 63, 65, 130}) {
    if (in_fp16() && k < hopper::fp16x3_scheme.min_k) continue;
    SCOPED_TRACE(k);
    a_ = random_matrix(65, k, 3);
    b_ = random_matrix(k, 67, 4);
    multiply();
    EXPECT_EQ(path_, kernel().name);
    expect_product();
  }
}

// Far more than 256 elements lie below 2^-25 of their row's or column's largest.
TEST_P(Hopper, GradedDataTakesBf16) {
  a_ = random_matrix(70, 50, 5, 60);
  b_ = random_matrix(50, 66, 6, 20);
  multiply();
  EXPECT_TRUE(is_in("hopper_bf16x6", path_)) << path_;
  expect_product();
}

TEST_P(Hopper, AsManyElementsAsTheListHolds) {
  for (const int count : {256, 257}) {
    a_ = random_matrix(70, 50, 5);
    for (int i = 0; i < count; ++i) a_.at(i % 60, 10 + i / 60) *= 0x1p-40f;
    multiply();
    EXPECT_TRUE(is_in(in_fp16() && count == 256 ? "hopper_fp16x3" : "hopper_bf16x6", path_))
        << path_;
    expect_product();
  }
}

TEST_P(Hopper, DataThatThePiecesDoNotHoldTakesFp32) {
  const Matrix ordinary = a_;
  for (const float x : {infinity, -infinity, nan, 0x1p-120f, 0x1p-149f, 1e38f}) {
    SCOPED_TRACE(x);
    a_ = ordinary;
    a_.at(37, 21) = x;
    multiply();
    EXPECT_TRUE(is_fp32(path_)) << path_;
    expect_product();
  }
  a_ = ordinary;
  b_.at(49, 65) = -infinity;
  multiply();
  EXPECT_TRUE(is_fp32(path_)) << path_;
  expect_product();
}

// Nothing meets the large elements, but their pieces are infinite and would: 0 * Inf is NaN.
TEST_P(Hopper, ZerosTimesTheLargestFloat) {
  std::fill(a_.values.begin(), a_.values.end(), 0.0f);
  b_.fill_row(3, std::numeric_limits<float>::max());
  multiply();
  expect_product();
}

TEST_P(Hopper, ZerosTimesSubnormalsAndZeros) {
  std::fill(a_.values.begin(), a_.values.end(), 0.0f);
  multiply();
  expect_product();
  std::fill(b_.values.begin(), b_.values.end(), 0x1p-149f);
  multiply();
  expect_product();
  std::fill(b_.values.begin(), b_.values.end(), 0.0f);
  multiply();
  expect_product();
}

// Rows of A and columns of B whose only terms come from elements 2^40 and more below the largest of
// their row or column: without the outliers they would be 0 or have half their bits.
void put_outliers(Matrix& a, Matrix& b) {
  constexpr std::int64_t unmet = 0, huge = 1, met = 2;  // along k
  b.fill_row(unmet, 0);
  b.fill_row(huge, 0x1.8p20f);
  for (const std::int64_t i : {0, 17, 64, 69}) {
    a.fill_row(i, 0);
    a.at(i, unmet) = 0x1p20f;
    a.at(i, huge) = std::ldexp(1.2345678f, -20 - static_cast<int>(i % 3));
  }
  // Columns 5 and 65 of B have tiny elements that A's meet: of ordinary rows, of a row with nothing
  // else, and in row 41 one that is tiny as well.
  for (const std::int64_t j : {5, 65}) b.at(met, j) = 1.7654321f * 0x1p-25f;
  a.fill_row(40, 0);
  a.at(40, met) = 1000.7f;
  a.fill_row(41, 0);
  a.at(41, unmet) = 0x1p20f;
  a.at(41, met) = 1.1111111f * 0x1p-22f;
}

TEST_P(Hopper, TinyElementsThatMeetHugeOnesCount) {
  put_outliers(a_, b_);
  multiply();
  EXPECT_EQ(path_, kernel().name);
  expect_product();
}

// Outliers are appended in another order each time, tiles computed in another.
TEST_P(Hopper, SameBitsInEveryOrder) {
  put_outliers(a_, b_);
  std::optional<std::vector<float>> first;
  for (const auto order :
       {host_simt::Order::forward, host_simt::Order::reverse, host_simt::Order::random}) {
    for (const std::uint64_t seed : {1, 2}) {
      host_simt::options().order = order;
      host_simt::options().seed = seed;
      multiply();
      if (!first) first = c_.values;
      EXPECT_EQ(c_.values, *first) << to_string(order) << " " << seed;
    }
  }
  expect_product();
}

// Scales come from a sample of k: of 13 stages of 32, the first, fifth, ninth and last.
constexpr std::int64_t sampled_k = 400, missed_k = 40;

TEST_P(Hopper, LargeElementsThatTheSampleMisses) {
  const Matrix ordinary = random_matrix(70, sampled_k, 7);
  b_ = random_matrix(sampled_k, 66, 8);
  for (const int count : {1, 256, 257}) {
    SCOPED_TRACE(count);
    a_ = ordinary;
    for (int i = 0; i < count; ++i) a_.at(i % 60, missed_k + i / 60) *= 0x1p10f;
    multiply();
    EXPECT_TRUE(is_in(in_fp16() && count <= 256 ? "hopper_fp16x3" : "hopper_bf16x6", path_))
        << path_;
    expect_product();
  }
  a_ = ordinary;
  for (std::int64_t k = missed_k; k < missed_k + 20; ++k) b_.fill_row(k, 3.999f);
  multiply();
  EXPECT_EQ(path_, kernel().name) << "there is room for a factor of four";
  expect_product();
}

TEST_P(Hopper, RowsThatAreZerosInTheSample) {
  a_ = Matrix(70, sampled_k);
  b_ = random_matrix(sampled_k, 66, 9);
  for (std::int64_t i = 0; i < a_.rows; ++i) a_.at(i, missed_k + i % 80) = 1.2345678f;
  multiply();
  EXPECT_EQ(path_, kernel().name) << "no row of 64 says how large they are";
  expect_product();
  for (std::int64_t i = 0; i < a_.rows; ++i) a_.at(i, missed_k + i % 80) *= 0x1p40f;
  a_.at(3, 0) = a_.at(66, 0) = 0x1p41f;
  multiply();
  EXPECT_EQ(path_, kernel().name) << "one of 64 rows does";
  expect_product();
}

TEST_P(Hopper, InfAndNanThatTheSampleMisses) {
  b_ = random_matrix(sampled_k, 66, 8);
  for (const float x : {infinity, nan}) {
    a_ = random_matrix(70, sampled_k, 7);
    a_.at(11, missed_k) = x;
    multiply();
    EXPECT_TRUE(is_fp32(path_)) << path_;
    expect_product();
  }
}

TEST_P(Hopper, AlphaZeroOnTheDeviceReadsNothing) {
  check::DeviceBuffer alpha(*runtime_, sizeof(float));
  const float zero = 0;
  check::require(runtime_->copy(alpha.data(), &zero, sizeof zero, bench_.stream()));
  alpha_at_ = alpha.as<float>();
  a_.at(1, 1) = nan;
  b_.at(2, 2) = infinity;
  multiply();
  EXPECT_TRUE(is_fp32(path_)) << path_;
  for (const float x : c_.values) ASSERT_EQ(x, 0);
}

INSTANTIATE_TEST_SUITE_P(Registry, Hopper, testing::ValuesIn(split_kernels()), kernel_name);

}  // namespace
}  // namespace kw
