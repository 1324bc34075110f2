// kw::sgemm: every layout, transpose, ld and scalar against float64, and every argument error.
#include "sgemm_support.hpp"

namespace kw::test {
namespace {

class ApiSgemm : public testing::TestWithParam<DeviceKind> {
 protected:
  void compute(const Stored& a, const Stored& b, Stored& c, Scalars s) {
    const DeviceFloats on_a(context, a.values), on_b(context, b.values), on_c(context, c.values);
    MatrixView<float> va = a.view, vb = b.view, vc = c.view;
    va.data = on_a.data();
    vb.data = on_b.data();
    vc.data = on_c.data();
    sgemm(context, s.alpha, va, vb, s.beta, vc);
    expect_product(a, b, c, on_c.get(), s);
    EXPECT_TRUE(on_a.unchanged());
    EXPECT_TRUE(on_b.unchanged());
  }

  Context context = detail::open_context(GetParam());
};

TEST_P(ApiSgemm, EveryLayoutTransposeAndLd) {
  constexpr Layout layouts[] = {Layout::row_major, Layout::col_major};
  constexpr Op ops[] = {Op::none, Op::transpose};
  constexpr Shape shapes[] = {{5, 7, 3}, {33, 17, 65}};
  constexpr Scalars scalars[] = {{1, 0}, {-1.5f, 1}, {1, -1.5f}};
  unsigned combination = 0;
  for (Layout layout_a : layouts)
    for (Layout layout_b : layouts)
      for (Layout layout_c : layouts)
        for (Op op_a : ops)
          for (Op op_b : ops)
            for (const Shape& shape : shapes)
              for (const Scalars& s : scalars) {
                ++combination;
                const std::int64_t pad = combination % 4;
                SCOPED_TRACE(testing::Message() << "combination " << combination);
                const Stored a =
                    make_stored(shape.m, shape.k, layout_a, op_a, pad, 3 * combination);
                const Stored b =
                    make_stored(shape.k, shape.n, layout_b, op_b, 3 - pad, 3 * combination + 1);
                Stored c =
                    make_stored(shape.m, shape.n, layout_c, Op::none, pad * 2, 3 * combination + 2);
                compute(a, b, c, s);
                if (HasFatalFailure()) return;
              }
}

TEST_P(ApiSgemm, OddAndThinShapes) {
  constexpr Shape shapes[] = {{1, 1, 1},   {1, 130, 9},    {129, 1, 33}, {64, 64, 1},
                              {2, 3, 257}, {127, 129, 31}, {3, 2, 0}};
  unsigned seed = 100;
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << shape.m << 'x' << shape.n << 'x' << shape.k);
    const Stored a = make_stored(shape.m, shape.k, Layout::row_major, Op::none, 1, ++seed);
    const Stored b = make_stored(shape.k, shape.n, Layout::row_major, Op::none, 0, ++seed);
    Stored c = make_stored(shape.m, shape.n, Layout::row_major, Op::none, 2, ++seed);
    compute(a, b, c, {0.75f, 2});
  }
}

TEST_P(ApiSgemm, BetaZeroOverwritesNan) {
  const Stored a = make_stored(20, 30, Layout::row_major, Op::none, 0, 1);
  const Stored b = make_stored(30, 40, Layout::row_major, Op::none, 0, 2);
  for (Layout layout : {Layout::row_major, Layout::col_major}) {
    Stored c = make_stored(20, 40, layout, Op::none, 3, 3);
    c.values.assign(c.values.size(), nan);
    compute(a, b, c, {1, 0});
    compute(a, b, c, {0, 0});
  }
}

TEST_P(ApiSgemm, AlphaZeroReadsNeitherInput) {
  Stored a = make_stored(20, 30, Layout::row_major, Op::none, 0, 1);
  Stored b = make_stored(30, 40, Layout::row_major, Op::none, 0, 2);
  a.values.assign(a.values.size(), nan);
  b.values.assign(b.values.size(), std::numeric_limits<float>::infinity());
  for (float beta : {0.0f, 1.0f, -1.5f}) {
    Stored c = make_stored(20, 40, Layout::row_major, Op::none, 1, 3);
    compute(a, b, c, {0, beta});
  }
}

TEST_P(ApiSgemm, NullInputsWhereNothingReadsThem) {
  const DeviceFloats c(context, {1, 2, 3, 4, 5, 6});
  const auto none = static_cast<const float*>(nullptr);
  sgemm(context, 0, row_major(none, 2, 5), row_major(none, 5, 3), -2, row_major(c.data(), 2, 3));
  EXPECT_EQ(c.get(), (std::vector<float>{-2, -4, -6, -8, -10, -12}));
  sgemm(context, 1, row_major(none, 2, 0), row_major(none, 0, 3), 0.5f, row_major(c.data(), 2, 3));
  EXPECT_EQ(c.get(), (std::vector<float>{-1, -2, -3, -4, -5, -6}));
}

TEST_P(ApiSgemm, EmptyResultIsNoWork) {
  const auto none = static_cast<const float*>(nullptr);
  const DeviceFloats c(context, {7, nan});
  sgemm(context, 1, row_major(none, 0, 5), row_major(none, 5, 3), 0, row_major(c.data(), 0, 3));
  sgemm(context, 1, row_major(none, 4, 5), row_major(none, 5, 0), 0, row_major(c.data(), 4, 0));
  sgemm(context, 1, col_major(none, 0, 0), row_major(none, 0, 0), 0,
        row_major(static_cast<float*>(nullptr), 0, 0));
  EXPECT_TRUE(c.unchanged());
}

TEST_P(ApiSgemm, NothingIsWrittenWhereNothingChanges) {
  const DeviceFloats c(context, {nan, -0.0f, 3, 4});
  const auto none = static_cast<const float*>(nullptr);
  sgemm(context, 0, row_major(none, 2, 3), row_major(none, 3, 2), 1, row_major(c.data(), 2, 2));
  EXPECT_TRUE(c.unchanged());
}

TEST_P(ApiSgemm, PanelsOfOneArray) {
  // One array of 8 x 24: A in columns 0-7, B in 8-15, C in 16-23.
  const DeviceFloats array(context, random_floats(8 * 24, 5));
  const std::vector<float>& before = array.put();
  sgemm(context, 1, row_major<const float>(array.data(), 8, 8, 24),
        row_major<const float>(array.data() + 8, 8, 8, 24), 0,
        row_major(array.data() + 16, 8, 8, 24));
  const std::vector<float> after = array.get();
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 24; ++j) {
      const std::size_t at = i * 24 + j;
      if (j < 16) {
        ASSERT_EQ(after[at], before[at]);
        continue;
      }
      double want = 0;
      for (std::size_t l = 0; l < 8; ++l) {
        want += static_cast<double>(before[i * 24 + l]) * before[l * 24 + 8 + (j - 16)];
      }
      ASSERT_NEAR(after[at], want, 1e-6);
    }
  }
}

TEST_P(ApiSgemm, SameCallSameBits) {
  const DeviceFloats a(context, random_floats(70 * 300, 1));
  const DeviceFloats b(context, random_floats(300 * 90, 2));
  const DeviceFloats c(context, random_floats(70 * 90, 3));
  const auto run = [&] {
    sgemm(context, 1, row_major(a.data(), 70, 300), row_major(b.data(), 300, 90), 0,
          row_major(c.data(), 70, 90));
    return c.get();
  };
  const std::vector<float> first = run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(), first);
}

TEST_P(ApiSgemm, WorkspaceOfAnyKernelSuffices) {
  const DeviceFloats a(context, random_floats(64, 1));
  const DeviceFloats c(context, random_floats(64, 2));
  const auto view = row_major<const float>(a.data(), 8, 8);
  const std::size_t bytes =
      sgemm_workspace_bytes(context, 1, view, view, 0, row_major(c.data(), 8, 8));
  const DeviceFloats workspace(context,
                               std::vector<float>(workspace_with_rest(bytes) / sizeof(float)));
  context.set_workspace(workspace.data(), bytes);
  EXPECT_NO_THROW(sgemm(context, 1, view, view, 0, row_major(c.data(), 8, 8)));
  context.synchronize();
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiSgemm, testing::ValuesIn(present_devices()), device_test_name);

// Errors are found before any device is asked, so the CPU stands for all.
class ApiSgemmErrors : public testing::Test {
 protected:
  // A legal call of C (4 x 6) = A (4 x 5) * B (5 x 6); a test spoils it.
  Context context = Context::cpu();
  DeviceFloats a_data{context, random_floats(64, 1)};
  DeviceFloats b_data{context, random_floats(64, 2)};
  DeviceFloats c_data{context, random_floats(64, 3)};
  float alpha = 1, beta = 0;
  MatrixView<const float> a = row_major<const float>(a_data.data(), 4, 5);
  MatrixView<const float> b = row_major<const float>(b_data.data(), 5, 6);
  MatrixView<float> c = row_major(c_data.data(), 4, 6);
  SgemmOptions options;

  void call() { sgemm(context, alpha, a, b, beta, c, options); }

  void expect_invalid(const std::string& argument, const std::vector<std::string>& fragments) {
    expect_error([&] { call(); }, StatusCode::invalid_argument, argument, fragments);
    EXPECT_TRUE(c_data.unchanged());
    expect_error([&] { (void)sgemm_workspace_bytes(context, alpha, a, b, beta, c, options); },
                 StatusCode::invalid_argument, argument, fragments);
  }
};

TEST_F(ApiSgemmErrors, TheUnspoiltCallIsLegal) {
  call();
  EXPECT_FALSE(c_data.unchanged());
}

TEST_F(ApiSgemmErrors, InnerSizesDiffer) {
  b = row_major<const float>(b_data.data(), 7, 6);
  expect_invalid("b", {"op(A) (4 x 5) has 5 columns", "op(B) (7 x 6) has 7 rows", "equal"});
}
TEST_F(ApiSgemmErrors, InnerSizesDifferAfterTransposition) {
  b = transposed(b);
  expect_invalid("b", {"op(A) (4 x 5) has 5 columns", "op(B) (6 x 5) has 6 rows"});
}
TEST_F(ApiSgemmErrors, RowsOfCDiffer) {
  c = row_major(c_data.data(), 3, 6);
  expect_invalid("c", {"op(A) (4 x 5) has 4 rows", "C (3 x 6) has 3"});
}
TEST_F(ApiSgemmErrors, ColumnsOfCDiffer) {
  c = row_major(c_data.data(), 4, 8);
  expect_invalid("c", {"op(B) (5 x 6) has 6 columns", "C (4 x 8) has 8"});
}
TEST_F(ApiSgemmErrors, NegativeSizes) {
  a.rows = -4;
  expect_invalid("a.rows", {"a.rows is -4", "0 or more"});
  a.rows = 4;
  b.cols = -1;
  expect_invalid("b.cols", {"b.cols is -1"});
  b.cols = 6;
  c.cols = std::numeric_limits<std::int64_t>::min();
  expect_invalid("c.cols", {"c.cols is -9223372036854775808"});
}
TEST_F(ApiSgemmErrors, LdTooSmall) {
  a.ld = 4;
  expect_invalid("lda", {"lda is 4", "5 columns of A (row-major, 4 x 5)", "pass lda >= 5"});
  a.ld = -5;
  expect_invalid("lda", {"lda is -5", "pass lda >= 5"});
  a.ld = 5;
  b = col_major<const float>(b_data.data(), 5, 6, 3);
  expect_invalid("ldb", {"ldb is 3", "5 rows of B (column-major, 5 x 6)", "pass ldb >= 5"});
  b = row_major<const float>(b_data.data(), 5, 6);
  c.ld = 0;
  expect_invalid("ldc", {"ldc is 0", "6 columns of C", "pass ldc >= 6"});
}
TEST_F(ApiSgemmErrors, NullData) {
  a.data = nullptr;
  expect_invalid("a", {"a is null", "A (row-major, 4 x 5)"});
  a.data = a_data.data();
  b.data = nullptr;
  expect_invalid("b", {"b is null", "B (row-major, 5 x 6)"});
  alpha = 0;
  c.data = nullptr;
  expect_invalid("c", {"c is null", "C (row-major, 4 x 6)"});
}
TEST_F(ApiSgemmErrors, MisalignedData) {
  const auto* bytes = reinterpret_cast<const char*>(a_data.data());
  a.data = reinterpret_cast<const float*>(bytes + 2);
  expect_invalid("a", {"a lies 2 bytes past a multiple of 4"});
  a.data = a_data.data();
  c.data = reinterpret_cast<float*>(reinterpret_cast<char*>(c_data.data()) + 1);
  expect_invalid("c", {"c lies 1 bytes past a multiple of 4"});
}
TEST_F(ApiSgemmErrors, TransposedC) {
  c = transposed(row_major(c_data.data(), 6, 4));
  expect_invalid("c.op", {"c.op is 1", "the other layout"});
}
TEST_F(ApiSgemmErrors, NumbersThatAreNoEnumerators) {
  a.layout = static_cast<Layout>(7);
  expect_invalid("a.layout", {"a.layout is 7", "0 (row-major) or 1 (column-major)"});
  a.layout = Layout::row_major;
  b.op = static_cast<Op>(9);
  expect_invalid("b.op", {"b.op is 9", "0 (none) or 1 (transpose)"});
  b.op = Op::none;
  options.math = static_cast<Math>(3);
  expect_invalid("options.math", {"options.math is 3"});
}
TEST_F(ApiSgemmErrors, SizesBeyondSixtyFourBits) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  a = row_major<const float>(a_data.data(), 4, 5, huge);
  expect_invalid("a", {"A (row-major, 4 x 5)", "lda 4611686018427387904", "9223372036854775807"});
  // The last element's offset fits, its byte offset does not.
  a = row_major<const float>(a_data.data(), 4, 5, huge / 4);
  expect_invalid("a", {"lda 1152921504606846976"});
  a = row_major<const float>(a_data.data(), 4, 5);
  // Each size fits, but the end passes that of the address space.
  a = row_major<const float>(reinterpret_cast<const float*>(~std::uintptr_t{0} - 15), 4, 5);
  expect_invalid("a", {"A (row-major, 4 x 5)", "18446744073709551600", "address space"});
}
TEST_F(ApiSgemmErrors, CSharesAnElement) {
  c = row_major(const_cast<float*>(a_data.data()) + 19, 4, 6);
  expect_error([&] { call(); }, StatusCode::invalid_argument, "c",
               {"C (row-major, 4 x 6)", "shares an element with A (row-major, 4 x 5)", "lda 5",
                "ldc 6", "memory of its own"});
  c = row_major(const_cast<float*>(b_data.data()), 4, 6);
  expect_error([&] { call(); }, StatusCode::invalid_argument, "c",
               {"shares an element with B (row-major, 5 x 6)"});
  EXPECT_TRUE(a_data.unchanged());
  EXPECT_TRUE(b_data.unchanged());
  // One element further on, it is legal; so is sharing with what is not read.
  c = row_major(const_cast<float*>(a_data.data()) + 20, 4, 6);
  EXPECT_NO_THROW(call());
  c = row_major(const_cast<float*>(b_data.data()), 4, 6);
  alpha = 0;
  EXPECT_NO_THROW(call());
}
TEST_F(ApiSgemmErrors, MovedContext) {
  Context other = std::move(context);
  expect_error([&] { call(); }, StatusCode::invalid_argument, "context", {"moved from"});
  context = std::move(other);
  EXPECT_NO_THROW(call());
}

}  // namespace
}  // namespace kw::test
