// The CPU's kernels by themselves: slices of the CBLAS, sizes beyond its integers, no look at what
// must not be read, and the fused scale_add.
#include <cmath>

#include "api/support.hpp"
#include "cpu/kernels.hpp"
#include "select.hpp"

namespace kw::test {
namespace {

const Device& cpu_device() {
  static const Context context = Context::cpu();
  return detail::ContextAccess::state(context).device();
}

// Integers from -4 to 4: products of these sizes are exact in any order.
std::vector<float> integers(std::int64_t count, unsigned seed) {
  std::vector<float> values = random_floats(count, seed);
  for (float& value : values) value = std::round(4 * value);
  return values;
}

std::vector<float> reference(const Sgemm& p, std::vector<float> c) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < p.loop_k(); ++l) {
        const float a = p.a[p.op_a == Op::none ? i * p.lda + l : l * p.lda + i];
        const float b = p.b[p.op_b == Op::none ? l * p.ldb + j : j * p.ldb + l];
        sum += static_cast<double>(a) * b;
      }
      float& to = c[static_cast<std::size_t>(i * p.ldc + j)];
      to = static_cast<float>(p.alpha * sum + (p.beta == 0 ? 0.0 : p.beta * to));
    }
  }
  return c;
}

using Compute = std::function<Status(const Sgemm&)>;

void expect_exact(const Compute& compute, float alpha, float beta) {
  constexpr std::int64_t m = 37, n = 300, k = 70;
  for (Op op_a : {Op::none, Op::transpose}) {
    for (Op op_b : {Op::none, Op::transpose}) {
      const std::int64_t lda = (op_a == Op::none ? k : m) + 2;
      const std::int64_t ldb = (op_b == Op::none ? n : k) + 1;
      const std::int64_t ldc = n + 3;
      const std::vector<float> a = integers(80 * 80, 1), b = integers(310 * 310, 2);
      std::vector<float> c = integers(m * ldc, 3);
      if (beta == 0) c.assign(c.size(), nan);
      const Sgemm p{
          {m, n, k, op_a, op_b, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc}};
      const std::vector<float> want = reference(p, c);
      ASSERT_TRUE(compute(p).ok());
      for (std::size_t at = 0; at < c.size(); ++at) {
        // A gap's NaN is the same bits; elsewhere -0 may stand for 0.
        ASSERT_TRUE(c[at] == want[at] || std::memcmp(&c[at], &want[at], sizeof(float)) == 0)
            << c[at] << " in place of " << want[at] << " at word " << at << ", op_a "
            << static_cast<int>(op_a) << " op_b " << static_cast<int>(op_b) << " alpha " << alpha
            << " beta " << beta;
      }
    }
  }
}

void expect_exact_for_all_scalars(const Compute& compute) {
  for (float alpha : {1.0f, 2.0f, 0.0f}) {
    for (float beta : {0.0f, 1.0f, -1.5f}) expect_exact(compute, alpha, beta);
  }
}

TEST(CpuLoop, EveryTransposeAndScalar) {
  expect_exact_for_all_scalars(
      [](const Sgemm& p) { return cpu::cpu_loop(p, cpu_device(), {}, {}); });
}

// Terms of one sign: one running sum would err by 14 units here.
TEST(CpuLoop, LongSumsErrAsShortOnes) {
  constexpr std::int64_t m = 8, n = 40, k = 4100;
  std::vector<float> a = random_floats(m * k, 5), b = random_floats(k * n, 6), c(m * n, nan);
  for (float& x : a) x = std::fabs(x);
  for (float& x : b) x = std::fabs(x);
  const Sgemm p{{m, n, k, Op::none, Op::none, 1, a.data(), k, b.data(), n, 0, c.data(), n}};
  ASSERT_TRUE(cpu::cpu_loop(p, cpu_device(), {}, {}).ok());
  double squares = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double want = 0;
      for (std::int64_t l = 0; l < k; ++l)
        want += static_cast<double>(a[static_cast<std::size_t>(i * k + l)]) *
                b[static_cast<std::size_t>(l * n + j)];
      const double units = (c[static_cast<std::size_t>(i * n + j)] / want - 1) * 0x1p24;
      squares += units * units;
    }
  }
  EXPECT_LT(std::sqrt(squares / (m * n)), 4);
}

TEST(CpuLoop, AlphaZeroReadsNeitherInput) {
  std::vector<float> c = {1, 2, 3, 4};
  const Sgemm p{{2, 2, 100, Op::none, Op::none, 0, nullptr, 100, nullptr, 2, 3, c.data(), 2}};
  ASSERT_TRUE(cpu::cpu_loop(p, cpu_device(), {}, {}).ok());
  EXPECT_EQ(c, (std::vector<float>{3, 6, 9, 12}));
}

#ifdef KW_HAVE_CBLAS
TEST(CpuCblas, EveryTransposeAndScalar) {
  expect_exact_for_all_scalars(
      [](const Sgemm& p) { return cpu::cpu_cblas(p, cpu_device(), {}, {}); });
}

TEST(CpuCblas, SlicesOfAnySizeMakeTheSameProduct) {
  for (std::int64_t largest : {1, 7, 36, 100, 299, 1000}) {
    SCOPED_TRACE(largest);
    expect_exact_for_all_scalars([largest](const Sgemm& p) {
      cpu::cblas_in_slices(p, largest);
      return Status::success();
    });
  }
}

TEST(CpuCblas, AlphaZeroReadsNeitherInput) {
  std::vector<float> c = {1, 2, 3, 4};
  const Sgemm p{{2, 2, 100, Op::none, Op::none, 0, nullptr, 100, nullptr, 2, 3, c.data(), 2}};
  ASSERT_TRUE(cpu::cpu_cblas(p, cpu_device(), {}, {}).ok());
  EXPECT_EQ(c, (std::vector<float>{3, 6, 9, 12}));
}

TEST(CpuCblas, LdBeyondItsIntegers) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  const std::vector<float> a = {1, 2, 3}, b = {4, 5, 6};
  float c = nan;
  // One line each: ld is never used.
  Sgemm p{{1, 1, 3, Op::none, Op::transpose, 1, a.data(), huge, b.data(), huge, 0, &c, huge}};
  ASSERT_TRUE(cpu::cpu_cblas_supports(p, cpu_device()));
  ASSERT_TRUE(cpu::cpu_cblas(p, cpu_device(), {}, {}).ok());
  EXPECT_EQ(c, 32);
  // Two rows of A really are that far apart: the loop has to do it.
  p.m = 2;
  EXPECT_FALSE(cpu::cpu_cblas_supports(p, cpu_device()));
  const KernelList<Sgemm> kernels = find_backend(DeviceKind::cpu)->sgemm();
  EXPECT_STREQ(select_kernel(p, cpu_device(), kernels, Math::fp32)->kernel->name, "cpu_loop");
  p.m = 1;
  EXPECT_STREQ(select_kernel(p, cpu_device(), kernels, Math::fp32)->kernel->name, "cpu_cblas");
}
#endif

TEST(CpuScaleAdd, OneRoundingAnElement) {
  // A product that only a fused operation gets right: (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24.
  const float x = 1 + std::ldexp(1.0f, -12);
  std::vector<float> a(37, x), b(37, nan);
  ASSERT_TRUE(
      cpu::cpu_scale_add({1, 37, x, a.data(), 37, -(1 + std::ldexp(1.0f, -11)), b.data(), 37},
                         cpu_device(), {}, {})
          .ok());
  for (float value : b) EXPECT_EQ(value, std::ldexp(1.0f, -24));
}

TEST(CpuScaleAdd, SameBitsAsFma) {
  const std::vector<float> a = random_floats(10000, 4);
  std::vector<float> b(10000);
  ASSERT_TRUE(
      cpu::cpu_scale_add({100, 99, 1.1f, a.data(), 100, 0.3f, b.data(), 100}, cpu_device(), {}, {})
          .ok());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(b[i], i % 100 == 99 ? 0.0f : std::fma(1.1f, a[i], 0.3f)) << i;
  }
}

}  // namespace
}  // namespace kw::test
