// The other fixup: where the blocks that share a tile are a cluster, each of them adds up the parts
// of some of its outputs, which the others send it, and stores those to C.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "sgemm/finish.hpp"
#include "sgemm/stream/cluster_pieces.hpp"
#include "sgemm/stream/outputs.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET::stream_tile {

template <StreamTileConfig config>
class ClusterFixup : ClusterPieces<Shape<config>::pieces, Shape<config>::consumers / 32> {
  using S = Shape<config>;
  using Pieces = ClusterPieces<S::pieces, S::consumers / 32>;
  using Pieces::owner, Pieces::piece_bytes, Pieces::slot;

 public:
  // C's tile = alpha * (sum of `parts` parts) + beta * C. All consumers of the cluster's blocks
  // call it, each with the sums of its block's part.
  __device__ static __forceinline__ void add_and_store(Shared<config>& shared, const Sgemm& call,
                                                       const StreamTileIndex& tile, bool c16,
                                                       int parts, const float (&out)[S::outputs]) {
    const Sgemm p = stored_first(entry_of(call, tile.entry));
    const int tid = OwnOutputs<config>().tid, warp = tid / 32, lane = tid % 32;
    const int rank = rank_in_cluster();
    if (warp == 0) {
      static_assert(pieces <= 32, "a lane each");
      const int own = __popc(__ballot_sync(~0u, lane < pieces && owner(lane, parts) == rank));
      if (lane == 0)
        mbarrier_arrive_expecting(&shared.received,
                                  static_cast<unsigned>(own * (parts - 1)) * piece_bytes);
    }
    Pieces::exchange(shared, parts, rank, warp, lane, out);
    const std::int64_t row0 = tile.row * std::int64_t{S::BM}, col0 = tile.col * std::int64_t{S::BN};
    const bool in_fours = c16 && (p.n % 4 == 0 || col0 + S::BN <= p.n);
#pragma unroll 1
    for (int piece = warp; piece < pieces; piece += warps) {
      if (owner(piece, parts) != rank) continue;
      float4* const first = shared.parts[slot(piece, parts)];
      float sums[4];
      take_quad(sum_of_parts(first + lane, parts), sums);
      const int output = piece * piece_outputs;
      if (in_fours) {
        const std::int64_t row = row0 + (output + 4 * lane) / S::BN;
        const std::int64_t col = col0 + (output + 4 * lane) % S::BN;
        if (row < p.m && col < p.n) store_row<false, 4, true>(p, row, col, sums);
      } else {
        store_neighbours(p, row0, col0, output, first, sums);
      }
      if (call.epilogue.any()) finish_piece(call, tile, output);
    }
  }

 private:
  static constexpr int warps = S::consumers / 32, pieces = S::pieces, piece_outputs = 128;
  static_assert(pieces == S::outputs / 4 * warps);

  __device__ static __forceinline__ float4 sum_of_parts(const float4* at, int parts) {
    float4 part[stream_cluster_parts];
#pragma unroll
    for (int i = 0; i < stream_cluster_parts; ++i)
      part[i] = i < parts ? at[i * 32] : make_float4(0, 0, 0, 0);
    return sum_as_tree(part);
  }

  // A piece is whole rows of the tile, or a part of one.
  __device__ static __forceinline__ void finish_piece(const Sgemm& call,
                                                      const StreamTileIndex& tile, int output) {
    static_assert(piece_outputs % S::BN == 0 || S::BN % piece_outputs == 0);
    __syncwarp();  // other lanes may have stored its elements
    finish_stored<1>(call,
                     {tile.entry, tile.row * std::int64_t{S::BM} + output / S::BN,
                      tile.col * std::int64_t{S::BN} + output % S::BN,
                      piece_outputs < S::BN ? 1 : piece_outputs / S::BN,
                      piece_outputs < S::BN ? piece_outputs : S::BN},
                     reread_thread_index() % 32, 32);
  }

  // A piece through the place of its first part, which nobody reads any more: each store of the
  // warp then meets neighbours of a row.
  __device__ static __forceinline__ void store_neighbours(const Sgemm& p, std::int64_t row0,
                                                          std::int64_t col0, int output,
                                                          float4* place, const float (&sums)[4]) {
    const int lane = reread_thread_index() % 32;
    place[lane] = make_float4(sums[0], sums[1], sums[2], sums[3]);
    __syncwarp();
    const float* const all = &place->x;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int e = output + i * 32 + lane;
      store1<true>(p, row0 + e / S::BN, col0 + e % S::BN, all[i * 32 + lane]);
    }
  }
};

}  // namespace KW_TARGET::stream_tile
