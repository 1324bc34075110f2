// The other way that the sums of a tile come together: where the blocks that share it are a
// cluster, each of them adds up the parts of some of its pairs, which the others send it.
#pragma once

#include "cgemm/stream/sums.hpp"
#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "sgemm/stream/cluster_pieces.hpp"

namespace KW_TARGET::complex_stream {

template <ComplexStreamConfig config>
class ClusterSums : ClusterPieces<Shape<config>::pieces, Shape<config>::consumers / 32> {
  using S = Shape<config>;
  using Pieces = ClusterPieces<S::pieces, S::consumers / 32>;
  using Pieces::owner, Pieces::piece_bytes, Pieces::slot;

 public:
  // All consumers of the cluster's blocks call it, each with the sums of its block's part, and get
  // take(v, sums of all parts) for those of their pairs that this block owns.
  template <class Take>
  __device__ static __forceinline__ void add(Shared<config>& shared, int parts,
                                             const Pairs<config>& out, const Take& take) {
    const int tid = reread_thread_index() - S::producers, warp = tid / 32, lane = tid % 32;
    const int rank = rank_in_cluster();
    if (tid == 0) {
      const int own = first_of(rank + 1, parts) - first_of(rank, parts);
      mbarrier_arrive_expecting(&shared.received,
                                static_cast<unsigned>(own * (parts - 1)) * piece_bytes);
    }
    Pieces::exchange(shared, parts, rank, warp, lane, out);
#pragma unroll 1
    for (int v = 0; v < S::pairs; ++v) {
      const int piece = v * warps + warp;
      if (owner(piece, parts) != rank) continue;
      const float4* const of_piece = &shared.parts[slot(piece, parts)][lane];
      float sums[4] = {};
      for (int part = 0; part < parts; ++part) add_quad(of_piece[part * 32], sums);
      take(v, sums);
    }
  }

 private:
  static constexpr int warps = S::consumers / 32;

  // The first piece whose owner is `rank`.
  __device__ static __forceinline__ int first_of(int rank, int parts) {
    return (rank * S::pieces + parts - 1) / parts;
  }
};

// A block's way through its share of the schedule.
struct Way {
  const StreamSchedule& schedule;
  int block;

  __device__ __forceinline__ StreamWork first() const {
    return schedule.in_clusters() ? schedule.of_cluster(cluster_index(), rank_in_cluster())
                                  : schedule.first(block);
  }
  __device__ __forceinline__ StreamWork next(const StreamWork& work) const {
    return schedule.in_clusters() ? StreamWork{} : schedule.next(work, block);
  }
};

}  // namespace KW_TARGET::complex_stream
