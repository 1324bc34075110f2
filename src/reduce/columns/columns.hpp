// Each column of a row-major matrix to one result, in one launch.
//
// Idea        A block takes the chunks of a run of rows, in a strip of columns, one round after the
//             other: each thread holds 16 bytes of a row's columns through every eighth row of a
//             chunk, all eight loads under way at once; the eight lanes of a column meet in shared
//             memory. Where rows are short and lie close together, eight of them are one row of
//             eight times the length, so that threads read what is contiguous in memory, however
//             narrow the matrix. A block leaves a total a column, or one for each item of its run;
//             the last block of a group of neighbours merges theirs, and so on up
//             (columns_merge.hpp).
// Order       That of order.hpp for columns: row r of a chunk belongs to lane r mod 8; chunks merge
//             as a tree of neighbours. Items are aligned and powers of two, so how rows are cut
//             into blocks cannot show, and the cut follows from the device (columns_plan.hpp).
// Alignment   Memory is read at its own boundaries. As a thread's rows lie eight apart, elements
//             stand at the same position of their 16 bytes in all of them.
#pragma once

#include "device/overlap.hpp"
#include "reduce/chunks/work_lists.hpp"
#include "reduce/columns/column_packs.hpp"
#include "reduce/columns/columns_merge.hpp"
#include "reduce/columns/columns_plan.hpp"
#include "reduce/numbers/result.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

// Three blocks of 80 registers per SM have 96 KiB under way; instances that would spill have two,
// of 96 registers where they may be narrow. A block that is alone on its SM has up to 512 threads.
template <ReduceKind kind, class T>
constexpr int column_blocks_per_sm = (sizeof(typename Accumulator<kind, T>::Lane) < 16 ||
                                      (kind == ReduceKind::min_max &&
                                       std::is_same_v<T, std::int64_t>)) &&
                                             column_width<Accumulator<kind, T>, T> < 8
                                         ? 3
                                         : 2;
template <ReduceKind kind, class T>
constexpr int column_threads_per_sm =
    column_blocks_per_sm<kind, T> == 3 ? 768
    : kind == ReduceKind::moments || kind == ReduceKind::norm_square || kind == ReduceKind::wide_sum
        ? 512
        : 640;

// Asks for the rows of a block's first chunks, `first_chunk` and those side by side, to be brought
// into L2, a row a thread: in the shadow of the previous kernel.
template <class T>
__device__ __forceinline__ void ask_for_first_rows(const T* data, const ColumnPlan& plan,
                                                   std::int64_t first_column, int columns,
                                                   std::int64_t first_chunk) {
  constexpr int chunk_rows = static_cast<int>(column_chunk_rows);
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < plan.side_by_side * chunk_rows;
       i += static_cast<int>(blockDim.x)) {
    const std::int64_t chunk = first_chunk + i / chunk_rows * plan.rounds;
    const std::int64_t row = chunk * chunk_rows + i % chunk_rows;
    if (row >= plan.rows) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(data + row * plan.ld + first_column);
    const std::uintptr_t from = (begin + 15) / 16 * 16;
    const std::uintptr_t to = (begin + static_cast<unsigned>(columns) * sizeof(T)) / 16 * 16;
    if (from < to)
      prefetch_to_l2(reinterpret_cast<const void*>(from), static_cast<unsigned>(to - from));
  }
}

// What lanes leave in shared memory: of the norm of float64 one of three sums at a time.
template <class A>
using ColumnPlace = std::conditional_t<std::is_same_v<A, NormSquare>, double, typename A::Lane>;

// How the eight lanes of each of a round's columns meet in shared memory: where a thread puts its
// own, and where those of the column lie that it makes the total of.
template <class A, int width>
struct ColumnMeeting {
  using Place = ColumnPlace<A>;
  using Partial = typename A::Partial;
  using Lane = typename A::Lane;

  Place* places;
  const ColumnPlan& plan;
  const ColumnThread& own;
  int own_place;  // of the thread's first element
  int task_slot;

  // All threads of the block call it. Then those with a task may ask for the sum, but for the norm
  // of float64, of which they have it.
  __device__ __forceinline__ Partial meet(const Lane (&lanes)[width], bool reads,
                                          [[maybe_unused]] bool has_task) const {
    if constexpr (std::is_same_v<A, NormSquare>) {
      return meet_by_ranges(lanes, reads, has_task);
    } else {
      put(reads, [&](int e) { return lanes[e]; });
      __syncthreads();
      return Partial{};
    }
  }
  __device__ __forceinline__ Partial sum() const { return tree<A>(); }

 private:
  // The middle sums, which mostly are all there is.
  __device__ __forceinline__ ScaledSquares meet_by_ranges(const Lane (&lanes)[width], bool reads,
                                                          bool has_task) const {
    ScaledSquares whole = {0, 0, 0};
    bool has_others = false;
#pragma unroll
    for (int e = 0; e < width; ++e) has_others |= !(lanes[e].big == 0) | !(lanes[e].small == 0);
    put(reads, [&](int e) { return lanes[e].middle; });
    const bool have_others = __syncthreads_or(has_others ? 1 : 0) != 0;
    if (has_task) whole.middle = tree<MiddleSquares>();
    if (!have_others) return whole;
    __syncthreads();
    put(reads, [&](int e) { return lanes[e].big; });
    __syncthreads();
    if (has_task) whole.big = tree<MiddleSquares>();
    __syncthreads();
    put(reads, [&](int e) { return lanes[e].small; });
    __syncthreads();
    if (has_task) whole.small = tree<MiddleSquares>();
    return whole;
  }
  template <class Take>
  __device__ __forceinline__ void put(bool reads, const Take& take) const {
#pragma unroll
    for (int e = 0; e < width; ++e) {
      const int position = own.position + e;
      if (reads && position >= 0 && position < plan.extent)
        places[e < own.slot_shift ? own_place + e : own_place + e + 1] = take(e);
    }
  }
  template <class Sum>
  __device__ __forceinline__ typename Sum::Partial tree() const {
    typename Sum::Partial partials[column_lanes];
#pragma unroll
    for (int i = 0; i < column_lanes; ++i) {
      partials[i] = Sum::close(places[column_place<width>(task_slot + i * plan.pitch)]);
      place_in_chunk<Sum>(partials[i], i);
    }
    return tree_of_array<Sum>(partials);
  }
};

template <ReduceKind kind, class T>
__global__ void __launch_bounds__((column_threads_per_sm<kind, T>))
    reduce_columns_kernel(const T* data, ColumnPlan plan,
                          typename Accumulator<kind, T>::Total* totals, unsigned* tickets,
                          ResultSink sink) {
  using A = Accumulator<kind, T>;
  using Total = typename A::Total;
  using Lane = typename A::Lane;
  constexpr int width = column_width<A, T>;
  constexpr bool needs_first = kind == ReduceKind::moments;
  // For the first element of a chunk of which a thread makes the total; of 16 bits it costs more
  // registers than it brings.
  constexpr bool asks_ahead = needs_first && sizeof(T) >= 4;
  auto* shared = gpu::dynamic_shared<unsigned char>();
  Total* stack = reinterpret_cast<Total*>(shared + plan.lane_bytes);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t strip = blockIdx.x % plan.strips, block = blockIdx.x / plan.strips;
  const std::int64_t first_column = strip * plan.strip_columns;
  const int columns =
      static_cast<int>(min(std::int64_t{plan.strip_columns}, plan.cols - first_column));
  const ColumnThread own = column_thread<width>(data, plan, first_column);
  const bool reads = own.group < plan.side_by_side;
  // What a thread beyond its row holds is no number of middle size, and its warp would wait for it.
  const bool adds = reads && (!std::is_same_v<A, NormSquare> || own.position < plan.extent);
  // The column of a chunk that this thread makes the total of.
  const int task_group = thread / columns, column = thread % columns;
  const bool has_task = task_group < plan.side_by_side;
  const ColumnMeeting<A, width> meeting = {
      reinterpret_cast<ColumnPlace<A>*>(shared), plan, own,
      column_place<width>(own.slot + own.slot_shift) - own.slot_shift - 1,
      task_group * column_lanes * plan.pitch + column};
  const std::int64_t first_chunk = block * plan.side_by_side * plan.rounds;
  // Chunks that are not there are empty, and merging them would change nothing.
  const int rounds =
      static_cast<int>(min(std::int64_t{plan.rounds}, column_chunk_count(plan.rows) - first_chunk));

  // Where the totals of this block's items go: in shared memory, as registers are taken.
  __shared__ Total* waiting;
  __shared__ int left_items;
  if (thread == 0) {
    waiting = totals + (first_chunk >> plan.item_shift) * plan.cols + first_column;
    left_items = plan.item_count - static_cast<int>(first_chunk >> plan.item_shift);
    begin_small_grid(data, Sequences{1, 0, 0, nullptr, plan.elements});
  }
  if (blockIdx.x < plan.asking) ask_for_first_rows(data, plan, first_column, columns, first_chunk);
  wait_for_previous_kernel();
  ColumnPacks<T, width> packs;
  Total total = A::empty_total();
  [[maybe_unused]] T first = {};  // of the chunk that this thread makes the total of
  // Round -1 only loads for the first.
#pragma unroll 1
  for (int round = -1; round < rounds; ++round) {
    Lane lanes[width];
#pragma unroll
    for (int e = 0; e < width; ++e) lanes[e] = A::empty_lane();
    if (adds && round >= 0) packs.template add<A>(lanes, own);
    if (reads && round + 1 < rounds) {
      packs.template load<A>(data, plan, own, first_column,
                             first_chunk + own.group * plan.rounds + round + 1);
    }
    [[maybe_unused]] const T first_now = first;
    if constexpr (asks_ahead) {
      const std::int64_t row =
          (first_chunk + task_group * plan.rounds + round + 1) * column_chunk_rows;
      if (has_task && round + 1 < rounds && row < plan.rows)
        first = data[row * plan.ld + first_column + column];
    }
    if (round < 0) continue;
    typename A::Partial sum = meeting.meet(lanes, reads, has_task);
    if (has_task) {
      if constexpr (!std::is_same_v<A, NormSquare>) sum = meeting.sum();
      Chunk<T> chunk;
      chunk.begin = (first_chunk + task_group * plan.rounds + round) * column_chunk_rows;
      chunk.count =
          max(std::int64_t{0}, min(std::int64_t{column_chunk_rows}, plan.rows - chunk.begin));
      if constexpr (asks_ahead) {
        chunk.first = to_value(first_now);
      } else if constexpr (needs_first) {
        if (chunk.count > 0)
          chunk.first = to_value(data[chunk.begin * plan.ld + first_column + column]);
      }
      total = A::total(sum, chunk);
      // Neighbours that wait for this one: a level for each trailing one in the round's number;
      // with the item's last round, which has no neighbour to wait for, all that wait.
      const int of_item = round & (plan.item_rounds() - 1);
      const bool is_last = round + 1 == rounds || of_item + 1 == plan.item_rounds();
      int level = 0;
#pragma unroll 1
      for (; of_item >> level != 0; ++level) {
        if ((of_item >> level & 1) == 0) {
          if (is_last) continue;
          break;
        }
        Total before = stack[level * plan.tasks + thread];
        A::merge(before, total);
        total = before;
      }
      if (!is_last) {
        stack[level * plan.tasks + thread] = total;
      } else if (!plan.has_one_item()) {
        const int item = (task_group * plan.rounds + round) >> plan.item_shift;
        if (item < left_items) waiting[item * plan.cols + column] = total;
      }
    }
    __syncthreads();
  }
  let_next_kernel_start();
  Total* across = reinterpret_cast<Total*>(shared);
  auto first_item = static_cast<int>(block);
  int items = 1;
  if (plan.has_one_item()) {
    total = tree_across<A>(total, across, task_group, column, plan.side_by_side, columns, has_task);
    if (plan.blocks == 1) {
      if (task_group == 0) write_result<T, kind>(sink, first_column + column, total, plan.rows);
      return;
    }
    if (task_group == 0) totals[block * plan.cols + first_column + column] = total;
  } else {
    first_item = static_cast<int>(first_chunk >> plan.item_shift);
    items = min(plan.items_each(), plan.item_count - first_item);
  }
  if (merge_blocks<A>(plan, total, totals, tickets, across, static_cast<int>(strip), first_item,
                      items, columns) &&
      thread < columns) {
    write_result<T, kind>(sink, first_column + thread, total, plan.rows);
  }
}

}  // namespace KW_TARGET
