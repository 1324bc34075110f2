// Columns of few chunks, where they are many or very low: a thread has whole columns, one launch.
//
// Idea        A thread's columns lie a block's threads apart. So neighbouring threads read what is
//             neighbouring in memory, wherever rows begin, and results leave in the order of
//             columns; threads share nothing and wait for nobody. Where rows are few a thread has
//             several columns: eight loads are under way either way.
// Order       That of order.hpp for columns. A thread has all lanes of a column; those that can
//             have no element are left out. Chunks follow each other; the totals that wait for
//             their neighbours stay in registers.
#pragma once

#include "device/overlap.hpp"
#include "reduce/columns/columns.hpp"
#include "reduce/columns/columns_plan.hpp"

namespace KW_TARGET {

constexpr int low_threads = 256;
constexpr int low_chunk_threads = 128;  // smaller blocks leave less to the last ones
constexpr int low_columns_each(int lanes) { return 8 / lanes; }

struct LowMatrix {
  std::int64_t cols, ld;
  int rows;  // at most column_chunk_rows; of reduce_low_chunks_kernel most_low_chunks times as many
  int each;  // columns that a thread has, at most low_columns_each: fewer where columns are few
};

// A thread's columns, low_threads apart.
template <class A, class T, int lanes, int columns>
struct LowColumns {
  typename A::Lane lane[columns][lanes];
  Value<T> first[columns] = {};

  __device__ __forceinline__ LowColumns() {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
#pragma unroll
      for (int i = 0; i < lanes; ++i) lane[c][i] = A::empty_lane();
    }
  }

  // One row a lane, as it is loaded.
  struct Rows {
    T of[columns][lanes];
  };
  // Those of `rows` that there are, the first of them at `from`. `is_whole`: all of them are there.
  template <bool is_whole>
  __device__ __forceinline__ static Rows load(const T* from, std::int64_t ld, int rows,
                                              int present) {
    Rows loaded = {};
#pragma unroll
    for (int i = 0; i < lanes; ++i) {
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        if ((is_whole || i < rows) && (c == 0 || c < present))
          loaded.of[c][i] = from[i * ld + c * low_threads];
      }
    }
    return loaded;
  }
  template <bool is_whole>
  __device__ __forceinline__ void add(const Rows& loaded, int rows, int step) {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      if (step == 0) first[c] = to_value(loaded.of[c][0]);
#pragma unroll
      for (int i = 0; i < lanes; ++i) {
        if (is_whole || i < rows) A::add(lane[c][i], to_value(loaded.of[c][i]), step, first[c]);
      }
    }
  }
  template <bool is_whole>
  __device__ __forceinline__ void take(const T* from, std::int64_t ld, int rows, int present,
                                       int step) {
    add<is_whole>(load<is_whole>(from, ld, rows, present), rows, step);
  }
  // More rows than lanes, up to twice as many: all of them are under way before one is added.
  __device__ __forceinline__ void take_two(const T* from, std::int64_t ld, int rows, int present) {
    const int left = rows - lanes;
    const Rows now = load<true>(from, ld, rows, present);
    const Rows next = load<false>(from + lanes * ld, ld, left, present);
    add<true>(now, rows, 0);
    add<false>(next, left, 1);
  }
};

// The total of a chunk of column c in the thread that has it.
template <ReduceKind kind, class T, int lanes, int columns>
__device__ __forceinline__ typename Accumulator<kind, T>::Total low_total(
    const LowColumns<Accumulator<kind, T>, T, lanes, columns>& own, int c, const Chunk<T>& chunk) {
  using A = Accumulator<kind, T>;
  typename A::Partial partials[lanes];
#pragma unroll
  for (int i = 0; i < lanes; ++i) {
    partials[i] = A::close(own.lane[c][i]);
    place_in_chunk<A>(partials[i], i);
  }
  return A::total(tree_of_array<A>(partials), chunk);
}

// Four blocks of 64 registers per SM; fewer of instances that would spill, or have less under way.
template <ReduceKind kind, class T>
constexpr int low_blocks_per_sm =
    sizeof(typename Accumulator<kind, T>::Lane) < 16 && kind != ReduceKind::max_abs ? 4 : 3;

// `lanes` is at least the rows, or column_lanes.
template <ReduceKind kind, class T, int lanes>
__global__ void __launch_bounds__(low_threads, (low_blocks_per_sm<kind, T>))
    reduce_low_columns_kernel(const T* data, LowMatrix matrix, ResultSink sink) {
  using A = Accumulator<kind, T>;
  constexpr int columns = low_columns_each(lanes);
  const std::int64_t column =
      std::int64_t{blockIdx.x} * (matrix.each * low_threads) + static_cast<int>(threadIdx.x);
  const std::int64_t left = matrix.cols - column;
  if (left <= 0) return;
  const int present =
      static_cast<int>(min(ceil_div(left, std::int64_t{low_threads}), std::int64_t{matrix.each}));
  wait_for_previous_kernel();
  LowColumns<A, T, lanes, columns> own;
  const T* from = data + column;
  int rows = matrix.rows;
  if constexpr (lanes < column_lanes) {
    own.template take<lanes == 1>(from, matrix.ld, rows, present, 0);
  } else if (sizeof(T) <= 4 && rows > lanes && rows < 2 * lanes) {
    own.take_two(from, matrix.ld, rows, present);
  } else {
    int step = 0;
#pragma unroll 2
    for (; rows >= lanes; ++step, rows -= lanes, from += lanes * matrix.ld) {
      own.template take<true>(from, matrix.ld, rows, present, step);
    }
    if (rows > 0) own.template take<false>(from, matrix.ld, rows, present, step);
  }
  let_next_kernel_start();
#pragma unroll
  for (int c = 0; c < columns; ++c) {
    if (c >= present) break;
    write_result<T, kind>(sink, column + c * low_threads,
                          low_total<kind, T>(own, c, {0, matrix.rows, own.first[c]}), matrix.rows);
  }
}

template <ReduceKind kind, class T>
constexpr int low_chunk_blocks_per_sm =
    low_threads / low_chunk_threads*(sizeof(typename Accumulator<kind, T>::Lane) <= 16
                                         ? low_blocks_per_sm<kind, T>
                                         : 2);

// Variances of one and two bytes have up to eight chunks, all others four (columns_plan.cpp).
template <ReduceKind kind, class T>
constexpr bool has_eight_chunks = kind == ReduceKind::moments && sizeof(T) <= 2;
static_assert(most_low_chunks == 8);
// Whether totals meet in a loop over levels: of other kinds two levels, which all have, are quicker
// one by one (results/h200/explored-reduce-halves.txt).
template <ReduceKind kind, class T>
constexpr bool merges_in_loop = has_eight_chunks<kind, T> ||
                                (kind == ReduceKind::moments && std::is_same_v<T, std::int64_t>);

// The same for columns of up to most_low_chunks chunks, a thread each.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__(low_chunk_threads, (low_chunk_blocks_per_sm<kind, T>))
    reduce_low_chunks_kernel(const T* data, LowMatrix matrix, ResultSink sink) {
  using A = Accumulator<kind, T>;
  using Total = typename A::Total;
  constexpr int chunk_rows = static_cast<int>(column_chunk_rows);
  const std::int64_t column =
      std::int64_t{blockIdx.x} * low_chunk_threads + static_cast<int>(threadIdx.x);
  if (column >= matrix.cols) return;
  wait_for_previous_kernel();
  // Totals that wait for their neighbours, of 2^level chunks each.
  constexpr int levels = has_eight_chunks<kind, T> ? 3 : 2;
  Total waiting[levels], total = A::empty_total();
#pragma unroll
  for (Total& each : waiting) each = A::empty_total();
  const T* from = data + column;
#pragma unroll 1
  for (int number = 0, begin = 0; begin < matrix.rows; ++number, begin += chunk_rows) {
    LowColumns<A, T, column_lanes, 1> own;
    int rows = min(chunk_rows, matrix.rows - begin), step = 0;
#pragma unroll 2
    for (; rows >= column_lanes; ++step, rows -= column_lanes, from += column_lanes * matrix.ld) {
      own.template take<true>(from, matrix.ld, rows, 1, step);
    }
    if (rows > 0) own.template take<false>(from, matrix.ld, rows, 1, step);
    const int count = min(chunk_rows, matrix.rows - begin);
    total = low_total<kind, T>(own, 0, {begin, count, own.first[0]});
    const bool is_last = begin + chunk_rows >= matrix.rows;
    if constexpr (merges_in_loop<kind, T>) {
#pragma unroll
      for (int level = 0; level < levels; ++level) {
        if ((number >> level & 1) != 0) {
          A::merge(waiting[level], total), total = waiting[level];
        } else if (!is_last) {
          waiting[level] = total;
          break;
        }
      }
    } else {
      if ((number & 1) == 0 && !is_last) {
        waiting[0] = total;
        continue;
      }
      if ((number & 1) != 0) A::merge(waiting[0], total), total = waiting[0];
      if (number < 2) {
        waiting[1] = total;
      } else {
        A::merge(waiting[1], total), total = waiting[1];
      }
    }
  }
  let_next_kernel_start();
  write_result<T, kind>(sink, column, total, matrix.rows);
}

}  // namespace KW_TARGET
