// Rows that are too long for a block's registers: slices of them over many blocks, in one launch.
//
// Idea        Blocks take turns: one finds the total of a slice, the next one writes a slice of
// which the
//             row's totals are all made. What is written lies so far behind what is read first that
//             no block waits for long, and so close that L2 still has what is read again: a slice
//             for each block that is under way, and a row. So memory is read and written at the
//             same time, and read once where L2 holds some dozen MiB.
// Order       A block waits for blocks of lower index alone, which run or have ended: the device
// starts
//             blocks in the order of their index, as reduce_array and others' look-back scans also
//             rely on. The last to arrive with a slice merges the row's totals in their order,
//             whatever order they came in: the same bits every time.
// Tickets     One a row: the slices whose totals are there, plus one when they are merged, plus the
// slices
//             that are written; who is last of all makes it zero again.
#pragma once

#include "device/ticket.hpp"
#include "rowwise/row_steps.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

struct Spread {
  std::int64_t first_row, rows;  // of this launch
  int slices;                    // of a row
  std::int64_t slice_elements;   // of all but the last; a multiple of four
  std::int64_t lag;              // slices that are read before the first one is written
  unsigned* tickets;             // a row of this launch
  void* totals;                  // rows x slices
  void* merged;                  // rows
};

template <bool softmax>
using TotalOf = std::conditional_t<softmax, SoftmaxTotal, NormTotal>;

template <bool softmax>
__device__ __forceinline__ TotalOf<softmax> nothing_yet() {
  if constexpr (softmax)
    return {-INFINITY, 0};
  else
    return {0, 0, 0};
}

__device__ __forceinline__ Places tile_places(Format format, int skip, std::int64_t first,
                                              std::int64_t end) {
  const std::int64_t left = end - first;
  return {format,         static_cast<int>(threadIdx.x),
          spread_threads, static_cast<int>(left < spread_tile ? left : spread_tile),
          skip,           first};
}

// The merged totals of a row, by one warp: lane by lane, then as a tree.
template <bool softmax>
__device__ __forceinline__ TotalOf<softmax> merge_totals(const TotalOf<softmax>* totals,
                                                         int slices) {
  TotalOf<softmax> total = nothing_yet<softmax>();
  for (int i = static_cast<int>(threadIdx.x); i < slices; i += warp_lanes)
    total = rowwise::merged(total, totals[i]);
  for (int apart = warp_lanes / 2; apart > 0; apart /= 2)
    total = rowwise::merged(total, from_lane_above(total, apart));
  return total;
}

// A thread's own total with more values; threads meet after their last ones only.
template <int values>
__device__ __forceinline__ void add_tile(SoftmaxTotal& own, float (&v)[values], bool coarse) {
  float largest = own.largest;
#pragma unroll
  for (int i = 0; i < values; ++i) largest = fmaxf(largest, v[i]);
  const float origin = origin_of(largest);
  if (own.largest != -INFINITY) own.sum *= static_cast<double>(exp_of(own.largest - origin, false));
  own.largest = largest;
  own.sum += coarse ? exponentials<true>(v, origin, false) : exponentials<false>(v, origin, false);
}
template <int values>
__device__ __forceinline__ void add_tile(NormTotal& own, float (&v)[values], const Places& places,
                                         bool centers) {
  int count = 0;
#pragma unroll
  for (int i = 0; i < values; ++i) count += places.has(i) ? 1 : 0;
  if (count == 0) return;
  NormTotal more = {static_cast<double>(count), 0, 0};
  if (centers) {
    const float inverse = 1.0f / static_cast<float>(count);
    const float mean = static_cast<float>(sum_of<values>([&](int i) { return v[i]; })) * inverse;
#pragma unroll
    for (int i = 0; i < values; ++i) v[i] = places.has(i) ? v[i] - mean : 0.0f;
    const double correction =
        sum_of<values>([&](int i) { return v[i]; }) * static_cast<double>(inverse);
    more.mean = static_cast<double>(mean) + correction;
    more.squares = -correction * correction * more.count;
  }
  more.squares += sum_of<values>([&](int i) { return v[i] * v[i]; });
  own = rowwise::merged(own, more);
}

__device__ __forceinline__ SoftmaxTotal total_of_block(const SoftmaxTotal& own, BlockTeam& team) {
  const float largest = team.combined(own.largest, -INFINITY, Larger{});
  const double scale = own.largest == -INFINITY
                           ? 1.0
                           : static_cast<double>(exp_of(own.largest - origin_of(largest), false));
  return {largest, team.combined(own.sum * scale, 0.0, Sum{})};
}
__device__ __forceinline__ NormTotal total_of_block(const NormTotal& own, BlockTeam& team) {
  const Sums sums = team.combined(Sums{own.count, own.count * own.mean}, Sums{0, 0}, SumOfEach{});
  const double mean = quotient(sums.second, sums.first), apart = own.mean - mean;
  const double squares = own.squares + (own.count > 0 ? own.count * apart * apart : 0.0);
  return {sums.first, mean, team.combined(squares, 0.0, Sum{})};
}

template <bool softmax>
__device__ __forceinline__ void find_total(const Rowwise& p, Format format, const Spread& s,
                                           std::int64_t slice) {
  __shared__ TeamMemory memory;
  __shared__ bool merges;
  const std::int64_t row = slice / s.slices;
  const int which = static_cast<int>(slice % s.slices);
  const std::int64_t begin = which * s.slice_elements;
  const std::int64_t end = min(begin + s.slice_elements, p.cols);
  const RowAt at = row_at(p, s.first_row + row);
  BlockTeam team = {&memory, spread_threads / warp_lanes, power_from(spread_threads / warp_lanes)};
  auto own = nothing_yet<softmax>();
  for (std::int64_t first = begin; first < end; first += spread_tile) {
    const Places places = tile_places(format, skip_of(p, format, at.row), first, end);
    float v[spread_values];
    load_row(p, at, places, softmax ? -INFINITY : 0.0f, v);
    if constexpr (softmax) {
      add_tile(own, v, p.type != DataType::float32);
    } else {
      add_tile(own, v, places, p.op == RowwiseOp::layer_norm);
    }
  }
  TotalOf<softmax> total = total_of_block(own, team);
  auto* const totals = static_cast<TotalOf<softmax>*>(s.totals) + row * s.slices;
  if (threadIdx.x == 0) {
    totals[which] = total;
    merges = take_ticket(s.tickets + row) + 1 == static_cast<unsigned>(s.slices);
  }
  __syncthreads();
  if (!merges || threadIdx.x >= warp_lanes) return;
  total = merge_totals<softmax>(totals, s.slices);
  if (threadIdx.x != 0) return;
  static_cast<TotalOf<softmax>*>(s.merged)[row] = total;
  take_ticket(s.tickets + row);
}

template <bool softmax>
__device__ __forceinline__ TotalOf<softmax> wait_for_total(const Spread& s, std::int64_t row) {
  if (threadIdx.x == 0) {
    while (see_ticket(s.tickets + row) <= static_cast<unsigned>(s.slices)) {
    }
  }
  __syncthreads();
  return static_cast<const TotalOf<softmax>*>(s.merged)[row];
}

template <bool softmax>
__device__ __forceinline__ void write_slice(const Rowwise& p, Format format, const Spread& s,
                                            std::int64_t slice) {
  const std::int64_t row = slice / s.slices;
  const int which = static_cast<int>(slice % s.slices);
  const std::int64_t begin = which * s.slice_elements;
  const std::int64_t end = min(begin + s.slice_elements, p.cols);
  const RowAt at = row_at(p, s.first_row + row);
  auto total = nothing_yet<softmax>();
  for (std::int64_t first = begin; first < end; first += spread_tile) {
    const Places places = tile_places(format, skip_of(p, format, at.row), first, end);
    float v[spread_values];
    load_row(p, at, places, 0.0f, v);
    if (first == begin) total = wait_for_total<softmax>(s, row);
    store_sum(p, at, places, v);
    if constexpr (softmax) {
      const bool logs = p.op == RowwiseOp::log_softmax;
      const float origin = origin_of(total.largest);
      if (p.type != DataType::float32)
        exponentials<true>(v, origin, logs);
      else
        exponentials<false>(v, origin, logs);
      finish_softmax(v, total.sum, logs);
    } else {
      const auto first_mean = static_cast<float>(total.mean);
#pragma unroll
      for (int i = 0; i < spread_values; ++i) v[i] -= first_mean;
      normalise(v, total, first_mean, p.epsilon);
    }
    store_row<!softmax>(p, at, places, v);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  const auto last = 2 * static_cast<unsigned>(s.slices);
  if (take_ticket(s.tickets + row) == last) s.tickets[row] = 0;
}

template <bool softmax>
__global__ void __launch_bounds__(spread_threads, 3)
    spread_rows(const __grid_constant__ Rowwise p, Format format,
                const __grid_constant__ Spread s) {
  const std::int64_t turn = blockIdx.x / 2, slices = s.rows * s.slices;
  if (blockIdx.x % 2 == 0) {
    if (turn < slices) find_total<softmax>(p, format, s, turn);
  } else if (turn >= s.lag) {
    write_slice<softmax>(p, format, s, turn - s.lag);
  }
}

}  // namespace KW_TARGET::rowwise
