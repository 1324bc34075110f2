// Few long rows where order cannot show, not even of totals (sequences.hpp): all blocks have
// equally many of their elements.
//
// Idea        The elements of all rows, one row after the other, are cut into as many spans as
//             blocks are resident. A block walks its span as one of an array does its chunk
//             (array.hpp), one row after the other, and asks for the next one's packs before it
//             makes this one's tree. So no block has a chunk more than others, and nothing is done
//             for each 16 KB of a row.
// Merging     What a block has of the row in which its span ends it leaves in a letter. Who has a
//             row's end collects what the blocks before have of it, when its own span is done.
// Limits      Where a block has many rows their trees take longer than what is gained, and a row
//             that a warp has a stage for is quicker there (staged_rows.hpp).
#pragma once

#include "device/mailbox.hpp"
#include "device/overlap.hpp"
#include "reduce/chunks/letters.hpp"
#include "reduce/chunks/work_lists.hpp"
#include "reduce/numbers/result.hpp"
#include "reduce/rows/span_plan.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

// What a span has of a row: `count` elements from element `from` on.
struct RowPiece {
  std::int64_t row, from, count;
};

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, span_blocks_an_sm)
    reduce_row_spans_kernel(const T* data, Sequences rows, std::int64_t span, Letter* box,
                            ResultSink sink) {
  using A = Accumulator<kind, T>;
  using Total = typename A::Total;
  __shared__ typename A::Partial of_warps[2][order_warps];  // by turns: one barrier a row
  // Of the row that blocks before have a part of. Of the first thread, and here for want of
  // registers.
  __shared__ Total head;
  const int thread = static_cast<int>(threadIdx.x);
  const Extent array = extent_of(data, rows.elements);
  const std::int64_t begin = std::int64_t{blockIdx.x} * span, first_row = begin / rows.length;
  std::int64_t left = min(span, rows.count * rows.length - begin);
  RowPiece piece = {first_row, begin - first_row * rows.length, 0};
  piece.count = min(rows.length - piece.from, left);
  Packs<T> packs(data + piece.row * rows.ld + piece.from, piece.count, array);
  if (thread == 0) prefetch_chunk(packs);
  wait_for_previous_kernel();
  Walk<A, T, span_packs> walk;
  int member = member_of(thread, turn_of(packs));
  walk.start(packs, member);
  bool ends_head = false;
#pragma unroll 1
  for (int turn = 0; left > 0; turn ^= 1) {
    walk.finish(packs, member, Value<T>{});
    const RowPiece done = piece;
    left -= done.count;
    if (left > 0) {
      piece = {done.row + 1, 0, min(rows.length, left)};
      packs = Packs<T>(data + piece.row * rows.ld, piece.count, array);
      member = member_of(thread, turn_of(packs));
      walk.start(packs, member);
    } else {
      let_next_kernel_start();
    }
    const auto sum = tree_of_block<A>(tree_of_lanes(walk.lanes), of_warps[turn], thread);
    const bool has_begin = done.from == 0, has_end = done.from + done.count == rows.length;
    ends_head = ends_head || (has_end && !has_begin);
    if (thread != 0) continue;
    const Total total = A::total(sum, Chunk<T>{done.from, done.count, {}});
    if (!has_end) {
      send(box + blockIdx.x * letters_of<Total>, total);
    } else if (!has_begin) {
      head = total;
    } else {
      write_result<T, kind>(sink, done.row, total, rows.length);
    }
  }
  if (!ends_head || thread >= warp_lanes) return;
  const std::int64_t row = std::int64_t{blockIdx.x} * span / rows.length;
  const std::int64_t first = row * rows.length / span, last = blockIdx.x;
  Total total = tree_of_warp<A, warp_lanes>(merge_letters<A, warp_lanes>(box, first, last, thread));
  if (thread != 0) return;
  A::merge(total, head);
  write_result<T, kind>(sink, row, total, rows.length);
}

}  // namespace KW_TARGET
