// kw::ctrsm: every layout, side, operation, triangle, diagonal and arithmetic by its residual in
// float64; what is not read, alpha on the device, batches, bad arguments, and the C interface.
#include <cmath>
#include <complex>

#include "kernelwright/cgemm.hpp"
#include "kernelwright/kernelwright.h"
#include "support.hpp"

namespace kw::test {
namespace {

using Number = std::complex<float>;
using Wide = std::complex<double>;

double size_of_parts(const Wide& z) { return std::abs(z.real()) + std::abs(z.imag()); }

// Matrices in one array, `entries` of them.
struct Grid {
  std::int64_t rows, cols, ld, stride, entries;
  Layout layout;
  std::vector<Number> values;

  Grid(std::int64_t height, std::int64_t width, Layout as, std::int64_t pad, std::int64_t count,
       unsigned seed)
      : rows(height), cols(width), entries(count), layout(as) {
    const bool by_rows = layout == Layout::row_major;
    ld = (by_rows ? cols : rows) + pad;
    stride = (by_rows ? rows : cols) * ld + 2;
    const std::vector<float> parts = random_floats(2 * stride * entries, seed);
    for (std::size_t i = 0; i < parts.size(); i += 2) values.emplace_back(parts[i], parts[i + 1]);
  }
  std::size_t at(std::int64_t i, std::int64_t j, std::int64_t entry = 0) const {
    return static_cast<std::size_t>(entry * stride +
                                    (layout == Layout::row_major ? i * ld + j : i + j * ld));
  }
  template <class T>
  MatrixView<T> view(T* data, Op op = Op::none) const {
    return {data, rows, cols, ld, layout, op};
  }
};

// A triangle with NaN beside it, and on its diagonal where that is of ones; and right-hand sides.
struct System {
  Side side;
  Uplo uplo;
  Diag diag;
  Op op;
  Grid a, b;

  System(Side where, Uplo which, Diag diagonal, Op op_a, Layout layout_a, Layout layout_b,
         std::int64_t m, std::int64_t n, std::int64_t entries = 1, std::int64_t pad = 1)
      : side(where),
        uplo(which),
        diag(diagonal),
        op(op_a),
        a(side == Side::left ? m : n, side == Side::left ? m : n, layout_a, pad, entries, 8),
        b(m, n, layout_b, pad, entries, 9) {
    for (std::int64_t entry = 0; entry < entries; ++entry) {
      for (std::int64_t i = 0; i < a.rows; ++i) {
        for (std::int64_t j = 0; j < a.rows; ++j) {
          Number& value = a.values[a.at(i, j, entry)];
          if (i == j)
            value = diag == Diag::unit ? Number(nan, nan) : Number(2, 1) + 0.5f * value;
          else
            value = is_stored(i, j) ? 0.125f * value : Number(nan, nan);
        }
      }
    }
  }
  bool is_stored(std::int64_t i, std::int64_t j) const {
    return uplo == Uplo::lower ? j <= i : i <= j;
  }
  Wide element(std::int64_t i, std::int64_t j, std::int64_t entry) const {
    const std::int64_t row = op == Op::none ? i : j, col = op == Op::none ? j : i;
    if (row == col && diag == Diag::unit) return 1;
    if (!is_stored(row, col)) return 0;
    const Wide value(a.values[a.at(row, col, entry)]);
    return op == Op::conjugate_transpose ? std::conj(value) : value;
  }
  // The residual of each element, and that all else of the array is as it was.
  void expect(const std::vector<Number>& x, Wide alpha) const {
    std::vector<Number> rest = b.values;
    for (std::int64_t entry = 0; entry < b.entries; ++entry) {
      for (std::int64_t i = 0; i < b.rows; ++i) {
        for (std::int64_t j = 0; j < b.cols; ++j) {
          const Wide right = alpha * Wide(b.values[b.at(i, j, entry)]);
          Wide sum = 0;
          double size = size_of_parts(right);
          for (std::int64_t l = 0; l < a.rows; ++l) {
            const bool is_left = side == Side::left;
            const Wide of_a = is_left ? element(i, l, entry) : element(l, j, entry);
            const Wide of_x(x[is_left ? b.at(l, j, entry) : b.at(i, l, entry)]);
            if (of_a == 0.0) continue;
            sum += of_a * of_x;
            size += size_of_parts(of_a) * size_of_parts(of_x);
          }
          const double bound = std::ldexp(2.0 * double(a.rows) + 8, -24) * size;
          ASSERT_TRUE(std::abs(sum - right) <= bound)
              << entry << ": " << i << ", " << j << ": " << sum << ", want " << right;
          rest[b.at(i, j, entry)] = x[b.at(i, j, entry)];
        }
      }
    }
    EXPECT_EQ(std::memcmp(rest.data(), x.data(), rest.size() * sizeof(Number)), 0);
  }
};

class ApiCtrsm : public testing::TestWithParam<DeviceKind> {
 protected:
  std::vector<Number> solve(const System& s, const ComplexScalar& alpha, Math math) {
    const DeviceArray<Number> a(context, s.a.values), b(context, s.b.values);
    const auto va = s.a.view<const Number>(a.data(), s.op);
    if (s.b.entries == 1)
      ctrsm(context, s.side, s.uplo, s.diag, alpha, va, s.b.view(b.data()), {math});
    else
      ctrsm_batched(context, s.side, s.uplo, s.diag, alpha, va, s.b.view(b.data()), s.b.entries,
                    s.a.stride, s.b.stride, {math});
    return b.get();
  }

  Context context = detail::open_context(GetParam());
};

TEST_P(ApiCtrsm, EveryFormAndLayout) {
  const Number alphas[] = {1, {-1.5f, 0}, {0, 0.5f}, {0.75f, -1.25f}};
  unsigned number = 0;
  for (const Side side : {Side::left, Side::right})
    for (const Uplo uplo : {Uplo::lower, Uplo::upper})
      for (const Diag diag : {Diag::non_unit, Diag::unit})
        for (const Op op : {Op::none, Op::transpose, Op::conjugate_transpose})
          for (const Layout layout_a : {Layout::row_major, Layout::col_major})
            for (const Layout layout_b : {Layout::row_major, Layout::col_major}) {
              SCOPED_TRACE(testing::Message() << "combination " << ++number);
              const System s(side, uplo, diag, op, layout_a, layout_b, 11, 13, 1 + number % 2,
                             number % 3);
              const Number alpha = alphas[number % 4];
              const Math math = number % 3 == 0 ? Math::fp32_split : Math::fp32;
              s.expect(solve(s, alpha, math), Wide(alpha));
              if (HasFatalFailure()) return;
            }
}

TEST_P(ApiCtrsm, MoreThanOneBlock) {
  for (const Math math : {Math::fp32, Math::fp32_split}) {
    for (const Side side : {Side::left, Side::right}) {
      const bool is_left = side == Side::left;
      const System s(side, Uplo::upper, Diag::non_unit, Op::conjugate_transpose, Layout::col_major,
                     Layout::col_major, is_left ? 150 : 5, is_left ? 5 : 150);
      s.expect(solve(s, Number(0.5f, 2), math), Wide(0.5, 2));
    }
  }
}

TEST_P(ApiCtrsm, AlphaOfZeroReadsNothing) {
  for (const bool on_device : {false, true}) {
    System s(Side::left, Uplo::lower, Diag::non_unit, Op::none, Layout::row_major,
             Layout::row_major, 9, 5);
    std::fill(s.a.values.begin(), s.a.values.end(), Number(nan, nan));
    for (std::int64_t i = 0; i < 9; ++i)
      for (std::int64_t j = 0; j < 5; ++j) s.b.values[s.b.at(i, j)] = {nan, nan};
    const DeviceArray<Number> zero(context, {0});
    const std::vector<Number> x =
        solve(s, on_device ? ComplexScalar::at(zero.data()) : ComplexScalar(0.0f), Math::fp32);
    std::vector<Number> want = s.b.values;
    for (std::int64_t i = 0; i < 9; ++i)
      for (std::int64_t j = 0; j < 5; ++j) want[s.b.at(i, j)] = 0;
    EXPECT_EQ(std::memcmp(want.data(), x.data(), x.size() * sizeof(Number)), 0) << on_device;
  }
}

TEST_P(ApiCtrsm, AlphaOnTheDeviceAndOneTriangleForAll) {
  const DeviceArray<Number> alpha(context, {{0.5f, -2}});
  System s(Side::right, Uplo::lower, Diag::non_unit, Op::none, Layout::col_major, Layout::row_major,
           6, 20, 3);
  const DeviceArray<Number> a(context, s.a.values), b(context, s.b.values);
  ctrsm_batched(context, s.side, s.uplo, s.diag, ComplexScalar::at(alpha.data()),
                s.a.view<const Number>(a.data()), s.b.view(b.data()), 3, 0, s.b.stride);
  // All with the first triangle.
  for (std::int64_t entry = 1; entry < 3; ++entry)
    std::copy_n(s.a.values.begin(), s.a.stride, s.a.values.begin() + entry * s.a.stride);
  s.expect(b.get(), Wide(0.5, -2));
}

// A right-hand side that is no number is its own affair.
TEST_P(ApiCtrsm, LinesDependOnThemselvesAlone) {
  const System s(Side::left, Uplo::lower, Diag::non_unit, Op::none, Layout::row_major,
                 Layout::row_major, 30, 8);
  System spoiled = s;
  spoiled.b.values[s.b.at(3, 2)] = {nan, 0};
  const std::vector<Number> x = solve(s, 1.0f, Math::fp32), y = solve(spoiled, 1.0f, Math::fp32);
  for (std::int64_t i = 0; i < 30; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) {
      const Number got = y[s.b.at(i, j)];
      if (j == 2 && i >= 3)
        EXPECT_TRUE(std::isnan(got.real()) || std::isnan(got.imag())) << i;
      else
        EXPECT_NEAR(std::abs(got - x[s.b.at(i, j)]), 0, 1e-5) << i << ", " << j;
    }
  }
}

TEST_P(ApiCtrsm, BadArgumentsAreNamed) {
  const DeviceArray<Number> memory(context, std::vector<Number>(200));
  const auto a = row_major(memory.data(), 4, 4), b = row_major(memory.data() + 100, 4, 3);
  const auto expect = [](const char* argument, const char* words, const auto& call) {
    test::expect_error(call, StatusCode::invalid_argument, argument, {words});
  };
  const auto call = [&](auto of_a, auto of_b, Side side = Side::left, Uplo uplo = Uplo::lower,
                        Diag diag = Diag::unit) {
    ctrsm(context, side, uplo, diag, 1.0f, of_a, of_b);
  };
  expect("uplo", "pass 0 (lower)", [&] { call(a, b, Side::left, static_cast<Uplo>(2)); });
  expect("side", "pass 0 (left)", [&] { call(a, b, static_cast<Side>(2)); });
  expect("diag", "pass 0 (non-unit)",
         [&] { call(a, b, Side::left, Uplo::lower, static_cast<Diag>(2)); });
  expect("a", "is not square", [&] { call(row_major(memory.data(), 4, 5), b); });
  expect("a", "A on the right", [&] { call(a, b, Side::right); });
  expect("b", "shares an element", [&] { call(a, row_major(memory.data() + 11, 4, 3)); });
  expect("b.op", "an output is written as it is stored", [&] {
    call(a, MatrixView<Number>{memory.data() + 100, 3, 4, 4, Layout::row_major, Op::transpose});
  });
  expect("alpha", "is null", [&] {
    ctrsm(context, Side::left, Uplo::lower, Diag::unit, ComplexScalar::at(nullptr), a, b);
  });
  expect("batch", "pass 0 or more", [&] {
    ctrsm_batched(context, Side::left, Uplo::lower, Diag::unit, 1.0f, a, b, -1, 0, 12);
  });
  expect("options.math", "pass 0 (fp32)", [&] {
    ctrsm(context, Side::left, Uplo::lower, Diag::unit, 1.0f, a, b, {static_cast<Math>(7)});
  });
  EXPECT_TRUE(memory.unchanged());
  call(row_major<Number>(nullptr, 0, 0), row_major<Number>(nullptr, 0, 5));
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiCtrsm, testing::ValuesIn(present_devices()), device_test_name);

TEST(CtrsmC, ComputesPlansAndNamesErrors) {
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  const System s(Side::right, Uplo::upper, Diag::non_unit, Op::conjugate_transpose,
                 Layout::col_major, Layout::col_major, 5, 8, 2);
  System first = s;
  const kwComplex alpha = {1, -2};
  const auto* const a = reinterpret_cast<const kwComplex*>(s.a.values.data());
  std::vector<Number> x = s.b.values, y = s.b.values;
  const auto run = [&](auto function, kwOp_t op, std::vector<Number>& b, auto... last) {
    return function(handle, KW_COL_MAJOR, KW_RIGHT, KW_UPPER, op, KW_NON_UNIT, 5, 8, &alpha, a,
                    s.a.ld, reinterpret_cast<kwComplex*>(b.data()), s.b.ld, last...);
  };
  const auto run_all = [&](auto function, auto... last) {
    return function(handle, KW_COL_MAJOR, KW_RIGHT, KW_UPPER, KW_OP_CONJUGATE_TRANSPOSE,
                    KW_NON_UNIT, 5, 8, &alpha, a, s.a.ld, s.a.stride,
                    reinterpret_cast<kwComplex*>(x.data()), s.b.ld, s.b.stride, 2, last...);
  };
  kwSgemmPlan plan = {nullptr, 0, 0};
  std::size_t bytes = 1;
  EXPECT_EQ(run_all(kwPlanCtrsmStridedBatched, &plan), KW_STATUS_OK);
  EXPECT_NE(plan.kernel, nullptr);
  EXPECT_EQ(run_all(kwCtrsmStridedBatchedWorkspaceBytes, &bytes), KW_STATUS_OK);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(run_all(kwCtrsmStridedBatched), KW_STATUS_OK);
  s.expect(x, Wide(1, -2));
  EXPECT_EQ(run(kwPlanCtrsm, KW_OP_CONJUGATE_TRANSPOSE, y, &plan), KW_STATUS_OK);
  EXPECT_EQ(run(kwCtrsmWorkspaceBytes, KW_OP_CONJUGATE_TRANSPOSE, y, &bytes), KW_STATUS_OK);
  EXPECT_EQ(run(kwCtrsm, 3, y), KW_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(y, s.b.values);
  EXPECT_EQ(run(kwCtrsm, KW_OP_CONJUGATE_TRANSPOSE, y), KW_STATUS_OK);
  first.b.entries = 1;
  first.expect(y, Wide(1, -2));
  kwDestroy(handle);
}

}  // namespace
}  // namespace kw::test
