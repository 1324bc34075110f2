// Long rows through host SIMT: variances by shares (src/reduce/segments/segment_shares.hpp), and
// the bits of a row beside those that it has alone.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

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

// Rows of a chunk, of some more, and of many: by stages, by shares, by blocks.
TEST(ReduceRows, HaveTheBitsThatTheyHaveAlone) {
  const OneWorker one;
  constexpr std::int64_t rows = 6;
  for (const std::int64_t bytes : {1120, 16000, 20000, 31000, 48000}) {
    RowsAndArrays arrays(static_cast<std::size_t>(rows * bytes) + 64);
    for (const DataType type : all_types) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::variance, ReduceOp::l2_norm}) {
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
