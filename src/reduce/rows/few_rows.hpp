// Few rows of one chunk (order.hpp), a block each.
//
// Idea        As reduce_array has a chunk (array.hpp): a block that is alone runs its code once, so
//             it is short. Rows of several chunks, and many rows, take the rings of
//             chunk_blocks.hpp.
#pragma once

#include "device/overlap.hpp"
#include "reduce/chunks/work_lists.hpp"
#include "reduce/numbers/result.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads)
    reduce_few_rows_kernel(const T* data, Sequences rows, ResultSink sink) {
  using A = Accumulator<kind, T>;
  __shared__ BlockMemory<A, T> memory;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t row = blockIdx.x;
  const T* begin = data + row * rows.ld;
  const Packs<T> packs(begin, rows.length, extent_of(data, rows.elements));
  if (thread == 0) prefetch_chunk(packs);
  wait_for_previous_kernel();
  Chunk<T> chunk = {0, rows.length, {}};
  if (rows.length > 0) chunk.first = to_value(*begin);
  Walk<A, T, 2> walk;
  walk.start(packs, thread);
  walk.finish(packs, thread, chunk.first);
  let_next_kernel_start();
  const auto total = total_of_block<A>(walk.lanes, packs.skip, 0, chunk, memory, thread);
  if (thread == 0) write_result<T, kind>(sink, row, total, rows.length);
}

}  // namespace KW_TARGET
