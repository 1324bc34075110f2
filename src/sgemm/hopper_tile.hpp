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
#include "sgemm/hopper_decide.hpp"
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

// The blocks of a cluster, as bits, that need what this one copies of an operand.
template <bool is_a, Tile tile>
__device__ __forceinline__ unsigned ranks_that_share(const ClusterPlace<tile>& own) {
  unsigned ranks = 0;
#pragma unroll
  for (int i = 0; i < (is_a ? tile.cluster_n : tile.cluster_m); ++i)
    ranks |= 1u << (is_a ? own.m * tile.cluster_n + i : i * tile.cluster_n + own.n);
  return ranks;
}

// What an operand gives to a tile: some blocks of its image. A block of a cluster copies its share
// to all whose tiles need it. A tile that reaches past the image takes fewer; the rest of its
// buffer keeps what it has and meets no element of C.
template <bool is_a, Scheme scheme, Tile tile>
class Producer {
  static constexpr int bytes = block_bytes(scheme.pieces);
  static constexpr int tile_blocks = (is_a ? tile.bm() : tile.bn) / block_rows;
  static constexpr int sharers = is_a ? tile.cluster_n : tile.cluster_m;
  static constexpr int own_blocks = tile_blocks / sharers;
  static_assert(own_blocks * sharers == tile_blocks);

 public:
  __device__ __forceinline__ Producer(Shared<scheme, tile>& shared, const Work& work)
      : shared_(shared), work_(work), image_(is_a ? work.a : work.b) {
    const ClusterPlace<tile> own;
    first_ = (is_a ? own.n : own.m) * own_blocks;
    ranks_ = ranks_that_share<is_a, tile>(own);
  }

  __device__ __forceinline__ void copy(const Place& place, const StageRange& stages) {
    const std::int64_t block = (is_a ? place.i0 : place.j0) / block_rows;
    const std::int64_t left = image_.blocks - block;
    const int blocks = left < 0 ? 0 : left < tile_blocks ? static_cast<int>(left) : tile_blocks;
    const std::int64_t stride = image_.stages * bytes;  // from block to block
    const char* from = (is_a ? work_.image_a : work_.image_b) +
                       image_.offset(place.entry, block + first_, stages.first, scheme.pieces);
    for (int stage = stages.first; stage < stages.end; ++stage, from += bytes, ring_.advance()) {
      mbarrier_wait(&shared_.empty[ring_.stage], ring_.round ^ 1);
      Mbarrier* const full = &shared_.full[ring_.stage];
      mbarrier_arrive_expecting(full, static_cast<unsigned>(blocks * bytes));
      auto& buffers = shared_.stages[ring_.stage];
      char* const to = (is_a ? buffers.a : buffers.b) + first_ * bytes;
#pragma unroll
      for (int i = 0; i < own_blocks; ++i) {
        if (first_ + i >= blocks) break;
        if constexpr (sharers > 1)
          bulk_copy_to_ranks(to + i * bytes, from + i * stride, bytes, full, ranks_);
        else
          bulk_copy(to + i * bytes, from + i * stride, bytes, full);
      }
    }
  }

 private:
  Shared<scheme, tile>& shared_;
  const Work& work_;
  const Image& image_;
  Ring<tile.stages> ring_;
  int first_;  // of the tile's blocks, this block's
  unsigned ranks_;
};

template <bool is_a, Scheme scheme, Tile tile>
__device__ __forceinline__ void produce(Shared<scheme, tile>& shared, const Work& work) {
  Producer<is_a, scheme, tile> producer(shared, work);
  const StageRange stages = own_stages<tile>(work);
  for (TileWalk<tile> walk(work); walk.has_tile(); walk.next()) producer.copy(walk.place(), stages);
}

// --- the consumers: a warpgroup each

// Every warp has waited for its share of the warpgroup's products, and tells all whose copies fill
// the buffer.
template <Tile tile>
__device__ __forceinline__ void free_buffer(Mbarrier* empty, int lane) {
  if constexpr (tile.cluster() > 1) {
    if (lane < tile.cluster()) mbarrier_arrive_at_rank(empty, static_cast<unsigned>(lane));
  } else {
    if (lane == 0) mbarrier_arrive(empty);
  }
}

// The block's stages of k for one tile. `row`: where in the tile the warpgroup's rows begin.
template <Scheme scheme, Tile tile>
__device__ __forceinline__ void multiply(Shared<scheme, tile>& shared,
                                         Consumer<scheme, tile>& consumer, Ring<tile.stages>& ring,
                                         int stages, int group, int row, int lane) {
  using Products = Consumer<scheme, tile>;
  struct Window {
    int buffers[tile.window], count;
  };
  const auto free = [&](const Window& read) {
#pragma unroll
    for (int s = 0; s < tile.window; ++s)
      if (s < read.count) free_buffer<tile>(&shared.empty[read.buffers[s]], lane);
  };
  Window last = {};  // whose products may be under way
  const auto window = [&](auto count) {
    const char *rows[count], *columns[count];
    Window own = {.buffers = {}, .count = count};
#pragma unroll
    for (int s = 0; s < count; ++s, ring.advance()) {
      mbarrier_wait(&shared.full[ring.stage], ring.round);
      own.buffers[s] = ring.stage;
      rows[s] = shared.stages[ring.stage].a + row / group_rows * group_bytes(scheme.pieces);
      columns[s] = shared.stages[ring.stage].b;
    }
    if constexpr (Products::overlaps) {
      consumer.template multiply_window<count>(rows, columns, [&] { free(last); });
      last = own;
    } else {
      consumer.template multiply_window_in_turn<count>(rows, columns, lane, [&] { free(own); });
    }
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
  if constexpr (Products::overlaps) {
    wgmma_wait<0>();
    free(last);
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
      if (work.parts > 1 &&
          !add_parts(shared, work, walk.tile_index(), own_part<tile>(work), sums, thread))
        continue;
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
      mbarrier_init(&shared.empty[s], readers * tile.cluster());
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
  if constexpr (tile.cluster() > 1)
    sync_cluster();
  else
    __syncthreads();
  begin_beside_others(work.problem);
  const bool is_first = !work.problem.joins_previous;
  const Path path = decide<tile_threads>(work.problem, *work.control, work.seen_blocks);
  if (is_first && blockIdx.x == 0 && threadIdx.x == 0)
    work.control->takes_ffma = path == Path::ffma ? 1 : 0;  // for the kernel in plain fp32
  if (path != (scheme.fp16 ? Path::fp16x3 : Path::bf16x6)) return end_beside_others(work.problem);
  if (!is_first) wait_for_previous_kernel();  // which wrote the pieces
  if constexpr (scheme.fp16) {
    sort_residuals(*work.control, shared.residuals);
    __syncthreads();
  }
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
  if constexpr (tile.cluster() > 1) sync_cluster();  // the others may still write here
#endif
}

}  // namespace KW_TARGET::hopper
