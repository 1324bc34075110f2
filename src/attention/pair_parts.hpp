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
  const auto tiles_of_head = static_cast<unsigned>(ceil_div(p.queries, S::BM)),
             heads = static_cast<unsigned>(p.batch * p.heads);
  const auto beyond = static_cast<unsigned>(block - schedule.whole),
             cut_units = tiles_of_head * heads - static_cast<unsigned>(schedule.whole),
             others = static_cast<unsigned>(schedule.parts - 1);
  task.cut_unit = -1;
  task.part = 0;
  if (block >= schedule.whole && others > 0) {
    const bool is_first = beyond < cut_units;
    task.cut_unit = is_first ? beyond : (beyond - cut_units) / others;
    task.part = is_first ? 0 : 1 + static_cast<int>((beyond - cut_units) % others);
  }
  const std::int64_t unit = task.cut_unit < 0 ? block : schedule.whole + task.cut_unit;
  const TilePosition position =
      tile_position(static_cast<unsigned>(unit), tiles_of_head, heads, schedule.order);
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
    task.first_key = schedule.begin_of(task.part, tiles) * S::BN;
    const std::int64_t end_of_part = schedule.begin_of(task.part + 1, tiles) * S::BN;
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
    task.plain_tiles[pair] =
        scales_products(p) ? 0 : static_cast<int>(here(seen_by(first)) / S::BN);
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
  const int dims = static_cast<int>(ceil_div(p.dim, S::steps) * S::steps),
            dim = static_cast<int>(p.dim);
  // 8 elements of so many rows at a time.
  constexpr int rows_at_once = 2 * pair_team / 8;
  static_assert(S::BM % rows_at_once == 0);
  const std::int64_t left = task.head.queries - task.first_query;
#pragma unroll 1
  for (int first = 0; first < S::BM; first += rows_at_once) {
    const int row = first + thread / 8;
    const bool is_query = row < left;
    const float* from = task.head.q + (is_query ? (task.first_query + row) * p.q_strides.row : 0);
    float* const to = &shared.q[row / S::WM][row % S::WM];
#pragma unroll 4
    for (int d = thread % 8; d < dims; d += 8) {
      const bool there = is_query && d < dim;
      async_copy<4>(to + d * S::a_pitch, there ? from + d : from, there ? 4 : 0);
    }
  }
  async_commit();
  async_wait<0>();
  sync_some_threads<1, 2 * pair_team>();
}

// A row's copies are started. Keeps the compiler from computing many addresses ahead; and a burst
// of copies holds up the loads of those who multiply, so a warp rests between rows, where a
// stage is long enough.
template <int steps>
__device__ __forceinline__ void after_row([[maybe_unused]] const float*& row) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(row));
#if __CUDA_ARCH__ >= 700
  constexpr unsigned rest_ns = 100;
  if (steps >= 32) __nanosleep(rest_ns);
#endif
#endif
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
        // Straight code: every instruction of this team takes a slot, and the reuse cache, from
        // one that multiplies.
#pragma unroll
        for (int n = 0; n < S::BN; n += 8) {
#pragma unroll
          for (int octet = 0; octet < S::steps; octet += 8)
            async_copy<4>(to + octet * S::b_pitch + n, row + octet, 4);
          row += 8 * stride;
          after_row<S::steps>(row);
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
  constexpr int vectors = S::D / 4, half_team = pair_team / 2;
  constexpr bool takes_whole_rows = half_team % vectors == 0;
  constexpr int rows_at_once = takes_whole_rows ? half_team / vectors : 1;
  const std::int64_t stride = p.v_strides.row, keys = task.keys, first_key = task.first_key;
  const int dim = static_cast<int>(p.dim);
  const float* const base = task.head.v;
  const bool copies_rows = takes_whole_rows && v16 && dim == S::D;
  const float* row = base + (first_key + thread / vectors) * stride + thread % vectors * 4;
  Ring<S::c.stages> ring;
#pragma unroll 1
  for (std::int64_t key0 = 0; key0 < keys; key0 += S::steps, ring.advance()) {
    mbarrier_wait(&shared.v_empty[ring.stage], ring.round ^ 1);
    if (copies_rows && key0 + S::steps <= keys) {
      float* const at = shared.v[ring.stage] + thread / vectors * S::b_pitch + thread % vectors * 4;
#pragma unroll
      for (int key = 0; key < S::steps; key += rows_at_once) {
        async_copy<16>(at + key * S::b_pitch, row, 16);
        row += rows_at_once * stride;
        after_row<S::steps>(row);
      }
    } else {
#pragma unroll 1
      for (int i = thread; i < S::steps * vectors; i += half_team) {
        const int key = i / vectors, d = i % vectors * 4;
        const float* from = base + (first_key + key0 + key) * stride + d;
        float* const at = shared.v[ring.stage] + key * S::b_pitch + d;
        const bool there = key0 + key < keys;
        if (v16) {
          const bool valid = there && d < dim;
          async_copy<16>(at, valid ? from : base, valid ? 16 : 0);
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const bool valid = there && d + e < dim;
            async_copy<4>(at + e, valid ? from + e : base, valid ? 4 : 0);
          }
        }
      }
    }
    mbarrier_arrive_after_copies(&shared.v_full[ring.stage]);
  }
}

}  // namespace KW_TARGET::attention
