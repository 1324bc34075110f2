// The panels of a Cholesky factorisation: up to 128 columns, with all rows below them. Each block
// of threads factors the triangle on the diagonal for itself, in shared memory, and solves its own
// rows with it, so that a panel is one launch and no block waits for another. The last block to
// have read the triangle stores it.
//
// 8 columns at a time:
//
//   8 x 8 on the diagonal   every thread with a row, in registers: a chain of 8 pivots without an
//                           exchange
//   the rows below          a thread a row, by substitution
//   the next 8 columns      what they take from these: a square of 4 x 4 sums a thread
//   what is right of those  all threads, while the next 8 columns are factored
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/gpu.hpp"
#include "level3/cholesky_columns.hpp"

namespace KW_TARGET {

constexpr int panel_columns = 128;
constexpr int panel_at_once = 8;
// Rows below the triangle of a block of threads: at most, and in steps of.
constexpr int panel_most_rows = 256, panel_row_step = 32;

// In shared memory, in floats: the panel's columns, [column][row], the triangle's rows before the
// block's own. With four floats more, 8 columns of 4 rows lie in 32 banks.
constexpr int panel_pitch(int rows) { return panel_columns + rows + 4; }
constexpr std::size_t panel_shared_bytes(int rows) {
  return sizeof(float) * static_cast<std::size_t>(panel_columns * panel_pitch(rows) + 4);
}
constexpr bool has_panels(const Device& device) {
  return device.shared_bytes_per_block_optin >= panel_shared_bytes(panel_row_step);
}

// How many rows below the triangle a block of threads takes: as few as keep every multiprocessor
// busy once, and no more than it has room for.
inline int panel_rows_for(std::int64_t below, const Device& device) {
  const std::int64_t even = ceil_div(below, static_cast<std::int64_t>(device.sm_count));
  const std::int64_t wanted = ceil_div(even, std::int64_t{panel_row_step}) * panel_row_step;
  int rows = wanted < panel_most_rows ? static_cast<int>(wanted) : panel_most_rows;
  while (device.shared_bytes_per_block_optin < panel_shared_bytes(rows)) rows -= panel_row_step;
  return rows;
}

// The time of a launch, predicted.
double cholesky_panel_us(const level3::CholeskyPanel& panel, const Device& device);

// Writes info: 0 where the panel is the matrix's first, the number of a pivot where that is not
// positive. Where info says so already, the panel is left as it is. `ticket` is zero, and left so.
Status launch_cholesky_panel(const level3::CholeskyPanel& panel, unsigned* ticket,
                             const Device& device, Stream stream);

}  // namespace KW_TARGET
