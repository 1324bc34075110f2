// A row in the registers of a team of threads, read once and written once.
//
// Idea        Every thread has all of its loads under way before it uses the first; what the team
// finds
//             goes through shuffles, and through shared memory where the team is a block. Short
//             rows share a warp, so that as many bytes are on their way as of long ones.
// Limits      A row has at most 9216 elements: 384 threads with 24 each, two blocks a
// multiprocessor. Rows
//             of 1 to 4 elements leave threads with few bytes each.
#pragma once

#include "rowwise/row_steps.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

// Of a row, or of a part of it: v to y.
template <bool softmax, int values, class Team>
__device__ __forceinline__ void compute_row(const Rowwise& p, std::int64_t row,
                                            const Places& places, bool exists, Team& team) {
  float v[values];
  const RowAt at = exists ? row_at(p, row) : RowAt{0, -1, 0};
  load_row(p, at, places, softmax ? -INFINITY : 0.0f, v);
  if (exists) store_sum(p, at, places, v);
  if constexpr (softmax) {
    const bool logs = p.op == RowwiseOp::log_softmax;
    const SoftmaxTotal total = softmax_total(v, p.type != DataType::float32, logs, team);
    finish_softmax(v, total.sum, logs);
  } else {
    float first_mean;
    const bool centers = p.op == RowwiseOp::layer_norm;
    const NormTotal total = norm_total(v, places, centers, team, &first_mean);
    normalise(v, total, first_mean, p.epsilon);
  }
  if (exists) store_row<!softmax>(p, at, places, v);
}

// A multiprocessor of sm_75 has 1024 threads, all later ones more.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int most_lane_blocks = 4, most_row_blocks = 2;
#else
constexpr int most_lane_blocks = 5, most_row_blocks = 3;
#endif
template <int values>
constexpr int lane_blocks_per_sm = values > 8 ? 3 : most_lane_blocks;
template <int values>
constexpr int row_blocks_per_sm = values > 16 ? 2 : most_row_blocks;

// Teams of `lanes` lanes, of a warp.
template <bool softmax, int values>
__global__ void __launch_bounds__(warp_block_threads, lane_blocks_per_sm<values>)
    rows_of_lanes(const __grid_constant__ Rowwise p, Format format, int lanes) {
  const auto thread = static_cast<int>(threadIdx.x);
  const std::int64_t row = std::int64_t{blockIdx.x} * (warp_block_threads / lanes) + thread / lanes;
  const Places places(format, thread % lanes, lanes, static_cast<int>(p.cols),
                      skip_of(p, format, row), 0);
  LaneTeam team = {lanes};
  compute_row<softmax, values>(p, row, places, row < p.rows, team);
}

// A block a row.
template <bool softmax, int values>
__global__ void __launch_bounds__(most_block_threads, row_blocks_per_sm<values>)
    rows_of_blocks(const __grid_constant__ Rowwise p, Format format) {
  __shared__ TeamMemory memory;
  const auto threads = static_cast<int>(blockDim.x);
  const Places places(format, static_cast<int>(threadIdx.x), threads, static_cast<int>(p.cols),
                      skip_of(p, format, blockIdx.x), 0);
  BlockTeam team = {&memory, threads / warp_lanes, power_from(threads / warp_lanes)};
  compute_row<softmax, values>(p, blockIdx.x, places, true, team);
}

}  // namespace KW_TARGET::rowwise
