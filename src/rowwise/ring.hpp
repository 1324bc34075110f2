// Long plain rows: a row through the shared memory of a cluster of blocks, read once, written once.
//
// Idea        Each block has a slice of its cluster's row, and of every row that the cluster takes
//             after it. One warp has the copy engine bring pieces of it into a ring, as far ahead
//             as the ring has room, also of the rows to come; the others find the slice's total,
//             give it to the cluster's other blocks, and write the slice, piece by piece, each of
//             which makes room for the next one. So memory is read and written all the time, and a
//             thread waits for no load of its own.
// Edges       A row's elements outside of packs (packs.hpp) are in registers of the first block's
//             threads, loaded a row ahead.
// Order       Totals are merged by each block in the blocks' order.
// Limits      A slice is in a ring as a whole: 104 KiB with two blocks a multiprocessor, 208 KiB
//             with one; clusters have up to eight blocks.
#pragma once

#include "rowwise/ring_memory.hpp"

namespace KW_TARGET::rowwise {

// What this thread wrote to shared memory comes before what the copy engine writes there later.
__device__ __forceinline__ void order_before_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Of a slice, from its own largest value. Where `keeps` its values become exponentials.
template <bool keeps, class T>
__device__ __forceinline__ SoftmaxTotal softmax_slice(const RingRow<T>& row, float edge,
                                                      bool has_edge, RingTeam& team) {
  using Values = RingValues<T>;
  float largest = has_edge ? edge : -INFINITY;
  row.template each_piece<true>(
      -INFINITY, [&](Values& values, int, int) { largest = fmaxf(largest, largest_of(values.v)); });
  largest = team.combined(largest, -INFINITY, Larger{});
  const float origin = origin_of(largest);
  double sum = has_edge ? static_cast<double>(exp_of(edge - origin, true)) : 0;
  row.template each_piece<false>(-INFINITY, [&](Values& values, int, int slot) {
    sum += exponentials_of<double, keeps>(values.v, origin);
    if constexpr (keeps) values.keep(row.shared.pieces + slot * ring_piece);
  });
  if constexpr (keeps) order_before_copies();
  return {largest, team.combined(sum, 0.0, Sum{})};
}

template <class T>
__device__ __forceinline__ NormTotal norm_slice(const RingRow<T>& row, float edge, bool has_edge,
                                                bool centers, int elements, RingTeam& team) {
  using Values = RingValues<T>;
  const auto count = static_cast<double>(elements);
  if (!centers) {
    double squares = has_edge ? static_cast<double>(edge) * static_cast<double>(edge) : 0;
    row.template each_piece<true>(0.0f, [&](Values& values, int, int) {
      const auto& v = values.v;
      squares += sum_of_any<double, Values::count>([&](int i) { return v[i] * v[i]; });
    });
    return {count, 0, team.combined(squares, 0.0, Sum{})};
  }
  float sum = has_edge ? edge : 0;
  row.template each_piece<true>(0.0f,
                                [&](Values& values, int, int) { sum += float_sum(values.v); });
  sum = team.combined(sum, 0.0f, TotalSum{});
  const float mean = elements == 0 ? 0.0f : sum * (1.0f / static_cast<float>(elements));
  float rest = has_edge ? edge - mean : 0;
  double squares = static_cast<double>(rest) * static_cast<double>(rest);
  row.template each_piece<false>(0.0f, [&](Values& values, int, int) {
    auto& v = values.v;
#pragma unroll
    for (int i = 0; i < Values::count; ++i) v[i] -= values.has(i) ? mean : 0.0f;
    rest += float_sum(v);
    squares += sum_of_any<double, Values::count>([&](int i) { return v[i] * v[i]; });
  });
  const Differences all =
      team.combined(Differences{rest, squares}, Differences{0, 0}, SumOfDifferences{});
  if (elements == 0) return {0, 0, 0};
  return norm_total_of(all, mean, count);
}

// The row's total, from the slice's; `turn` is how many rows came before.
__device__ __forceinline__ SoftmaxTotal of_cluster(RingMemory& shared, const SoftmaxTotal& own,
                                                   int blocks, int rank, unsigned turn) {
  if (blocks == 1) return own;
  const Sums sums = {static_cast<double>(own.largest), own.sum};
  shared.exchange.exchange(sums, blocks, rank, turn);
  SoftmaxTotal total = {-INFINITY, 0};
  for (int block = 0; block < blocks; ++block) {
    const Sums of_block = shared.exchange.of(block, sums, rank, turn);
    total = merged(total, SoftmaxTotal{static_cast<float>(of_block.first), of_block.second});
  }
  return total;
}
template <class Counts>
__device__ __forceinline__ NormTotal of_cluster(RingMemory& shared, const NormTotal& own,
                                                int blocks, int rank, unsigned turn,
                                                const Counts& count_of) {
  if (blocks == 1) return own;
  const Sums sums = {own.mean, own.squares};
  shared.exchange.exchange(sums, blocks, rank, turn);
  NormTotal total = {0, 0, 0};
  for (int block = 0; block < blocks; ++block) {
    const Sums of_block = shared.exchange.of(block, sums, rank, turn);
    total = merged(
        total, NormTotal{static_cast<double>(count_of(block)), of_block.first, of_block.second});
  }
  return total;
}

// finish(values) makes y of values, but for gamma and beta.
template <bool softmax, class T, class Finish>
__device__ __forceinline__ void write_slice(const Rowwise& p, const RingRow<T>& row,
                                            const Finish& finish) {
  using Values = RingValues<T>;
  constexpr int a_pack = Values::a_pack;
  auto* const y = static_cast<T*>(p.y) + row.slice.row * p.ldy;
  row.template each_piece<false>(0.0f, [&](Values& values, int done, int slot) {
    row.release(slot);
    finish(values.v);
#pragma unroll
    for (int k = 0; k < Values::each; ++k) {
      if (!values.has(k * a_pack)) continue;
      const int of_slice = done + static_cast<int>(threadIdx.x) + k * ring_threads;
      const int first = row.slice.cut.head + (row.slice.begin + of_slice) * a_pack;
      float* const v = values.v + k * a_pack;
      if constexpr (!softmax) scale_pack<T>(p, first, v);
      *reinterpret_cast<uint4*>(y + first) = packed_as<T>(v);
    }
  });
}

template <class T>
__device__ __forceinline__ void write_edge(const Rowwise& p, const RingSlice& slice, float v) {
  store_one(
      static_cast<T*>(p.y) + slice.row * p.ldy + slice.cut.edge<T>(static_cast<int>(threadIdx.x)),
      v);
}

template <bool logs, class T>
__device__ __forceinline__ void softmax_row(const Rowwise& p, const RingRow<T>& row, float edge,
                                            bool has_edge, int rank, unsigned turn,
                                            RingTeam& team) {
  constexpr bool keeps = !logs && sizeof(T) == 4;
  const SoftmaxTotal own = softmax_slice<keeps>(row, edge, has_edge, team);
  const SoftmaxTotal total = of_cluster(row.shared, own, row.ring.blocks, rank, turn);
  const float origin = origin_of(total.largest);
  const auto finish = [&](auto& v) {
    if (!logs) exponentials_of<double, true>(v, origin);
    finish_values(v, total, logs);
  };
  if constexpr (keeps) {
    // From the slice's own origin to the row's.
    const float apart = own.largest == -INFINITY ? 0.0f : own.largest - origin;
    const float by = expf(apart) / static_cast<float>(total.sum);
    write_slice<true>(p, row, [&](auto& v) {
      for (float& each : v) each *= by;
    });
  } else {
    write_slice<true>(p, row, finish);
  }
  if (!has_edge) return;
  float one[1] = {edge};
  finish(one);
  write_edge<T>(p, row.slice, one[0]);
}

template <class T>
__device__ __forceinline__ void norm_row(const Rowwise& p, const RingRow<T>& row, float edge,
                                         bool has_edge, int rank, unsigned turn, RingTeam& team) {
  const RingSlice& slice = row.slice;
  const int slice_packs = row.ring.slice_packs;
  const auto count_of = [&](int block) {
    const int left = slice.cut.packs - block * slice_packs;
    const int packs = left < 0 ? 0 : left < slice_packs ? left : slice_packs;
    return packs * a_pack_of<T> + (block == 0 ? slice.cut.edges : 0);
  };
  const NormTotal own =
      norm_slice(row, edge, has_edge, p.op == RowwiseOp::layer_norm, count_of(rank), team);
  const NormTotal total = of_cluster(row.shared, own, row.ring.blocks, rank, turn, count_of);
  const auto first_mean = static_cast<float>(total.mean);
  const auto finish = [&](auto& v) {
    for (float& each : v) each -= first_mean;
    normalise(v, total, first_mean, p.epsilon);
  };
  write_slice<false>(p, row, finish);
  if (!has_edge) return;
  float one[1] = {edge};
  finish(one);
  scale_one<T>(p, slice.cut.edge<T>(static_cast<int>(threadIdx.x)), one);
  write_edge<T>(p, slice, one[0]);
}

template <bool softmax, class T>
__device__ __forceinline__ void compute_ring(const Rowwise& p, const RingCut& ring,
                                             RingMemory& shared, int rank) {
  const auto thread = static_cast<int>(threadIdx.x);
  constexpr int warps = ring_threads / warp_lanes;
  RingTeam team = {&shared.team, warps, power_from(warps)};
  RingPlace place;
  unsigned turn = 0;
  const auto load_edge = [&](std::int64_t row) {
    if (rank != 0 || row >= p.rows || thread >= most_edges_of<T>) return T{};
    const T* const x = static_cast<const T*>(p.x) + row * p.ldx;
    const RowCut cut = cut_row<T>(x, static_cast<int>(p.cols));
    return thread < cut.edges ? x[cut.edge<T>(thread)] : T{};
  };
  std::int64_t row = cluster_index_of(ring);
  T next_edge = load_edge(row);
  for (; row < p.rows; row += ring.clusters, ++turn) {
    const float edge = to_value(next_edge);
    next_edge = load_edge(row + ring.clusters);
    const RingSlice slice = slice_of<T>(p, ring, rank, row);
    const bool has_edge = rank == 0 && thread < slice.cut.edges;
    const RingRow<T> own = {ring, shared, slice, place};
    if constexpr (softmax) {
      if (p.op == RowwiseOp::log_softmax)
        softmax_row<true>(p, own, edge, has_edge, rank, turn, team);
      else
        softmax_row<false>(p, own, edge, has_edge, rank, turn, team);
    } else {
      norm_row(p, own, edge, has_edge, rank, turn, team);
    }
    place.advance(ring.slots, slice.pieces());
  }
}

template <bool softmax, class T>
__global__ void __launch_bounds__(ring_threads + warp_lanes, 2)
    ring_rows([[maybe_unused]] const __grid_constant__ Rowwise p,
              [[maybe_unused]] const __grid_constant__ RingCut ring) {
  if constexpr (has_cluster_rows) {
    auto& shared = *gpu::dynamic_shared<RingMemory>();
    if (threadIdx.x == 0) {
      for (int slot = 0; slot < ring.slots; ++slot) {
        mbarrier_init(&shared.full[slot], 1);
        mbarrier_init(&shared.empty[slot], ring_threads / warp_lanes);
      }
      shared.exchange.init();
      mbarrier_init_is_done();
    }
    const bool in_clusters = ring.blocks > 1;
    const int rank = in_clusters ? rank_in_cluster() : 0;
    if (in_clusters) arrive_at_cluster();
    __syncthreads();
    if (in_clusters) wait_for_cluster();
    if (threadIdx.x >= ring_threads) {
      if (threadIdx.x == ring_threads) fill_ring<T>(p, ring, shared, rank);
    } else {
      compute_ring<softmax, T>(p, ring, shared, rank);
    }
  }
}

}  // namespace KW_TARGET::rowwise
