// kw::rowwise and kwRowwise as a program calls them: what they give, and each argument that cannot
// be, with its own sentence and nothing written.
#include "kernelwright/rowwise.hpp"

#include <cmath>

#include "kernelwright/kernelwright.h"
#include "support.hpp"

namespace kw::test {
namespace {

constexpr std::int64_t row_count = 5, row_length = 37;

class ApiRowwise : public testing::TestWithParam<DeviceKind> {
 protected:
  Context context = detail::open_context(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Devices, ApiRowwise, testing::ValuesIn(present_devices()),
                         device_test_name);

TEST_P(ApiRowwise, SoftmaxOfEachRow) {
  const DeviceFloats x(context, random_floats(row_count * row_length, 1));
  const DeviceFloats y(context, random_floats(row_count * row_length, 2));
  softmax(context, rows_view(x.data(), row_count, row_length),
          rows_output(y.data(), row_count, row_length));
  const std::vector<float> got = y.get();
  for (std::size_t i = 0; i < row_count; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < row_length; ++j)
      sum += std::exp(static_cast<double>(x.put()[i * row_length + j]));
    for (std::size_t j = 0; j < row_length; ++j) {
      const double want = std::exp(static_cast<double>(x.put()[i * row_length + j])) / sum;
      EXPECT_NEAR(static_cast<double>(got[i * row_length + j]), want, 1e-6 * want);
    }
  }
  EXPECT_TRUE(x.unchanged());
}

// The rows of a column-major matrix, in place.
TEST_P(ApiRowwise, LayerNormOfColumnsInPlace) {
  const DeviceFloats x(context, random_floats(row_count * row_length, 3));
  const MatrixView<float> a = col_major(x.data(), row_count, row_length);
  layer_norm(context, rows_view(a), nullptr, nullptr,
             {x.data(), DataType::float32, row_count, row_length, 1, row_count});
  const std::vector<float> got = x.get();
  for (std::size_t i = 0; i < row_count; ++i) {
    double mean = 0, square = 0;
    for (std::size_t j = 0; j < row_length; ++j) {
      mean += static_cast<double>(got[i + j * row_count]) / row_length;
      square += std::pow(static_cast<double>(got[i + j * row_count]), 2) / row_length;
    }
    EXPECT_NEAR(mean, 0, 1e-6);
    EXPECT_NEAR(square, 1, 1e-3);  // less epsilon
  }
}

TEST_P(ApiRowwise, EmbeddingAddsPositions) {
  constexpr std::int64_t width = 6;
  const DeviceFloats table(context, random_floats(10 * width, 4));
  const DeviceFloats positions(context, random_floats(3 * width, 5));
  const DeviceArray<std::int64_t> tokens(context, {7, 0, 9, 7, 10, -1});
  const DeviceFloats y(context, random_floats(6 * width, 6));
  embedding(context, rows_view(table.data(), 10, width), tokens.data(),
            rows_output(y.data(), 6, width), positions.data(), 3);
  const std::vector<float> got = y.get();
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const float value = got[i * width + j];
      const std::int64_t token = tokens.put()[i];
      if (token < 0 || token >= 10) {
        EXPECT_TRUE(std::isnan(value)) << "row " << i;
        continue;
      }
      const auto row = static_cast<std::size_t>(token);
      EXPECT_EQ(value, table.put()[row * width + j] + positions.put()[i % 3 * width + j]);
    }
  }
}

TEST_P(ApiRowwise, NothingToDo) {
  softmax(context, rows_view<float>(nullptr, 0, 5), rows_output<float>(nullptr, 0, 5));
  softmax(context, rows_view<float>(nullptr, 5, 0), rows_output<float>(nullptr, 5, 0));
}

class ApiRowwiseErrors : public testing::Test {
 protected:
  Context context = Context::cpu();
  DeviceFloats data{context, random_floats(64, 1)};
  DeviceFloats out{context, random_floats(64, 2)};
  RowwiseOp op = RowwiseOp::layer_norm;
  RowsView x = rows_view(data.data(), 4, 5);
  RowsOutput y = rows_output(out.data(), 4, 5);
  RowwiseOptions options;

  void expect(const std::string& argument, const std::vector<std::string>& fragments) {
    expect_error([&] { rowwise(context, op, x, y, options); }, StatusCode::invalid_argument,
                 argument, fragments);
    EXPECT_TRUE(data.unchanged());
    EXPECT_TRUE(out.unchanged());
    op = RowwiseOp::layer_norm;
    x = rows_view(data.data(), 4, 5);
    y = rows_output(out.data(), 4, 5);
    options = {};
  }
};

TEST_F(ApiRowwiseErrors, EnumeratorsAndTypes) {
  op = static_cast<RowwiseOp>(5);
  expect("op", {"op is 5", "0 (softmax) to 4 (map)"});
  options.activation = static_cast<RowActivation>(-1);
  expect("options.activation", {"is -1", "4 (silu)"});
  x.type = DataType::float64;
  expect("x.type", {"x.type is 1", "float16"});
  y.type = DataType::float16;
  expect("y.type", {"y.type is 2", "float32"});
}

TEST_F(ApiRowwiseErrors, SizesAndSteps) {
  x.rows = -1;
  expect("x.rows", {"x.rows is -1"});
  x.cols = y.cols = std::int64_t{1} << 31;
  expect("x.cols", {"at most 2147483647"});
  y.cols = 6;
  expect("y.cols", {"6 columns", "5"});
  y.rows = 3;
  expect("y.rows", {"3 rows", "4", "index"});
  x.step = 0;
  expect("x.step", {"x.step is 0"});
  x.ld = -1;
  expect("x.ld", {"x.ld is -1"});
  y.ld = 4;
  expect("y.ld", {"y.ld is 4", "step"});
  x.ld = std::int64_t{1} << 62;
  expect("x", {"spans more than"});
  options.residual = data.data();
  options.ld_residual = 4;
  expect("options.ld_residual", {"is 4", "5"});
  options.sum = out.data() + 32;
  options.ld_sum = 2;
  expect("options.ld_sum", {"is 2"});
}

TEST_F(ApiRowwiseErrors, OptionsOfOtherOperations) {
  op = RowwiseOp::softmax;
  options.gamma = data.data();
  expect("options.gamma", {"of norms, not of softmax"});
  options.activation = RowActivation::relu;
  expect("options.activation", {"of map, not of layer_norm"});
  options.epsilon = -1;
  expect("options.epsilon", {"-1"});
  options.epsilon = nan;
  expect("options.epsilon", {"nan"});
  const std::int64_t index = 0;
  options.residual_index = &index;
  expect("options.residual_index", {"of a residual"});
}

TEST_F(ApiRowwiseErrors, Pointers) {
  x.data = nullptr;
  expect("x", {"x is null", "4 x 5"});
  y.data = nullptr;
  expect("y", {"y is null"});
  x.data = reinterpret_cast<const char*>(data.data()) + 2;
  expect("x", {"2 bytes past a multiple of 4"});
}

TEST_F(ApiRowwiseErrors, Overlaps) {
  y.data = data.data() + 1;
  x.data = data.data();
  expect("y", {"overlaps x"});
  y.data = data.data();
  y.ld = 6;
  expect("y", {"overlaps x"});
  options.gamma = out.data() + 3;
  expect("y", {"overlaps options.gamma"});
  options.sum = out.data();
  expect("y", {"overlaps options.sum"});
  const DeviceArray<std::int64_t> index(context, {0, 1, 2, 3});
  options.index = index.data();
  y.data = data.data();
  expect("y", {"overlaps x"});
}

TEST(CRowwise, SameAsTheCppInterface) {
  Context context = Context::cpu();
  const std::vector<float> values = random_floats(12, 9);
  std::vector<float> want(12), got(12);
  RowwiseOptions options;
  options.bias = values.data();
  rowwise(context, RowwiseOp::rms_norm, rows_view(values.data(), 3, 4),
          rows_output(want.data(), 3, 4), options);
  kwHandle_t handle = nullptr;
  ASSERT_EQ(kwCreateCpu(&handle), KW_STATUS_OK);
  kwRowwiseOptions c_options = {};
  c_options.epsilon = 1e-5f;
  c_options.bias = values.data();
  EXPECT_EQ(kwRowwise(handle, KW_ROWWISE_RMS_NORM, KW_FLOAT32, 3, 4, values.data(), 4, got.data(),
                      4, &c_options),
            KW_STATUS_OK);
  EXPECT_EQ(want, got);
  std::size_t bytes = 1;
  EXPECT_EQ(kwRowwiseWorkspaceBytes(handle, KW_ROWWISE_SOFTMAX, KW_FLOAT32, 3, 4, nullptr, 4,
                                    nullptr, 4, nullptr, &bytes),
            KW_STATUS_OK);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(kwRowwise(handle, 9, KW_FLOAT32, 3, 4, values.data(), 4, got.data(), 4, nullptr),
            KW_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(kwRowwise(nullptr, KW_ROWWISE_SOFTMAX, KW_FLOAT32, 3, 4, values.data(), 4, got.data(),
                      4, nullptr),
            KW_STATUS_INVALID_ARGUMENT);
  kwDestroy(handle);
}

}  // namespace
}  // namespace kw::test
