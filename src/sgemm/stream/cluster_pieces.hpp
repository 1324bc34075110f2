// How the blocks of a cluster divide a tile that they share: in pieces, of which each block adds up
// some. Owners follow each other along the tile. A piece is 32 quads of outputs, one a lane. In
// each block the same warp holds the sums of a piece, and in the piece's owner it adds them up.
#pragma once

#include "device/cluster.hpp"
#include "device/mbarrier.hpp"
#include "device/quad.hpp"

namespace KW_TARGET {

// `warps` of a block have outputs.
template <int pieces, int warps>
struct ClusterPieces {
  static constexpr unsigned piece_bytes = 32 * sizeof(float4);

  __device__ static __forceinline__ int owner(int piece, int parts) {
    return piece * parts / pieces;
  }
  // Of an owned piece's first part in the owner's shared memory; the others follow it. An owner's
  // pieces are `parts` apart.
  __device__ static __forceinline__ int slot(int piece, int parts) {
    return piece * parts % pieces;
  }

  // Each thread gives its sums, quad v of piece v * warps + warp, to the owners of their pieces,
  // and waits for what others send to this block. Shared memory has the mbarrier `received`, which
  // expects that, and places for the parts.
  template <int outputs, class Shared>
  __device__ static __forceinline__ void exchange(Shared& shared, int parts, int rank, int warp,
                                                  int lane, const float (&out)[outputs]) {
    wait_for_cluster();
#pragma unroll
    for (int v = 0; v < outputs / 4; ++v) {
      const float4 sums = quad_of(&out[4 * v]);
      const int piece = v * warps + warp, to = owner(piece, parts);
      float4* const at = &shared.parts[slot(piece, parts) + rank][lane];
      if (to == rank)
        *at = sums;
      else
        send_to_block(to, at, sums, &shared.received);
    }
    mbarrier_wait(&shared.received, 0);
  }
};

// By all threads of the block before any of them sends: the mbarrier is to be seen by the others.
// Each thread later waits for the cluster.
__device__ __forceinline__ void open_to_cluster(Mbarrier& received) {
  if (threadIdx.x == 0) mbarrier_init(&received, 1);
  arrive_at_cluster();
}

}  // namespace KW_TARGET
