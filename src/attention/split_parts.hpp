// What the warps of an attention_split block share: the tiles of queries, their place in shared
// memory, and the warp that takes tiles from the list and fetches pieces. The warps that make
// pieces are in split_maker.hpp, the warpgroups that multiply in split_consumer.hpp.
#pragma once

#include "attention/split_maker.hpp"
#include "attention/weights.hpp"
#include "device/bulk_copy.hpp"
#include "device/mbarrier.hpp"
#include "gpu/polling.hpp"

namespace KW_TARGET::attention_split {

using namespace attention;

constexpr int warpgroup_threads = 128, split_threads = 3 * warpgroup_threads;

// A tile of queries and the keys that they see, each warpgroup's 64 of them apart.
struct SplitTile {
  AttentionHead head;  // less k and v
  std::int64_t first_query, own_queries[2];
  std::int64_t k_block;  // the first one of all
  // Of keys: the block's, less than 0 where the list of tiles ends; those that each warpgroup's
  // queries see; and those of which nothing is hidden and nothing added to scores.
  int key_tiles, own_tiles[2], plain_tiles[2];
};

// One thread writes what it finds out, one thing after the other, so that it needs few registers.
// Where causal, the later half of the queries sees more keys: every other tile of a block it is the
// first warpgroup's, so that neither has more work than the other.
__device__ __forceinline__ void find_tile(SplitTile& found, const SplitParams& params,
                                          unsigned index, unsigned tiles_before) {
  const Attention& p = params.p;
  const unsigned swaps = params.order.has_late_tiles ? tiles_before % 2 : 0;
  const auto [of_head, tile] =
      tile_position(index, static_cast<unsigned>(params.layout.q_tiles),
                    static_cast<unsigned>(p.batch * p.heads), params.order);
  const unsigned heads = static_cast<unsigned>(p.heads),
                 entry = static_cast<unsigned>(of_head) / heads,
                 of_entry = static_cast<unsigned>(of_head) % heads,
                 kv_head = of_entry / (heads / static_cast<unsigned>(p.kv_heads));
  found.k_block = (entry * p.kv_heads + kv_head) * params.layout.k_blocks;
  const AttentionHead head = head_of(p, entry, of_entry, kv_head);
  found.head.q = head.q;
  found.head.o = head.o;
  found.head.mask = head.mask;
  found.head.queries = head.queries;
  found.head.keys = head.keys;
  const std::int64_t first_query = tile * tile_queries;
  found.first_query = first_query;
  const auto seen_by = [&](std::int64_t query) {
    const std::int64_t last = head.queries - 1;
    return visible_keys(p.causal, query < last ? query : last, head.queries, head.keys);
  };
  const auto tiles_seen_by = [&](std::int64_t query) {
    return static_cast<int>(ceil_div(seen_by(query), block_rows));
  };
  found.key_tiles = tiles_seen_by(first_query + tile_queries - 1);
#pragma unroll
  for (int group = 0; group < 2; ++group) {
    const std::int64_t first =
        first_query + static_cast<int>(static_cast<unsigned>(group) ^ swaps) * block_rows;
    found.own_queries[group] = first;
    // A warpgroup without queries goes along.
    found.own_tiles[group] = tiles_seen_by(first + block_rows - 1);
    found.plain_tiles[group] =
        p.mask != nullptr || !(p.scale > 0) ? 0 : static_cast<int>(seen_by(first) / block_rows);
  }
}

// A place in a ring of buffers and the parity of its barriers' phase (device/mbarrier.hpp), by the
// number of buffers that went before: one register.
template <unsigned stages>
struct Turn {
  static_assert((stages & (stages - 1)) == 0);
  unsigned count = 0;

  __device__ __forceinline__ unsigned stage() const { return count % stages; }
  __device__ __forceinline__ unsigned round() const { return count / stages % 2; }
  __device__ __forceinline__ void advance() { ++count; }
};

// At head sizes up to 128; split_wide.hpp has the others.
template <int dim>
struct SplitShared {
  static constexpr bool keeps_queries = dim <= 64;  // split_consumer.hpp
  static constexpr bool has_parts = false;
#if defined(__CUDACC__)
  static constexpr int stages = dim <= 64 ? 4 : 2;
#else
  // Host SIMT: beside them is where weights and queries in registers pass through.
  static constexpr int stages = dim <= 64 ? 2 : 1;
  alignas(128) char staged[2][8][2048], staged_q[2][keeps_queries ? 8 : 1][2048];
#endif
  alignas(128) char k[stages][block_bytes(dim)];
  alignas(128) char v[stages][block_bytes(dim)];
  alignas(128) char q[keeps_queries ? 1 : 2][keeps_queries ? 128 : block_bytes(dim)];
  alignas(16) float queries[keeps_queries ? tile_queries * (dim + 8) : 1];
  MakerShared<dim> makers;
  Mbarrier k_full[stages], k_empty[stages], v_full[stages], v_empty[stages];
  // The tile that is computed, and the next.
  Mbarrier tile_full[2], tile_empty[2];
  SplitTile tiles[2];
  // Powers of two by which products are multiplied; of K's a round more, as they are needed longer.
  float k_unscale[2 * stages], v_unscale[stages];
  float query_factor[tile_queries];
  unsigned lone_keys[tile_queries];
  std::uint32_t largest_key[2];  // bits of a tile's keys; there when the last of them is
  std::uint32_t largest_query[8];

  __device__ __forceinline__ void init_barriers() {
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
    makers.list_ends = false;
    mbarrier_init_is_done();
  }
  using Place = Turn<stages>;

  // Where element d of a row of a warpgroup's next queries comes to lie, as it is: in a place of
  // its own, or in that of the pieces whose last products are done. Four of a row stay together;
  // those of four rows lie in different banks.
  __device__ __forceinline__ float* next_query(int group, int row, int d) {
    if constexpr (keeps_queries)
      return queries + (group * block_rows + row) * (dim + 8) + d;
    else
      return reinterpret_cast<float*>(q[group]) + row * dim + (d ^ row % 4 * 8);
  }
  // No tile of queries is left.
  __device__ __forceinline__ void end_list() {
    *static_cast<volatile bool*>(&makers.list_ends) = true;
  }
};

// The power of two by which products with a block are multiplied whose largest element has these
// bits.
__device__ __forceinline__ float unscale_of(std::uint32_t largest) {
  const int scale = kw::split::fp16_scale(largest);
  return kw::split::power_of_two(scale_holds(scale) ? -scale : 0);
}

// One warp takes tiles of queries from the list, tells the others, and brings K and V tile by tile,
// once their pieces are there. Each tile is one block's, whichever that is, so results do not
// depend on it.
template <int dim>
class SplitProducer {
  using Shared = SplitShared<dim>;
  static constexpr int lookahead = warp_lanes / 2;  // half of the lanes see notes of K, half of V

 public:
  __device__ __forceinline__ SplitProducer(Shared& shared, const SplitParams& params)
      : shared_(shared), params_(params), lane_(static_cast<int>(threadIdx.x % warp_lanes)) {}

  __device__ __forceinline__ void run() {
    const unsigned count = static_cast<unsigned>(params_.q_tiles);
    for (unsigned index = blockIdx.x; index < count; index = next_index()) {
      wait_for_place();
      SplitTile& tile = shared_.tiles[tiles_.stage()];
      if (lane_ == 0) find_tile(tile, params_, index, tiles_.count);
      __syncwarp();
      const bool has_queries = tile.first_query < tile.head.queries;
      if (has_queries) tell();
      // Q, K and V were there before the workspace was cleared.
      wait_for_previous_kernel();
      if (!has_queries) continue;
      bring(tile.k_block, tile.key_tiles);
      tiles_.advance();
    }
    if (lane_ == 0) shared_.end_list();
    wait_for_place();
    if (lane_ == 0) shared_.tiles[tiles_.stage()].key_tiles = -1;
    tell();
  }

 private:
  __device__ __forceinline__ unsigned next_index() const {
    unsigned taken = 0;
    // Where plain FP32 computes, the rest of the list is of no use.
    if (lane_ == 0)
      taken = params_.takes_fp32() ? 0x7FFFFFFFu : atomicAdd(&params_.control().next_tile, 1u);
    return gridDim.x + __shfl_sync(whole_warp(), taken, 0);
  }
  __device__ __forceinline__ void wait_for_place() {
    mbarrier_wait(&shared_.tile_empty[tiles_.stage()], tiles_.round() ^ 1);
  }
  __device__ __forceinline__ void tell() {
    if (lane_ == 0) mbarrier_arrive(&shared_.tile_full[tiles_.stage()]);
    __syncwarp();
  }
  // The notes of 16 blocks of K and V from `first` on, a lane each; 0 where there is none yet.
  __device__ __forceinline__ std::uint32_t look(std::int64_t first, int count) const {
    const int i = lane_ % lookahead;
    const std::uint32_t seen =
        i < count ? see_note(params_.note(lane_ >= lookahead, first + i)) : 0;
    __syncwarp();
    global_writes_before_copies();
    return seen;
  }
  // The note of block `first + i % 16` of K, or of V, once it is there.
  __device__ __forceinline__ std::uint32_t wait_for(bool of_v, std::int64_t first, int i,
                                                    int count) {
    for (;;) {
      const std::uint32_t note =
          __shfl_sync(whole_warp(), notes_, i % lookahead + (of_v ? lookahead : 0));
      if (note != 0) return note & ~is_split;
      gpu::between_looks();
      notes_ = look(first, count);
    }
  }
  // Pieces of a block, once the barrier says that their place is free, and the power of two by
  // which their products are multiplied.
  __device__ __forceinline__ void bring(char* to, const char* pieces, std::int64_t block,
                                        float& unscale, std::uint32_t largest, Mbarrier& empty,
                                        Mbarrier& full) {
    constexpr unsigned bytes = block_bytes(dim);
    mbarrier_wait(&empty, ring_.round() ^ 1);
    if (elect_one()) {
      unscale = unscale_of(largest);
      shared_.largest_key[tiles_.stage()] = largest_key_;
      mbarrier_arrive_expecting(&full, bytes);
      bulk_copy(to, pieces + block * bytes, bytes, &full);
    }
    __syncwarp();
  }
  __device__ __forceinline__ void bring_k(std::int64_t block, std::uint32_t largest) {
    const char* const pieces = params_.workspace + params_.layout.k;
    if constexpr (Shared::has_parts) {
      shared_.bring_k(ring_, pieces + block * block_bytes(dim), unscale_of(largest), tiles_.stage(),
                      largest_key_);
    } else {
      const unsigned s = ring_.stage();
      bring(shared_.k[s], pieces, block, shared_.k_unscale[ring_.count % (2 * Shared::stages)],
            largest, shared_.k_empty[s], shared_.k_full[s]);
    }
  }
  __device__ __forceinline__ void bring_v(std::int64_t block, std::uint32_t largest) {
    const char* const pieces = params_.workspace + params_.layout.v;
    if constexpr (Shared::has_parts) {
      shared_.bring_v(ring_, pieces + block * block_bytes(dim), unscale_of(largest), tiles_.stage(),
                      largest_key_);
    } else {
      const unsigned s = ring_.stage();
      bring(shared_.v[s], pieces, block, shared_.v_unscale[s], largest, shared_.v_empty[s],
            shared_.v_full[s]);
      ring_.advance();
    }
  }
  __device__ __forceinline__ void bring(std::int64_t first, int count) {
    std::uint32_t most = 0, least = ~0u;  // of V
    largest_key_ = 0;
    for (int i = 0; i < count; ++i) {
      const std::int64_t group = first + i / lookahead * lookahead;
      const int seen = count - i / lookahead * lookahead;
      if (i % lookahead == 0) notes_ = look(group, seen);
      const std::uint32_t of_k = wait_for(false, group, i, seen);
      if (of_k > largest_key_) largest_key_ = of_k;
      bring_k(first + i, of_k);
      const std::uint32_t of_v = wait_for(true, group, i, seen);
      bring_v(first + i, of_v);
      if (of_v > most) most = of_v;
      if (of_v != 0 && of_v < least) least = of_v;
    }
    if (!values_hold(most, least) && lane_ == 0) params_.take_fp32();
  }

  Shared& shared_;
  const SplitParams& params_;
  int lane_;
  Turn<2> tiles_;
  typename Shared::Place ring_;
  std::uint32_t notes_ = 0, largest_key_ = 0;
};

}  // namespace KW_TARGET::attention_split
