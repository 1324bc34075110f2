// kw::reduce with arguments that cannot be: each has its own sentence, and nothing is written.
#include "reduce_support.hpp"

namespace kw::test {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

class ApiReduceErrors : public testing::Test {
 protected:
  Context context = Context::cpu();
  DeviceFloats data{context, random_floats(64, 1)};
  DeviceFloats results{context, random_floats(32, 2)};
  DeviceArray<std::int64_t> offsets{context, {0, 3, 5, 20}};

  ReduceOp op = ReduceOp::sum;
  ReduceView array = array_view(data.data(), 20);
  ReduceView rows = rows_of(row_major(data.data(), 4, 5));
  ReduceView columns = columns_of(col_major(data.data(), 4, 5));
  ReduceView segments = segments_of(data.data(), 20, offsets.data(), 3);
  ReduceOptions options;

  void expect(const ReduceView& view, const ReduceOutput& out, const std::string& argument,
              const std::vector<std::string>& fragments) {
    expect_error([&] { reduce(context, op, view, out, options); }, StatusCode::invalid_argument,
                 argument, fragments);
    EXPECT_TRUE(data.unchanged());
    EXPECT_TRUE(results.unchanged());
    EXPECT_TRUE(offsets.unchanged());
  }
  void expect(const ReduceView& view, const std::string& argument,
              const std::vector<std::string>& fragments) {
    expect(view, output_view(results.data(), 1), argument, fragments);
    expect_error([&] { reduce_workspace_bytes(context, op, view, options); },
                 StatusCode::invalid_argument, argument, fragments);
  }
};

TEST_F(ApiReduceErrors, NumbersThatAreNoEnumerators) {
  op = static_cast<ReduceOp>(12);
  expect(array, "op", {"op is 12", "0 (sum) to 11 (min_max)"});
  op = static_cast<ReduceOp>(-1);
  expect(array, "op", {"op is -1"});
  op = ReduceOp::sum;
  array.type = static_cast<DataType>(7);
  expect(array, "type", {"type is 7", "0 (float32) to 6 (int64)"});
  rows.shape = static_cast<ReduceShape>(4);
  expect(rows, "shape", {"shape is 4", "0 (whole) to 3 (segments)"});
  columns.layout = static_cast<Layout>(2);
  expect(columns, "layout", {"layout is 2", "row-major"});
  options.determinism = static_cast<Determinism>(2);
  expect(segments, "determinism", {"determinism is 2", "0 (run to run) or 1 (any device)"});
  EXPECT_EQ(error_of([] { reduce_result_type(static_cast<ReduceOp>(99), DataType::int8); })->code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(error_of([] { reduce_result_type(ReduceOp::sum, static_cast<DataType>(-7)); })->code(),
            StatusCode::invalid_argument);
}

TEST_F(ApiReduceErrors, NegativeSizes) {
  array.cols = -1;
  expect(array, "count", {"count is -1"});
  rows.rows = -2;
  expect(rows, "rows", {"rows is -2"});
  columns.cols = -3;
  expect(columns, "cols", {"cols is -3"});
  segments.segments = -4;
  expect(segments, "segments", {"segments is -4"});
  options.correction = -5;
  expect(segments_of(data.data(), 20, offsets.data(), 3), "correction", {"correction is -5"});
}

TEST_F(ApiReduceErrors, LdTooSmall) {
  rows.ld = 4;
  expect(rows, "ld", {"ld is 4", "5 columns", "row-major, 4 x 5 of float32", "pass ld >= 5"});
  columns.ld = 3;
  expect(columns, "ld", {"ld is 3", "4 rows", "column-major, 4 x 5", "pass ld >= 4"});
}

TEST_F(ApiReduceErrors, AnArrayHasOneRow) {
  array.rows = 2;
  expect(array, "rows", {"rows is 2", "whole"});
  segments.rows = 0;
  expect(segments, "rows", {"rows is 0", "segments"});
}

TEST_F(ApiReduceErrors, SpansThatNoOffsetCounts) {
  array.cols = largest / 4 + 1;
  expect(array, "count", {"2305843009213693952 of float32", "9223372036854775807 bytes"});
  rows.ld = largest / 8;
  expect(rows, "ld", {"4 x 5 of float32", "9223372036854775807 bytes"});
  rows = rows_of(row_major(data.data(), 0, 5));
  rows.cols = 0;
  rows.rows = largest / 4 + 1;
  expect(rows, "rows", {"2305843009213693952", "results"});
  segments.segments = largest / 8;
  expect(segments, "segments", {"1152921504606846975", "offsets"});
}

TEST_F(ApiReduceErrors, NullPointers) {
  array.data = nullptr;
  expect(array, output_view(results.data()), "data", {"data is null", "20 of float32"});
  rows.data = nullptr;
  expect(rows, output_view(results.data(), 4), "data", {"data is null", "4 x 5"});
  segments.offsets = nullptr;
  expect(segments, output_view(results.data(), 3), "offsets", {"offsets is null", "4 offsets"});
  expect(columns, output_view<float>(nullptr, 5), "out", {"out is null", "5 results"});
  expect(array_view<float>(nullptr, 0), output_view<float>(nullptr), "out", {"out is null"});
}

TEST_F(ApiReduceErrors, Misaligned) {
  array.data = reinterpret_cast<const char*>(data.data()) + 2;
  expect(array, output_view(results.data()), "data", {"2 bytes past a multiple of 4"});
  segments.offsets =
      reinterpret_cast<const std::int64_t*>(reinterpret_cast<const char*>(offsets.data()) + 4);
  expect(segments, output_view(results.data(), 3), "offsets", {"4 bytes past a multiple of 8"});
  ReduceOutput out = output_view(results.data());
  out.data = reinterpret_cast<char*>(results.data()) + 1;
  expect(array_view(data.data(), 20), out, "out", {"1 bytes past a multiple of 4"});
}

TEST_F(ApiReduceErrors, PastTheAddressSpace) {
  array.data = reinterpret_cast<const float*>(~std::uintptr_t{63});
  expect(array, output_view(results.data()), "data", {"passes the end of the address space"});
}

TEST_F(ApiReduceErrors, OutputOfAnotherTypeOrCount) {
  const std::vector<std::int32_t> integers(20);
  expect(array_view(integers.data(), 20), output_view(results.data()), "out.type",
         {"out has type float32", "sum of int32 gives int64", "pass an array of int64"});
  ReduceOutput out = output_view(results.data());
  out.type = static_cast<DataType>(-3);
  expect(array, out, "out.type", {"out.type is -3"});
  expect(rows, output_view(results.data(), 5), "out.count",
         {"out has 5 elements", "4 sequences writes 4", "pass an array of 4"});
  op = ReduceOp::min_max;
  expect(array, output_view(results.data(), 1), "out.count", {"1 elements", "writes 2"});
  op = ReduceOp::sum;
  expect(rows_of(row_major(data.data(), 0, 5)), output_view(results.data(), 1), "out.count",
         {"writes 0"});
}

TEST_F(ApiReduceErrors, OutputOverTheInput) {
  expect(array, output_view(data.data() + 19), "out", {"1 result", "overlaps data", "20 of float"});
  // Results of another size than the elements.
  op = ReduceOp::argmin;
  expect(array_view(data.data() + 1, 20),
         output_view(reinterpret_cast<std::int64_t*>(data.data() + 20)), "out", {"overlaps data"});
  op = ReduceOp::sum;
  expect(rows, output_view(data.data() + 18, 4), "out", {"4 results", "overlaps data", "4 x 5"});
  const ReduceOutput over_offsets = {offsets.data() + 3, DataType::float32, 3};
  expect(segments, over_offsets, "out", {"overlaps offsets", "4 offsets"});
}

TEST_F(ApiReduceErrors, ResultsMayLieInThePaddingOfTheMatrix) {
  // 4 rows of 5, 16 apart: elements 5 .. 15 of each line are free.
  rows = rows_of(row_major(data.data(), 4, 5, 16));
  EXPECT_NO_THROW(reduce(context, op, rows, output_view(data.data() + 21, 4)));
  const std::vector<float> got = data.get();
  const std::vector<float>& put = data.put();
  for (std::size_t i = 0; i < put.size(); ++i) {
    EXPECT_TRUE((i >= 21 && i <= 24) || got[i] == put[i]) << i;
  }
  float sum = 0;
  reduce(context, op, array_view(data.data() + 16, 5), output_view(&sum));
  EXPECT_EQ(got[22], sum);
  for (std::int64_t at : {2, 13, 20}) {
    expect_error([&] { reduce(context, op, rows, output_view(data.data() + at, 4)); },
                 StatusCode::invalid_argument, "out", {"overlaps data"});
  }
}

TEST_F(ApiReduceErrors, FieldsOfOtherShapesDoNotMatter) {
  array.ld = -7;
  array.layout = Layout::col_major;
  array.segments = -1;
  array.offsets = reinterpret_cast<const std::int64_t*>(1);
  EXPECT_NO_THROW(reduce(context, op, array, output_view(results.data())));
  EXPECT_EQ(results.get()[0], reduce_values(context, op, array_view(data.data(), 20))[0]);
  rows.segments = -1;
  rows.offsets = reinterpret_cast<const std::int64_t*>(1);
  EXPECT_NO_THROW(reduce(context, op, rows, output_view(results.data(), 4)));
}

TEST_F(ApiReduceErrors, AContextThatWasMovedFrom) {
  Context gone = Context::cpu();
  const Context other = std::move(gone);
  // NOLINTNEXTLINE(bugprone-use-after-move): what happens then is the point.
  expect_error([&] { reduce(gone, op, array, output_view(results.data())); },
               StatusCode::invalid_argument, "context", {"moved from"});
}

TEST(ApiReduceTypes, ResultsHaveTheDocumentedType) {
  struct Row {
    ReduceOp op;
    DataType of[7];  // in the order of DataType
  };
  constexpr DataType f32 = DataType::float32, f64 = DataType::float64, f16 = DataType::float16,
                     b16 = DataType::bfloat16, i8 = DataType::int8, i32 = DataType::int32,
                     i64 = DataType::int64;
  constexpr Row table[] = {
      {ReduceOp::sum, {f32, f64, f32, f32, i64, i64, i64}},
      {ReduceOp::mean, {f32, f64, f32, f32, f64, f64, f64}},
      {ReduceOp::min, {f32, f64, f16, b16, i8, i32, i64}},
      {ReduceOp::max, {f32, f64, f16, b16, i8, i32, i64}},
      {ReduceOp::argmin, {i64, i64, i64, i64, i64, i64, i64}},
      {ReduceOp::argmax, {i64, i64, i64, i64, i64, i64, i64}},
      {ReduceOp::sum_of_squares, {f32, f64, f32, f32, i64, i64, i64}},
      {ReduceOp::l1_norm, {f32, f64, f32, f32, i64, i64, i64}},
      {ReduceOp::l2_norm, {f32, f64, f32, f32, f64, f64, f64}},
      {ReduceOp::max_norm, {f32, f64, f16, b16, i64, i64, i64}},
      {ReduceOp::variance, {f32, f64, f32, f32, f64, f64, f64}},
      {ReduceOp::min_max, {f32, f64, f16, b16, i8, i32, i64}},
  };
  for (const Row& row : table) {
    for (int type = 0; type < 7; ++type) {
      EXPECT_EQ(reduce_result_type(row.op, static_cast<DataType>(type)), row.of[type])
          << to_string(row.op) << " of " << to_string(static_cast<DataType>(type));
    }
  }
}

}  // namespace
}  // namespace kw::test
