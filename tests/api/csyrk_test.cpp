// kw::csyrk and kw::cherk: every layout, operation, triangle and arithmetic against float64; the
// other triangle, scalars on the device, what is not read, bad arguments, and the C interface.
#include <cmath>
#include <complex>

#include "kernelwright/cgemm.hpp"
#include "kernelwright/kernelwright.h"
#include "support.hpp"

namespace kw::test {
namespace {

using Element = std::complex<float>;
using Exact = std::complex<double>;

struct Lines {
  std::int64_t rows, cols, ld;
  Layout layout;
  std::vector<Element> values;

  std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(layout == Layout::row_major ? i * ld + j : i + j * ld);
  }
  template <class T>
  MatrixView<T> view(T* data, Op op = Op::none) const {
    return {data, rows, cols, ld, layout, op};
  }
};

Lines make_lines(std::int64_t rows, std::int64_t cols, Layout layout, std::int64_t pad,
                 unsigned seed) {
  const bool by_rows = layout == Layout::row_major;
  Lines made{rows, cols, (by_rows ? cols : rows) + pad, layout, {}};
  const std::int64_t count = (by_rows ? rows : cols) * made.ld;
  const std::vector<float> parts = random_floats(2 * count, seed);
  for (std::size_t i = 0; i < parts.size(); i += 2)
    made.values.emplace_back(parts[i], parts[i + 1]);
  return made;
}

// C as it was, NaN beside the triangle and, where it is Hermitian, in the diagonal's imaginary
// parts.
struct Update {
  bool hermitian;
  Uplo uplo;
  Op op;
  Lines a, c;

  Update(bool is_hermitian, Uplo which, Op op_a, Layout layout_a, Layout layout_c, std::int64_t n,
         std::int64_t k, std::int64_t pad = 1)
      : hermitian(is_hermitian),
        uplo(which),
        op(op_a),
        a(make_lines(op == Op::none ? n : k, op == Op::none ? k : n, layout_a, pad, 5)),
        c(make_lines(n, n, layout_c, pad, 6)) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Element& value = c.values[c.at(i, j)];
        if (!is_wanted(i, j)) value = {nan, nan};
        if (hermitian && i == j) value = {value.real(), nan};
      }
    }
  }
  bool is_wanted(std::int64_t i, std::int64_t j) const {
    return uplo == Uplo::lower ? j <= i : i <= j;
  }
  Exact factor(std::int64_t i, std::int64_t l) const {
    const Exact value(a.values[op == Op::none ? a.at(i, l) : a.at(l, i)]);
    return op == Op::conjugate_transpose ? std::conj(value) : value;
  }
  void expect(const std::vector<Element>& after, Exact alpha, Exact beta) const {
    const std::int64_t n = c.rows, k = op == Op::none ? a.cols : a.rows;
    std::vector<Element> rest = c.values;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        if (!is_wanted(i, j)) continue;
        const std::size_t at = c.at(i, j);
        Exact sum = 0, old = beta == 0.0 ? Exact(0) : Exact(c.values[at]);
        double size = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const Exact other = factor(j, l);
          sum += factor(i, l) * (hermitian ? std::conj(other) : other);
          size += std::abs(factor(i, l)) * std::abs(other);
        }
        if (hermitian && i == j) old.imag(0);
        const Exact want = (alpha == 0.0 ? Exact(0) : alpha * sum) + beta * old;
        const double bound =
            std::ldexp(2.0 * double(k) + 8, -24) * (std::abs(alpha) * size + std::abs(beta * old));
        ASSERT_TRUE(std::abs(Exact(after[at]) - want) <= bound)
            << i << ", " << j << ": " << after[at] << ", want " << want;
        ASSERT_TRUE(!hermitian || i != j || after[at].imag() == 0);
        rest[at] = after[at];
      }
    }
    EXPECT_EQ(std::memcmp(rest.data(), after.data(), rest.size() * sizeof(Element)), 0);
  }
};

class ApiCsyrk : public testing::TestWithParam<DeviceKind> {
 protected:
  std::vector<Element> compute(const Update& u, Element alpha, Element beta, Math math) {
    const DeviceArray<Element> a(context, u.a.values), c(context, u.c.values);
    const auto va = u.a.view<const Element>(a.data(), u.op);
    if (u.hermitian)
      cherk(context, u.uplo, alpha.real(), va, beta.real(), u.c.view(c.data()), {math});
    else
      csyrk(context, u.uplo, alpha, va, beta, u.c.view(c.data()), {math});
    return c.get();
  }

  Context context = detail::open_context(GetParam());
};

TEST_P(ApiCsyrk, EveryTriangleLayoutAndOperation) {
  const Element scalars[] = {1, 0, {-1.5f, 0}, {0, 0.5f}, {0.75f, -1.25f}};
  unsigned number = 0;
  for (const bool hermitian : {false, true})
    for (const Uplo uplo : {Uplo::lower, Uplo::upper})
      for (const Op op : {Op::none, hermitian ? Op::conjugate_transpose : Op::transpose})
        for (const Layout layout_a : {Layout::row_major, Layout::col_major})
          for (const Layout layout_c : {Layout::row_major, Layout::col_major})
            for (const Math math : {Math::fp32, Math::fp32_split}) {
              SCOPED_TRACE(testing::Message() << "combination " << ++number);
              const Update u(hermitian, uplo, op, layout_a, layout_c, 13, 7, number % 3);
              Element alpha = scalars[number % 5], beta = scalars[number / 5 % 5];
              // What is 0 is tested below.
              if (alpha.real() == 0) alpha = {2, alpha.imag()};
              if (hermitian) alpha = alpha.real(), beta = beta.real();
              u.expect(compute(u, alpha, beta, math), Exact(alpha), Exact(beta));
              if (HasFatalFailure()) return;
            }
}

TEST_P(ApiCsyrk, WhatIsZeroIsNotRead) {
  for (const bool hermitian : {false, true}) {
    Update u(hermitian, Uplo::lower, Op::none, Layout::row_major, Layout::row_major, 9, 5);
    const Update as_made = u;
    std::fill(u.a.values.begin(), u.a.values.end(), Element(nan, nan));
    const std::vector<Element> scaled = compute(u, 0, 3, Math::fp32);
    as_made.expect(scaled, 0, 3);
    const std::vector<Element> same = compute(u, 0, 1, Math::fp32);
    EXPECT_EQ(std::memcmp(same.data(), u.c.values.data(), same.size() * sizeof(Element)), 0);
    Update of_nan = as_made;
    for (Element& value : of_nan.c.values) value = {nan, nan};
    of_nan.expect(compute(of_nan, 2, 0, Math::fp32), 2, 0);
  }
}

TEST_P(ApiCsyrk, ScalarsOnTheDevice) {
  const DeviceArray<Element> scalars(context, {{0.5f, -2}, {3, 1}});
  const DeviceArray<float> real(context, {0.5f, 3});
  for (const bool hermitian : {false, true}) {
    const Update u(hermitian, Uplo::upper, Op::none, Layout::col_major, Layout::col_major, 20, 6);
    const DeviceArray<Element> a(context, u.a.values), c(context, u.c.values);
    const auto va = u.a.view<const Element>(a.data());
    if (hermitian)
      cherk(context, u.uplo, Scalar::at(real.data()), va, Scalar::at(real.data() + 1),
            u.c.view(c.data()));
    else
      csyrk(context, u.uplo, ComplexScalar::at(scalars.data()), va,
            ComplexScalar::at(scalars.data() + 1), u.c.view(c.data()));
    u.expect(c.get(), hermitian ? Exact(0.5) : Exact(0.5, -2), hermitian ? Exact(3) : Exact(3, 1));
  }
}

TEST_P(ApiCsyrk, BadArgumentsAreNamed) {
  const DeviceArray<Element> memory(context, std::vector<Element>(200));
  const auto view = [&](std::int64_t rows, std::int64_t cols, Op op = Op::none) {
    MatrixView<Element> of = row_major(memory.data(), rows, cols);
    of.op = op;
    return of;
  };
  const MatrixView<Element> c = row_major(memory.data() + 100, 4, 4);
  const auto expect = [](const char* argument, const char* words, const auto& call) {
    test::expect_error(call, StatusCode::invalid_argument, argument, {words});
  };
  const auto syrk = [&](auto a, auto to, Uplo uplo = Uplo::lower) {
    csyrk(context, uplo, 1.0f, a, 0.0f, to);
  };
  expect("uplo", "pass 0 (lower)", [&] { syrk(view(4, 3), c, static_cast<Uplo>(2)); });
  expect("a.op", "csyrk's A takes 0 (none) or 1",
         [&] { syrk(view(3, 4, Op::conjugate_transpose), c); });
  expect("a.op", "cherk's A takes 0 (none) or 2",
         [&] { cherk(context, Uplo::lower, 1, view(3, 4, Op::transpose), 0, c); });
  expect("c", "is not square", [&] { syrk(view(4, 3), row_major(memory.data() + 100, 4, 5)); });
  expect("a", "op(A) is 5 x 3", [&] { syrk(view(5, 3), c); });
  expect("c", "shares an element", [&] { syrk(view(4, 3), row_major(memory.data() + 11, 4, 4)); });
  expect("alpha", "is null",
         [&] { cherk(context, Uplo::lower, Scalar::at(nullptr), view(4, 3), 0, c); });
  expect("options.math", "pass 0 (fp32)",
         [&] { csyrk(context, Uplo::lower, 1.0f, view(4, 3), 0.0f, c, {static_cast<Math>(7)}); });
  EXPECT_TRUE(memory.unchanged());
  syrk(row_major<Element>(nullptr, 0, 5), row_major<Element>(nullptr, 0, 0));
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiCsyrk, testing::ValuesIn(present_devices()), device_test_name);

TEST(CsyrkC, ComputesPlansAndNamesErrors) {
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  for (const bool hermitian : {false, true}) {
    const Op op = hermitian ? Op::conjugate_transpose : Op::transpose;
    const Update u(hermitian, Uplo::upper, op, Layout::col_major, Layout::col_major, 8, 5);
    std::vector<Element> c = u.c.values;
    const kwComplex alpha = {1, -2}, beta = {0.5f, 0.25f};
    const auto* const a = reinterpret_cast<const kwComplex*>(u.a.values.data());
    auto* const to = reinterpret_cast<kwComplex*>(c.data());
    const auto run = [&](auto function, kwOp_t op_a, const auto* x, const auto* y, auto... last) {
      return function(handle, KW_COL_MAJOR, KW_UPPER, op_a, 8, 5, x, a, u.a.ld, y, to, u.c.ld,
                      last...);
    };
    kwSgemmPlan plan;
    std::size_t bytes = 1;
    const auto op_c = static_cast<kwOp_t>(op);
    if (hermitian) {
      EXPECT_EQ(run(kwPlanCherk, op_c, &alpha.re, &beta.re, &plan), KW_STATUS_OK);
      EXPECT_EQ(run(kwCherkWorkspaceBytes, op_c, &alpha.re, &beta.re, &bytes), KW_STATUS_OK);
      EXPECT_EQ(run(kwCherk, op_c, &alpha.re, &beta.re), KW_STATUS_OK);
      u.expect(c, 1, 0.5);
      EXPECT_EQ(run(kwCherk, KW_OP_TRANSPOSE, &alpha.re, &beta.re), KW_STATUS_INVALID_ARGUMENT);
      const float* const none = nullptr;
      EXPECT_EQ(run(kwCherk, op_c, none, &beta.re), KW_STATUS_INVALID_ARGUMENT);
    } else {
      EXPECT_EQ(run(kwPlanCsyrk, op_c, &alpha, &beta, &plan), KW_STATUS_OK);
      EXPECT_EQ(run(kwCsyrkWorkspaceBytes, op_c, &alpha, &beta, &bytes), KW_STATUS_OK);
      EXPECT_EQ(run(kwCsyrk, op_c, &alpha, &beta), KW_STATUS_OK);
      u.expect(c, Exact(1, -2), Exact(0.5, 0.25));
      EXPECT_EQ(run(kwCsyrk, 3, &alpha, &beta), KW_STATUS_INVALID_ARGUMENT);
    }
    EXPECT_NE(plan.kernel, nullptr);
    EXPECT_EQ(bytes, 0u);
  }
  kwDestroy(handle);
}

}  // namespace
}  // namespace kw::test
