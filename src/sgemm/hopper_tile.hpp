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
  Residual residuals[scheme.fp16 ? most_residuals : 1];
  Mbarrier full[tile.stages], empty[tile.stages];
  Mbarrier turns[2][4];  // of the warpgroups' warps, at the tensor cores
};

template <int count, class Body>
__device__ __forceinline__ void repeat(Body body) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (body(std::integral_constant<int, i>()), ...); }
  (std::make_integer_sequence<int, count>());
}

// --- the producer: one thread

// What one operand gives to a tile: some blocks of its image. A tile that reaches past
// the image takes fewer; the rest of its buffer keeps what it has and meets no element of C.
template <int tile_blocks, int pieces>
struct Feed {
  const char* next;     // the first block's next stage
  std::int64_t stride;  // from block to block
  int blocks;           // of the tile, 0 to tile_blocks

  __device__ __forceinline__ Feed(const char* pieces_at, const Image& image, std::int64_t entry,
                                  std::int64_t row)
      : next(pieces_at + image.offset(entry, row / block_rows, 0, pieces)),
        stride(image.stages * block_bytes(pieces)) {
    const std::int64_t left = image.blocks - row / block_rows;
    blocks = left < 0 ? 0 : left < tile_blocks ? static_cast<int>(left) : tile_blocks;
  }
  // Copies blocks first to end - 1, as far as there are any.
  template <int first, int end, class Copy>
  __device__ __forceinline__ void each(char* to, Copy copy) const {
#pragma unroll
    for (int i = first; i < end; ++i) {
      if (i < blocks) copy(to + i * block_bytes(pieces), next + i * stride);
    }
  }
};

template <Scheme scheme, Tile tile>
__device__ __forceinline__ void produce(Shared<scheme, tile>& shared, const Work& work) {
  constexpr int bytes = block_bytes(scheme.pieces);
  constexpr int a_blocks = tile.bm() / block_rows, b_blocks = tile.bn / block_rows;
  const int stages = static_cast<int>(work.a.stages);
  Ring<tile.stages> ring;
  for (TileWalk<tile> walk(work); walk.has_tile(); walk.next()) {
    const Place place = walk.place();
    Feed<a_blocks, scheme.pieces> a(work.image_a, work.a, place.entry, place.i0);
    Feed<b_blocks, scheme.pieces> b(work.image_b, work.b, place.entry, place.j0);
    for (int stage = 0; stage < stages; ++stage, ring.advance()) {
      mbarrier_wait(&shared.empty[ring.stage], ring.round ^ 1);
      auto& to = shared.stages[ring.stage];
      Mbarrier* const full = &shared.full[ring.stage];
      mbarrier_arrive_expecting(full, static_cast<unsigned>((a.blocks + b.blocks) * bytes));
      const auto copy = [&](char* there, const char* from) { bulk_copy(there, from, bytes, full); };
      if constexpr (tile.pairs) {
        const auto share = [&](char* there, const char* from) {
          bulk_copy_to_pair(there, from, bytes, full);
        };
        if (rank_in_pair() == 0)
          a.template each<0, a_blocks / 2>(to.a, share);
        else
          a.template each<a_blocks / 2, a_blocks>(to.a, share);
      } else {
        a.template each<0, a_blocks>(to.a, copy);
      }
      b.template each<0, b_blocks>(to.b, copy);
      a.next += bytes;
      b.next += bytes;
    }
  }
}

// --- the consumers: a warpgroup each

template <Scheme scheme, Tile tile>
struct Consumer {
  static constexpr Half type = scheme.fp16 ? Half::fp16 : Half::bf16;
  static constexpr int registers = tile.bn / 2;

  // FP32 sums over `windows_a_sum` windows, then over those, where there are registers for both: a
  // long row of additions loses as a chain in tensor cores does, if less.
  static constexpr bool two_levels = tile.halves * registers <= 64;
  static constexpr int windows_a_sum = 16;

  float partial[registers];  // the window's, tensor cores write it
  float sums[tile.halves][registers];
  float totals[two_levels ? tile.halves : 1][two_levels ? registers : 1];
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
    } else {
      return sums;
    }
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

  // partial = the pass's products over a window, once wgmma_wait returns. `a` and `b` have an
  // operand for each of its stages.
  template <int pass, int stages>
  __device__ __forceinline__ void issue(const WgmmaOperand (&a)[stages],
                                        const WgmmaOperand (&b)[stages]) {
    constexpr int k16_bytes = scheme.pieces * 2 * core_bytes;
    wgmma_fence();
    repeat<scheme.pass[pass].bands>([&](auto band) {
      constexpr Band now = scheme.pass[pass].band[band];
      repeat<stages * stage_k / 16>([&](auto k16) {
        constexpr int stage = k16 / (stage_k / 16), in_stage = k16 % (stage_k / 16);
        repeat<now.products>([&](auto product) {
          constexpr Product pieces = now.product[product];
          constexpr bool first = band == 0 && k16 == 0 && product == 0;
          wgmma<type, tile.bn>(
              partial, advance(a[stage], in_stage * k16_bytes + pieces.a * 2 * core_bytes),
              advance(b[stage], in_stage * k16_bytes + pieces.b * 2 * core_bytes), !first);
        });
      });
    });
    wgmma_commit();
  }

  template <int pass>
  __device__ __forceinline__ void promote(int half) {
    constexpr float factor = scheme.pass[pass].factor;
    wgmma_keep(partial);
#pragma unroll
    for (int i = 0; i < registers; ++i) {
      sums[half][i] =
          factor == 1 ? sums[half][i] + partial[i] : fmaf(partial[i], factor, sums[half][i]);
    }
  }

  static constexpr int stride = group_bytes(scheme.pieces);
  __device__ __forceinline__ WgmmaOperand rows_of(const char* a, int half) const {
    return wgmma_operand(a + half * 64 / group_rows * stride, core_bytes, stride);
  }

  // The products of a window, a pass of one half of the rows after the other; the sums have them
  // when it returns. `free` is called once the stages have been read.
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
      repeat<scheme.passes>([&](auto pass) {
        take_turn();
        issue<pass>(rows, columns);
        pass_turn(lane);
        wgmma_wait<0>();
        if (pass == scheme.passes - 1 && half == tile.halves - 1) free();
        promote<pass>(half);
      });
    });
    end_window();
  }
};

template <Tile tile>
__device__ __forceinline__ void free_buffer(Mbarrier* empty, int thread) {
  // Every warp has waited for its share of the warpgroup's products.
  if constexpr (tile.pairs) {
    if (thread % 32 < 2) mbarrier_arrive_in_pair(empty, static_cast<unsigned>(thread % 32));
  } else {
    if (thread % 32 == 0) mbarrier_arrive(empty);
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

// The whole of k for one tile. `row`: where in the tile the warpgroup's rows begin.
template <Scheme scheme, Tile tile>
__device__ __forceinline__ void multiply(Shared<scheme, tile>& shared,
                                         Consumer<scheme, tile>& consumer, Ring<tile.stages>& ring,
                                         int stages, int group, int row, int thread) {
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
    consumer.template multiply_window<count>(rows, columns, thread % 32, [&] {
#pragma unroll
      for (int s = 0; s < count; ++s) free_buffer<tile>(&shared.empty[buffers[s]], thread);
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
  const int stages = static_cast<int>(work.a.stages);
  Consumer<scheme, tile> consumer(shared.turns, group, thread / 32);
  Ring<tile.stages> ring;
  for (TileWalk<tile> walk(work); walk.has_tile(); walk.next()) {
    const Place place = walk.place();
    consumer.clear();
    multiply<scheme, tile>(shared, consumer, ring, stages, group, row, thread);
    auto& sums = consumer.result();
    if constexpr (tile.shares_rows) add_up(shared, sums, group, thread);
    if (tile.shares_rows && group != 0) continue;
    store_tile<scheme.fp16, tile.halves, tile.bn>(work, place, row, thread, sums, shared.residuals);
  }
}

template <Scheme scheme, Tile tile>
__device__ __forceinline__ void prepare_block(Shared<scheme, tile>& shared) {
  if (threadIdx.x == 0) {
    constexpr unsigned readers = tile.shares_rows ? 4 : 8;  // warps
    for (int s = 0; s < tile.stages; ++s) {
      mbarrier_init(&shared.full[s], 1);
      mbarrier_init(&shared.empty[s], tile.pairs ? 2 * readers : readers);
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
  if constexpr (tile.pairs)
    sync_pair();
  else
    __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / warpgroup;
  if (group == 0) {
    give_registers<40>();
    if (threadIdx.x == 0) produce<scheme, tile>(shared, work);
    __syncwarp();
  } else {
    take_registers<232>();
    consume<scheme, tile>(shared, work, group - 1);
  }
  let_next_kernel_start();
  if constexpr (tile.pairs) sync_pair();  // the other block may still write here
#endif
}

}  // namespace KW_TARGET::hopper
