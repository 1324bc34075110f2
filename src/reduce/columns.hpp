// Each column of a row-major matrix to one result.
//
// Idea        A block takes a strip of columns, 32 accesses wide, through a chunk of rows: each of
//             its eight warps reads every eighth row, so that all accesses are whole rows of the
//             strip; the eight meet in shared memory. Chunks of rows meet in a second small kernel.
// Order       That of order.hpp for columns: row r of a chunk belongs to lane r mod 8.
// Limits      Matrices narrower than 32 accesses leave lanes idle.
#pragma once

#include "reduce/result.hpp"
#include "reduce/walk.hpp"

namespace KW_TARGET {

struct ColumnShape {
  std::int64_t rows, cols, ld;
  std::int64_t chunk_rows, chunks;
  std::int64_t strips;
};

// `width` elements at `from`: 16 bytes, or a single one.
template <class T, int width>
struct ColumnPack {
  Pack<T> pack;
  __device__ __forceinline__ void load(const T* from) {
    if constexpr (width > 1) pack = load_pack(from);
    if constexpr (width == 1) memcpy(pack.words, from, sizeof(T));
  }
};

template <ReduceKind kind, class T, int width>
__global__ void __launch_bounds__(order_threads)
    reduce_columns_kernel(const T* data, ColumnShape shape,
                          typename Accumulator<kind, T>::Total* totals, ResultSink sink) {
  using A = Accumulator<kind, T>;
  using Partial = typename A::Partial;
  constexpr int in_flight = 4;
  static_assert(column_lanes == order_warps);
  __shared__ Partial shared[column_lanes][warp_lanes];
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const std::int64_t strip = blockIdx.x % shape.strips, number = blockIdx.x / shape.strips;
  const std::int64_t column = (strip * warp_lanes + lane) * width;
  const bool present = column < shape.cols;  // with 16 bytes at a time, cols is a multiple of width
  Chunk<T> chunk;
  chunk.begin = number * shape.chunk_rows;
  chunk.count = min(shape.chunk_rows, shape.rows - chunk.begin);
  const T* top = data + chunk.begin * shape.ld + column;

  typename A::Lane lanes[width];
  ColumnPack<T, width> first = {};
  if (present && chunk.count > 0) first.load(top);
#pragma unroll
  for (int j = 0; j < width; ++j) lanes[j] = A::empty_lane();
  const int rows = present ? static_cast<int>(chunk.count) : 0;
  for (int row = warp; row < rows; row += in_flight * column_lanes) {
    ColumnPack<T, width> packs[in_flight];
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int each = row + i * column_lanes;
      if (each < rows) packs[i].load(top + each * shape.ld);
    }
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int each = row + i * column_lanes;
      if (each >= rows) continue;
#pragma unroll
      for (int j = 0; j < width; ++j) {
        A::add(lanes[j], packs[i].pack.value(j), each, first.pack.value(j));
      }
    }
  }

#pragma unroll
  for (int j = 0; j < width; ++j) {
    if (j > 0) __syncthreads();
    shared[warp][lane] = A::close(lanes[j]);
    __syncthreads();
    if (warp != j % column_lanes || !present) continue;
    Partial partials[column_lanes];
#pragma unroll
    for (int i = 0; i < column_lanes; ++i) partials[i] = shared[i][lane];
    chunk.first = first.pack.value(j);
    const typename A::Total total = A::total(tree_of_array<A>(partials), chunk);
    if (shape.chunks == 1) {
      write_result<T, kind>(sink, column + j, total, shape.rows);
    } else {
      totals[number * shape.cols + column + j] = total;
    }
  }
}

// The totals of a column's chunks, one after the other. A thread a column.
template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads)
    merge_columns_kernel(ColumnShape shape, const typename Accumulator<kind, T>::Total* totals,
                         ResultSink sink) {
  using A = Accumulator<kind, T>;
  const std::int64_t column = std::int64_t{blockIdx.x} * order_threads + threadIdx.x;
  if (column >= shape.cols) return;
  typename A::Total total = A::empty_total();
  for (std::int64_t i = 0; i < shape.chunks; ++i) A::merge(total, totals[i * shape.cols + column]);
  write_result<T, kind>(sink, column, total, shape.rows);
}

}  // namespace KW_TARGET
