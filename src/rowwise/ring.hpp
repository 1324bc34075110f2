// Long plain rows: a row through the shared memory of a cluster of blocks, read once, written once.
//
// Idea        Each block has a slice of its cluster's row, and of every row that the cluster takes
//             after it. One warp has the copy engine bring pieces of it into a ring, as far ahead
//             as the ring has room, also of the rows to come. Some warps find the totals of a slice
//             as its pieces come, and give them to the cluster's other blocks; others, a row
//             behind, write the slices of which the row's totals are there, piece by piece, each of
//             which makes room for the next one. So nobody who writes waits for one who reads, and
//             memory does both all the time.
// Edges       A row's elements outside of packs (packs.hpp) are of the first block's threads.
// Order       Totals are merged by each warp in the warps' order.
// Limits      A slice is in a ring as a whole, 204 KiB; clusters have up to eight blocks.
#pragma once

#include "rowwise/ring_totals.hpp"

namespace KW_TARGET::rowwise {

// This thread's edge of a row.
template <class T>
struct RingEdge {
  bool exists;
  int at;
  float v;

  __device__ __forceinline__ void load(const Rowwise& p, const RingSlice& slice, int rank,
                                       int thread) {
    exists = rank == 0 && thread < slice.cut.edges;
    at = slice.cut.edge<T>(thread);
    v = exists ? to_value((static_cast<const T*>(p.x) + slice.row * p.ldx)[at]) : 0.0f;
  }
};

// Rows of a cluster, one after the other: body(row of the ring, its edge, how many came before).
template <class T, int threads, class Body>
__device__ __forceinline__ void each_ring_row(const Rowwise& p, const RingCut& ring,
                                              RingMemory& shared, int rank, int thread,
                                              const Body& body) {
  RingPlace place;
  unsigned turn = 0;
  for (std::int64_t row = cluster_index(); row < p.rows; row += ring.clusters, ++turn) {
    const RingSlice slice = slice_of<T>(p, ring, rank, row);
    RingEdge<T> edge;
    edge.load(p, slice, rank, thread);
    body(RingRow<T, threads>{ring, shared, slice, place, thread}, edge, turn);
    place.advance(ring.slots, slice.pieces());
  }
}

template <bool softmax, class T>
__device__ __forceinline__ void find_ring_totals(const Rowwise& p, const RingCut& ring,
                                                 RingMemory& shared, int rank, int thread) {
  each_ring_row<T, ring_finders>(
      p, ring, shared, rank, thread,
      [&](const RingRow<T, ring_finders>& row, const RingEdge<T>& edge, unsigned turn) {
        WarpFound own;
        if constexpr (softmax)
          own = softmax_of_slice(row, edge.v, edge.exists);
        else if (p.op == RowwiseOp::layer_norm)
          own = norm_of_slice<true>(row, edge.v, edge.exists);
        else
          own = norm_of_slice<false>(row, edge.v, edge.exists);
        const unsigned slot = turn % ring_rows_found;
        if (thread == 0)
          mbarrier_arrive_expecting(
              &shared.received[slot],
              static_cast<unsigned>(ring.blocks * ring_finding_warps) * sizeof(WarpFound));
        const int lane = thread % warp_lanes;
        if (lane < ring.blocks)
          send_to_block(lane, &shared.found[slot][rank * ring_finding_warps + thread / warp_lanes],
                        own, &shared.received[slot]);
      });
}

// Whence gamma and beta come.
enum class Scales { none, memory, ring };

// finish(v) makes y of the values v, but for gamma and beta.
template <Scales scales, class T, class Finish>
__device__ __forceinline__ void write_slice(const Rowwise& p, const RingRow<T, ring_writers>& row,
                                            const RingEdge<T>& edge, RingPlace& scale_place,
                                            const Finish& finish) {
  using Values = RingValues<T, ring_writers>;
  constexpr int a_pack = Values::a_pack;
  auto* const y = static_cast<T*>(p.y) + row.slice.row * p.ldy;
  auto* const to = reinterpret_cast<uint4*>(y + row.slice.cut.head) + row.slice.begin + row.thread;
  row.each_piece(0.0f, [&](Values& values, int done, int slot) {
    row.release(slot);
    const int first = row.slice.cut.head + (row.slice.begin + done + row.thread) * a_pack;
    finish(values.v);
    if constexpr (scales == Scales::ring)
      mbarrier_wait(&row.shared.scales_full[scale_place.slot], scale_place.turn);
#pragma unroll
    for (int k = 0; k < Values::each; ++k) {
      if (!values.has(k * a_pack)) continue;
      float* const v = values.v + k * a_pack;
      const int column = first + k * ring_writers * a_pack, at = row.thread + k * ring_writers;
      if constexpr (scales != Scales::none) {
        PackScale<T> scale;
        if constexpr (scales == Scales::ring) {
          scale.load(p, column, row.shared.scales(row.ring, scale_place.slot, 0) + at,
                     row.shared.scales(row.ring, scale_place.slot, 1) + at);
        } else {
          scale.load(p, column);
        }
        scale.apply(p, v);
      }
      to[done + k * ring_writers] = packed_as<T>(v);
    }
    if constexpr (scales == Scales::ring) {
      row.release_to(&row.shared.scales_empty[scale_place.slot]);
      scale_place.advance(ring_scale_slots);
    }
  });
  if (!edge.exists) return;
  float one[1] = {edge.v};
  finish(one);
  if constexpr (scales != Scales::none) scale_one<T>(p, edge.at, one);
  store_one(y + edge.at, one[0]);
}

template <bool softmax, class T>
__device__ __forceinline__ void write_ring_rows(const Rowwise& p, const RingCut& ring,
                                                RingMemory& shared, int rank, int thread) {
  const int warps = ring.blocks * ring_finding_warps;
  const float count_inverse = 1.0f / static_cast<float>(p.cols);
  RingPlace scale_place;
  each_ring_row<T, ring_writers>(
      p, ring, shared, rank, thread,
      [&](const RingRow<T, ring_writers>& row, const RingEdge<T>& edge, unsigned turn) {
        const unsigned slot = turn % ring_rows_found;
        mbarrier_wait(&shared.received[slot], turn / ring_rows_found % 2);
        const WarpFound* const found = shared.found[slot];
        if constexpr (softmax) {
          const FoundSoftmax total = merge_softmax<double, ring_most_found>(found, warps);
          if (p.op == RowwiseOp::log_softmax) {
            const float by = log1pf(static_cast<float>(total.sum - 1.0));
            write_slice<Scales::none>(p, row, edge, scale_place, [&](auto& v) {
              for (float& each : v) each = (each - total.largest) - by;
            });
          } else {
            const float by = 1.0f / static_cast<float>(total.sum);
            write_slice<Scales::none>(p, row, edge, scale_place, [&](auto& v) {
              for (float& each : v) each = exp_of(each - total.largest, true) * by;
            });
          }
        } else {
          const bool centers = p.op == RowwiseOp::layer_norm;
          const FoundNorm<double> total =
              merge_norm<double, ring_most_found>(found, warps, centers, count_inverse);
          const NormScale scale = norm_scale(total, count_inverse, p.epsilon);
          const auto finish = [&](auto& v) {
            for (float& each : v) each = fmaf(each - total.near, scale.by, scale.shift);
          };
          if (ring.has_scales)
            write_slice<Scales::ring>(p, row, edge, scale_place, finish);
          else if (p.gamma != nullptr || p.beta != nullptr)
            write_slice<Scales::memory>(p, row, edge, scale_place, finish);
          else
            write_slice<Scales::none>(p, row, edge, scale_place, finish);
        }
      });
}

template <bool softmax, class T>
__global__ void __launch_bounds__(ring_block_threads, 1)
    ring_rows([[maybe_unused]] const __grid_constant__ Rowwise p,
              [[maybe_unused]] const __grid_constant__ RingCut ring) {
  if constexpr (has_cluster_rows) {
    auto& shared = *gpu::dynamic_shared<RingMemory>();
    if (threadIdx.x == 0) {
      for (int slot = 0; slot < ring.slots; ++slot) {
        mbarrier_init(&shared.full[slot], 1);
        mbarrier_init(&shared.empty[slot], ring_writers / warp_lanes);
      }
      for (Mbarrier& each : shared.scales_full) mbarrier_init(&each, 1);
      for (Mbarrier& each : shared.scales_empty) mbarrier_init(&each, ring_writers / warp_lanes);
      for (Mbarrier& each : shared.received) mbarrier_init(&each, 1);
      mbarrier_init_is_done();
    }
    const int rank = rank_in_cluster();
    arrive_at_cluster();
    __syncthreads();
    wait_for_cluster();
    const auto thread = static_cast<int>(threadIdx.x);
    if (thread < ring_writers)
      write_ring_rows<softmax, T>(p, ring, shared, rank, thread);
    else if (thread < ring_writers + ring_finders)
      find_ring_totals<softmax, T>(p, ring, shared, rank, thread - ring_writers);
    else if (thread == ring_writers + ring_finders)
      fill_ring<T>(p, ring, shared, rank);
    else if (thread == ring_writers + ring_finders + warp_lanes && ring.has_scales)
      fill_scales<T>(p, ring, shared, rank);
  }
}

}  // namespace KW_TARGET::rowwise
