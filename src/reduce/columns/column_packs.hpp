// What a thread of reduce_columns has of a chunk (columns.hpp): where its packs lie, their loads,
// and their sums. Memory is read at its own boundaries; a chunk that is not whole, or lies at an
// end of the array, gets packs that change nothing in place of those that are not there.
#pragma once

#include <algorithm>
#include <type_traits>

#include "reduce/columns/columns_plan.hpp"
#include "reduce/numbers/neutral.hpp"
#include "reduce/walk/walk.hpp"

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
// there that change nothing: zeros, or a lane's first pack once more. Elsewhere each element is
// asked for whether it is there: variances have neither, and NormSquare's code for numbers of
// middle size has no place for zeros.
template <class A, class T>
constexpr bool has_neutral = !std::is_same_v<A, Variance<T>> && !std::is_same_v<A, NormSquare>;

// The eight packs of a thread in one chunk.
template <class T, int width>
struct ColumnPacks {
  Pack<T> packs[column_chunk_lane_rows];
  T first[width] = {};  // of the chunk in each of the columns
  int whole;            // packs of which every element of the strip is there
  int last_extent;      // positions that are there of the one after them
  int steps;            // packs of which an element is there
  int present;          // elements of these that are there in the first one

  template <class A>
  __device__ __forceinline__ void add(typename A::Lane (&lanes)[width], const ColumnThread& own) {
    if constexpr (!has_neutral<A, T>) {
      if (whole < column_chunk_lane_rows) return add_present<A>(lanes, own);
    } else if constexpr (needs_first_element<A>) {
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
        if (i < whole + more) A::add(lanes[e], packs[i].value(e), i, to_value(first[e]));
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
        for (int e = 0; e < width; ++e) {
          A::add(lanes[e], packs[i].value(e), i, to_value(first[e]));
        }
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
    if constexpr (std::is_same_v<A, Variance<T>>) load_first(data, plan, own, first_column, top);
  }

 private:
  __device__ __forceinline__ void load_first(const T* data, const ColumnPlan& plan,
                                             const ColumnThread& own, std::int64_t first_column,
                                             std::int64_t top) {
    const T* const row = data + (top * plan.ld + first_column);
    const int columns = static_cast<int>(min(plan.cols - first_column, std::int64_t{plan.extent}));
    int column = own.column;
#pragma unroll
    for (int e = 0; e < width; ++e) {
      if (column >= 0 && column < columns) first[e] = row[column];
      column = plan.rows_are_one && column + 1 == plan.ld ? 0 : column + 1;
    }
  }

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
                                                        needs_first_element<A> ? behind_first : 0);
#pragma unroll
    for (int i = 0; i < column_chunk_lane_rows; ++i) {
      if (i == number) packs[i] = pack;
    }
  }
};

}  // namespace KW_TARGET
