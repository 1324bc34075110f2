// Short plain rows: tiles of some whole rows through shared memory, a warp alone with each.
//
// Idea        A tile is one piece of memory, wherever its rows begin in it: the copy engine brings
//             it, and takes it away. A warp has one: other warps hide its way. In
//             shared memory a row's elements go round its lanes, one by one, so that rows of any
//             length cost what their elements cost: no row has a head or an end of its own.
// Ahead       All warps of a wave compute at the same time, and memory rests. So who has brought a
//             tile asks the L2 cache for that of the warp that comes after it.
// Edges       Of a tile, as packs.hpp has them of a row: a lane each.
// Gaps        Between rows are brought with them, for memory moves whole sectors, and are not
//             written: lanes write the packs that lie within a row, and what there is of each row
//             outside of these. Of a sector that is written in part the L2 cache asks for the rest
//             beforehand.
// Norms       Pairs of gamma and beta are in shared memory.
// Limits      Short rows with short gaps between them or none, the same of x and of y.
#pragma once

#include "device/bulk_store.hpp"
#include "device/overlap.hpp"
#include "device/shared_address.hpp"
#include "rowwise/early.hpp"
#include "rowwise/plain_totals.hpp"
#include "rowwise/tile_launch.hpp"

namespace KW_TARGET::rowwise {

// How a kernel says where something is in dynamic shared memory: by offsets, and lanes take tiles
// away; or by addresses, and the copy engine does. Each is a twentieth quicker for its kernels.
struct TileOffsets {
  static constexpr bool by_engine = false;

  static __device__ __forceinline__ int begin() { return 0; }
  template <class V>
  static __device__ __forceinline__ V& at(int offset) {
    return *reinterpret_cast<V*>(gpu::dynamic_shared<char>() + offset);
  }
};
struct TileAddresses {
  static constexpr bool by_engine = true;

  static __device__ __forceinline__ int begin() { return shared_begin(); }
  template <class V>
  static __device__ __forceinline__ V& at(int address) {
    return shared_at<V>(address);
  }
};

// A row's values of a lane: columns lane, lane + lanes, ...
template <bool softmax, int lanes, int values>
struct TileValues {
  float v[values];
  int lane;
  unsigned places;  // bit k: of value k

  __device__ __forceinline__ bool has(int k) const { return (places >> k & 1u) != 0; }
  template <class T>
  __device__ __forceinline__ void load(int at) {
#pragma unroll
    for (int k = 0; k < values; ++k) {
      v[k] = softmax ? -INFINITY : 0.0f;
      if (has(k))
        v[k] = to_value(
            TileOffsets::at<const T>(at + (lane + k * lanes) * static_cast<int>(sizeof(T))));
    }
  }
  template <class T>
  __device__ __forceinline__ void store(int at) const {
#pragma unroll
    for (int k = 0; k < values; ++k)
      if (has(k))
        store_one(&TileOffsets::at<T>(at + (lane + k * lanes) * static_cast<int>(sizeof(T))), v[k]);
  }
};

template <bool logs, class Total, int lanes, int values>
__device__ __forceinline__ void softmax_tile(TileValues<true, lanes, values>& row) {
  const float largest = fmaxf(combine_lanes(largest_of(row.v), lanes, Larger{}), -FLT_MAX);
  const auto exponential = [&](int k) {
    const float e = exp_of(row.v[k] - largest, true);
    if (!logs) row.v[k] = e;
    return e;
  };
  const Total sum = combine_lanes(sum_of_any<Total, values>(exponential), lanes, TotalSum{});
  if constexpr (logs) {
    const float by = log1pf(static_cast<float>(sum - static_cast<Total>(1)));
#pragma unroll
    for (float& each : row.v) each = (each - largest) - by;
  } else {
    const float by = 1.0f / static_cast<float>(sum);
#pragma unroll
    for (float& each : row.v) each *= by;
  }
}

template <bool centers, class Total, int lanes, int values>
__device__ __forceinline__ void normalise_tile(TileValues<false, lanes, values>& row, int cols,
                                               float count_inverse, float epsilon) {
  float near = 0;
  RestAndSquares<Total> sums;
  if constexpr (centers) {
    near = combine_lanes(row.v[0], lanes, TotalSum{}) *
           about_reciprocal(static_cast<float>(min(lanes, cols)));
#pragma unroll
    for (int k = 0; k < values; ++k)
      if (row.has(k)) row.v[k] -= near;
    sums =
        combine_lanes(RestAndSquares<Total>{float_sum(row.v), sum_of_any<Total, values>([&](int k) {
                                              return row.v[k] * row.v[k];
                                            })},
                      lanes, SumOfRestAndSquares{});
  } else {
    sums = {0, combine_lanes(sum_of_any<Total, values>([&](int k) { return row.v[k] * row.v[k]; }),
                             lanes, TotalSum{})};
  }
  const NormScale scale =
      norm_scale(FoundNorm<Total>{near, sums.rest, sums.squares()}, count_inverse, epsilon);
#pragma unroll
  for (float& each : row.v) each = fmaf(each, scale.by, scale.shift);
}

// A tile in shared memory: x becomes y. `at` is its first element.
template <bool softmax, class T, int lanes, int values, TileGaps gaps>
__device__ __forceinline__ void compute_tile(const Rowwise& p, const TileLaunch& launch, int rows,
                                             int at) {
  const int lane = static_cast<int>(threadIdx.x % warp_lanes);
  const int own = (launch.cols - lane % lanes + lanes - 1) / lanes;
  const unsigned places = own >= 32 ? ~0u : (1u << own) - 1;
#pragma unroll 1
  for (int row = lane / lanes; row - lane / lanes < rows; row += warp_lanes / lanes) {
    const int from = at + row * launch.step<gaps>();
    TileValues<softmax, lanes, values> of_row;
    of_row.lane = lane % lanes;
    of_row.places = places;
    if (row < rows) of_row.template load<T>(from);
    if constexpr (softmax) {
      if (p.op == RowwiseOp::log_softmax)
        softmax_tile<true, RowSum<T>>(of_row);
      else
        softmax_tile<false, RowSum<T>>(of_row);
    } else {
      if (p.op == RowwiseOp::layer_norm)
        normalise_tile<true, RowSum<T>>(of_row, launch.cols, launch.count_inverse, p.epsilon);
      else
        normalise_tile<false, RowSum<T>>(of_row, launch.cols, launch.count_inverse, p.epsilon);
      if (launch.pairs_bytes > 0) {
#pragma unroll
        for (int k = 0; k < values; ++k) {
          if (!of_row.has(k)) continue;
          const auto& both =
              TileOffsets::at<float2>((of_row.lane + k * lanes) * int{sizeof(float2)});
          of_row.v[k] = of_row.v[k] * both.x + both.y;
        }
      }
    }
    if (row < rows) of_row.template store<T>(from);
  }
}

// A warp's tile, and its place in shared memory.
template <class T, class Memory, TileGaps gaps>
struct TileWarp {
  static constexpr int size = static_cast<int>(sizeof(T));
  const Rowwise& p;
  TilePiece piece;
  int at;  // in shared memory: of a boundary, beyond which the tile is as far as in memory
  int lane;

  __device__ __forceinline__ bool has_edge() const { return lane * size < piece.edge_bytes(); }
  __device__ __forceinline__ int edge() const { return piece.edge(lane * size); }
  // Starts to bring the tile, and returns this lane's edge of it.
  __device__ __forceinline__ T load(Mbarrier* full, const TileLaunch& launch) const {
    const char* const from =
        static_cast<const char*>(p.x) + piece.first * launch.template step<gaps>();
    T own = {};
    if (has_edge()) own = *reinterpret_cast<const T*>(from + edge());
    if (lane != 0) return own;
    const auto bytes = static_cast<unsigned>(piece.packs * pack_bytes);
    mbarrier_arrive_expecting(full, bytes);
    if (bytes > 0)
      bulk_copy(&Memory::template at<char>(at + piece.past + piece.head), from + piece.head, bytes,
                full);
    return own;
  }
  __device__ __forceinline__ void keep_edge(T own) const {
    if (has_edge()) Memory::template at<T>(at + piece.past + edge()) = own;
  }
  // Memory moves sectors. Of one that is written in part the L2 cache fetches the rest when it
  // gives it back, unless it has that by then.
  __device__ __forceinline__ void ask_for_gaps(const TileLaunch& launch) const {
    const char* const y = this->y(launch);
    if (launch.asks == TileAsks::ends) {
#pragma unroll 1
      for (int i = lane; i < 2 * piece.rows; i += warp_lanes) {
        const int end = end_of(launch, i);
        if (reinterpret_cast<std::uintptr_t>(y + end) % sector_bytes != 0)
          prefetch_line_to_l2(y + end - (i & 1));
      }
    } else if (launch.asks == TileAsks::gaps) {
#pragma unroll 1
      for (int i = lane; i < piece.rows; i += warp_lanes)
        ask_for(y + i * launch.pitch + launch.row_bytes, launch.pitch - launch.row_bytes);
    }
  }

  // Of y; it lies as x does past a boundary.
  __device__ __forceinline__ void write(const TileLaunch& launch) const {
    char* const y = this->y(launch);
    if constexpr (gaps == TileGaps::none) {
      write_piece(y);
    } else {
      write_packs(launch, y);
      if constexpr (gaps == TileGaps::by_parts)
        write_parts(launch, y);
      else
        write_elements(launch, y);
    }
  }

 private:
  static constexpr int sector_bytes = 32;

  __device__ __forceinline__ char* y(const TileLaunch& launch) const {
    return static_cast<char*>(p.y) + piece.first * launch.template step<gaps>();
  }
  __device__ __forceinline__ void write_piece(char* y) const {
    const int from = at + piece.past;
    if constexpr (Memory::by_engine) {
      shared_writes_before_copies();
      __syncwarp();
      if (lane == 0 && piece.packs > 0)
        bulk_store(y + piece.head, &Memory::template at<const char>(from + piece.head),
                   static_cast<unsigned>(piece.packs * pack_bytes));
    } else {
      auto* const to = reinterpret_cast<uint4*>(y + piece.head);
#pragma unroll 2
      for (int i = lane; i < piece.packs; i += warp_lanes)
        to[i] = Memory::template at<const uint4>(from + piece.head + i * pack_bytes);
    }
    if (has_edge()) *reinterpret_cast<T*>(y + edge()) = Memory::template at<const T>(from + edge());
    if (Memory::by_engine && lane == 0) wait_for_bulk_stores();
  }

  // Where a row begins within the tile, or, of odd ones, ends.
  static __device__ __forceinline__ int end_of(const TileLaunch& launch, int i) {
    return (i >> 1) * launch.pitch + ((i & 1) != 0 ? launch.row_bytes : 0);
  }
  // Packs that lie within a row.
  __device__ __forceinline__ void write_packs(const TileLaunch& launch, char* y) const {
#pragma unroll 1
    for (int i = lane; i < piece.packs; i += warp_lanes) {
      const int offset = piece.head + i * pack_bytes;
      const auto row =
          static_cast<int>(std::uint64_t{static_cast<unsigned>(offset)} * launch.of_pitch >> 32);
      if (offset - row * launch.pitch + pack_bytes <= launch.row_bytes)
        write_part<uint4>(y, offset);
    }
  }
  // What a row has of the packs at its ends: halves, quarters and eighths of a pack, of which the
  // smallest is at the row's end.
  __device__ __forceinline__ void write_parts(const TileLaunch& launch, char* y) const {
#pragma unroll 1
    for (int i = lane; i < 2 * piece.rows; i += warp_lanes) {
      const bool is_last = (i & 1) != 0;
      const int end = end_of(launch, i), past = (piece.past + end) % pack_bytes;
      const int bytes = (is_last ? past : -past) & (pack_bytes - 1);
      const int from = is_last ? end - bytes : end;
      if ((bytes & 8) != 0) write_part<uint2>(y, from + (is_last ? 0 : bytes & 6));
      if ((bytes & 4) != 0) write_part<std::uint32_t>(y, from + (bytes & (is_last ? 8 : 2)));
      if (size == 2 && (bytes & 2) != 0)
        write_part<std::uint16_t>(y, from + (is_last ? bytes & 12 : 0));
    }
  }
  // The same by lanes that have an element of such a pack each.
  __device__ __forceinline__ void write_elements(const TileLaunch& launch, char* y) const {
    constexpr int a_pack = a_pack_of<T>;
    const int own = lane % a_pack * size;
#pragma unroll 1
    for (int i = lane / a_pack; i < 2 * piece.rows; i += warp_lanes / a_pack) {
      const int end = end_of(launch, i), past = (piece.past + end) % pack_bytes;
      if ((i & 1) != 0 ? own < past : past != 0 && own >= past) write_part<T>(y, end - past + own);
    }
  }
  template <class Part>
  __device__ __forceinline__ void write_part(char* y, int offset) const {
    *reinterpret_cast<Part*>(y + offset) =
        Memory::template at<const Part>(at + piece.past + offset);
  }
};

template <class T>
__device__ __forceinline__ void fill_pairs(const Rowwise& p, int cols) {
  for (int i = static_cast<int>(threadIdx.x); i < cols; i += tile_threads) {
    TileOffsets::at<float2>(i * int{sizeof(float2)}) = {
        p.gamma != nullptr ? to_value(static_cast<const T*>(p.gamma)[i]) : 1.0f,
        p.beta != nullptr ? to_value(static_cast<const T*>(p.beta)[i]) : 0.0f};
  }
}

// A warp's tile from memory to memory: fill(shared memory's beginning) brings what all tiles want,
// compute(rows, first element's place, that beginning) makes x y.
template <class T, int threads, class Memory, TileGaps gaps, class Fill, class Compute>
__device__ __forceinline__ void each_tile(const Rowwise& p, const TileLaunch& launch,
                                          const Fill& fill, const Compute& compute) {
  constexpr int tile_warps = threads / warp_lanes;
  __shared__ Mbarrier full[tile_warps];
  const int index = static_cast<int>(threadIdx.x / warp_lanes);
  const int lane = static_cast<int>(threadIdx.x % warp_lanes);
  const int begin = Memory::begin();
  if (lane == 0) {
    mbarrier_init(&full[index], 1);
    mbarrier_init_is_done();
  }
  __syncwarp();
  const int tile = static_cast<int>(blockIdx.x) * tile_warps + index;
  const TileWarp<T, Memory, gaps> warp = {p, piece_of<gaps>(p.x, launch, tile),
                                          begin + launch.pairs_bytes + index * launch.stage_bytes,
                                          lane};
  const bool has_tile = tile < launch.tiles;
  if (static_cast<int>(blockIdx.x) < launch.early && has_tile && lane == 0)
    ask_for(static_cast<const char*>(p.x) + warp.piece.first * launch.step<gaps>(),
            warp.piece.bytes);
  wait_for_previous_kernel();
  let_next_kernel_start();
  const T edge = has_tile ? warp.load(&full[index], launch) : T{};
  if constexpr (gaps != TileGaps::none)
    if (has_tile) warp.ask_for_gaps(launch);
  if (launch.pairs_bytes > 0) {
    fill(begin);
    __syncthreads();
  }
  if (!has_tile) return;
  if (launch.ahead > 0 && lane == 0 && tile < launch.tiles - launch.ahead) {
    const TilePiece next = piece_of<gaps>(p.x, launch, tile + launch.ahead);
    ask_for(static_cast<const char*>(p.x) + next.first * launch.step<gaps>(), next.bytes);
  }
  warp.keep_edge(edge);
  mbarrier_wait(&full[index], 0);
  __syncwarp();
  compute(warp.piece.rows, warp.at + warp.piece.past, begin);
  __syncwarp();
  warp.write(launch);
}

template <bool softmax, class T, int lanes, int values, TileGaps gaps>
__global__ void __launch_bounds__(tile_threads, tile_sm_threads / tile_threads)
    tile_rows([[maybe_unused]] const __grid_constant__ Rowwise p,
              [[maybe_unused]] const __grid_constant__ TileLaunch launch) {
  if constexpr (has_copy_engine) {
    each_tile<T, tile_threads, TileOffsets, gaps>(
        p, launch, [&](int) { fill_pairs<T>(p, launch.cols); },
        [&](int rows, int at, int) {
          compute_tile<softmax, T, lanes, values, gaps>(p, launch, rows, at);
        });
  }
}

}  // namespace KW_TARGET::rowwise
