// Where the pieces of a packed operand lie in the workspace, between split pass and product: in the
// order in which they lie in shared memory later. So a stage of 64 rows, or of some of them, is one
// contiguous bulk copy, whatever the tile.
//
// "Rows" are op_a(A)'s rows or op_b(B)'s columns; both operands run along k.
//
//   packed operand  [entry of the batch][block of 64 rows][stage of 32 along k]
//   stage           [group of 8 rows][16 along k][piece][8 along k][8 rows][8 elements of 2 bytes]
//
// B's columns are in the order of packed_column. Rows and k beyond the operand are zeros.
#pragma once

#include <cstdint>

#include "arithmetic.hpp"
#include "host_device.hpp"

namespace kw::hopper {

constexpr int block_rows = 64, stage_k = 32, group_rows = 8;
constexpr int core_bytes = 128;  // wgmma's core matrix: 8 rows x 16 bytes

constexpr int group_bytes(int pieces) { return 2 * pieces * 2 * core_bytes; }
// A stage of `rows` rows, a multiple of group_rows.
constexpr int stage_bytes(int rows, int pieces) { return rows / group_rows * group_bytes(pieces); }
constexpr int block_bytes(int pieces) { return stage_bytes(block_rows, pieces); }

struct PackedLayout {
  std::int64_t rows = 0, k = 0;
  std::int64_t blocks = 0, stages = 0;

  PackedLayout() = default;
  KW_HOST_DEVICE constexpr PackedLayout(std::int64_t rows_, std::int64_t k_)
      : rows(rows_), k(k_), blocks(ceil_div(rows_, block_rows)), stages(ceil_div(k_, stage_k)) {}

  // From the packed operand's start to a stage of a block, in bytes.
  KW_HOST_DEVICE constexpr std::int64_t offset(std::int64_t entry, std::int64_t block,
                                               std::int64_t stage, int pieces) const {
    return ((entry * blocks + block) * stages + stage) * block_bytes(pieces);
  }
  constexpr std::int64_t bytes(std::int64_t entries, int pieces) const {
    return offset(entries, 0, 0, pieces);
  }
};

// Within a stage: where 8 elements of a row of a block lie, from `chunk` * 8 on along k (chunk 0 to
// 3).
KW_HOST_DEVICE constexpr int chunk_offset(int row, int chunk, int piece, int pieces) {
  return row / group_rows * group_bytes(pieces) +
         ((chunk / 2 * pieces + piece) * 2 + chunk % 2) * core_bytes + row % group_rows * 16;
}

// Where a column of B lies among the 16 of two groups. wgmma gives a thread two of each 8 columns
// of its result; in this order a thread's four of 16 are neighbours in C, and the epilogue stores
// 16 bytes.
KW_HOST_DEVICE constexpr int packed_column(int column) {
  return column / 16 * 16 + column % 16 / 4 * 2 + column % 4 / 2 * 8 + column % 2;
}
// Which column lies there.
KW_HOST_DEVICE constexpr int column_of_packed(int packed) {
  return packed / 16 * 16 + packed % 8 / 2 * 4 + packed % 16 / 8 * 2 + packed % 2;
}

}  // namespace kw::hopper
