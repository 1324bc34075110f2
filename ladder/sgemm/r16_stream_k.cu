// r16: the steps of all tiles, shared evenly among the SMs.
//
// Idea        One block a tile wastes what the last wave leaves empty: 4096 has 512 tiles of
//             128x256 for 132 SMs, 3.9 waves that take the time of 4; 1024 has 32. Here there is
//             one block per SM, and what is shared out are the steps along k of all tiles, one
//             tile after the other: each block gets the same number, wherever in a tile that begins
//             and ends. Of the blocks that computed a tile, the one that arrives last adds up the
//             parts (the stream-K fixup), in the order of k. No block waits for another.
// Prediction  4096: 3.88 waves' work in 3.88 waves' time instead of 4 is +3 %, less the parts: each
//             block leaves two of 128 KiB at most and adds up about two, some 5 us of 2.7 ms. 1024:
//             all SMs work instead of 32, on 1/4 of a tile each, and four parts are added up: two
//             to three times as fast.
// Limits      The last block at a tile reads all its parts: a small product of one tile is cut into
//             as many parts as it has stages, and adding them up takes longer than the product.
//             Blocks drift apart along m and n, so that L2 serves less than it could; src/sgemm's
//             stream_tile shares only the last wave, and chooses among tile sizes and cuts.
// Original    None in S1 to S5. Stream-K: Osama, Merrill, Cecka, Garland, Owens 2023.
#include <algorithm>

#include "device/mbarrier.hpp"
#include "device/ring.hpp"
#include "device/ticket.hpp"
#include "wide_tile.hpp"

namespace KW_TARGET {
namespace r16 {

using namespace wide_tile;

constexpr int stages = 3;
constexpr int copiers = 128;          // a warpgroup: registers move between warpgroups only
constexpr int vectors = TM * TN / 4;  // of a thread

struct Shared {
  Stage stage[stages];
  Mbarrier full[stages], free[stages];
  bool last;  // whether this block came last at a tile
};

// A run of stages of one tile.
struct Part {
  std::int64_t tile, begin, end;
};

// All stages of all tiles, numbered through. Block b has those from first(b) to first(b + 1) - 1.
struct Shares {
  std::int64_t tiles_n, depth, all;  // stages of a tile, of all tiles
  std::int64_t blocks;

  explicit Shares(const PlainSgemm& p, int sms)
      : tiles_n(ceil_div(p.n, BN)),
        depth(std::max<std::int64_t>(1, ceil_div(p.k, BK))),  // of zeros, where k is 0
        all(ceil_div(p.m, BM) * tiles_n * depth),
        blocks(std::min<std::int64_t>(all, std::max(1, sms))) {}

  __device__ std::int64_t first(std::int64_t block) const {
    const std::int64_t each = all / blocks, longer = all % blocks;
    return block * each + (block < longer ? block : longer);
  }
  __device__ std::int64_t block_of(std::int64_t stage) const {
    const std::int64_t each = all / blocks, of_longer = all % blocks * (each + 1);
    return stage < of_longer ? stage / (each + 1) : (stage - (all % blocks)) / each;
  }
  __device__ Part part_from(std::int64_t stage, std::int64_t end) const {
    const std::int64_t tile = stage / depth, tile_end = (tile + 1) * depth;
    return {tile, stage - tile * depth, (end < tile_end ? end : tile_end) - tile * depth};
  }
  __device__ TileOrigin origin(std::int64_t tile) const {
    return {tile / tiles_n * BM, tile % tiles_n * BN};
  }
  // Where a block leaves its part of a tile: it begins at most one tile and ends at most one.
  __device__ static std::int64_t slot(std::int64_t block, bool begins_tile) {
    return 2 * block + (begins_tile ? 1 : 0);
  }
};

template <bool Edges>
__device__ __forceinline__ void produce(Shared& shared, const PlainSgemm& p, const Shares& shares) {
  const std::int64_t end = shares.first(blockIdx.x + 1);
  Ring<stages> ring;
  for (std::int64_t at = shares.first(blockIdx.x); at < end;) {
    const Part part = shares.part_from(at, end);
    TileCopy<Edges, copiers> copy(p, shares.origin(part.tile), part.begin * BK,
                                  static_cast<int>(threadIdx.x));
    for (std::int64_t s = part.begin; s < part.end; ++s, ++at, ring.advance()) {
      mbarrier_wait(&shared.free[ring.stage], ring.round ^ 1);
      copy.next(shared.stage[ring.stage]);
      mbarrier_arrive_after_copies(&shared.full[ring.stage]);
    }
  }
}

// acc = the product over the ring's next stages; r15's loop, but that the last stage is freed too.
__device__ __forceinline__ void multiply(Shared& shared, Ring<stages>& ring, Place own, int thread,
                                         int steps, float (&acc)[TM][TN]) {
  const float *as = nullptr, *bs = nullptr;
  const auto enter_stage = [&] {
    mbarrier_wait(&shared.full[ring.stage], ring.round);
    as = &shared.stage[ring.stage].as[0][own.row];
    bs = &shared.stage[ring.stage].bs[0][own.col];
  };
  Fragments fragments[2];
  enter_stage();
  fragments[0].load(as, bs, 0);
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) acc[i][j] = 0;
#pragma unroll 1
  for (int step = 0; step < steps; step += 2) {
    fragments[1].load(as, bs, 1);
    outer_product(acc, fragments[0]);
    as += 2 * pitch_a;
    bs += 2 * pitch_b;
    if ((step + 2) % BK == 0 && step + 2 < steps) {
      sync_some_threads<1, threads>();
      if (thread == 0) mbarrier_arrive(&shared.free[ring.stage]);
      ring.advance();
      enter_stage();
    }
    if (step + 2 < steps) fragments[0].load(as, bs, 0);
    outer_product(acc, fragments[1]);
  }
  sync_some_threads<1, threads>();
  if (thread == 0) mbarrier_arrive(&shared.free[ring.stage]);
  ring.advance();
}

// A block's part of a tile in the workspace: [slot][vector][thread].
__device__ __forceinline__ float4* part_at(const Workspace& workspace, std::int64_t slot,
                                           int thread) {
  return static_cast<float4*>(workspace.data) + slot * (BM * BN / 4) + thread;
}

// Leaves this block's part with the others'. True where it came last: then acc is the tile's sum.
__device__ __forceinline__ bool gather(Shared& shared, const Shares& shares, const Part& part,
                                       const Workspace& workspace, int thread,
                                       float (&acc)[TM][TN]) {
  float4* const mine = part_at(workspace, Shares::slot(blockIdx.x, part.begin == 0), thread);
#pragma unroll
  for (int v = 0; v < vectors; ++v) {
    // Swapped: what leaves by 16 bytes stays in an aligned quad of registers throughout, and then
    // acc[i][j] lies in the other register bank than b[j], which came by 16 bytes too.
    const float* x = &acc[v * 4 / TN][v * 4 % TN];
    mine[v * threads] = make_float4(x[1], x[0], x[3], x[2]);
  }
  const std::int64_t tile_begin = part.tile * shares.depth;
  const std::int64_t first = shares.block_of(tile_begin);
  const std::int64_t last = shares.block_of(tile_begin + shares.depth - 1);
  sync_some_threads<1, threads>();  // the whole part is written
  if (thread == 0) {
    // A block is the first at one shared tile only.
    unsigned* const ticket = workspace.tickets + first;
    shared.last = take_ticket(ticket) == static_cast<unsigned>(last - first);
    if (shared.last) *ticket = 0;  // for the next launch
  }
  sync_some_threads<1, threads>();
  if (!shared.last) return false;
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int j = 0; j < TN; ++j) acc[i][j] = 0;
  for (std::int64_t block = first; block <= last; ++block) {
    const float4* from = part_at(workspace, Shares::slot(block, block == first), thread);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const float4 other = __ldcg(from + v * threads);
      float* x = &acc[v * 4 / TN][v * 4 % TN];
      x[1] += other.x, x[0] += other.y, x[3] += other.z, x[2] += other.w;
    }
  }
  return true;
}

template <bool Edges>
__device__ __forceinline__ void consume(Shared& shared, const PlainSgemm& p, const Shares& shares,
                                        const Workspace& workspace) {
  const int thread = static_cast<int>(threadIdx.x) - copiers;
  const Place own = place_of(thread);
  const std::int64_t end = shares.first(blockIdx.x + 1);
  Ring<stages> ring;
  for (std::int64_t at = shares.first(blockIdx.x); at < end;) {
    const Part part = shares.part_from(at, end);
    float acc[TM][TN];
    multiply(shared, ring, own, thread, static_cast<int>(part.end - part.begin) * BK, acc);
    at += part.end - part.begin;
    const bool whole = part.end - part.begin == shares.depth;
    if (whole || gather(shared, shares, part, workspace, thread, acc))
      store_tile<Edges>(p, shares.origin(part.tile), own, acc);
  }
}

template <bool Edges>
__global__ void __launch_bounds__(copiers + threads, 1)
    stream_k(__grid_constant__ const PlainSgemm p, Shares shares, Workspace workspace) {
  if constexpr (has_sm90a) {
    auto& shared = *gpu::dynamic_shared<Shared>();
    if (threadIdx.x < stages) {
      mbarrier_init(&shared.full[threadIdx.x], copiers);
      mbarrier_init(&shared.free[threadIdx.x], 1);
    }
    __syncthreads();
    if (threadIdx.x < copiers) {
      setmaxnreg_dealloc<40>();
      produce<Edges>(shared, p, shares);
    } else {
      setmaxnreg_alloc<232>();
      consume<Edges>(shared, p, shares, workspace);
    }
  }
}

}  // namespace r16

using namespace r16;

std::size_t r16_workspace_bytes(const Sgemm& p, const Device& device) {
  const Shares shares(p, device.sm_count);
  return static_cast<std::size_t>(2 * shares.blocks) * BM * BN * sizeof(float);
}

Status r16_stream_k(const Sgemm& problem, const Device& device, Workspace workspace,
                    Stream stream) {
  PlainSgemm p = problem;
  p.k = p.loop_k();
  const Shares shares(p, device.sm_count);
  // Without k there is nothing to read: the guarded copies bring zeros.
  const bool whole = whole_tiles<BM, BN, BK>(p) && p.k > 0;
  return gpu::launch(
      whole ? stream_k<false> : stream_k<true>,
      {dim3(static_cast<unsigned>(shares.blocks)), dim3(copiers + threads), sizeof(Shared), stream},
      p, shares, workspace);
}

}  // namespace KW_TARGET
