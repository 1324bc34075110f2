// Long rows through host SIMT: variances by shares (src/reduce/segments/segment_shares.hpp), where
// order cannot show by spans (src/reduce/rows/row_spans.hpp), and the bits of a row beside those
// that it has alone.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "reduce/rows/row_shares.hpp"
#include "reduce/rows/span_plan.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "sequences_cases.hpp"

namespace kw {
namespace {

constexpr std::array all_types = {DataType::float32,  DataType::float64, DataType::float16,
                                  DataType::bfloat16, DataType::int8,    DataType::int32,
                                  DataType::int64};

// Next to each other and with gaps, whose chunks begin at any place of a pack; several in a block's
// share and several shares' one.
TEST(ReduceRows, VariancesByShares) {
  const OneWorker one;
  host_simt::options().multiprocessors = 2;
  struct Shape {
    std::int64_t rows, bytes, gap;
  };
  constexpr Shape shapes[] = {{40, 33000, 0}, {20, 40008, 40}, {6, 150008, 0}, {3, 700000, 8}};
  std::vector<check::ReduceCase> cases;
  for (const DataType type : all_types) {
    for (const Shape& shape : shapes) {
      check::ReduceCase c = sequences_case(ReduceShape::rows, ReduceOp::variance, type);
      c.rows = shape.rows, c.cols = shape.bytes / static_cast<std::int64_t>(size_of(type)) + 1;
      c.ld_pad = shape.gap, c.misalign = 1;
      cases.push_back(c);
    }
  }
  verify_sequences(cases);
}

// What a block of 256 threads has too much to add of, and norms of three sums.
TEST(ReduceRows, SumsByShares) {
  const OneWorker one;
  host_simt::options().multiprocessors = 1;
  struct Shape {
    ReduceOp op;
    DataType type;
    std::int64_t rows, cols;
  };
  constexpr Shape shapes[] = {{ReduceOp::sum_of_squares, DataType::float16, 20, 11267},
                              {ReduceOp::l2_norm, DataType::bfloat16, 3, 70001},
                              {ReduceOp::mean, DataType::float16, 40, 20003},
                              {ReduceOp::l2_norm, DataType::float64, 9, 30001}};
  Device device;
  device.sm_count = 1;
  std::vector<check::ReduceCase> cases;
  for (const Shape& shape : shapes) {
    check::ReduceCase c = sequences_case(ReduceShape::rows, shape.op, shape.type);
    c.rows = shape.rows, c.cols = shape.cols, c.misalign = 1;
    cases.push_back(c);
    Reduce p;
    p.op = c.op, p.type = c.type, p.shape = c.shape, p.rows = c.rows, p.cols = p.ld = c.cols;
    EXPECT_TRUE(rows_have_shares(p, device));
  }
  verify_sequences(cases);
}

// Six blocks: a row of which one has all, several have a part, and that ends with a span; next to
// each other and with gaps, at any place of a pack.
TEST(ReduceRows, BySpans) {
  const OneWorker one;
  host_simt::options().multiprocessors = 2;
  struct Shape {
    std::int64_t rows, bytes, gap, misalign;
  };
  constexpr Shape shapes[] = {
      {2, 300000, 0, 1}, {6, 57600, 0, 0}, {9, 60008, 40, 3}, {3, 115200, 8, 0}, {14, 57352, 0, 1}};
  std::vector<check::ReduceCase> cases;
  for (const DataType type : all_types) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::min, ReduceOp::argmax,
                              ReduceOp::l2_norm, ReduceOp::max_norm, ReduceOp::min_max}) {
      for (const Shape& shape : shapes) {
        check::ReduceCase c = sequences_case(ReduceShape::rows, op, type);
        c.rows = shape.rows, c.cols = shape.bytes / static_cast<std::int64_t>(size_of(type));
        c.ld_pad = shape.gap, c.misalign = shape.misalign;
        cases.push_back(c);
      }
    }
  }
  verify_sequences(cases);
}

// Few long rows, fewer of shorter ones, and not of a small array; all elements, by no more blocks
// than an SM has at once.
TEST(ReduceRows, SpansAreOfFewLongRows) {
  struct Shape {
    DataType type;
    std::int64_t rows, cols;
    bool has_spans;
  };
  constexpr Shape shapes[] = {
      {DataType::float32, 111, 14593, false},    {DataType::float32, 112, 14593, true},
      {DataType::float32, 3167, 14337, true},    {DataType::float32, 3168, 14337, false},
      {DataType::float32, 1188, 14336, true},    {DataType::float32, 1189, 14336, false},
      {DataType::float32, 1188, 10751, false},   {DataType::float64, 500, 5376, true},
      {DataType::bfloat16, 1584, 15360, true},   {DataType::bfloat16, 1585, 15360, false},
      {DataType::int8, 1584, 30719, false},      {DataType::int8, 2, 1'000'000'000, true},
      {DataType::float32, 1, 100'000'000, false}};
  Device device;
  device.sm_count = 132;
  for (const Shape& shape : shapes) {
    Reduce p;
    p.op = ReduceOp::max, p.type = shape.type, p.shape = ReduceShape::rows;
    p.rows = shape.rows, p.cols = p.ld = shape.cols;
    const SpanPlan plan = plan_spans(p, device);
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.cols);
    EXPECT_EQ(plan.blocks > 0, shape.has_spans);
    if (plan.blocks == 0) continue;
    EXPECT_LE(plan.blocks, std::int64_t{span_blocks_an_sm} * device.sm_count);
    EXPECT_GE(plan.blocks * plan.span, p.elements());
    EXPECT_LT((plan.blocks - 1) * plan.span, p.elements());
  }
}

// Long rows that are shared among blocks: variances, and where a block of 256 threads has too much
// to add, of large arrays.
TEST(ReduceRows, SharesAreOfLargeArrays) {
  struct Shape {
    ReduceOp op;
    DataType type;
    std::int64_t rows, cols;
    bool has_shares;
  };
  constexpr Shape shapes[] = {{ReduceOp::variance, DataType::float32, 2000, 8193, true},
                              {ReduceOp::variance, DataType::float32, 2000, 8192, false},
                              {ReduceOp::variance, DataType::float32, 120, 200'000, false},
                              {ReduceOp::variance, DataType::float32, 63, 500'000, false},
                              {ReduceOp::variance, DataType::float64, 130, 200'000, false},
                              {ReduceOp::variance, DataType::float32, 130, 200'000, true},
                              {ReduceOp::variance, DataType::float32, 130, 3'000'000, false},
                              {ReduceOp::sum_of_squares, DataType::float16, 2300, 11265, false},
                              {ReduceOp::sum_of_squares, DataType::float16, 2400, 11265, true},
                              {ReduceOp::l2_norm, DataType::bfloat16, 2400, 11265, true},
                              {ReduceOp::l2_norm, DataType::bfloat16, 2400, 11264, false},
                              {ReduceOp::mean, DataType::float16, 2000, 50'000, false},
                              {ReduceOp::mean, DataType::float16, 2100, 50'000, true},
                              {ReduceOp::l2_norm, DataType::float64, 700, 50'000, true},
                              {ReduceOp::l2_norm, DataType::float64, 600, 50'000, false},
                              {ReduceOp::l2_norm, DataType::int64, 700, 50'000, false},
                              {ReduceOp::sum, DataType::float32, 5000, 50'000, false},
                              {ReduceOp::max, DataType::float16, 5000, 50'000, false}};
  Device device;
  device.sm_count = 132;
  for (const Shape& shape : shapes) {
    Reduce p;
    p.op = shape.op, p.type = shape.type, p.shape = ReduceShape::rows;
    p.rows = shape.rows, p.cols = p.ld = shape.cols;
    EXPECT_EQ(rows_have_shares(p, device), shape.has_shares)
        << to_string(shape.op) << " of " << to_string(shape.type) << ", " << shape.rows << " x "
        << shape.cols;
  }
}

// Rows and arrays of bytes that hold elements of any type, reduced through host SIMT.
class RowsAndArrays {
 public:
  explicit RowsAndArrays(std::size_t bytes) : data_(bytes) {
    add_developer_backends();
    runtime_ = open_device("host-simt");
    std::mt19937 engine(static_cast<unsigned>(run_seed()));
    for (unsigned char& x : data_) x = static_cast<unsigned char>(engine() % 120);  // no NaN
  }
  // The bytes of the results of `rows` rows, or of the array that row `first` is.
  std::vector<std::byte> results(ReduceOp op, DataType type, std::int64_t rows, std::int64_t cols,
                                 std::int64_t first) {
    Reduce p;
    p.op = op, p.type = type, p.shape = rows > 1 ? ReduceShape::rows : ReduceShape::whole;
    p.rows = rows, p.cols = p.ld = cols;
    p.data = data_.data() + first * cols * static_cast<std::int64_t>(size_of(type));
    std::vector<std::byte> out(static_cast<std::size_t>(p.results()) *
                               size_of(result_type(op, type)));
    p.out = out.data();
    Device device = runtime_->device();
    device.sm_count = 2;
    for (const Kernel<Reduce>& kernel : on_host::reduce_production()) {
      if (!supports(kernel, p, device)) continue;
      std::vector<std::byte> workspace(kernel.workspace_bytes(p, device) + 256);
      void* aligned = workspace.data();
      std::size_t room = workspace.size();
      EXPECT_NE(std::align(256, room - 255, aligned, room), nullptr);
      EXPECT_TRUE(kernel.launch(p, device, {aligned, room, tickets_.data()}, {}).ok());
    }
    return out;
  }

 private:
  std::unique_ptr<Runtime> runtime_;
  std::vector<unsigned char> data_;
  std::vector<unsigned> tickets_ = std::vector<unsigned>(ticket_count, 0);
};

// Rows of a chunk, of some more, and of many: by stages, by shares, by blocks, by spans.
TEST(ReduceRows, HaveTheBitsThatTheyHaveAlone) {
  const OneWorker one;
  constexpr std::int64_t rows = 6;
  for (const std::int64_t bytes : {1120, 16000, 20000, 31000, 48000, 60000}) {
    RowsAndArrays arrays(static_cast<std::size_t>(rows * bytes) + 64);
    for (const DataType type : all_types) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::variance, ReduceOp::l2_norm,
                                ReduceOp::argmin, ReduceOp::min_max}) {
        const std::int64_t cols = bytes / static_cast<std::int64_t>(size_of(type));
        const std::vector<std::byte> together = arrays.results(op, type, rows, cols, 0);
        const std::size_t size = together.size() / rows;
        for (std::int64_t row = 0; row < rows; ++row) {
          const std::vector<std::byte> alone = arrays.results(op, type, 1, cols, row);
          EXPECT_EQ(std::memcmp(alone.data(), together.data() + row * std::ptrdiff_t(size), size),
                    0)
              << to_string(op) << " of " << to_string(type) << ", row " << row << " of " << cols;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kw
#endif
