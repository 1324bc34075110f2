// FP32 products on Hopper's tensor cores, out of the pieces that the pre-pass wrote.
//
// Idea     A float is a sum of three bf16 or, scaled, two fp16 numbers, and tensor cores multiply
//          those exactly. One thread keeps a ring of stages in shared memory full by bulk copies;
//          two warpgroups multiply (wgmma). Tensor cores round their sums towards zero, so every
//          window along k starts from zero and is then added to FP32 sums in registers, with
//          ordinary rounding ("promotion"). While one warpgroup adds, the other multiplies.
// Limits   The tensor cores' rate over the number of products: 128 (bf16x6) and 250 TFLOP/s
//          (fp16x3) at the clocks that 700 W leave.
// Method   Ootomo and Yokota 2022 (error-corrected products, sums outside the tensor core); Henry,
//          Tang, Heinecke 2019 (bf16x3 splits and which products count).
#pragma once

#include <utility>

#include "device/bulk_copy.hpp"
#include "device/overlap.hpp"
#include "device/ring.hpp"
#include "device/ticket.hpp"
#include "device/wgmma.hpp"
#include "sgemm/hopper_control.hpp"
#include "sgemm/hopper_epilogue.hpp"
#include "sgemm/hopper_image.hpp"
#include "sgemm/hopper_tuning.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

constexpr int warpgroup = 128;
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

template <int count, class Body>
__device__ __forceinline__ void repeat(Body body) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (body(std::integral_constant<int, i>()), ...); }
  (std::make_integer_sequence<int, count>());
}

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

template <Scheme scheme, Tile tile>
struct Consumer {
  static constexpr Half type = scheme.fp16 ? Half::fp16 : Half::bf16;
  static constexpr int registers = tile.bn / 2;
  static constexpr bool has_low = scheme.low.products > 0;
  static_assert(!has_low || tile.halves == 1);

  // FP32 sums over `windows_a_sum` windows, then over those, where there are registers for both: a
  // long row of additions loses as a chain in tensor cores does, if less.
  static constexpr bool two_levels = tile.halves * registers <= 64 && !has_low;
  static constexpr int windows_a_sum = 16;

  float partial[registers];  // the window's, tensor cores write it
  float sums[tile.halves][registers];
  float totals[two_levels ? tile.halves : 1][two_levels ? registers : 1];
  float low[has_low ? registers : 1];  // over all windows
  int windows;
  // Warps of both warpgroups on one tensor core take turns, a pass at a time: side by side their
  // passes would end together, and the tensor core would idle while both add.
  Mbarrier *own_turn, *other_turn;
  unsigned turn_parity;

  __device__ __forceinline__ Consumer(Mbarrier (&turns)[2][4], int group, int warp)
      : own_turn(&turns[group][warp]),
        other_turn(&turns[1 - group][warp]),
        turn_parity(group == 0 ? 1 : 0) {}

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int h = 0; h < tile.halves; ++h)
#pragma unroll
      for (int i = 0; i < registers; ++i) {
        sums[h][i] = 0;
        if constexpr (two_levels) totals[h][i] = 0;
        if constexpr (has_low) low[i] = 0;
      }
    windows = 0;
  }
  __device__ __forceinline__ void fold() {
    if constexpr (two_levels) {
#pragma unroll
      for (int h = 0; h < tile.halves; ++h)
#pragma unroll
        for (int i = 0; i < registers; ++i) {
          totals[h][i] += sums[h][i];
          sums[h][i] = 0;
        }
      windows = 0;
    }
  }
  __device__ __forceinline__ void end_window() {
    if (two_levels && ++windows == windows_a_sum) fold();
  }
  // Of the whole tile.
  __device__ __forceinline__ float (&result())[tile.halves][registers] {
    if constexpr (two_levels) {
      fold();
      return totals;
    }
    if constexpr (has_low) {
#pragma unroll
      for (int i = 0; i < registers; ++i) sums[0][i] = fmaf(low[i], scheme.low_factor, sums[0][i]);
    }
    return sums;
  }
  // The tensor core is this warp's, and when it has what it asked for the other's.
  __device__ __forceinline__ void take_turn() {
    if (!tile.turns) return;
    mbarrier_wait(own_turn, turn_parity);
    turn_parity ^= 1;
  }
  __device__ __forceinline__ void pass_turn(int lane) {
    if (!tile.turns) return;
    __syncwarp();  // all lanes have seen their own turn
    if (lane == 0) mbarrier_arrive(other_turn);
  }

  // to (+)= a band's products over a window, once wgmma_wait returns. `a` and `b` have an operand
  // for each of its stages.
  template <Band band, bool adds, int stages>
  __device__ __forceinline__ void issue(float (&to)[registers], const WgmmaOperand (&a)[stages],
                                        const WgmmaOperand (&b)[stages]) {
    constexpr int k16_bytes = scheme.pieces * 2 * core_bytes;
    repeat<stages * stage_k / 16>([&](auto k16) {
      constexpr int stage = k16 / (stage_k / 16), in_stage = k16 % (stage_k / 16);
      repeat<band.products>([&](auto product) {
        constexpr Product pieces = band.product[product];
        wgmma<type, tile.bn>(to,
                             advance(a[stage], in_stage * k16_bytes + pieces.a * 2 * core_bytes),
                             advance(b[stage], in_stage * k16_bytes + pieces.b * 2 * core_bytes),
                             adds || k16 > 0 || product > 0);
      });
    });
  }

  __device__ __forceinline__ void promote(int half) {
    wgmma_keep(partial);
    if constexpr (has_low) wgmma_keep(low);
#pragma unroll
    for (int i = 0; i < registers; ++i) sums[half][i] += partial[i];
  }

  static constexpr int stride = group_bytes(scheme.pieces);
  __device__ __forceinline__ WgmmaOperand rows_of(const char* a, int half) const {
    return wgmma_operand(a + half * 64 / group_rows * stride, core_bytes, stride);
  }

  // The products of a window, one half of the rows after the other; the sums have them when it
  // returns. `free` is called once the stages have been read.
  template <int stages, class Free>
  __device__ __forceinline__ void multiply_window(const char* const (&a)[stages],
                                                  const char* const (&b)[stages], int lane,
                                                  Free free) {
    WgmmaOperand columns[stages];
#pragma unroll
    for (int s = 0; s < stages; ++s) columns[s] = wgmma_operand(b[s], core_bytes, stride);
    repeat<tile.halves>([&](auto half) {
      WgmmaOperand rows[stages];
#pragma unroll
      for (int s = 0; s < stages; ++s) rows[s] = rows_of(a[s], half);
      take_turn();
      wgmma_fence();
      if constexpr (has_low) issue<scheme.low, true>(low, rows, columns);
      repeat<scheme.bands>(
          [&](auto band) { issue<scheme.band[band], (band > 0)>(partial, rows, columns); });
      wgmma_commit();
      pass_turn(lane);
      wgmma_wait<0>();
      if (half == tile.halves - 1) free();
      promote(half);
    });
    end_window();
  }
};

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

// Adds up what the two warpgroups have of the same tile; the first one gets it.
template <class Shared, int halves, int registers>
__device__ __forceinline__ void add_up(Shared& shared, float (&sums)[halves][registers], int group,
                                       int thread) {
  sync_some_threads<1, 2 * warpgroup>();  // the tile before has been read
  if (group == 1) {
#pragma unroll
    for (int h = 0; h < halves; ++h)
#pragma unroll
      for (int i = 0; i < registers; ++i)
        shared.exchange[(h * registers + i) * warpgroup + thread] = sums[h][i];
  }
  sync_some_threads<1, 2 * warpgroup>();
  if (group == 0) {
#pragma unroll
    for (int h = 0; h < halves; ++h)
#pragma unroll
      for (int i = 0; i < registers; ++i)
        sums[h][i] += shared.exchange[(h * registers + i) * warpgroup + thread];
  }
}

// Adds up what the blocks of a tile have of it, in the order of k, in the one that comes last; says
// whether this is it. For the first warpgroup.
template <class Shared, int halves, int registers>
__device__ __forceinline__ bool add_parts(Shared& shared, const Work& work, int tile,
                                          float (&sums)[halves][registers], int thread) {
  constexpr int quads = halves * registers / 4;
  const int part = static_cast<int>(blockIdx.x) % work.parts;
  auto* const parts = reinterpret_cast<float4*>(work.part_sums) +
                      static_cast<std::int64_t>(tile) * work.parts * quads * warpgroup + thread;
  const auto at = [&](int p, int quad) { return parts + (p * quads + quad) * warpgroup; };
#pragma unroll
  for (int q = 0; q < quads; ++q) {
    const float* const x = &sums[q * 4 / registers][q * 4 % registers];
    *at(part, q) = make_float4(x[0], x[1], x[2], x[3]);
  }
  sync_some_threads<2, warpgroup>();
  if (thread == 0)
    shared.adds_parts = take_ticket(&work.tickets[tile]) + 1 == static_cast<unsigned>(work.parts);
  sync_some_threads<2, warpgroup>();
  if (!shared.adds_parts) return false;
  if (thread == 0) work.tickets[tile] = 0;
#pragma unroll
  for (int q = 0; q < quads; ++q) {
    float* const x = &sums[q * 4 / registers][q * 4 % registers];
    x[0] = x[1] = x[2] = x[3] = 0;
  }
  for (int p = 0; p < work.parts; ++p) {
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      float* const x = &sums[q * 4 / registers][q * 4 % registers];
      const float4 more = *at(p, q);
      x[0] += more.x, x[1] += more.y, x[2] += more.z, x[3] += more.w;
    }
  }
  return true;
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
  wait_for_previous_kernel();
  if (path_of(*work.control) != (scheme.fp16 ? Path::fp16x3 : Path::bf16x6)) return;
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
