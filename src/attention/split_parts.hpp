// What attention_split brings to its warpgroups: the tiles of queries, their place in shared
// memory, and the warp that fetches them. The warpgroups are in split_consumer.hpp.
#pragma once

#include "attention/split_pass.hpp"
#include "attention/weights.hpp"
#include "device/bulk_copy.hpp"
#include "device/mbarrier.hpp"
#include "device/ring.hpp"
#include "device/warp.hpp"

namespace KW_TARGET::attention_split {

using namespace attention;

constexpr int warpgroup_threads = 128, split_threads = 3 * warpgroup_threads;

// A tile of queries and the keys that they see, each warpgroup's 64 of them apart.
struct SplitTile {
  AttentionHead head;
  std::int64_t first_query;
  std::int64_t q_block, k_block;  // its first ones, of all
  int key_tiles;                  // of the whole tile; less than 0: the list of tiles ends
  int own_tiles[2];               // of each warpgroup
  int plain_tiles[2];             // of these nothing is hidden and nothing is added to scores
};

__device__ __forceinline__ SplitTile split_tile(const SplitParams& params, unsigned index) {
  const Attention& p = params.p;
  const auto [of_head, tile] =
      tile_position(index, static_cast<unsigned>(params.layout.q_blocks / 2),
                    static_cast<unsigned>(p.batch * p.heads), params.order);
  const std::int64_t entry = of_head / p.heads, head = of_head % p.heads;
  SplitTile found;
  found.head = head_of(p, entry, head);
  found.first_query = tile * tile_queries;
  found.q_block = of_head * params.layout.q_blocks + tile * 2;
  found.k_block = (entry * p.kv_heads + head / (p.heads / p.kv_heads)) * params.layout.k_blocks;
  const std::int64_t queries = found.head.queries, keys = found.head.keys;
  const auto seen_by = [&](std::int64_t query) {
    return visible_keys(p.causal, query < queries ? query : queries - 1, queries, keys);
  };
  found.key_tiles =
      static_cast<int>(ceil_div(seen_by(found.first_query + tile_queries - 1), block_rows));
#pragma unroll
  for (int group = 0; group < 2; ++group) {
    const std::int64_t first = found.first_query + group * block_rows;
    // A warpgroup without queries goes along.
    found.own_tiles[group] =
        static_cast<int>(ceil_div(seen_by(first + block_rows - 1), block_rows));
    found.plain_tiles[group] =
        p.mask != nullptr ? 0 : static_cast<int>(seen_by(first) / block_rows);
  }
  return found;
}

template <int dim>
struct SplitShared {
  static constexpr int stages = dim <= 64 ? 3 : 2;
  alignas(128) char q[2][block_bytes(dim)];
  alignas(128) char k[stages][block_bytes(dim)];
  alignas(128) char v[stages][block_bytes(dim)];
#if !defined(__CUDACC__)
  // Host SIMT: where weights in registers pass through.
  alignas(128) char staged[2][8][2048], staged_q[2][8][2048];
#endif
  Mbarrier q_full, q_empty, k_full[stages], k_empty[stages], v_full[stages], v_empty[stages];
  // The tile that is computed, and the next.
  Mbarrier tile_full[2], tile_empty[2];
  SplitTile tiles[2];

  __device__ __forceinline__ void init_barriers() {
    mbarrier_init(&q_full, 1);
    mbarrier_init(&q_empty, 8);
    for (int s = 0; s < 2; ++s) {
      mbarrier_init(&tile_full[s], 1);
      mbarrier_init(&tile_empty[s], 8);
    }
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(&k_full[s], 1);
      mbarrier_init(&v_full[s], 1);
      mbarrier_init(&k_empty[s], 8);
      mbarrier_init(&v_empty[s], 8);
    }
    mbarrier_init_is_done();
  }
};

// One warp takes tiles of queries from the list, tells the others, and brings Q, then K and V tile
// by tile. Each tile is one block's, whichever that is, so results do not depend on it.
template <int dim>
class SplitProducer {
  using Shared = SplitShared<dim>;

 public:
  __device__ __forceinline__ SplitProducer(Shared& shared, const SplitParams& params)
      : shared_(shared), params_(params) {}

  __device__ __forceinline__ void run() {
    const unsigned count = static_cast<unsigned>(params_.q_items / 2);
    for (unsigned index = blockIdx.x; index < count; index = next_index()) {
      const SplitTile tile = split_tile(params_, index);
      if (tile.first_query >= tile.head.queries) continue;
      tell(tile);
      if (tile.key_tiles > 0) bring(tile);
    }
    SplitTile end{};
    end.key_tiles = -1;
    tell(end);
  }

 private:
  __device__ __forceinline__ unsigned next_index() const {
    unsigned taken = 0;
    if (threadIdx.x == 0) taken = atomicAdd(&params_.control().next_tile, 1u);
    return gridDim.x + __shfl_sync(whole_warp(), taken, 0);
  }
  __device__ __forceinline__ void tell(const SplitTile& tile) {
    mbarrier_wait(&shared_.tile_empty[tiles_.stage], tiles_.round ^ 1);
    if (threadIdx.x == 0) {
      shared_.tiles[tiles_.stage] = tile;
      mbarrier_arrive(&shared_.tile_full[tiles_.stage]);
    }
    __syncwarp();
    tiles_.advance();
  }
  // What is in memory from `from` on, once the barrier says that its place is free.
  __device__ __forceinline__ void bring(char* to, const char* from, unsigned bytes, Mbarrier& empty,
                                        unsigned parity, Mbarrier& full) {
    mbarrier_wait(&empty, parity);
    if (elect_one()) {
      mbarrier_arrive_expecting(&full, bytes);
      bulk_copy(to, from, bytes, &full);
    }
    __syncwarp();
  }
  __device__ __forceinline__ void bring(const SplitTile& tile) {
    constexpr unsigned bytes = block_bytes(dim);
    const char* const base = params_.workspace;
    bring(shared_.q[0], base + params_.layout.q + tile.q_block * bytes, 2 * bytes, shared_.q_empty,
          q_round_ ^ 1, shared_.q_full);
    q_round_ ^= 1;
    const char* k = base + params_.layout.k + tile.k_block * bytes;
    const char* v = base + params_.layout.v + tile.k_block * bytes;
    for (int i = 0; i < tile.key_tiles; ++i, ring_.advance(), k += bytes, v += bytes) {
      const int s = ring_.stage;
      bring(shared_.k[s], k, bytes, shared_.k_empty[s], ring_.round ^ 1, shared_.k_full[s]);
      bring(shared_.v[s], v, bytes, shared_.v_empty[s], ring_.round ^ 1, shared_.v_full[s]);
    }
  }

  Shared& shared_;
  const SplitParams& params_;
  Ring<2> tiles_;
  Ring<Shared::stages> ring_;
  unsigned q_round_ = 0;
};

}  // namespace KW_TARGET::attention_split
