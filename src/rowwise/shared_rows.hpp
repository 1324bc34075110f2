// Rows in shared memory: a block has a row, or a cluster of blocks has a slice each; read once,
// written once.
//
// Idea        A thread keeps its values in shared memory as it would in registers: no other thread
// reads
//             them, so nothing waits for them. Each block finds the total of its slice and sends it
//             to the cluster's others, from shared memory to shared memory; all merge them in their
//             order.
// Limits      A block has up to 49128 elements. A cluster of two has no more, in halves: then two
// blocks
//             share a multiprocessor, so that one reads while the other one writes. Larger clusters
//             lose to spread.hpp.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "rowwise/row_steps.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

struct SharedRow {
  Mbarrier received;
  float4 totals[shared_most_blocks];  // of each block of the cluster
  TeamMemory team;
  alignas(128) float4 values[1];  // tiles x packs of a thread x threads
};

inline std::size_t shared_row_bytes(int tiles) {
  return sizeof(SharedRow) + static_cast<std::size_t>(tiles) * shared_threads * shared_values * 4;
}

// A thread's values of a tile.
__device__ __forceinline__ float4* own_values(SharedRow& shared, int tile) {
  return shared.values + tile * (shared_threads * shared_values / pack) + threadIdx.x;
}
__device__ __forceinline__ void keep(SharedRow& shared, int tile, const float (&v)[shared_values]) {
  float4* const to = own_values(shared, tile);
#pragma unroll
  for (int k = 0; k < shared_values / pack; ++k)
    to[k * shared_threads] = make_float4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
}
__device__ __forceinline__ void recall(SharedRow& shared, int tile, float (&v)[shared_values]) {
  const float4* const from = own_values(shared, tile);
#pragma unroll
  for (int k = 0; k < shared_values / pack; ++k) {
    const float4 x = from[k * shared_threads];
    v[4 * k] = x.x;
    v[4 * k + 1] = x.y;
    v[4 * k + 2] = x.z;
    v[4 * k + 3] = x.w;
  }
}

// A slice: `elements` of a row for each block.
struct Slice {
  Format format;
  std::int64_t begin;
  int count, skip, tiles;

  __device__ __forceinline__ Places places(int tile) const {
    const int first = tile * shared_tile, left = count - first;
    return {format,         static_cast<int>(threadIdx.x),
            shared_threads, left < shared_tile ? left : shared_tile,
            skip,           begin + first};
  }
};

// Sends 16 bytes of each block to all others; afterwards every thread of each sees all of them.
__device__ __forceinline__ void share_totals(SharedRow& shared, const float4& own, int blocks) {
  const int rank = rank_in_cluster(), thread = static_cast<int>(threadIdx.x);
  if (thread == 0)
    mbarrier_arrive_expecting(&shared.received, static_cast<unsigned>(blocks - 1) * 16);
  wait_for_cluster();
  if (thread < blocks) {
    if (thread == rank) {
      shared.totals[rank] = own;
    } else {
      send_to_block(thread, &shared.totals[rank], own, &shared.received);
    }
  }
  mbarrier_wait(&shared.received, 0);
  __syncthreads();
}

__device__ __forceinline__ float4 packed(double first, double second) {
  float4 both;
  memcpy(&both, &first, 8);
  memcpy(reinterpret_cast<char*>(&both) + 8, &second, 8);
  return both;
}
__device__ __forceinline__ Sums unpacked(const float4& both) {
  Sums sums;
  memcpy(&sums, &both, sizeof sums);
  return sums;
}

// The values become exponentials for the slice's own largest one, or differences to it.
__device__ __forceinline__ SoftmaxTotal softmax_slice(const Rowwise& p, const RowAt& at,
                                                      const Slice& slice, SharedRow& shared,
                                                      BlockTeam& team) {
  float v[shared_values];
  float largest = -INFINITY;
#pragma unroll 1
  for (int tile = 0; tile < slice.tiles; ++tile) {
    load_row(p, at, slice.places(tile), -INFINITY, v);
    store_sum(p, at, slice.places(tile), v);
#pragma unroll
    for (int i = 0; i < shared_values; ++i) largest = fmaxf(largest, v[i]);
    keep(shared, tile, v);
  }
  largest = team.combined(largest, -INFINITY, Larger{});
  const float origin = origin_of(largest);
  const bool logs = p.op == RowwiseOp::log_softmax;
  double sum = 0;
#pragma unroll 1
  for (int tile = 0; tile < slice.tiles; ++tile) {
    recall(shared, tile, v);
    sum += p.type != DataType::float32 ? exponentials<true>(v, origin, logs)
                                       : exponentials<false>(v, origin, logs);
    keep(shared, tile, v);
  }
  return {largest, team.combined(sum, 0.0, Sum{})};
}

// The values become differences to `first_mean`.
__device__ __forceinline__ NormTotal norm_slice(const Rowwise& p, const RowAt& at,
                                                const Slice& slice, SharedRow& shared,
                                                BlockTeam& team, float* first_mean) {
  const bool centers = p.op == RowwiseOp::layer_norm;
  const auto count = static_cast<double>(slice.count);
  float v[shared_values];
  double sum = 0, squares = 0;
#pragma unroll 1
  for (int tile = 0; tile < slice.tiles; ++tile) {
    load_row(p, at, slice.places(tile), 0.0f, v);
    store_sum(p, at, slice.places(tile), v);
    sum += sum_of<shared_values>([&](int i) { return v[i]; });
    if (!centers) squares += sum_of<shared_values>([&](int i) { return v[i] * v[i]; });
    keep(shared, tile, v);
  }
  *first_mean = 0;
  if (!centers) return {count, 0, team.combined(squares, 0.0, Sum{})};
  *first_mean = static_cast<float>(quotient(team.combined(sum, 0.0, Sum{}), count));
  sum = 0;
#pragma unroll 1
  for (int tile = 0; tile < slice.tiles; ++tile) {
    recall(shared, tile, v);
    const Places places = slice.places(tile);
#pragma unroll
    for (int i = 0; i < shared_values; ++i) v[i] = places.has(i) ? v[i] - *first_mean : 0.0f;
    sum += sum_of<shared_values>([&](int i) { return v[i]; });
    squares += sum_of<shared_values>([&](int i) { return v[i] * v[i]; });
    keep(shared, tile, v);
  }
  const Sums sums = team.combined(Sums{sum, squares}, Sums{0, 0}, SumOfEach{});
  const double correction = quotient(sums.first, count);
  return {count, static_cast<double>(*first_mean) + correction,
          sums.second - sums.first * correction};
}

// `blocks` of a row, each with `slice_elements` of it (the last with what is left).
template <bool softmax>
__global__ void __launch_bounds__(shared_threads, 2)
    rows_in_shared(const __grid_constant__ Rowwise p, Format format, int blocks,
                   int slice_elements) {
  auto& shared = *gpu::dynamic_shared<SharedRow>();
  const bool in_clusters = blocks > 1;
  if (in_clusters) {
    if (threadIdx.x == 0) mbarrier_init(&shared.received, 1);
    arrive_at_cluster();
  }
  const int rank = in_clusters ? rank_in_cluster() : 0;
  const RowAt at = row_at(p, in_clusters ? cluster_index() : std::int64_t{blockIdx.x});
  const std::int64_t begin = std::int64_t{rank} * slice_elements;
  const auto count_of = [&](int block) {
    const std::int64_t left = p.cols - std::int64_t{block} * slice_elements;
    return static_cast<int>(left < slice_elements ? left : slice_elements);
  };
  const int count = count_of(rank);
  const Slice slice = {format, begin, count, skip_of(p, format, at.row),
                       (count + shared_tile - 1) / shared_tile};
  BlockTeam team = {&shared.team, shared_threads / warp_lanes,
                    power_from(shared_threads / warp_lanes)};
  float v[shared_values];
  if constexpr (softmax) {
    const bool logs = p.op == RowwiseOp::log_softmax;
    const SoftmaxTotal own = softmax_slice(p, at, slice, shared, team);
    SoftmaxTotal total = own;
    if (in_clusters) {
      share_totals(shared, packed(static_cast<double>(own.largest), own.sum), blocks);
      total = {-INFINITY, 0};
      for (int block = 0; block < blocks; ++block) {
        const Sums of_block = unpacked(shared.totals[block]);
        total = merged(total, {static_cast<float>(of_block.first), of_block.second});
      }
    }
    // From the slice's own origin to the row's.
    const float apart =
        own.largest == -INFINITY ? 0.0f : origin_of(own.largest) - origin_of(total.largest);
    const float by = logs ? log1pf(static_cast<float>(total.sum - 1.0)) - apart
                          : expf(apart) / static_cast<float>(total.sum);
#pragma unroll 1
    for (int tile = 0; tile < slice.tiles; ++tile) {
      recall(shared, tile, v);
#pragma unroll
      for (int i = 0; i < shared_values; ++i) v[i] = logs ? v[i] - by : v[i] * by;
      store_row<false>(p, at, slice.places(tile), v);
    }
  } else {
    float first_mean;
    const NormTotal own = norm_slice(p, at, slice, shared, team, &first_mean);
    NormTotal total = own;
    if (in_clusters) {
      share_totals(shared, packed(own.mean, own.squares), blocks);
      total = {0, 0, 0};
      for (int block = 0; block < blocks; ++block) {
        const Sums of_block = unpacked(shared.totals[block]);
        total =
            merged(total, {static_cast<double>(count_of(block)), of_block.first, of_block.second});
      }
    }
#pragma unroll 1
    for (int tile = 0; tile < slice.tiles; ++tile) {
      recall(shared, tile, v);
      normalise(v, total, first_mean, p.epsilon);
      store_row<true>(p, at, slice.places(tile), v);
    }
  }
}

}  // namespace KW_TARGET::rowwise
