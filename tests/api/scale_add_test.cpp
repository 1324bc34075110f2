// kw::scale_add: every shape, ld and order in memory, the same bits on every device, and its
// errors.
#include "kernelwright/scale_add.hpp"

#include <cmath>

#include "support.hpp"

namespace kw::test {
namespace {

class ApiScaleAdd : public testing::TestWithParam<DeviceKind> {
 protected:
  // What must lie where B did: one fused operation for each element, all else as before.
  static std::vector<float> expected(const std::vector<float>& a, std::int64_t lda,
                                     std::vector<float> b, std::int64_t ldb, std::int64_t rows,
                                     std::int64_t cols, float scale, float shift) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        b[static_cast<std::size_t>(i * ldb + j)] =
            scale == 0 ? shift : std::fma(scale, a[static_cast<std::size_t>(i * lda + j)], shift);
      }
    }
    return b;
  }
  static void expect_same_bits(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(float)), 0)
          << "word " << i << ": " << got[i] << " in place of " << want[i];
    }
  }

  Context context = detail::open_context(GetParam());
};

TEST_P(ApiScaleAdd, EveryShapeLdAndAlignment) {
  struct Case {
    std::int64_t rows, cols, lda_pad, ldb_pad, a_offset, b_offset;
  };
  constexpr Case cases[] = {{1, 1, 0, 0, 0, 0},    {1, 5000, 0, 0, 0, 0}, {37, 64, 0, 0, 0, 0},
                            {37, 67, 1, 1, 0, 0},  {37, 67, 5, 9, 0, 0},  {37, 64, 4, 8, 0, 0},
                            {37, 64, 4, 8, 1, 0},  {37, 64, 0, 0, 0, 2},  {130, 3, 1, 5, 0, 0},
                            {200, 1, 0, 3, 0, 0},  {70, 300, 0, 4, 0, 0}, {5, 1027, 1, 0, 0, 3},
                            {1, 4099, 7, 9, 4, 8}, {9, 2, 0, 2, 0, 0}};
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.rows << 'x' << c.cols << " ld +" << c.lda_pad << " +"
                                    << c.ldb_pad << " offset " << c.a_offset << ' ' << c.b_offset);
    const std::int64_t lda = c.cols + c.lda_pad, ldb = c.cols + c.ldb_pad;
    const DeviceFloats a(context, random_floats(c.rows * lda + c.a_offset, 1));
    const DeviceFloats b(context, random_floats(c.rows * ldb + c.b_offset, 2));
    scale_add(context, 1.37f, row_major(a.data() + c.a_offset, c.rows, c.cols, lda), -0.21f,
              row_major(b.data() + c.b_offset, c.rows, c.cols, ldb));
    const std::vector<float> a_part(a.put().begin() + c.a_offset, a.put().end());
    const std::vector<float> b_part(b.put().begin() + c.b_offset, b.put().end());
    const std::vector<float> got = b.get();
    expect_same_bits({got.begin() + c.b_offset, got.end()},
                     expected(a_part, lda, b_part, ldb, c.rows, c.cols, 1.37f, -0.21f));
    expect_same_bits({got.begin(), got.begin() + c.b_offset},
                     {b.put().begin(), b.put().begin() + c.b_offset});
    EXPECT_TRUE(a.unchanged());
  }
}

TEST_P(ApiScaleAdd, InPlace) {
  for (std::int64_t pad : {0, 3, 4}) {
    const DeviceFloats a(context, random_floats(20 * (33 + pad), 3));
    const auto view = col_major(a.data(), 33, 20, 33 + pad);
    scale_add(context, 0.3f, view, 0.7f, view);
    expect_same_bits(a.get(), expected(a.put(), 33 + pad, a.put(), 33 + pad, 20, 33, 0.3f, 0.7f));
  }
}

TEST_P(ApiScaleAdd, ScaleZeroReadsNothing) {
  const DeviceFloats b(context, std::vector<float>(6 * 9, nan));
  scale_add(context, 0, row_major(static_cast<const float*>(nullptr), 6, 7), -0.0f,
            row_major(b.data(), 6, 7, 9));
  expect_same_bits(b.get(), expected({}, 7, b.put(), 9, 6, 7, 0, -0.0f));
}

TEST_P(ApiScaleAdd, BothTransposed) {
  // op(A) is 5 x 4, stored 4 x 5 by columns, which is the order of B by rows.
  const DeviceFloats a(context, random_floats(20, 1));
  const DeviceFloats b(context, random_floats(20, 2));
  scale_add(context, 2, transposed(col_major<const float>(a.data(), 4, 5)), 1,
            row_major(b.data(), 5, 4));
  expect_same_bits(b.get(), expected(a.put(), 4, b.put(), 4, 5, 4, 2, 1));
}

TEST_P(ApiScaleAdd, VectorsInEitherOrder) {
  // A column of a row-major matrix (elements 7 apart) into a dense one, and back.
  const DeviceFloats wide(context, random_floats(5 * 7, 1));
  const DeviceFloats dense(context, random_floats(5, 2));
  scale_add(context, 2, row_major<const float>(wide.data(), 5, 1, 7), 1,
            col_major(dense.data(), 5, 1));
  expect_same_bits(dense.get(), expected(wide.put(), 7, dense.put(), 1, 5, 1, 2, 1));
  const std::vector<float> doubled = dense.get();
  scale_add(context, 2, col_major<const float>(dense.data(), 5, 1), 1,
            row_major(wide.data(), 5, 1, 7));
  expect_same_bits(wide.get(), expected(doubled, 1, wide.put(), 7, 5, 1, 2, 1));
}

TEST_P(ApiScaleAdd, Empty) {
  const auto none = static_cast<float*>(nullptr);
  EXPECT_NO_THROW(
      scale_add(context, 1, row_major<const float>(none, 0, 5), 1, row_major(none, 0, 5)));
  EXPECT_NO_THROW(
      scale_add(context, 1, row_major<const float>(none, 5, 0), 1, col_major(none, 5, 0)));
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiScaleAdd, testing::ValuesIn(present_devices()),
                         device_test_name);

class ApiScaleAddErrors : public testing::Test {
 protected:
  Context context = Context::cpu();
  DeviceFloats a_data{context, random_floats(64, 1)};
  DeviceFloats b_data{context, random_floats(64, 2)};
  MatrixView<const float> a = row_major<const float>(a_data.data(), 4, 5);
  MatrixView<float> b = row_major(b_data.data(), 4, 5);

  void expect(StatusCode code, const std::string& argument,
              const std::vector<std::string>& fragments) {
    expect_error([&] { scale_add(context, 2, a, 1, b); }, code, argument, fragments);
    EXPECT_TRUE(a_data.unchanged());
    EXPECT_TRUE(b_data.unchanged());
  }
};

TEST_F(ApiScaleAddErrors, ShapesDiffer) {
  b = row_major(b_data.data(), 4, 6);
  expect(StatusCode::invalid_argument, "b", {"op(A) is 4 x 5", "B is 4 x 6", "equal"});
}
TEST_F(ApiScaleAddErrors, SizesAndLd) {
  a.rows = -1;
  expect(StatusCode::invalid_argument, "a.rows", {"a.rows is -1"});
  a = row_major<const float>(a_data.data(), 4, 5, 4);
  expect(StatusCode::invalid_argument, "lda", {"lda is 4", "pass lda >= 5"});
}
TEST_F(ApiScaleAddErrors, NullData) {
  a.data = nullptr;
  expect(StatusCode::invalid_argument, "a", {"a is null", "4 x 5"});
  b.data = nullptr;
  expect(StatusCode::invalid_argument, "b", {"b is null", "4 x 5"});
}
TEST_F(ApiScaleAddErrors, TransposedToEachOther) {
  b = col_major(b_data.data(), 4, 5);
  expect(StatusCode::unsupported, "a", {"4 x 5", "transposed", "same layout"});
}
TEST_F(ApiScaleAddErrors, OutputTransposed) {
  b.op = Op::transpose;
  expect(StatusCode::invalid_argument, "b.op", {"b.op is 1"});
}
TEST_F(ApiScaleAddErrors, PartialOverlap) {
  b = row_major(const_cast<float*>(a_data.data()) + 1, 4, 5);
  expect(StatusCode::invalid_argument, "b", {"shares an element with A"});
  // The same first element, but other lines: not the same matrix.
  b = row_major(const_cast<float*>(a_data.data()), 4, 5, 6);
  expect(StatusCode::invalid_argument, "b", {"shares an element with A", "ldb 6", "lda 5"});
}

}  // namespace
}  // namespace kw::test
