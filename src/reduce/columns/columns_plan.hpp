// How the blocks of reduce_columns share a matrix (columns.hpp): a cut of the columns into strips
// and of the rows into runs of chunks, made so that all SMs have enough bytes under way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "host_device.hpp"
#include "reduce/problem.hpp"
#include "reduce/walk/order.hpp"

namespace kw {

constexpr int column_threads = 256;
constexpr int most_column_threads = 512;  // of a block that has its SM for itself
constexpr int merged_each = 8;            // totals that one thread asks for at a time
constexpr int most_merged_each = 16;
constexpr int most_low_chunks = 8;  // of a column that is a thread's

struct ColumnPlan {
  std::int64_t rows, cols, ld;
  std::int64_t strips;
  std::int64_t blocks;  // of each strip
  int strip_columns;
  int packs;          // of a row of a strip, or of eight rows that are one
  bool rows_are_one;  // eight rows are one, padding included
  int side_by_side;   // chunks that a block walks at a time; a power of two
  int rounds;         // chunks one after the other
  int item_shift;     // 2^item_shift of these are an item, as many as divide them
  int item_count;     // items of a strip
  int each_shift;     // 2^each_shift totals are what a thread merges
  int merge_shift;    // 2^merge_shift a block
  int threads;
  unsigned asking;  // blocks that ask for their rows before they may read
  // What follows from these, for the kernel: from the array's first element to its last; positions
  // of a row of a strip, or of eight that are one; places in shared memory from row to row; totals
  // that a block makes a round.
  std::int64_t elements;
  int extent, pitch, tasks;
  std::size_t lane_bytes, shared_bytes;

  // A block whose rounds are a power of two makes one total a column. Another makes one for each
  // item of each of its chunks side by side: what is aligned is a subtree of the order.
  KW_HOST_DEVICE constexpr int item_rounds() const { return 1 << item_shift; }
  KW_HOST_DEVICE constexpr int merged() const { return 1 << merge_shift; }
  KW_HOST_DEVICE constexpr bool has_one_item() const { return item_rounds() == rounds; }
  KW_HOST_DEVICE constexpr int items_each() const {
    return has_one_item() ? 1 : side_by_side * (rounds >> item_shift);
  }
  // Totals that blocks leave for each other, for all levels of their merging.
  std::int64_t waiting_totals() const;
  std::int64_t tickets() const;
};

// What the cut depends on besides the matrix.
struct ColumnElement {
  int width;                            // elements that a thread takes of a row
  int pack_bytes;                       // of these
  int blocks_per_sm;                    // of column_threads
  std::size_t lane_bytes, total_bytes;  // of a lane's sums, of a chunk's total
  bool off_boundary;                    // rows need not begin where a thread's accesses may
};

ColumnPlan plan_columns(const Reduce& problem, const ColumnElement& element, int sm_count);

// Whether each thread rather has whole columns (low_columns.hpp).
bool are_low_columns(const Reduce& problem, int sm_count);

}  // namespace kw
