// kw::cgemm: every layout, op pair, ld and scalar against float64, each component against its own
// sum of sizes; batches, scalars on the device, special values, limits of workspace, bad arguments.
#include <algorithm>
#include <cmath>
#include <complex>

#include "kernelwright/cgemm.hpp"
#include "kernelwright/kernelwright.h"
#include "support.hpp"

namespace kw::test {
namespace {

using Element = std::complex<float>;
using Exact = std::complex<double>;
constexpr float infinite = std::numeric_limits<float>::infinity();

std::vector<Element> random_elements(std::int64_t count, unsigned seed) {
  const std::vector<float> parts = random_floats(2 * count, seed);
  std::vector<Element> values;
  for (std::size_t i = 0; i < parts.size(); i += 2) values.emplace_back(parts[i], parts[i + 1]);
  return values;
}

// A matrix, several of them `stride` apart, with NaN between lines.
struct ComplexMatrix {
  MatrixView<Element> view;
  std::int64_t stride = 0;
  std::vector<Element> values;

  std::size_t index(std::int64_t entry, std::int64_t i, std::int64_t j) const {
    const std::int64_t within =
        view.layout == Layout::row_major ? i * view.ld + j : i + j * view.ld;
    return static_cast<std::size_t>(entry * stride + within);
  }
  Exact op_at(std::int64_t entry, std::int64_t i, std::int64_t j) const {
    if (view.op == Op::none) return Exact(values[index(entry, i, j)]);
    const Exact value(values[index(entry, j, i)]);
    return view.op == Op::transpose ? value : std::conj(value);
  }
};

ComplexMatrix make_complex(std::int64_t op_rows, std::int64_t op_cols, Layout layout, Op op,
                           std::int64_t pad, unsigned seed, std::int64_t entries = 1) {
  ComplexMatrix m;
  const bool turned = op != Op::none, by_rows = layout == Layout::row_major;
  m.view.layout = layout;
  m.view.op = op;
  m.view.rows = turned ? op_cols : op_rows;
  m.view.cols = turned ? op_rows : op_cols;
  const std::int64_t lines = by_rows ? m.view.rows : m.view.cols;
  const std::int64_t width = by_rows ? m.view.cols : m.view.rows;
  m.view.ld = width + pad;
  m.stride = lines * m.view.ld;
  const std::vector<Element> random = random_elements(entries * lines * width, seed);
  m.values.assign(static_cast<std::size_t>(entries * m.stride), {nan, nan});
  for (std::int64_t line = 0; line < entries * lines; ++line)
    std::copy_n(random.begin() + line * width, width, m.values.begin() + line * m.view.ld);
  return m;
}

// Each component within the bound of a sum of 2k products in any order; what lies between lines as
// it was.
void expect_complex(const ComplexMatrix& a, const ComplexMatrix& b, const ComplexMatrix& before,
                    const std::vector<Element>& after, Exact alpha, Exact beta,
                    std::int64_t entries = 1) {
  const double u = std::ldexp(1.0, -24);
  const std::int64_t k = a.view.op_cols();
  const auto sizes = [](Exact s, Exact z, bool imaginary) {
    const double re = std::abs(z.real()), im = std::abs(z.imag());
    return std::abs(s.real()) * (imaginary ? im : re) + std::abs(s.imag()) * (imaginary ? re : im);
  };
  std::vector<Element> rest = before.values;
  for (std::int64_t entry = 0; entry < entries; ++entry) {
    for (std::int64_t i = 0; i < before.view.rows; ++i) {
      for (std::int64_t j = 0; j < before.view.cols; ++j) {
        Exact sum = 0, size = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const Exact x = a.op_at(entry, i, l), y = b.op_at(entry, l, j);
          sum += x * y;
          size += Exact(sizes(x, y, false), sizes(x, y, true));
        }
        const std::size_t at = before.index(entry, i, j);
        const Exact old = beta == 0.0 ? Exact(0) : Exact(before.values[at]);
        const Exact want = (alpha == 0.0 ? Exact(0) : alpha * sum) + beta * old;
        for (const bool imaginary : {false, true}) {
          const double got = imaginary ? after[at].imag() : after[at].real();
          const double wanted = imaginary ? want.imag() : want.real();
          const double bound = u * ((2.0 * static_cast<double>(k) + 6) *
                                        (alpha == 0.0 ? 0 : sizes(alpha, size, imaginary)) +
                                    5 * sizes(beta, old, imaginary));
          ASSERT_TRUE(std::abs(got - wanted) <= bound)
              << "entry " << entry << ", C[" << i << "][" << j << "], imaginary " << imaginary
              << ": " << got << ", want " << wanted << ", bound " << bound;
        }
        rest[at] = after[at];
      }
    }
  }
  EXPECT_EQ(std::memcmp(rest.data(), after.data(), rest.size() * sizeof(Element)), 0);
}

class ApiCgemm : public testing::TestWithParam<DeviceKind> {
 protected:
  std::vector<Element> compute(const ComplexMatrix& a, const ComplexMatrix& b,
                               const ComplexMatrix& c, ComplexScalar alpha, ComplexScalar beta,
                               Math math = Math::fp32, std::int64_t entries = 1) {
    const DeviceArray<Element> on_a(context, a.values), on_b(context, b.values),
        on_c(context, c.values);
    MatrixView<Element> va = a.view, vb = b.view, vc = c.view;
    va.data = on_a.data();
    vb.data = on_b.data();
    vc.data = on_c.data();
    if (entries == 1)
      cgemm(context, alpha, va, vb, beta, vc, {math});
    else
      cgemm_batched(context, alpha, va, vb, beta, vc, entries, a.stride, b.stride, c.stride,
                    {math});
    return on_c.get();
  }
  void check(const ComplexMatrix& a, const ComplexMatrix& b, const ComplexMatrix& c, Element alpha,
             Element beta, Math math = Math::fp32) {
    expect_complex(a, b, c, compute(a, b, c, alpha, beta, math), Exact(alpha), Exact(beta));
  }

  Context context = detail::open_context(GetParam());
};

constexpr Layout layouts[] = {Layout::row_major, Layout::col_major};
constexpr Op ops[] = {Op::none, Op::transpose, Op::conjugate_transpose};

TEST_P(ApiCgemm, EveryLayoutOpAndLd) {
  const Element scalars[] = {1, 0, {-1.5f, 0}, {0, 0.5f}, {0.75f, -1.25f}};
  unsigned number = 0;
  for (Layout layout_a : layouts)
    for (Layout layout_b : layouts)
      for (Layout layout_c : layouts)
        for (Op op_a : ops)
          for (Op op_b : ops) {
            ++number;
            SCOPED_TRACE(testing::Message() << "combination " << number);
            const std::int64_t pad = number % 4;
            const ComplexMatrix a = make_complex(9, 6, layout_a, op_a, pad, 3 * number);
            const ComplexMatrix b = make_complex(6, 11, layout_b, op_b, 3 - pad, 3 * number + 1);
            const ComplexMatrix c =
                make_complex(9, 11, layout_c, Op::none, pad % 2, 3 * number + 2);
            check(a, b, c, scalars[number % 5], scalars[number / 5 % 5]);
            if (HasFatalFailure()) return;
          }
}

TEST_P(ApiCgemm, BothArithmeticsAndLargerShapes) {
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size& s : {Size{40, 70, 33}, {3, 90, 20}, {1, 1, 300}, {65, 2, 5}}) {
    for (const Math math : {Math::fp32, Math::fp32_split}) {
      const ComplexMatrix a = make_complex(s.m, s.k, Layout::row_major, Op::none, 1, 5);
      const ComplexMatrix b =
          make_complex(s.k, s.n, Layout::row_major, Op::conjugate_transpose, 0, 6);
      const ComplexMatrix c = make_complex(s.m, s.n, Layout::row_major, Op::none, 3, 7);
      check(a, b, c, {0.5f, 2}, {1, -1}, math);
    }
  }
}

TEST_P(ApiCgemm, BetaZeroOverwritesNanAndAlphaZeroReadsNothing) {
  const ComplexMatrix a = make_complex(7, 5, Layout::row_major, Op::none, 0, 1);
  const ComplexMatrix b = make_complex(5, 8, Layout::row_major, Op::none, 0, 2);
  ComplexMatrix c = make_complex(7, 8, Layout::row_major, Op::none, 0, 3);
  ComplexMatrix of_nan = a;
  std::fill(of_nan.values.begin(), of_nan.values.end(), Element(nan, infinite));
  for (const Element beta : {Element(1), Element(0), Element(2, -1)})
    for (const Element& value : compute(of_nan, b, c, 0.0f, beta))
      EXPECT_TRUE(std::isfinite(value.real()) && std::isfinite(value.imag()));
  check(of_nan, b, c, 0, {0.5f, 0.5f});
  std::fill(c.values.begin(), c.values.end(), Element(nan, nan));
  check(a, b, c, {1, 1}, 0);
}

// What is not finite comes out where it went in, and nowhere else.
TEST_P(ApiCgemm, NanAndInfinityStayInTheirRowsAndColumns) {
  const ComplexMatrix b = make_complex(5, 8, Layout::row_major, Op::none, 0, 2);
  const ComplexMatrix c = make_complex(7, 8, Layout::row_major, Op::none, 0, 3);
  for (const Element special : {Element(nan, 1), Element(infinite, 1), Element(1, -infinite)}) {
    for (const Element alpha : {Element(1), Element(0.5f, 0.25f)}) {
      ComplexMatrix a = make_complex(7, 5, Layout::row_major, Op::none, 0, 1);
      a.values[a.index(0, 3, 2)] = special;
      const std::vector<Element> got = compute(a, b, c, alpha, Element(1, 1));
      for (std::int64_t i = 0; i < 7; ++i) {
        for (std::int64_t j = 0; j < 8; ++j) {
          const Element value = got[c.index(0, i, j)];
          EXPECT_EQ(std::isfinite(value.real()) && std::isfinite(value.imag()), i != 3)
              << i << " " << j << " " << value;
        }
      }
    }
  }
}

// alpha times the sum is a float, though alpha times an element is none.
TEST_P(ApiCgemm, AlphaIsAppliedWithoutOverflowOfItsOwn) {
  ComplexMatrix a = make_complex(3, 4, Layout::row_major, Op::none, 0, 1);
  ComplexMatrix b = make_complex(4, 5, Layout::row_major, Op::none, 0, 2);
  const ComplexMatrix c = make_complex(3, 5, Layout::row_major, Op::none, 0, 3);
  for (Element& value : a.values) value *= 1e-30f;
  for (Element& value : b.values) value *= 1e25f;
  check(a, b, c, {1e20f, -2e20f}, 0);
}

TEST_P(ApiCgemm, Batches) {
  for (const Math math : {Math::fp32, Math::fp32_split}) {
    const ComplexMatrix a = make_complex(6, 9, Layout::col_major, Op::transpose, 1, 4, 3);
    const ComplexMatrix b = make_complex(9, 5, Layout::col_major, Op::none, 0, 5, 3);
    const ComplexMatrix c = make_complex(6, 5, Layout::col_major, Op::none, 2, 6, 3);
    const Element alpha(1, -2), beta(0.5f, 0.5f);
    expect_complex(a, b, c, compute(a, b, c, alpha, beta, math, 3), Exact(alpha), Exact(beta), 3);

    const DeviceArray<Element> on_a(context, a.values), on_b(context, b.values),
        on_c(context, c.values);
    const auto pointers = [&](const DeviceArray<Element>& of, std::int64_t stride) {
      return std::vector<Element*>{of.data(), of.data() + stride, of.data() + 2 * stride};
    };
    const DeviceArray<Element*> pa(context, pointers(on_a, a.stride)),
        pb(context, pointers(on_b, b.stride)), pc(context, pointers(on_c, c.stride));
    const DeviceArray<Element> scalars(context, {alpha, beta});
    cgemm_batched(context, ComplexScalar::at(scalars.data()), {pa.data(), a.view},
                  {pb.data(), b.view}, ComplexScalar::at(scalars.data() + 1), {pc.data(), c.view},
                  3, {math});
    expect_complex(a, b, c, on_c.get(), Exact(alpha), Exact(beta), 3);
  }
}

TEST_P(ApiCgemm, AnyWorkspaceWillDoAndBitsAreTheSame) {
  const ComplexMatrix a = make_complex(20, 40, Layout::row_major, Op::transpose, 0, 4);
  const ComplexMatrix b = make_complex(40, 600, Layout::row_major, Op::none, 0, 5);
  const ComplexMatrix c = make_complex(20, 600, Layout::row_major, Op::none, 0, 6);
  const Element alpha(1, 1), beta(0, 1);
  for (const Math math : {Math::fp32, Math::fp32_split}) {
    const std::vector<Element> first = compute(a, b, c, alpha, beta, math);
    const std::vector<Element> again = compute(a, b, c, alpha, beta, math);
    EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(Element)), 0);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 17}) {
      const DeviceArray<char> memory(context, std::vector<char>(bytes + 256));
      const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
      context.set_workspace(reinterpret_cast<void*>((at + 255) / 256 * 256), bytes);
      expect_complex(a, b, c, compute(a, b, c, alpha, beta, math), Exact(alpha), Exact(beta));
      context.set_workspace(nullptr, 0);
    }
  }
}

TEST_P(ApiCgemm, BadArgumentsAreNamed) {
  const DeviceArray<Element> memory(context, std::vector<Element>(400));
  const auto view = [&](std::int64_t rows, std::int64_t cols) {
    return row_major(memory.data(), rows, cols);
  };
  const MatrixView<Element> a = view(4, 5), b = row_major(memory.data() + 100, 5, 6),
                            c = row_major(memory.data() + 200, 4, 6);
  const auto expect = [](const char* argument, const char* words, const auto& call) {
    test::expect_error(call, StatusCode::invalid_argument, argument, {words});
  };
  expect("b", "has 5 columns, but op(B) (6 x 5) has 6 rows",
         [&] { cgemm(context, 1.0f, a, transposed(b), 0.0f, c); });
  MatrixView<Element> bad = a;
  bad.op = static_cast<Op>(3);
  expect("a.op", "2 (conjugate transpose)", [&] { cgemm(context, 1.0f, bad, b, 0.0f, c); });
  bad = c;
  bad.op = Op::conjugate_transpose;
  expect("c.op", "2 (conjugate transpose)", [&] { cgemm(context, 1.0f, a, b, 0.0f, bad); });
  bad = a;
  bad.ld = 4;
  expect("lda", "smaller than the 5 columns", [&] { cgemm(context, 1.0f, bad, b, 0.0f, c); });
  bad = a;
  bad.data = reinterpret_cast<Element*>(reinterpret_cast<char*>(a.data) + 4);
  expect("a", "4 bytes past a multiple of 8", [&] { cgemm(context, 1.0f, bad, b, 0.0f, c); });
  bad = a;
  bad.data = nullptr;
  expect("a", "is null", [&] { cgemm(context, 1.0f, bad, b, 0.0f, c); });
  bad = a;
  bad.data = c.data + 23;  // C's last element
  expect("c", "shares an element", [&] { cgemm(context, 1.0f, bad, b, 0.0f, c); });
  expect("options.math", "pass 0 (fp32)",
         [&] { cgemm(context, 1.0f, a, b, 0.0f, c, {static_cast<Math>(7)}); });
  expect("alpha", "is null", [&] { cgemm(context, ComplexScalar::at(nullptr), a, b, 0.0f, c); });
  expect("batch", "is -1", [&] { cgemm_batched(context, 1.0f, a, b, 0.0f, c, -1, 0, 0, 0); });
  expect("stride_c", "two share an element",
         [&] { cgemm_batched(context, 1.0f, a, b, 0.0f, c, 2, 0, 0, 23); });
  EXPECT_TRUE(memory.unchanged());
  // Nothing to do, nothing looked at.
  cgemm(context, 1.0f, row_major<Element>(nullptr, 0, 5), b, 0.0f,
        row_major<Element>(nullptr, 0, 6));
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiCgemm, testing::ValuesIn(present_devices()), device_test_name);

// The C interface is the same library.
TEST(CgemmC, ComputesPlansAndNamesErrors) {
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  const ComplexMatrix a = make_complex(6, 9, Layout::col_major, Op::conjugate_transpose, 1, 4);
  const ComplexMatrix b = make_complex(9, 5, Layout::col_major, Op::transpose, 0, 5);
  ComplexMatrix c = make_complex(6, 5, Layout::col_major, Op::none, 2, 6);
  const ComplexMatrix before = c;
  const kwComplex alpha = {1, -2}, beta = {0.5f, 0.25f};
  const auto* const pa = reinterpret_cast<const kwComplex*>(a.values.data());
  const auto* const pb = reinterpret_cast<const kwComplex*>(b.values.data());
  auto* const pc = reinterpret_cast<kwComplex*>(c.values.data());
  const auto run = [&](auto function, kwOp_t op_a, auto... last) {
    return function(handle, KW_COL_MAJOR, op_a, KW_OP_TRANSPOSE, 6, 5, 9, &alpha, pa, a.view.ld, pb,
                    b.view.ld, &beta, pc, c.view.ld, last...);
  };
  kwSgemmPlan plan;
  EXPECT_EQ(run(kwPlanCgemm, KW_OP_CONJUGATE_TRANSPOSE, &plan), KW_STATUS_OK);
  EXPECT_NE(plan.kernel, nullptr);
  std::size_t bytes = 1;
  EXPECT_EQ(run(kwCgemmWorkspaceBytes, KW_OP_CONJUGATE_TRANSPOSE, &bytes), KW_STATUS_OK);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(run(kwCgemm, KW_OP_CONJUGATE_TRANSPOSE), KW_STATUS_OK) << kwLastErrorMessage(handle);
  expect_complex(a, b, before, c.values, Exact(1, -2), Exact(0.5, 0.25));
  EXPECT_EQ(run(kwCgemm, 3), KW_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(kwLastErrorMessage(handle),
               "op_a is 3: pass 0 (none), 1 (transpose) or 2 (conjugate transpose)");
  // A real product has no conjugates.
  float x = 1;
  EXPECT_EQ(kwSgemm(handle, KW_COL_MAJOR, KW_OP_CONJUGATE_TRANSPOSE, 0, 1, 1, 1, &x, &x, 1, &x, 1,
                    &x, &x, 1),
            KW_STATUS_INVALID_ARGUMENT);
  kwDestroy(handle);
}

}  // namespace
}  // namespace kw::test
