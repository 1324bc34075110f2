// Short rows: tiles of them in shared memory, and those that lanes of a warp have alone.
#include <gtest/gtest.h>

#include "arithmetic.hpp"
#include "rowwise/kernel_on_host.hpp"
#include "rowwise/tuning.hpp"
#include "support/kept_options.hpp"

namespace kw {
namespace {

using test::KernelOnHost;

// Short rows of 16-bit types are words of a tile: wherever a row begins and ends, alone in a word
// or with a neighbour. A tile may have fewer rows than the others, and a row may be the last one.
TEST(RowwiseTile, TakesRowsInWords) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_tile");
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    for (const RowwiseOp op :
         {RowwiseOp::softmax, RowwiseOp::log_softmax, RowwiseOp::layer_norm, RowwiseOp::rms_norm}) {
      for (const std::int64_t cols : {64, 65, 72, 97, 118, 128, 135, 203, 277}) {
        const bool has_many = cols > 135;
        if (has_many && !is_norm(op)) continue;
        check::RowwiseCase c;
        c.op = op;
        c.type = type;
        c.rows = has_many ? 433 : 1 + kernel.computed() % 40, c.cols = cols;
        c.affine = is_norm(op) && kernel.computed() % 3 != 0;
        c.misalign = kernel.computed() % 11;
        c.in_place = kernel.computed() % 2 == 0;
        c.input = kernel.computed() % 5 < 2 ? check::Input::unit : check::Input::uniform;
        kernel.verify(c);
      }
    }
  }
  check::RowwiseCase longer;
  longer.type = DataType::float16;
  longer.rows = 433, longer.cols = 136;
  EXPECT_EQ(kernel.result_of(longer).outcome, check::Outcome::unsupported);
  longer.op = RowwiseOp::rms_norm;
  longer.cols = 281;
  EXPECT_EQ(kernel.result_of(longer).outcome, check::Outcome::unsupported);
  EXPECT_EQ(kernel.computed(), 2 * (2 * 7 + 2 * 9));
}

// Somewhat longer rows of float32 too, where there are enough of them.
TEST(RowwiseTile, TakesLongerRowsOfFloat) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_tile");
  const auto case_of = [](RowwiseOp op, std::int64_t rows, std::int64_t cols) {
    check::RowwiseCase c;
    c.op = op;
    c.rows = rows, c.cols = cols;
    c.affine = is_norm(op);
    return c;
  };
  for (const RowwiseOp op :
       {RowwiseOp::softmax, RowwiseOp::log_softmax, RowwiseOp::layer_norm, RowwiseOp::rms_norm}) {
    for (const std::int64_t cols : {65, 71, 80, 81, 89}) {
      if (!is_norm(op) && cols > 80) continue;
      check::RowwiseCase c = case_of(op, 401, cols);
      c.misalign = kernel.computed() % 5;
      c.in_place = kernel.computed() % 2 == 0;
      c.input = kernel.computed() % 5 < 2 ? check::Input::unit : check::Input::uniform;
      kernel.verify(c);
    }
  }
  EXPECT_EQ(kernel.computed(), 16);
  for (const check::RowwiseCase& other :
       {case_of(RowwiseOp::layer_norm, 300, 65), case_of(RowwiseOp::softmax, 401, 81),
        case_of(RowwiseOp::layer_norm, 401, 90), case_of(RowwiseOp::softmax, 401, 64)})
    EXPECT_EQ(kernel.result_of(other).outcome, check::Outcome::unsupported);
}

// Rows with gaps between them, which no kernel may write: wherever a row begins and ends, in place
// and not. A tile may have fewer rows than the others, and a gap may be longer than a row.
TEST(RowwiseTile, TakesRowsWithGaps) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_tile");
  const auto case_of = [&](RowwiseOp op, DataType type, std::int64_t cols, std::int64_t gap) {
    check::RowwiseCase c;
    c.op = op;
    c.type = type;
    const bool is_long = cols > (type == DataType::float32 ? 64 : 135);
    c.rows = (is_long ? 1010 : 1) + kernel.computed() % 40, c.cols = cols;
    c.ldx_pad = c.ldy_pad = gap;
    c.affine = is_norm(op) && kernel.computed() % 3 != 0;
    c.misalign = kernel.computed() % 11;
    c.in_place = kernel.computed() % 2 == 0 || (type != DataType::float32 && cols > 112);
    c.input = kernel.computed() % 5 < 2 ? check::Input::unit : check::Input::uniform;
    return c;
  };
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    for (const RowwiseOp op :
         {RowwiseOp::softmax, RowwiseOp::log_softmax, RowwiseOp::layer_norm, RowwiseOp::rms_norm}) {
      for (const std::int64_t cols : {8, 19, 33, 53, 64, 79, 110, 146, 158}) {
        if (type == DataType::float32 && cols > 80) continue;
        if (type != DataType::float32 && !is_norm(op) && cols > 64) continue;
        for (const std::int64_t gap : {1, 4, 5, 7}) kernel.verify(case_of(op, type, cols, gap));
      }
      kernel.verify(case_of(op, type, 17, 32));
      kernel.verify(case_of(op, type, 40, 32));
    }
  }
  EXPECT_EQ(kernel.computed(), 4 * (4 * 6 + 2) + 2 * 2 * (4 * 5 + 2) + 2 * 2 * (4 * 9 + 2));
  for (check::RowwiseCase other : {case_of(RowwiseOp::softmax, DataType::float32, 65, 32),
                                   case_of(RowwiseOp::layer_norm, DataType::float32, 81, 1),
                                   case_of(RowwiseOp::softmax, DataType::float32, 19, 34),
                                   case_of(RowwiseOp::softmax, DataType::float16, 65, 1),
                                   case_of(RowwiseOp::layer_norm, DataType::float16, 160, 1),
                                   case_of(RowwiseOp::rms_norm, DataType::bfloat16, 7, 1)}) {
    ++other.rows;  // one row has no gap
    EXPECT_EQ(kernel.result_of(other).outcome, check::Outcome::unsupported) << describe(other);
  }
  check::RowwiseCase apart = case_of(RowwiseOp::layer_norm, DataType::float16, 113, 1);
  apart.rows = 17;
  apart.in_place = false;
  EXPECT_EQ(kernel.result_of(apart).outcome, check::Outcome::unsupported);
}

// Rows of 16-bit types that lanes of a warp have alone: those of a softmax by every team, where its
// lanes are full and where one more element asks for the next team, and those of norms.
TEST(RowwisePlain, HasRowsOf16BitTypesAloneInTheirLanes) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_plain");
  const auto verify = [&](RowwiseOp op, DataType type, std::int64_t rows, std::int64_t cols,
                          std::int64_t gap) {
    check::RowwiseCase c;
    c.op = op;
    c.type = type;
    c.rows = rows, c.cols = cols;
    c.ldx_pad = c.ldy_pad = gap;
    c.affine = is_norm(op) && kernel.computed() % 3 != 0;
    c.misalign = kernel.computed() % 9;
    c.in_place = is_norm(op) || kernel.computed() % 2 == 0;
    c.input = kernel.computed() % 5 < 2 ? check::Input::unit : check::Input::uniform;
    kernel.verify(c);
  };
  constexpr std::int64_t large_bytes = plain_large_call_bytes;  // of one multiprocessor
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    for (const LoneTeam& team : plain_lone_softmax_of_2) {
      const std::int64_t full = std::int64_t{8} * team.lanes * team.packs;
      const std::int64_t rows = team.for_large ? ceil_div(large_bytes, 4 * full) + 1 : 61;
      for (const RowwiseOp op : {RowwiseOp::softmax, RowwiseOp::log_softmax}) {
        verify(op, type, rows, full - 1, 1);
        verify(op, type, 3, full + 8, 5);
      }
    }
    // Large calls with gaps, and rows of five packs a lane without.
    for (const RowwiseOp op : {RowwiseOp::layer_norm, RowwiseOp::rms_norm}) {
      verify(op, type, 800, 174, 5);
      verify(op, type, 801, 199, 32);
      verify(op, type, 700, 251, 1);
      verify(op, type, 300, 517, 0);
    }
  }
  EXPECT_EQ(kernel.computed(), 2 * (12 * 4 + 8));
}

// The same of float32 in calls that are not small: where lanes are full, with edges and without,
// and where one more element asks for more of a lane or for more lanes.
TEST(RowwisePlain, HasRowsOfFloat32AloneInTheirLanes) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_plain");
  constexpr std::int64_t bytes = plain_few_packs_bytes_of_4;  // of one multiprocessor
  for (const int lanes : {8, 16, 32}) {
    for (const LoneRow& row : plain_lone_rows_of_4) {
      if (!plain_has_lone_row_of_4(lanes, row.packs)) continue;
      const std::int64_t full = std::int64_t{4} * (lanes * row.packs - 1);
      for (const std::int64_t cols : {full, full + 3, full + 4}) {
        check::RowwiseCase c;
        c.op = kernel.computed() % 2 == 0 ? RowwiseOp::softmax : RowwiseOp::log_softmax;
        c.type = DataType::float32;
        c.rows = ceil_div(2 * bytes, 8 * cols) + kernel.computed() % 5, c.cols = cols;
        c.ldx_pad = c.ldy_pad = cols == full + 3 ? 5 : 1;
        c.misalign = kernel.computed() % 4;
        c.in_place = kernel.computed() % 3 == 0;
        kernel.verify(c);
      }
    }
  }
  EXPECT_EQ(kernel.computed(), 3 * 3 + 3 * 3);
}

}  // namespace
}  // namespace kw
