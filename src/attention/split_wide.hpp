// attention_split at head sizes above 128. O alone takes half of the registers, and Q's pieces more
// than half of shared memory. So K and V come in parts of 64 columns through one ring, K's four and
// V's four in turns; scores and the products of weights with a part of V's columns share registers;
// and while a warpgroup adds to O, the other one has the tensor cores. Pieces are made by a launch
// in front.
#pragma once

#include "attention/split_consumer.hpp"
#include "device/ring.hpp"

namespace KW_TARGET::attention_split {

constexpr int wide_dim = 256, part_columns = 64, wide_parts = wide_dim / part_columns,
              part_bytes = block_bytes(part_columns);

template <>
struct SplitShared<wide_dim> {
  static constexpr bool keeps_queries = false, has_parts = true;
#if defined(__CUDACC__)
  static constexpr int stages = 6;
#else
  static constexpr int stages = 4;  // all of K's parts are there together
  alignas(128) char staged[2][8][2048];
#endif
  alignas(128) char parts[stages][part_bytes];
  alignas(128) char q[2][block_bytes(wide_dim)];
  Mbarrier full[stages], empty[stages];
  Mbarrier tile_full[2], tile_empty[2];
  SplitTile tiles[2];
  float k_unscale[2], v_unscale[2];  // of a tile of keys, and of the next
  float query_factor[tile_queries];
  unsigned lone_keys[tile_queries];
  std::uint32_t largest_key[2], largest_query[8];

  // In the ring, and which of the two tiles of keys that have powers of two there.
  struct Place : Ring<stages> {
    unsigned turn = 0;
  };

  __device__ __forceinline__ void init_barriers() {
    for (int s = 0; s < 2; ++s) {
      mbarrier_init(&tile_full[s], 1);
      mbarrier_init(&tile_empty[s], 8);
    }
    for (int s = 0; s < stages; ++s) {
      mbarrier_init(&full[s], 1);
      mbarrier_init(&empty[s], 8);
    }
    mbarrier_init_is_done();
  }
  __device__ __forceinline__ void end_list() {}

  // The warp that fetches brings all parts of a block, each once its place is free.
  __device__ __forceinline__ void bring_k(Place& place, const char* pieces, float unscale,
                                          unsigned tile, std::uint32_t largest) {
    bring(place, pieces, part_bytes, k_unscale[place.turn], unscale, largest_key[tile], largest);
  }
  // Of V a part has its columns of the first 32 keys and those of the others.
  __device__ __forceinline__ void bring_v(Place& place, const char* pieces, float unscale,
                                          unsigned tile, std::uint32_t largest) {
    bring(place, pieces, part_bytes / 2, v_unscale[place.turn], unscale, largest_key[tile],
          largest);
    place.turn ^= 1;
  }

 private:
  // In runs of so many bytes, one of each half of the block where there are two.
  __device__ __forceinline__ void bring(Place& place, const char* pieces, unsigned run,
                                        float& own_unscale, float unscale,
                                        std::uint32_t& own_largest, std::uint32_t largest) {
#pragma unroll 1
    for (unsigned part = 0; part < wide_parts; ++part, place.advance()) {
      const int s = place.stage;
      mbarrier_wait(&empty[s], place.round ^ 1);
      if (elect_one()) {
        own_unscale = unscale;
        own_largest = largest;
        mbarrier_arrive_expecting(&full[s], part_bytes);
        for (unsigned at = 0; at < part_bytes; at += run)
          bulk_copy(parts[s] + at, pieces + part * run + at * wide_parts, run, &full[s]);
      }
      __syncwarp();
    }
  }
};

// Of SplitConsumer it has all but the products.
class WideConsumer : SplitConsumer<wide_dim> {
 public:
  __device__ __forceinline__ WideConsumer(Shared& shared, const SplitParams& params, int group)
      : SplitConsumer(shared, params, group) {}

  __device__ __forceinline__ void run() {
    for (;;) {
      mbarrier_wait(&shared_.tile_full[tiles_.stage()], tiles_.round());
      if (tile().key_tiles < 0) return;
      const int own = tile().own_tiles[group_];
      if (own > 0) take_queries();
      begin();
#pragma unroll 1
      for (int i = 0; i < own; ++i) step(i);
      for (int i = own * 2 * wide_parts; i < tile().key_tiles * 2 * wide_parts; ++i) {
        wait_for_part();
        __syncwarp();
        leave_part();
      }
      turn_ = (turn_ + tile().key_tiles - own) % 2;
      if (own > 0) check_scores();
      store();
      __syncwarp();
      release(shared_.tile_empty[tiles_.stage()]);
      tiles_.advance();
    }
  }

 private:
  __device__ __forceinline__ void wait_for_part() const {
    mbarrier_wait(&shared_.full[parts_.stage], parts_.round);
  }
  __device__ __forceinline__ void leave_part() {
    release(shared_.empty[parts_.stage]);
    parts_.advance();
  }
  __device__ __forceinline__ void step(int key_tile) {
    multiply_keys();
    float factor[2];
    find_factors(shared_.k_unscale[turn_], factor);
    finish_scores(key_tile, factor);
    weigh(factor, key_tile);
    multiply_values();
    turn_ ^= 1;
  }

  // x = Q K^T, the small products of all parts first.
  __device__ __forceinline__ void multiply_keys() {
    const WgmmaOperand q = wgmma_operand(shared_.q[group_], 128, 1024);
    const Ring<Shared::stages> first = parts_;
    const auto issue = [&](auto part, auto k16, unsigned a, unsigned b, bool add) {
      constexpr unsigned at = k16 / 2 * block_rows * 128 + k16 % 2 * 512;
      const WgmmaOperand k = wgmma_operand(shared_.parts[parts_.stage], 128, 1024);
      wgmma<Half::fp16, block_rows>(x_, advance(q, part * part_bytes + at + a * 256),
                                    advance(k, at + b * 256), add);
    };
    repeat<wide_parts>([&](auto part) {
      wait_for_part();
      if (part == 0) wgmma_fence();
      repeat<part_columns / 16>([&](auto k16) {
        issue(part, k16, 1, 0, part > 0 || k16 > 0);
        issue(part, k16, 0, 1, true);
      });
      parts_.advance();
    });
    parts_ = first;
    repeat<wide_parts>([&](auto part) {
      repeat<part_columns / 16>([&](auto k16) { issue(part, k16, 0, 0, true); });
      parts_.advance();
    });
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_keep(x_);
    parts_ = first;
    __syncwarp();
    for (int part = 0; part < wide_parts; ++part) leave_part();
  }

  // O = O * factor + P V, 64 columns at a time.
  __device__ __forceinline__ void multiply_values() {
    repeat<wide_parts>([&](auto part) {
      wait_for_part();
      const float unscale = shared_.v_unscale[turn_];
      issue_weighted<part_columns>(x_, shared_.parts[parts_.stage]);
      wgmma_wait<0>();
      wgmma_keep(x_);
      __syncwarp();
      leave_part();
#pragma unroll
      for (int i = 0; i < scores; ++i) {
        float& o = o_[part * scores + i];
        o = fmaf(x_[i], unscale, o);
      }
    });
  }

  Ring<Shared::stages> parts_;  // of the next part
  unsigned turn_ = 0;           // of the tile of keys, for its powers of two
};

}  // namespace KW_TARGET::attention_split
