// What the tests of the split kernels share: matrices, and a product by the kernel that is the
// test's parameter, on host SIMT, with the path that its data took.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "check/run_kernel.hpp"
#include "hopper_subjects.hpp"
#include "host_simt/host_simt.hpp"
#include "host_simt/uneven_warps.hpp"
#include "sgemm/hopper/plan.hpp"
#include "support/kept_options.hpp"
#include "support/run_seed.hpp"

namespace kw {

// Dense in the test, padded with NaN on the device.
struct TestMatrix {
  std::int64_t rows, cols;
  std::vector<float> values;

  TestMatrix(std::int64_t r, std::int64_t c) : rows(r), cols(c), values(count()) {}
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
inline TestMatrix random_matrix(std::int64_t rows, std::int64_t cols, unsigned seed,
                                int spread = 1) {
  TestMatrix made(rows, cols);
  std::mt19937 engine(seed_of(seed));
  std::uniform_real_distribution<float> mantissa(1, 2);
  std::uniform_int_distribution<int> exponent(-spread / 2, spread - spread / 2 - 1), sign(0, 1);
  for (float& x : made.values)
    x = std::ldexp(mantissa(engine), exponent(engine)) * (sign(engine) == 1 ? 1.0f : -1.0f);
  return made;
}

// A split kernel, one at a time, whose scales of fp16x3 are sampled by a launch of their own or by
// each block of the split pass, whatever L2 holds.
class Sampled {
 public:
  static Kernel<Sgemm> row(const Kernel<Sgemm>& kernel, bool apart) {
    kernel_ = kernel;
    apart_ = apart;
    Kernel<Sgemm> made = kernel;
    made.launch_plan = [](const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                          Workspace workspace, Stream stream) {
      Plan<Sgemm> own = plan;
      auto call = own.data.get<hopper::CallPlan>();
      call.split.samples_apart = apart_;
      own.data.set(call);
      return kernel_.launch_plan(p, device, own, workspace, stream);
    };
    return made;
  }

 private:
  static inline Kernel<Sgemm> kernel_;
  static inline bool apart_;
};

// A kernel that keeps how many outliers the data of its last product had.
class Counted {
 public:
  static Kernel<Sgemm> row(const Kernel<Sgemm>& kernel) {
    kernel_ = kernel;
    Kernel<Sgemm> made = kernel;
    made.path_taken = [](const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                         const PathWords& words) {
      outliers_ = words[1];
      return kernel_.path_taken(p, device, plan, words);
    };
    return made;
  }
  static std::uint32_t outliers() { return outliers_; }

 private:
  static inline Kernel<Sgemm> kernel_;
  static inline std::uint32_t outliers_;
};

class Hopper : public testing::TestWithParam<Kernel<Sgemm>> {
 protected:
  ~Hopper() override { host_simt::uneven_warps() = false; }

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
  void multiply() { multiply_by(kernel()); }
  void multiply_by(const Kernel<Sgemm>& row) {
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
    const check::VerifyResult result = check::run_kernel(bench_, row, p, 64);
    ASSERT_TRUE(result.ok()) << result.message;
    ASSERT_NE(result.path, nullptr);
    path_ = result.path;
    EXPECT_EQ(on_c.find_change("C", true), "");
    c_ = TestMatrix(p.m, p.n);
    check::require(bench_.runtime().copy(c_.values.data(), on_c.data(), c_.count() * sizeof(float),
                                         bench_.stream()));
  }

  // The same, by threads in several orders: all give the same bits.
  void multiply_in_every_order() {
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
  TestMatrix a_ = random_matrix(70, 50, 1), b_ = random_matrix(50, 66, 2), c_{0, 0};
  const float* alpha_at_ = nullptr;
  std::string path_;

 private:
  void put(const TestMatrix& from, check::GuardedMatrix& to) {
    to.fill({}, false);
    for (std::int64_t i = 0; i < from.rows; ++i) {
      check::require(bench_.runtime().copy(
          to.data() + i * to.ld(), &from.values[static_cast<std::size_t>(i * from.cols)],
          static_cast<std::size_t>(from.cols) * sizeof(float), bench_.stream()));
    }
  }

  const test::KeptOptions kept_;
};

}  // namespace kw
