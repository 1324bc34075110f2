// A block's shared memory, and the pipeline between its producers and consumers: a ring of stages,
// each with a barrier that says that it is full and one that says that it is empty.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/mbarrier.hpp"
#include "device/ring.hpp"
#include "sgemm/hopper/packed_rows.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/tuning.hpp"
#include "sgemm/hopper/unscale.hpp"

namespace KW_TARGET::hopper {

constexpr int warpgroup = 128;
constexpr int consumer_threads = 2 * warpgroup;
// The first warpgroups of a block: one with both producers, or two of makers (maker.hpp).
constexpr int maker_threads = 2 * warpgroup;
constexpr int producer_threads(const Tile& tile) {
  return tile.is_direct() ? maker_threads : warpgroup;
}
constexpr int tile_threads(const Tile& tile) { return producer_threads(tile) + consumer_threads; }
__device__ __forceinline__ void sync_consumers() { sync_some_threads<1, consumer_threads>(); }

template <Scheme scheme, Tile tile>
struct Shared {
  // A warpgroup that takes every other stage meets a buffer every other time around: with an odd
  // number of stages it would take one phase of its barrier for the next but one.
  static_assert(!tile.shares_rows || (tile.stages % 2 == 0 && tile.window == 1));
  static constexpr int a_bytes = stage_bytes(tile.bm(), scheme.pieces);
  static constexpr int b_bytes = stage_bytes(tile.bn, scheme.pieces);
  static constexpr int exchange_quads = tile.bm() * tile.bn / 4;  // of a tile, among blocks
  static constexpr int exchange_floats = tile.shares_rows ? tile.bm() * tile.bn : 1;

  struct alignas(128) Stage {
    char a[a_bytes], b[b_bytes];
  };
  Stage stages[tile.stages];
  float exchange[exchange_floats];  // sums on their way to the other warpgroup (split_k.hpp)
  bool comes_last[2];               // of the blocks that share the tile, with a warpgroup's rows
  bool selected;                    // this kernel computes the product; valid
  Mbarrier path_selected;           // once this phase is over
  bool has_outliers;
  float drift;                             // as Control has it
  unsigned begun[warpgroup / warp_lanes];  // when the first warpgroup began a run (lead.hpp)
  SizeRange other_range;                   // of the operand that the makers do not read
  PackedRows other_rows;                   // its rows of a tile: makers have no registers for that
  WarpScales<tile.m64_blocks, tile.own_columns()>
      scales[scheme.fp16 ? consumer_threads / warp_lanes : 1];
  Mbarrier full[tile.stages], empty[tile.stages];

  // One thread calls this, before the block meets at __syncthreads.
  __device__ __forceinline__ void init_barriers() {
    constexpr unsigned readers = tile.shares_rows ? 4 : 8;  // warps
    // The producers; or the makers' warps, and the copies by one of them.
    constexpr unsigned writers = tile.is_direct() ? 1 + maker_threads / warp_lanes : 2;
    for (int s = 0; s < tile.stages; ++s) {
      mbarrier_init(&full[s], writers);
      mbarrier_init(&empty[s], readers);
    }
    mbarrier_init(&path_selected, 1);
    mbarrier_init_is_done();
  }
};

// One role's walk around the ring. A producer acquires a stage, commits its copies and advances; a
// consumer waits for a stage, advances, and releases the stage once it has been read.
template <Scheme scheme, Tile tile>
class Pipeline {
 public:
  __device__ __forceinline__ explicit Pipeline(Shared<scheme, tile>& shared) : shared_(shared) {}

  __device__ __forceinline__ auto& stage() { return shared_.stages[ring_.stage]; }
  __device__ __forceinline__ int index() const { return ring_.stage; }
  __device__ __forceinline__ void advance() { ring_.advance(); }

  // Waits until the consumers have released the stage.
  __device__ __forceinline__ void acquire() {
    mbarrier_wait(&shared_.empty[ring_.stage], ring_.round ^ 1);
  }
  // Announces copies of `bytes` bytes into the stage. They arrive at the barrier that this returns;
  // the stage is full when both operands' copies have landed. One thread of a producer calls it.
  __device__ __forceinline__ Mbarrier* commit(int bytes) {
    Mbarrier* const full = &shared_.full[ring_.stage];
    mbarrier_arrive_expecting(full, static_cast<unsigned>(bytes));
    return full;
  }
  // At which copies into the stage arrive, and whoever else has written a part of it.
  __device__ __forceinline__ Mbarrier* full() { return &shared_.full[ring_.stage]; }

  // Waits until the stage is full.
  __device__ __forceinline__ void wait() { mbarrier_wait(&shared_.full[ring_.stage], ring_.round); }
  // This warp has read the stage of that index. One lane calls it.
  __device__ __forceinline__ void release(int index) { mbarrier_arrive(&shared_.empty[index]); }

 private:
  Shared<scheme, tile>& shared_;
  Ring<tile.stages> ring_;
};

}  // namespace KW_TARGET::hopper
