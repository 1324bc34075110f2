// The parts of attention_pair: what is in shared memory, the task of a block, the copies.
#pragma once

#include "attention/pair_plan.hpp"
#include "attention/weights.hpp"
#include "device/async_copy.hpp"
#include "device/mbarrier.hpp"
#include "device/ring.hpp"
#include "device/thread_index.hpp"
#include "device/warp.hpp"

namespace KW_TARGET::attention {

constexpr int pair_team = 128;               // threads of a team
constexpr int pair_threads = 3 * pair_team;  // those who copy, weigh, and multiply with V

// A block's queries and which keys they meet here, each pair's apart.
struct PairTask {
  AttentionHead head;
  std::int64_t first_query, first_key;
  std::int64_t keys;  // from the first one on, that one of the block's queries meets
  int tiles;          // of those
  int own_tiles[PairConfig::pairs];
  int plain_tiles[PairConfig::pairs];  // of these nothing is hidden and nothing added to scores
  std::int64_t own_keys[PairConfig::pairs];
  // Of tiles of queries whose keys are cut: which one, and which part of it.
  std::int64_t cut_unit;  // less than 0: not cut
  int part;
};

template <int index>
struct PairParts {
  static constexpr PairConfig c = pair_configs[index];
  static constexpr int pairs = PairConfig::pairs;
  static constexpr int BM = c.rows(), BN = c.keys(), D = c.dim, WM = c.warp_rows();
  static constexpr int LM = c.lanes_m, LN = c.lanes_n(), TN = D / LN;
  static constexpr int steps = c.steps, v_stages_of_tile = BN / steps;
  static constexpr int a_pitch = WM + 4, b_pitch = D + 4;
  // Weights are handed over in groups of keys: of a group each thread has vectors of four.
  static constexpr int group_quads = steps > 4 * LN ? steps / (4 * LN) : 1;
  static constexpr int group_keys = 4 * LN * group_quads, groups = BN / group_keys;
  static constexpr int group_stages = group_keys / steps;
  static_assert(TN % 4 == 0 && BN % group_keys == 0 && group_keys % steps == 0);
  static_assert(steps % 8 == 0 && D % steps == 0);

  struct Shared {
    // Of each pair: [along the head][query], and [key][query].
    alignas(16) float q[pairs][D * a_pitch];
    alignas(16) float weights[pairs][BN * a_pitch];
    // K as [along the head][key], V as [key][along the head].
    alignas(16) float k[c.stages][steps * b_pitch];
    alignas(16) float v[c.stages][steps * b_pitch];
    alignas(16) float factors[pairs][WM];  // of the sums before a tile's
    alignas(16) float divisors[pairs][WM];
    Mbarrier k_full[c.stages], k_empty[c.stages], v_full[c.stages], v_empty[c.stages];
    Mbarrier w_full[pairs][groups], w_empty[pairs][groups], divisors_full[pairs];
    int rescales[pairs];
    bool comes_last;
    PairTask task;

    __device__ __forceinline__ void init_barriers() {
      for (int s = 0; s < c.stages; ++s) {
        mbarrier_init(&k_full[s], pair_team / 2);
        mbarrier_init(&k_empty[s], pairs);
        mbarrier_init(&v_full[s], pair_team / 2);
        mbarrier_init(&v_empty[s], pairs);
      }
      for (int pair = 0; pair < pairs; ++pair) {
        for (int g = 0; g < groups; ++g) {
          mbarrier_init(&w_full[pair][g], 1);
          mbarrier_init(&w_empty[pair][g], 1);
        }
        mbarrier_init(&divisors_full[pair], 1);
      }
    }
  };
};

template <int index>
__device__ __forceinline__ PairTask pair_task(const Attention& p, const PairSchedule& schedule,
                                              std::int64_t block) {
  using S = PairParts<index>;
  PairTask task;
  const std::int64_t beyond = block - schedule.whole;
  task.cut_unit = beyond < 0 || schedule.parts == 1 ? -1 : beyond / schedule.parts;
  task.part = task.cut_unit < 0 ? 0 : static_cast<int>(beyond % schedule.parts);
  const std::int64_t unit = task.cut_unit < 0 ? block : schedule.whole + task.cut_unit;
  const TilePosition position =
      tile_position(static_cast<unsigned>(unit), static_cast<unsigned>(ceil_div(p.queries, S::BM)),
                    static_cast<unsigned>(p.batch * p.heads), schedule.order);
  task.head = head_of(p, position.of_head / p.heads, position.of_head % p.heads);
  task.first_query = position.tile * S::BM;
  const std::int64_t queries = task.head.queries, keys = task.head.keys;
  const auto seen_by = [&](std::int64_t query) {
    return visible_keys(p.causal, query < queries ? query : queries - 1, queries, keys);
  };
  std::int64_t end = seen_by(task.first_query + S::BM - 1);
  task.first_key = 0;
  if (task.cut_unit >= 0) {
    const std::int64_t tiles = ceil_div(end, S::BN);
    task.first_key = tiles * task.part / schedule.parts * S::BN;
    const std::int64_t end_of_part = tiles * (task.part + 1) / schedule.parts * S::BN;
    if (end > end_of_part) end = end_of_part;
  }
  const auto here = [&](std::int64_t seen) {
    if (seen > end) seen = end;
    return seen > task.first_key ? seen - task.first_key : 0;
  };
  task.keys = here(end);
  task.tiles = static_cast<int>(ceil_div(task.keys, S::BN));
  for (int pair = 0; pair < S::pairs; ++pair) {
    const std::int64_t first = task.first_query + pair * S::WM;
    task.own_keys[pair] = first >= queries ? 0 : here(seen_by(first + S::WM - 1));
    task.own_tiles[pair] = static_cast<int>(ceil_div(task.own_keys[pair], S::BN));
    task.plain_tiles[pair] = task.head.mask != nullptr || !(p.scale > 0)
                                 ? 0
                                 : static_cast<int>(here(seen_by(first)) / S::BN);
  }
  return task;
}

// A thread of a pair: its rows are two groups of four, its columns groups of four.
template <int index>
struct PairPlace {
  using S = PairParts<index>;
  int warp, lane_m, lane_n;
  __device__ __forceinline__ PairPlace() {
    const int thread = reread_thread_index();
    warp = thread / 32 % S::pairs;
    lane_m = thread % S::LM;
    lane_n = thread % 32 / S::LM;
  }
  __device__ __forceinline__ int row_in_warp(int i) const {
    return i / 4 * (S::WM / 2) + lane_m * 4 + i % 4;
  }
  __device__ __forceinline__ int row(int i) const { return warp * S::WM + row_in_warp(i); }
  __device__ __forceinline__ int column(int j) const {
    return j / 4 * (4 * S::LN) + lane_n * 4 + j % 4;
  }
};

// The two teams that multiply bring the queries, once, turned; `thread` counts through both.
template <int index>
__device__ __forceinline__ void bring_queries(typename PairParts<index>::Shared& shared,
                                              const Attention& p, int thread) {
  using S = PairParts<index>;
  const PairTask& task = shared.task;
  const int dims = static_cast<int>(ceil_div(p.dim, S::steps) * S::steps);
#pragma unroll 2
  for (int i = thread; i < S::BM * dims; i += 2 * pair_team) {
    const int row = i / 8 % S::BM, d = i / (8 * S::BM) * 8 + i % 8;
    const std::int64_t query = task.first_query + row;
    const bool there = query < task.head.queries && d < p.dim;
    async_copy<4>(&shared.q[row / S::WM][d * S::a_pitch + row % S::WM],
                  there ? task.head.q + query * p.q_strides.row + d : task.head.q, there ? 4 : 0);
  }
  async_commit();
  async_wait<0>();
  sync_some_threads<1, 2 * pair_team>();
}

// Half of the copying team brings K, turned on its way: 4 bytes a copy, 4 keys x 8 elements a warp.
template <int index>
__device__ __forceinline__ void bring_keys(typename PairParts<index>::Shared& shared,
                                           const Attention& p, int thread) {
  using S = PairParts<index>;
  const PairTask& task = shared.task;
  const int lane = thread % 32, d = lane % 8, key = thread / 32 * 4 + lane / 8;
  const std::int64_t stride = p.k_strides.row;
  const int dim = static_cast<int>(p.dim), stages = ceil_div(dim, S::steps);
  const float* const base = task.head.k;
  const float* tile_from = base + (task.first_key + key) * stride + d;
  Ring<S::c.stages> ring;
#pragma unroll 1
  for (int tile = 0; tile < task.tiles; ++tile, tile_from += S::BN * stride) {
    const std::int64_t left = task.keys - std::int64_t{tile} * S::BN;
#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage, ring.advance()) {
      const int d0 = stage * S::steps;
      mbarrier_wait(&shared.k_empty[ring.stage], ring.round ^ 1);
      float* const to = shared.k[ring.stage] + d * S::b_pitch + key;
      const float* row = tile_from + d0;
      if (left >= S::BN && d0 + S::steps <= dim) {
        float* at = to;
#pragma unroll 1
        for (int n = 0; n < S::BN; n += 32) {
#pragma unroll
          for (int m = 0; m < 32; m += 8) {
#pragma unroll
            for (int octet = 0; octet < S::steps; octet += 8)
              async_copy<4>(at + octet * S::b_pitch + m, row + octet, 4);
            row += 8 * stride;
#if defined(__CUDA_ARCH__)
            asm volatile("" : "+l"(row));
#endif
          }
          at += 32;
        }
      } else {
#pragma unroll 2
        for (int n = 0; n < S::BN; n += 8, row += 8 * stride)
#pragma unroll
          for (int octet = 0; octet < S::steps; octet += 8) {
            const bool there = key + n < left && d0 + octet + d < dim;
            async_copy<4>(to + octet * S::b_pitch + n, there ? row + octet : base, there ? 4 : 0);
          }
      }
      mbarrier_arrive_after_copies(&shared.k_full[ring.stage]);
    }
  }
}

// The other half brings V as it lies.
template <int index>
__device__ __forceinline__ void bring_values(typename PairParts<index>::Shared& shared,
                                             const Attention& p, int thread, bool v16) {
  using S = PairParts<index>;
  const PairTask& task = shared.task;
  constexpr int vectors = S::D / 4;
  const std::int64_t stride = p.v_strides.row;
  const int dim = static_cast<int>(p.dim);
  const float* const base = task.head.v;
  Ring<S::c.stages> ring;
#pragma unroll 1
  for (std::int64_t key0 = 0; key0 < task.keys; key0 += S::steps, ring.advance()) {
    mbarrier_wait(&shared.v_empty[ring.stage], ring.round ^ 1);
    constexpr int half_team = pair_team / 2;
    if (half_team % vectors == 0 && v16 && key0 + S::steps <= task.keys && dim == S::D) {
      constexpr int rows_at_once = half_team % vectors == 0 ? half_team / vectors : 1;
      const float* row = base + (task.first_key + key0 + thread / vectors) * stride;
      row += thread % vectors * 4;
      float* at = shared.v[ring.stage] + thread / vectors * S::b_pitch + thread % vectors * 4;
#pragma unroll 2
      for (int key = 0; key < S::steps; key += rows_at_once) {
        async_copy<16>(at, row, 16);
        row += rows_at_once * stride;
        at += rows_at_once * S::b_pitch;
      }
    } else {
#pragma unroll 1
      for (int i = thread; i < S::steps * vectors; i += half_team) {
        const int key = i / vectors, d = i % vectors * 4;
        const float* row = base + (task.first_key + key0 + key) * stride + d;
        float* const at = shared.v[ring.stage] + key * S::b_pitch + d;
        const bool there = key0 + key < task.keys;
        if (v16) {
          const bool valid = there && d < dim;
          async_copy<16>(at, valid ? row : base, valid ? 16 : 0);
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const bool valid = there && d + e < dim;
            async_copy<4>(at + e, valid ? row + e : base, valid ? 4 : 0);
          }
        }
      }
    }
    mbarrier_arrive_after_copies(&shared.v_full[ring.stage]);
  }
}

}  // namespace KW_TARGET::attention
