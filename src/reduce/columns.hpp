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

#include <algorithm>

#include "device/overlap.hpp"
#include "reduce/columns_merge.hpp"
#include "reduce/columns_plan.hpp"
#include "reduce/result.hpp"
#include "reduce/walk.hpp"
#include "reduce/work_lists.hpp"

namespace KW_TARGET {

// Elements that a thread takes of a row: 16 bytes, unless their sums would take too many registers.
template <class A, class T>
constexpr int column_width = std::min(order_width<T>,
                                      static_cast<int>(64 / std::max(sizeof(typename A::Lane),
                                                                     std::size_t{8})));

template <class T, int width>
__device__ __forceinline__ Pack<T> load_columns(const T* from) {
  constexpr int bytes = width * static_cast<int>(sizeof(T));
  if constexpr (bytes == 16) {
    return load_pack(from);
  } else if constexpr (bytes == 8) {
    const uint2 words = __ldcs(reinterpret_cast<const uint2*>(from));
    return {{words.x, words.y, 0, 0}};
  } else {
    static_assert(bytes == 4);
    return {{__ldcs(reinterpret_cast<const unsigned*>(from)), 0, 0, 0}};
  }
}

// The same from element `at` on where it may reach beyond the array's `elements`: then element by
// element, those that are there.
template <class T, int width>
__device__ __forceinline__ Pack<T> load_columns_at_edge(const T* data, std::int64_t at,
                                                        std::int64_t elements) {
  if (at >= 0 && at + width <= elements) return load_columns<T, width>(data + at);
  T found[order_width<T>] = {};
#pragma unroll
  for (int e = 0; e < width; ++e) {
    if (at + e >= 0 && at + e < elements) found[e] = data[at + e];
  }
  Pack<T> pack;
  memcpy(pack.words, found, sizeof found);
  return pack;
}

// A row's place within its chunk, for what counts places: `at` is one of a lane's rows.
template <class A, class Partial>
__device__ __forceinline__ void place_in_chunk([[maybe_unused]] Partial& partial,
                                               [[maybe_unused]] int lane) {
  if constexpr (requires { partial.at; }) {
    if (partial.at != A::nowhere)
      partial.at = partial.at * column_lanes + static_cast<unsigned>(lane);
  }
}

// Where the lane of a slot lies in shared memory. After each `width` of them a place is left out,
// so that threads write to different banks.
template <int width>
__device__ __forceinline__ int column_place(int slot) {
  return slot + static_cast<int>(static_cast<unsigned>(slot) / width);
}

// What a thread takes of each chunk.
struct ColumnThread {
  int group;          // which of the chunks side by side
  int position;       // of its first element in its row of the strip, or of eight rows that are one
  int slot;           // of that element's lane among all that lie in shared memory
  int slot_shift;     // slots from there on that come before the next one left out
  int lane;           // of the row; 0 where eight are one
  std::int64_t from;  // its first element in the array, from the chunk's first on
};

template <int width, class T>
__device__ __forceinline__ ColumnThread column_thread(const T* data, const ColumnPlan& plan,
                                                      std::int64_t first_column) {
  const int thread = static_cast<int>(threadIdx.x);
  const int rows = plan.rows_are_one ? 1 : column_lanes;
  const int pack = thread % plan.packs, row = thread / plan.packs % rows;
  ColumnThread own;
  own.group = thread / (plan.packs * rows);
  own.lane = row;
  const std::int64_t begin = row * plan.ld + first_column;
  const std::uintptr_t elements = reinterpret_cast<std::uintptr_t>(data) / sizeof(T);
  const int skip = static_cast<int>((elements + static_cast<std::uintptr_t>(begin)) % width);
  own.position = pack * width - skip;
  own.from = begin + own.position;
  own.slot = (own.group * rows + row) * plan.extent + own.position;
  own.slot_shift = -own.slot & (width - 1);
  return own;
}

// The eight packs of a thread in one chunk.
template <class T, int width>
struct ColumnPacks {
  Pack<T> packs[column_chunk_lane_rows];
  Value<T> first[width] = {};  // of the chunk in each of the columns
  int whole;                   // packs of which every element of the strip is there
  int last_extent;             // positions that are there of the one after them

  template <class A>
  __device__ __forceinline__ void add(typename A::Lane (&lanes)[width],
                                      const ColumnThread& own) const {
    if (whole == column_chunk_lane_rows) {
      add_whole<A>(lanes);
      return;
    }
#pragma unroll
    for (int i = 0; i < column_chunk_lane_rows; ++i) {
#pragma unroll
      for (int e = 0; e < width; ++e) {
        const int more = own.position + e < last_extent ? 1 : 0;
        if (i < whole + more) A::add(lanes[e], packs[i].value(e), i, first[e]);
      }
    }
  }

  // All eight: where that takes less, some elements of a column together.
  template <class A>
  __device__ __forceinline__ void add_whole(typename A::Lane (&lanes)[width]) const {
    if constexpr (requires(Value<T> x) { A::add_four(lanes[0], x, x, x, x); }) {
#pragma unroll
      for (int e = 0; e < width; ++e) {
#pragma unroll
        for (int i = 0; i < column_chunk_lane_rows; i += 4) {
          A::add_four(lanes[e], packs[i].value(e), packs[i + 1].value(e), packs[i + 2].value(e),
                      packs[i + 3].value(e));
        }
      }
    } else if (!add_middle<A>(lanes)) {
#pragma unroll
      for (int i = 0; i < column_chunk_lane_rows; ++i) {
#pragma unroll
        for (int e = 0; e < width; ++e) A::add(lanes[e], packs[i].value(e), i, first[e]);
      }
    }
  }

  // Whether all eight are numbers of middle size, which take less to add: then they are added.
  template <class A>
  __device__ __forceinline__ bool add_middle([[maybe_unused]]
                                             typename A::Lane (&lanes)[width]) const {
    bool are_middle = false;
    if constexpr (requires(Value<T> x) { A::is_middle(x); }) {
      are_middle = true;
#pragma unroll
      for (int at = 0; at < column_chunk_lane_rows * width; ++at)
        are_middle &= A::is_middle(packs[at / width].value(at % width));
      if (are_middle) {
#pragma unroll
        for (int at = 0; at < column_chunk_lane_rows * width; ++at)
          A::add_middle(lanes[at % width], packs[at / width].value(at % width));
      }
    }
    return are_middle;
  }

  template <bool needs_first>
  __device__ __forceinline__ void load(const T* data, const ColumnPlan& plan,
                                       const ColumnThread& own, std::int64_t first_column,
                                       std::int64_t chunk) {
    const std::int64_t top = chunk * column_chunk_rows;
    const std::int64_t left = plan.rows - top;
    const std::int64_t at = top * plan.ld + own.from, step = column_lanes * plan.ld;
    // All but a pack at each end of the array lie within it.
    if (left >= column_chunk_rows && at >= 0 &&
        at + (column_chunk_lane_rows - 1) * step + width <= plan.elements) {
      whole = column_chunk_lane_rows, last_extent = 0;
      if (own.position < plan.extent) {
        const T* from = data + at;
#pragma unroll
        for (int i = 0; i < column_chunk_lane_rows; ++i, from += step)
          packs[i] = load_columns<T, width>(from);
      }
    } else {
      whole = last_extent = 0;
      if (left <= 0) return;
      load_some(data, plan, own, at, static_cast<int>(min(left, column_chunk_rows)));
    }
    if constexpr (needs_first) {
#pragma unroll
      for (int e = 0; e < width; ++e) {
        const int position = own.position + e;
        if (position < 0 || position >= plan.extent) continue;
        const int column = plan.rows_are_one ? position % static_cast<int>(plan.ld) : position;
        if (first_column + column < plan.cols)
          first[e] = to_value(data[top * plan.ld + first_column + column]);
      }
    }
  }

 private:
  // The same of a chunk that has `rows`, or at an end of the array.
  __device__ __forceinline__ void load_some(const T* data, const ColumnPlan& plan,
                                            const ColumnThread& own, std::int64_t at, int rows) {
    const int more = rows % column_lanes;
    whole = rows / column_lanes;
    last_extent = plan.rows_are_one ? more * static_cast<int>(plan.ld)
                  : own.lane < more ? plan.extent
                                    : 0;
    const int steps = own.position < plan.extent ? whole + (own.position < last_extent ? 1 : 0) : 0;
    const std::int64_t step = column_lanes * plan.ld;
    if (at >= 0 && at + (steps - 1) * step + width <= plan.elements) {
#pragma unroll
      for (int i = 0; i < column_chunk_lane_rows; ++i, at += step) {
        if (i < steps) packs[i] = load_columns<T, width>(data + at);
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < column_chunk_lane_rows; ++i, at += step) {
      if (i < steps) packs[i] = load_columns_at_edge<T, width>(data, at, plan.elements);
    }
  }
};

// Three blocks of 80 registers per SM have 96 KiB under way; instances that would spill have two.
template <ReduceKind kind, class T>
constexpr int column_blocks_per_sm = (sizeof(typename Accumulator<kind, T>::Lane) < 16 ||
                                      (kind == ReduceKind::min_max &&
                                       std::is_same_v<T, std::int64_t>)) &&
                                             column_width<Accumulator<kind, T>, T> < 8
                                         ? 3
                                         : 2;

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (column_blocks_per_sm<kind, T>))
    reduce_columns_kernel(const T* data, ColumnPlan plan,
                          typename Accumulator<kind, T>::Total* totals, unsigned* tickets,
                          ResultSink sink) {
  using A = Accumulator<kind, T>;
  using Total = typename A::Total;
  using Lane = typename A::Lane;
  constexpr int width = column_width<A, T>;
  constexpr bool needs_first = kind == ReduceKind::moments;
  auto* shared = gpu::dynamic_shared<unsigned char>();
  Lane* lanes_of_chunks = reinterpret_cast<Lane*>(shared);
  Total* stack = reinterpret_cast<Total*>(shared + plan.lane_bytes);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t strip = blockIdx.x % plan.strips, block = blockIdx.x / plan.strips;
  const std::int64_t first_column = strip * plan.strip_columns;
  const int columns =
      static_cast<int>(min(std::int64_t{plan.strip_columns}, plan.cols - first_column));
  const ColumnThread own = column_thread<width>(data, plan, first_column);
  const bool reads = own.group < plan.side_by_side;
  // The column of a chunk that this thread makes the total of.
  const int task_group = thread / columns, column = thread % columns;
  const bool has_task = task_group < plan.side_by_side;
  const int task_slot = task_group * column_lanes * plan.pitch + column;
  const int own_place = column_place<width>(own.slot + own.slot_shift) - own.slot_shift - 1;
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
  wait_for_previous_kernel();
  ColumnPacks<T, width> packs;
  Total total = A::empty_total();
  // Round -1 only loads for the first.
#pragma unroll 1
  for (int round = -1; round < rounds; ++round) {
    Lane lanes[width];
#pragma unroll
    for (int e = 0; e < width; ++e) lanes[e] = A::empty_lane();
    if (reads && round >= 0) packs.template add<A>(lanes, own);
    if (reads && round + 1 < rounds) {
      packs.template load<needs_first>(data, plan, own, first_column,
                                       first_chunk + own.group * plan.rounds + round + 1);
    }
    if (round < 0) continue;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      const int position = own.position + e;
      if (reads && position >= 0 && position < plan.extent) {
        lanes_of_chunks[e < own.slot_shift ? own_place + e : own_place + e + 1] = lanes[e];
      }
    }
    __syncthreads();
    if (has_task) {
      typename A::Partial partials[column_lanes];
#pragma unroll
      for (int i = 0; i < column_lanes; ++i) {
        partials[i] = A::close(lanes_of_chunks[column_place<width>(task_slot + i * plan.pitch)]);
        place_in_chunk<A>(partials[i], i);
      }
      Chunk<T> chunk;
      chunk.begin = (first_chunk + task_group * plan.rounds + round) * column_chunk_rows;
      chunk.count =
          max(std::int64_t{0}, min(std::int64_t{column_chunk_rows}, plan.rows - chunk.begin));
      if (needs_first && chunk.count > 0) {
        chunk.first = to_value(data[chunk.begin * plan.ld + first_column + column]);
      }
      total = A::total(tree_of_array<A>(partials), chunk);
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
