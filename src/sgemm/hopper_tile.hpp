// FP32 products on Hopper's tensor cores, out of the pieces that the pre-pass wrote.
//
// Idea     A float is a sum of three bf16 or, scaled, two fp16 numbers, and tensor cores multiply
//          those exactly. A thread an operand keeps a ring of stages in shared memory full by bulk
//          copies; two warpgroups multiply (wgmma). Tensor cores round their sums towards zero, so
//          every window along k starts from zero and is then added to FP32 sums in registers, with
//          ordinary rounding ("promotion"). While one warpgroup adds, the other multiplies.
// Limits   The tensor cores' rate over the number of products: 128 (bf16x6) and 250 TFLOP/s
//          (fp16x3) at the clocks that 700 W leave.
// Method   Ootomo and Yokota 2022 (error-corrected products, sums outside the tensor core); Henry,
//          Tang, Heinecke 2019 (bf16x3 splits and which products count).
#pragma once

#include "device/bulk_copy.hpp"
#include "device/overlap.hpp"
#include "device/ring.hpp"
#include "sgemm/hopper_consumer.hpp"
#include "sgemm/hopper_control.hpp"
#include "sgemm/hopper_epilogue.hpp"
#include "sgemm/hopper_image.hpp"
#include "sgemm/hopper_parts.hpp"
#include "sgemm/hopper_tuning.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

constexpr int tile_threads = 3 * warpgroup;  // the producer's warpgroup, two that multiply

template <Scheme scheme, Tile tile>
struct Shared {
  // Each warpgroup meets a buffer every other time around: with an odd number it would take one
  // phase of its barrier for the next but one.
  static_assert(!tile.shares_rows || (tile.stages % 2 == 0 && tile.window == 1));
  static constexpr int a_bytes = tile.bm() / block_rows * block_bytes(scheme.pieces);
  static constexpr int b_bytes = tile.bn / block_rows * block_bytes(scheme.pieces);
  static constexpr int exchange_floats = tile.shares_rows ? tile.bm() * tile.bn : 1;

  struct alignas(128) Stage {
    char a[a_bytes], b[b_bytes];
  };
  Stage stages[tile.stages];
  float exchange[exchange_floats];
  bool adds_parts;  // the tile's last block
  Residual residuals[scheme.fp16 ? most_residuals : 1];
  WarpScales<tile.halves, tile.bn> scales[scheme.fp16 ? 2 * warpgroup / warp_lanes : 1];
  Mbarrier full[tile.stages], empty[tile.stages];
  Mbarrier turns[2][4];  // of the warpgroups' warps, at the tensor cores
};

// --- the producers: a thread for each operand

// What an operand gives to a tile: some blocks of its image. Of A, a block of a cluster copies its
// share to all. A tile that reaches past the image takes fewer; the rest of its buffer keeps what
// it has and meets no element of C.
template <bool is_a, Scheme scheme, Tile tile>
__device__ __forceinline__ void produce(Shared<scheme, tile>& shared, const Work& work) {
  constexpr int bytes = block_bytes(scheme.pieces);
  constexpr int tile_blocks = (is_a ? tile.bm() : tile.bn) / block_rows;
  constexpr int sharers = is_a ? tile.cluster : 1;
  constexpr int own_blocks = tile_blocks / sharers;
  const Image& image = is_a ? work.a : work.b;
  const std::int64_t stride = image.stages * bytes;  // from block to block
  const StageRange stages = own_stages<tile>(work);
  const int first = sharers > 1 ? static_cast<int>(rank_in_cluster()) * own_blocks : 0;
  Ring<tile.stages> ring;
  for (TileWalk<tile> walk(work); walk.has_tile(); walk.next()) {
    const Place place = walk.place();
    const std::int64_t block = (is_a ? place.i0 : place.j0) / block_rows;
    const std::int64_t left = image.blocks - block;
    const int blocks = left < 0 ? 0 : left < tile_blocks ? static_cast<int>(left) : tile_blocks;
    const char* from = (is_a ? work.image_a : work.image_b) +
                       image.offset(place.entry, block + first, stages.first, scheme.pieces);
    for (int stage = stages.first; stage < stages.end; ++stage, from += bytes, ring.advance()) {
      mbarrier_wait(&shared.empty[ring.stage], ring.round ^ 1);
      Mbarrier* const full = &shared.full[ring.stage];
      mbarrier_arrive_expecting(full, static_cast<unsigned>(blocks * bytes));
      auto& buffers = shared.stages[ring.stage];
      char* const to = (is_a ? buffers.a : buffers.b) + first * bytes;
#pragma unroll
      for (int i = 0; i < own_blocks; ++i) {
        if (first + i >= blocks) break;
        if constexpr (sharers > 1)
          bulk_copy_to_cluster<sharers>(to + i * bytes, from + i * stride, bytes, full);
        else
          bulk_copy(to + i * bytes, from + i * stride, bytes, full);
      }
    }
  }
}

// --- the consumers: a warpgroup each

// Every warp has waited for its share of the warpgroup's products, and tells all whose copies fill
// the buffer.
template <Tile tile>
__device__ __forceinline__ void free_buffer(Mbarrier* empty, int lane) {
  if constexpr (tile.cluster > 1) {
    if (lane < tile.cluster) mbarrier_arrive_at_rank(empty, static_cast<unsigned>(lane));
  } else {
    if (lane == 0) mbarrier_arrive(empty);
  }
}

// The block's stages of k for one tile. `row`: where in the tile the warpgroup's rows begin.
template <Scheme scheme, Tile tile>
__device__ __forceinline__ void multiply(Shared<scheme, tile>& shared,
                                         Consumer<scheme, tile>& consumer, Ring<tile.stages>& ring,
                                         int stages, int group, int row, int lane) {
  const auto window = [&](auto count) {
    const char *rows[count], *columns[count];
    int buffers[count];
#pragma unroll
    for (int s = 0; s < count; ++s, ring.advance()) {
      mbarrier_wait(&shared.full[ring.stage], ring.round);
      buffers[s] = ring.stage;
      rows[s] = shared.stages[ring.stage].a + row / group_rows * group_bytes(scheme.pieces);
      columns[s] = shared.stages[ring.stage].b;
    }
    consumer.template multiply_window<count>(rows, columns, lane, [&] {
#pragma unroll
      for (int s = 0; s < count; ++s) free_buffer<tile>(&shared.empty[buffers[s]], lane);
    });
  };
  using One = std::integral_constant<int, 1>;
  using Several = std::integral_constant<int, tile.window>;
  int stage = 0;
  for (; stage + tile.window <= stages; stage += tile.window) {
    if (tile.shares_rows && stage % 2 != group) {
      ring.advance();
      continue;
    }
    window(Several());
  }
  if constexpr (tile.window > 1) {
    for (; stage < stages; ++stage) window(One());
  }
}

template <Scheme scheme, Tile tile>
__device__ __forceinline__ void consume(Shared<scheme, tile>& shared, const Work& work, int group) {
  const int thread = static_cast<int>(threadIdx.x) % warpgroup;
  const int row = tile.shares_rows ? 0 : group * 64 * tile.halves;
  const StageRange range = own_stages<tile>(work);
  const int stages = range.end - range.first;
  const int warp = thread / warp_lanes, lane = thread % warp_lanes;
  [[maybe_unused]] auto& scales =
      shared.scales[scheme.fp16 ? group * warpgroup / warp_lanes + warp : 0];
  Consumer<scheme, tile> consumer(shared.turns, group, warp);
  Ring<tile.stages> ring;
  for (TileWalk<tile> walk(work); walk.has_tile(); walk.next()) {
    const Place place = walk.place();
    consumer.clear();
    if constexpr (scheme.fp16)
      scales.fetch(work, place.entry, place.i0 + row + warp * 16, place.j0, lane);
    multiply<scheme, tile>(shared, consumer, ring, stages, group, row, lane);
    auto& sums = consumer.result();
    if constexpr (tile.shares_rows) add_up(shared, sums, group, thread);
    if (tile.shares_rows && group != 0) continue;
    if constexpr (tile.shares_rows) {
      if (work.parts > 1 && !add_parts(shared, work, walk.index(), sums, thread)) continue;
    }
    const auto own = fragment<tile.halves, tile.bn>(place, row, thread, sums);
    if constexpr (scheme.fp16) {
      scales.wait();
      unscale(work, own, scales, shared.residuals);
    }
    store(work, own);
  }
}

template <Scheme scheme, Tile tile>
__device__ __forceinline__ void prepare_block(Shared<scheme, tile>& shared) {
  if (threadIdx.x == 0) {
    constexpr unsigned readers = tile.shares_rows ? 4 : 8;  // warps
    for (int s = 0; s < tile.stages; ++s) {
      mbarrier_init(&shared.full[s], 2);  // the producers
      mbarrier_init(&shared.empty[s], readers * tile.cluster);
    }
    for (auto& group : shared.turns)
      for (Mbarrier& turn : group) mbarrier_init(&turn, 1);
    mbarrier_init_is_done();
  }
}

// `row` of the scheme's table.
template <bool fp16, int row>
__global__ __launch_bounds__(tile_threads, 1) void hopper_tile(const Work work) {
  constexpr Scheme scheme = scheme_of(fp16);
  constexpr Tile tile = tile_row(fp16, row).tile;
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  auto& shared = *gpu::dynamic_shared<Shared<scheme, tile>>();
  prepare_block<scheme, tile>(shared);
  begin_beside_others(work.problem);
  if (path_of(*work.control) != (scheme.fp16 ? Path::fp16x3 : Path::bf16x6))
    return end_beside_others(work.problem);
  if (work.problem.joins_previous) wait_for_previous_kernel();  // which wrote the pieces
  if constexpr (scheme.fp16) sort_residuals(*work.control, shared.residuals);
  if constexpr (tile.cluster > 1)
    sync_cluster();
  else
    __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / warpgroup;
  if (group == 0) {
    give_registers<40>();
    if (threadIdx.x == 0) produce<true, scheme, tile>(shared, work);
    if (threadIdx.x == warp_lanes) produce<false, scheme, tile>(shared, work);
    __syncwarp();
  } else {
    take_registers<232>();
    consume<scheme, tile>(shared, work, group - 1);
  }
  let_next_kernel_start();
  if constexpr (tile.cluster > 1) sync_cluster();  // the others may still write here
#endif
}

}  // namespace KW_TARGET::hopper
