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
#include "reduce/neutral.hpp"
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

// The same from element `at` on where it reaches beyond the array's `elements`: one by one, those
// that are there. `before`: where others lie so far before that stand for those behind the array.
template <class T, int width>
__device__ __forceinline__ Pack<T> load_columns_at_edge(const T* data, std::int64_t at,
                                                        std::int64_t elements,
                                                        std::int64_t before) {
  T found[order_width<T>] = {};
#pragma unroll
  for (int e = 0; e < width; ++e) {
    const std::int64_t from = at + e < elements ? at + e : at + e - before;
    if (from >= 0 && from < elements) found[e] = data[from];
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
  int column;         // of its first element, or of one that would be there, in the strip
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
  own.column = own.position;
  if (plan.rows_are_one) {
    const int ld = static_cast<int>(plan.ld);
    own.column = (own.position + width * ld) % ld;
  }
  return own;
}

// Whether one piece of code adds whole chunks and others, with packs in place of those that are not
// there that change nothing: zeros, or a lane's first pack once more. Of others each element is
// asked for whether it is there.
template <class A, class T>
constexpr bool has_neutral = !std::is_same_v<A, Variance<T>> && !std::is_same_v<A, NormSquare<T>>;

// The eight packs of a thread in one chunk.
template <class T, int width>
struct ColumnPacks {
  Pack<T> packs[column_chunk_lane_rows];
  Value<T> first[width] = {};  // of the chunk in each of the columns
  int whole;                   // packs of which every element of the strip is there
  int last_extent;             // positions that are there of the one after them
  int steps;                   // packs of which an element is there
  int present;                 // elements of these that are there in the first one

  template <class A>
  __device__ __forceinline__ void add(typename A::Lane (&lanes)[width], const ColumnThread& own) {
    if constexpr (!has_neutral<A, T>) {
      if (whole < column_chunk_lane_rows) return add_present<A>(lanes, own);
    } else if constexpr (!AddsUp<A>::value) {
      if (steps < column_chunk_lane_rows) repeat_first();
    }
    add_whole<A>(lanes);
    if (steps > 1) return;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      if (e >= present) lanes[e] = A::empty_lane();
    }
  }

  // In place of the packs that are not there.
  __device__ __forceinline__ void repeat_first() {
#pragma unroll
    for (int i = 1; i < column_chunk_lane_rows; ++i) {
      if (i >= steps) packs[i] = packs[0];
    }
  }

  template <class A>
  __device__ __forceinline__ void add_present(typename A::Lane (&lanes)[width],
                                              const ColumnThread& own) const {
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

  template <class A>
  __device__ __forceinline__ void load(const T* data, const ColumnPlan& plan,
                                       const ColumnThread& own, std::int64_t first_column,
                                       std::int64_t chunk) {
    const std::int64_t top = chunk * column_chunk_rows;
    const std::int64_t left = plan.rows - top;
    const std::int64_t at = top * plan.ld + own.from, step = column_lanes * plan.ld;
    if (left > 0) load_first<A>(data, plan, own, first_column, top);
    // All but a pack at each end of the array lie within it.
    if (left >= column_chunk_rows && at >= 0 &&
        at + (column_chunk_lane_rows - 1) * step + width <= plan.elements) {
      whole = steps = column_chunk_lane_rows, last_extent = 0;
      if (own.position < plan.extent) {
        const T* from = data + at;
#pragma unroll
        for (int i = 0; i < column_chunk_lane_rows; ++i, from += step)
          packs[i] = load_columns<T, width>(from);
      }
    } else {
      whole = last_extent = steps = present = 0;
      if (left <= 0) return;
      load_some<A>(data, plan, own, at, static_cast<int>(min(left, column_chunk_rows)));
    }
  }

  template <class A>
  __device__ __forceinline__ void load_first(const T* data, const ColumnPlan& plan,
                                             const ColumnThread& own, std::int64_t first_column,
                                             std::int64_t top) {
    if constexpr (std::is_same_v<A, Variance<T>>) {
      const T* const row = data + (top * plan.ld + first_column);
      const int columns = static_cast<int>(min(plan.cols - first_column, std::int64_t{plan.extent}));
      int column = own.column;
#pragma unroll
      for (int e = 0; e < width; ++e) {
        if (column >= 0 && column < columns) first[e] = to_value(row[column]);
        column = plan.rows_are_one && column + 1 == plan.ld ? 0 : column + 1;
      }
    }
  }

 private:
  // The same of a chunk that has `rows`, or at an end of the array: packs that reach beyond it come
  // first or last.
  template <class A>
  __device__ __forceinline__ void load_some(const T* data, const ColumnPlan& plan,
                                            const ColumnThread& own, std::int64_t at, int rows) {
    const int more = rows % column_lanes;
    whole = rows / column_lanes;
    last_extent = plan.rows_are_one ? more * static_cast<int>(plan.ld)
                  : own.lane < more ? plan.extent
                                    : 0;
    if (own.position >= plan.extent) return;
    steps = min(whole + (own.position < last_extent ? 1 : 0), column_chunk_lane_rows);
    present = whole > 0 ? width : last_extent - own.position;
    // A lane's next row begins behind the pack before.
    const std::int64_t step = column_lanes * plan.ld, last = at + (steps - 1) * step;
    const bool begins_before = at < 0 && steps > 0, ends_behind = last + width > plan.elements;
    const int begin = begins_before ? 1 : 0, end = ends_behind ? steps - 1 : steps;
    const T* from = data + at;
#pragma unroll
    for (int i = 0; i < column_chunk_lane_rows; ++i, from += step) {
      if constexpr (has_neutral<A, T> && AddsUp<A>::value) packs[i] = {};
      if (i >= begin && i < end) packs[i] = load_columns<T, width>(from);
    }
    if (begins_before) load_edge<A>(data, plan, at, 0, 0);
    if (ends_behind && steps > begin) load_edge<A>(data, plan, last, steps - 1, (steps - 1) * step);
  }

  template <class A>
  __device__ __forceinline__ void load_edge(const T* data, const ColumnPlan& plan, std::int64_t at,
                                            int number, std::int64_t behind_first) {
    const Pack<T> pack = load_columns_at_edge<T, width>(data, at, plan.elements,
                                                        AddsUp<A>::value ? 0 : behind_first);
#pragma unroll
    for (int i = 0; i < column_chunk_lane_rows; ++i) {
      if (i == number) packs[i] = pack;
    }
  }
};

// Three blocks of 80 registers per SM have 96 KiB under way; instances that would spill have two.
// A block that has its SM for itself may have the threads of two.
template <ReduceKind kind, class T>
constexpr int column_blocks_per_sm = (sizeof(typename Accumulator<kind, T>::Lane) < 16 ||
                                      (kind == ReduceKind::min_max &&
                                       std::is_same_v<T, std::int64_t>)) &&
                                             column_width<Accumulator<kind, T>, T> < 8
                                         ? 3
                                         : 2;

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads * column_blocks_per_sm<kind, T>)
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
  [[maybe_unused]] Value<T> first = {};  // of the chunk that this thread makes the total of
  // Round -1 only loads for the first.
#pragma unroll 1
  for (int round = -1; round < rounds; ++round) {
    Lane lanes[width];
#pragma unroll
    for (int e = 0; e < width; ++e) lanes[e] = A::empty_lane();
    if (reads && round >= 0) packs.template add<A>(lanes, own);
    if (reads && round + 1 < rounds) {
      packs.template load<A>(data, plan, own, first_column,
                                       first_chunk + own.group * plan.rounds + round + 1);
    }
    [[maybe_unused]] const Value<T> first_now = first;
    if constexpr (needs_first) {
      const std::int64_t row =
          (first_chunk + task_group * plan.rounds + round + 1) * column_chunk_rows;
      if (has_task && round + 1 < rounds && row < plan.rows)
        first = to_value(data[row * plan.ld + first_column + column]);
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
      if constexpr (needs_first) chunk.first = first_now;
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
