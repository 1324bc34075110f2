// kw::reduce on every device: each operation, element type and shape against plain loops; the rules
// for NaN, zeros, ties and nothing; the same bits however a call is made.
#include "kernelwright/reduce.hpp"

#include <random>
#include <string>

#include "reduce_support.hpp"
#include "support/run_seed.hpp"

namespace kw::test {
namespace {

class ApiReduce : public testing::TestWithParam<DeviceKind> {
 protected:
  Context context = detail::open_context(GetParam());
};

template <class T>
std::vector<T> small_elements(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed_of(seed));
  std::uniform_int_distribution<int> uniform(-100, 100);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = element<T>(uniform(engine));
  return values;
}

std::string name(ReduceOp op, const ReduceView& view) {
  return std::string(to_string(op)) + " of " + to_string(view.type) + ", " + to_string(view.shape);
}

// Every result, in order: exact but for variance, which no sum of a few elements gives exactly.
void expect_results(Context& context, ReduceOp op, const ReduceView& view,
                    const std::vector<double>& want, const ReduceOptions& options = {}) {
  SCOPED_TRACE(name(op, view));
  const std::vector<double> got = reduce_values(context, op, view, options);
  const bool narrow = reduce_result_type(op, view.type) == DataType::float32;
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double rounded = narrow ? static_cast<double>(static_cast<float>(want[i])) : want[i];
    const double tolerance = op == ReduceOp::variance ? (narrow ? 2e-7 : 1e-13) * rounded : 0;
    const bool both_nan = std::isnan(got[i]) && std::isnan(rounded);
    const bool equal = got[i] == rounded || both_nan;  // infinities too
    EXPECT_TRUE(equal || std::fabs(got[i] - rounded) <= tolerance)
        << "result " << i << ": " << got[i] << " in place of " << rounded;
  }
}

// The results of all sequences, one after the other.
template <class T>
std::vector<double> references(ReduceOp op, const std::vector<Sequence>& sequences,
                               std::int64_t correction = 0) {
  std::vector<double> all;
  for (const Sequence& sequence : sequences) {
    for (double value : reference_of<T>(op, sequence, correction)) all.push_back(value);
  }
  return all;
}

template <class T>
std::vector<Sequence> row_sequences(const std::vector<T>& values, const MatrixView<const T>& a) {
  std::vector<Sequence> sequences(static_cast<std::size_t>(a.op_rows()));
  for (std::int64_t i = 0; i < a.op_rows(); ++i) {
    for (std::int64_t j = 0; j < a.op_cols(); ++j) {
      const std::int64_t row = a.op == Op::none ? i : j, col = a.op == Op::none ? j : i;
      const std::int64_t at = a.layout == Layout::row_major ? row * a.ld + col : row + col * a.ld;
      const std::int64_t offset = a.data - values.data() + at;
      sequences[static_cast<std::size_t>(i)].push_back(
          as_double(values[static_cast<std::size_t>(offset)]));
    }
  }
  return sequences;
}

template <class T>
Sequence part(const std::vector<T>& values, std::int64_t begin, std::int64_t end) {
  Sequence sequence;
  for (std::int64_t i = begin; i < end; ++i) {
    sequence.push_back(as_double(values[static_cast<std::size_t>(i)]));
  }
  return sequence;
}

TEST_P(ApiReduce, ArraysOfEveryTypeByEveryOperation) {
  for_every_type([&]<class T>() {
    for (std::int64_t n : {1, 2, 37, 4097, 20011}) {
      SCOPED_TRACE(n);
      // One element in front, so that no vector is aligned.
      const DeviceArray<T> data(context, small_elements<T>(n + 1, 1));
      for (ReduceOp op : every_op) {
        expect_results(context, op, array_view(data.data() + 1, n),
                       references<T>(op, {part(data.put(), 1, n + 1)}));
      }
      EXPECT_TRUE(data.unchanged());
    }
  });
}

// Rows and columns of subviews of one stored matrix, in both layouts, plain and transposed.
TEST_P(ApiReduce, RowsAndColumnsOfEveryTypeByEveryOperation) {
  struct Case {
    std::int64_t rows, cols, pad, offset;
    Layout layout;
    Op op;
  };
  constexpr Case cases[] = {{5, 300, 3, 0, Layout::row_major, Op::none},
                            {300, 5, 1, 2, Layout::row_major, Op::none},
                            {7, 33, 2, 1, Layout::col_major, Op::none},
                            {33, 7, 0, 1, Layout::row_major, Op::transpose},
                            {270, 4, 5, 3, Layout::col_major, Op::transpose}};
  for_every_type([&]<class T>() {
    for (const Case& c : cases) {
      SCOPED_TRACE(testing::Message()
                   << c.rows << " x " << c.cols << " layout " << static_cast<int>(c.layout)
                   << " op " << static_cast<int>(c.op));
      const bool by_rows = c.layout == Layout::row_major;
      const std::int64_t ld = (by_rows ? c.cols : c.rows) + c.pad;
      const DeviceArray<T> data(context,
                                small_elements<T>(c.offset + (by_rows ? c.rows : c.cols) * ld, 2));
      const auto view = [&](const T* base) {
        return MatrixView<const T>{base + c.offset, c.rows, c.cols, ld, c.layout, c.op};
      };
      const MatrixView<const T> a = view(data.data()), here = view(data.put().data());
      const auto rows = row_sequences(data.put(), here);
      const auto columns = row_sequences(data.put(), transposed(here));
      for (ReduceOp op : every_op) {
        expect_results(context, op, rows_of(a), references<T>(op, rows));
        expect_results(context, op, columns_of(a), references<T>(op, columns));
      }
    }
  });
}

TEST_P(ApiReduce, LongRowsAndColumns) {
  // More than one chunk a sequence, and more columns than one strip.
  const DeviceArray<std::int32_t> wide(context, small_elements<std::int32_t>(3 * 9000, 3));
  const auto across = row_major<const std::int32_t>(wide.data(), 3, 9000);
  const auto here = row_major<const std::int32_t>(wide.put().data(), 3, 9000);
  const DeviceArray<std::int32_t> tall(context, small_elements<std::int32_t>(1100 * 40, 4));
  const auto down = row_major<const std::int32_t>(tall.data(), 1100, 40);
  const auto tall_here = row_major<const std::int32_t>(tall.put().data(), 1100, 40);
  for (ReduceOp op : every_op) {
    expect_results(context, op, rows_of(across),
                   references<std::int32_t>(op, row_sequences(wide.put(), here)));
    expect_results(context, op, columns_of(across),
                   references<std::int32_t>(op, row_sequences(wide.put(), transposed(here))));
    expect_results(context, op, columns_of(down),
                   references<std::int32_t>(op, row_sequences(tall.put(), transposed(tall_here))));
  }
}

// Empty segments, short ones, and one that is longer than all others together; the array's ends
// belong to none.
TEST_P(ApiReduce, SegmentsOfEveryTypeByEveryOperation) {
  const std::vector<std::int64_t> bounds = {2, 2, 3, 10, 42, 42, 300, 9000, 9001, 9033};
  const auto segments = static_cast<std::int64_t>(bounds.size()) - 1;
  const DeviceArray<std::int64_t> offsets(context, bounds);
  for_every_type([&]<class T>() {
    const DeviceArray<T> data(context, small_elements<T>(9040, 5));
    std::vector<Sequence> sequences;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      sequences.push_back(part(data.put(), bounds[i], bounds[i + 1]));
    }
    for (ReduceOp op : every_op) {
      expect_results(context, op, segments_of(data.data(), 9040, offsets.data(), segments),
                     references<T>(op, sequences));
    }
  });
}

TEST_P(ApiReduce, OffsetsOutsideOfTheArrayReadNothingThere) {
  const DeviceArray<float> data(context, {1, 2, 4, 8});
  const DeviceArray<std::int64_t> offsets(
      context, {-1000, 1, 3, 2, 1000, 2000, std::numeric_limits<std::int64_t>::max()});
  const auto view = segments_of<float>(data.data(), 4, offsets.data(), 6);
  expect_results(context, ReduceOp::sum, view, {1, 6, 0, 12, 0, 0});
  expect_results(context, ReduceOp::argmax, view, {0, 1, -1, 1, -1, -1});
}

TEST_P(ApiReduce, SequencesWithoutElements) {
  for_every_type([&]<class T>() {
    const T* none = nullptr;
    const DeviceArray<std::int64_t> offsets(context, {0, 0, 0, 0});
    for (ReduceOp op : every_op) {
      expect_results(context, op, array_view(none, 0), references<T>(op, {{}}));
      const auto three = references<T>(op, {{}, {}, {}});
      expect_results(context, op, rows_of(row_major(none, 3, 0, 7)), three);
      expect_results(context, op, columns_of(row_major(none, 0, 3, 7)), three);
      expect_results(context, op, rows_of(col_major(none, 3, 0, 7)), three);
      expect_results(context, op, columns_of(transposed(row_major(none, 3, 0, 7))), three);
      expect_results(context, op, segments_of(none, 0, offsets.data(), 3), three);
    }
  });
}

TEST_P(ApiReduce, NoSequencesAtAll) {
  const float* none = nullptr;
  for (const ReduceView& view : {rows_of(row_major(none, 0, 5)), columns_of(row_major(none, 5, 0)),
                                 segments_of(none, 0, nullptr, 0)}) {
    EXPECT_EQ(reduce_result_count(ReduceOp::min_max, view), 0);
    EXPECT_EQ(reduce_workspace_bytes(context, ReduceOp::sum, view), 0u);
    EXPECT_NO_THROW(reduce(context, ReduceOp::sum, view, output_view<float>(nullptr, 0)));
  }
}

template <class T>
T bits_of_result(const std::vector<unsigned char>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

TEST_P(ApiReduce, ANanIsEveryResult) {
  std::vector<float> values(5000, 1.0f);
  values[4321] = -std::numeric_limits<float>::quiet_NaN();
  values[4999] = nan;
  const DeviceFloats data(context, values);
  const auto view = array_view(data.data(), 5000);
  for (ReduceOp op : every_op) {
    SCOPED_TRACE(to_string(op));
    const std::vector<unsigned char> bytes = reduce_bytes(context, op, view);
    if (op == ReduceOp::argmin || op == ReduceOp::argmax) {
      EXPECT_EQ(bits_of_result<std::int64_t>(bytes), 4321);
      continue;
    }
    for (std::size_t at = 0; at < bytes.size(); at += 4) {
      EXPECT_EQ(bits_of_result<std::uint32_t>({bytes.begin() + static_cast<long>(at), bytes.end()}),
                0x7FC00000u);
    }
  }
}

TEST_P(ApiReduce, ZerosAndTies) {
  const DeviceFloats zeros(context, {0.0f, -0.0f, 0.0f, -0.0f});
  const auto view = array_view(zeros.data(), 4);
  const auto bits = [&](ReduceOp op) {
    return bits_of_result<std::uint32_t>(reduce_bytes(context, op, view));
  };
  EXPECT_EQ(bits(ReduceOp::min), 0x80000000u);
  EXPECT_EQ(bits(ReduceOp::max), 0u);
  expect_results(context, ReduceOp::argmin, view, {0});
  expect_results(context, ReduceOp::argmax, view, {0});
  const auto minus = array_view(zeros.data() + 1, 1);
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::l1_norm, ReduceOp::max_norm}) {
    EXPECT_EQ(bits_of_result<std::uint32_t>(reduce_bytes(context, op, minus)), 0u) << to_string(op);
  }
  std::vector<float> values(9000, 1.0f);
  values[8000] = values[5000] = values[8999] = -3;
  values[7000] = values[6999] = 5;
  const DeviceFloats ties(context, values);
  expect_results(context, ReduceOp::argmin, array_view(ties.data(), 9000), {5000});
  expect_results(context, ReduceOp::argmax, array_view(ties.data(), 9000), {6999});
  const float infinity = std::numeric_limits<float>::infinity();
  const DeviceFloats all_infinite(context, std::vector<float>(300, infinity));
  expect_results(context, ReduceOp::argmin, array_view(all_infinite.data(), 300), {0});
}

TEST_P(ApiReduce, VarianceDividesByWhatIsAsked) {
  const DeviceFloats data(context, {1, 2, 3, 4});
  const auto view = array_view(data.data(), 4);
  expect_results(context, ReduceOp::variance, view, {1.25});
  expect_results(context, ReduceOp::variance, view, {5.0 / 3}, {.correction = 1});
  expect_results(context, ReduceOp::variance, view, {nan}, {.correction = 4});
  expect_results(context, ReduceOp::variance, view, {nan}, {.correction = 5});
}

TEST_P(ApiReduce, VarianceFarFromZero) {
  std::vector<double> values(6000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1e9 + static_cast<double>(i % 2);
  const DeviceArray<double> data(context, values);
  expect_results(context, ReduceOp::variance, array_view(data.data(), 6000), {0.25});
}

TEST_P(ApiReduce, ExtremesThatLeaveTheFormatOnTheWay) {
  const DeviceArray<double> huge(context, {3e300, 4e300});
  expect_results(context, ReduceOp::l2_norm, array_view(huge.data(), 2), {5e300});
  const DeviceArray<std::int64_t> lowest(context, {std::numeric_limits<std::int64_t>::min(), -1});
  const auto view = array_view(lowest.data(), 2);
  expect_results(context, ReduceOp::mean, view, {-0x1p62});
  expect_results(context, ReduceOp::sum, view, {0x1p63});  // modulo 2^64
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiReduce, testing::ValuesIn(present_devices()),
                         device_test_name);

}  // namespace
}  // namespace kw::test
