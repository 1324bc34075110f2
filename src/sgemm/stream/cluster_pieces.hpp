// How the blocks of a cluster divide a tile that they share: in pieces, of which each block adds up
// some. Owners follow each other along the tile.
#pragma once

#include "device/cluster.hpp"
#include "device/mbarrier.hpp"

namespace KW_TARGET {

template <int pieces>
struct ClusterPieces {
  __device__ static __forceinline__ int owner(int piece, int parts) {
    return piece * parts / pieces;
  }
  // Of an owned piece's first part in the owner's shared memory; the others follow it. An owner's
  // pieces are `parts` apart.
  __device__ static __forceinline__ int slot(int piece, int parts) {
    return piece * parts % pieces;
  }
};

// By all threads of the block before any of them sends: the mbarrier is to be seen by the others.
// Each thread later waits for the cluster.
__device__ __forceinline__ void open_to_cluster(Mbarrier& received) {
  if (threadIdx.x == 0) mbarrier_init(&received, 1);
  arrive_at_cluster();
}

}  // namespace KW_TARGET
