// FP32 products on Hopper's tensor cores, out of the pieces that the pre-pass wrote.
//
// Idea     A float is a sum of three bf16 or, scaled, two fp16 numbers, and tensor cores multiply
//          those exactly. A warp an operand keeps a ring of stages in shared memory full by bulk
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
#include "sgemm/hopper/consumer.hpp"
#include "sgemm/hopper/epilogue.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/select_path.hpp"
#include "sgemm/hopper/split_k.hpp"
#include "sgemm/hopper/tuning.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

constexpr int tile_threads = warpgroup + consumer_threads;  // the first is the producers'

template <Scheme scheme, Tile tile>
struct Shared {
  // Each warpgroup meets a buffer every other time around: with an odd number it would take one
  // phase of its barrier for the next but one.
  static_assert(!tile.shares_rows || (tile.stages % 2 == 0 && tile.window == 1));
  static constexpr int a_bytes = stage_bytes(tile.bm(), scheme.pieces);
  static constexpr int b_bytes = stage_bytes(tile.bn, scheme.pieces);
  static constexpr int exchange_floats = tile.shares_rows ? tile.bm() * tile.bn : 1;

  struct alignas(128) Stage {
    char a[a_bytes], b[b_bytes];
  };
  Stage stages[tile.stages];
  float exchange[exchange_floats];
  bool adds_parts;   // the tile's last block
  bool works;        // this kernel computes the product,
  Mbarrier decided;  // once this is over
  Outlier outliers[scheme.fp16 ? max_outliers : 1];
  WarpScales<tile.halves, tile.bn> scales[scheme.fp16 ? 2 * warpgroup / warp_lanes : 1];
  Mbarrier full[tile.stages], empty[tile.stages];
  Mbarrier turns[2][4];  // of the warpgroups' warps, at the tensor cores
};

// --- the producers: a warp for each operand

// What an operand gives to a tile: some rows of its image. A tile that reaches past the image takes
// fewer rows; the rest of its buffer keeps what it has and meets no element of C.
//
// Where the pieces are there from the beginning, the first time around the ring does not wait for
// the decision whether this kernel computes the product.
template <bool is_a, Scheme scheme, Tile tile>
class Producer {
  static constexpr int tile_rows = is_a ? tile.bm() : tile.bn;
  static constexpr int copy_rows = tile_rows < block_rows ? tile_rows : block_rows;
  static constexpr int bytes = stage_bytes(copy_rows, scheme.pieces);
  static_assert(tile_rows % copy_rows == 0 && block_rows % copy_rows == 0);

 public:
  __device__ __forceinline__ Producer(Shared<scheme, tile>& shared, const Work& work)
      : shared_(shared), work_(work), image_(is_a ? work.a : work.b) {}

  // All lanes of a warp call these.
  __device__ __forceinline__ void copy(const Place& place, const StageRange& stages) {
    const std::int64_t row = is_a ? place.i0 : place.j0;
    const std::int64_t left = image_.blocks * block_rows - row;
    const int rows = left < 0 ? 0 : left < tile_rows ? static_cast<int>(left) : tile_rows;
    const std::int64_t stride = image_.stages * block_bytes(scheme.pieces);  // from block to block
    const char* from = (is_a ? work_.image_a : work_.image_b) +
                       image_.offset(place.entry, row / block_rows, stages.first, scheme.pieces) +
                       stage_bytes(static_cast<int>(row % block_rows), scheme.pieces);
    int stage = stages.first;
    while (stage < stages.end) {
      if (!is_decided_ && ahead_ == 0) {
        if (!works()) return;
        wait_for_previous_kernel();  // where that wrote the pieces
        is_decided_ = true;
      }
      const int some = is_decided_ ? stages.end - stage : min(stages.end - stage, ahead_);
      if (!is_decided_) ahead_ -= some;
      for (const int end = stage + some; stage < end; ++stage, ring_.advance()) {
        mbarrier_wait(&shared_.empty[ring_.stage], ring_.round ^ 1);
        if (elect_one()) copy_stage(from, stride, rows);
        __syncwarp();
        from += block_bytes(scheme.pieces);
      }
    }
  }
  // Copies that nobody waits for have landed when the block ends.
  __device__ __forceinline__ void end() {
    if (is_decided_ || works()) return;
    for (int stage = 0; stage < max_ahead() - ahead_; ++stage)
      mbarrier_wait(&shared_.full[stage], 0);
  }

 private:
  __device__ __forceinline__ void copy_stage(const char* from, std::int64_t stride, int rows) {
    Mbarrier* const full = &shared_.full[ring_.stage];
    mbarrier_arrive_expecting(full, static_cast<unsigned>(stage_bytes(rows, scheme.pieces)));
    auto& buffers = shared_.stages[ring_.stage];
    char* const to = is_a ? buffers.a : buffers.b;
#pragma unroll
    for (int i = 0; i < tile_rows / copy_rows; ++i) {
      if (i * copy_rows >= rows) break;
      bulk_copy(to + i * bytes, from + i * stride, bytes, full);
    }
  }
  __device__ __forceinline__ bool works() {
    mbarrier_wait(&shared_.decided, 0);
    return shared_.works;
  }
  __device__ __forceinline__ int max_ahead() const {
    return work_.problem.overlaps_previous ? 0 : tile.stages;
  }

  Shared<scheme, tile>& shared_;
  const Work& work_;
  const Image& image_;
  Ring<tile.stages> ring_;
  int ahead_ = max_ahead();  // stages that may still be copied before the decision
  bool is_decided_ = false;  // this kernel computes the product
};

template <bool is_a, Scheme scheme, Tile tile>
__device__ __forceinline__ void produce(Shared<scheme, tile>& shared, const Work& work) {
  Producer<is_a, scheme, tile> producer(shared, work);
  const StageRange stages = own_stages<tile>(work);
  for (TileWalk<tile> walk(work); walk.has_tile(); walk.next()) producer.copy(walk.place(), stages);
  producer.end();
}

// --- the consumers: a warpgroup each

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
      if (lane == 0 && s < read.count) mbarrier_arrive(&shared.empty[read.buffers[s]]);
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
          !add_parts(shared, work, walk.tile_index(), own_part(work), sums, thread))
        continue;
    }
    const auto own = fragment<tile.halves, tile.bn>(place, row, thread, sums);
    if constexpr (scheme.fp16) {
      scales.wait();
      unscale(work, own, scales, shared.outliers);
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
      mbarrier_init(&shared.empty[s], readers);
    }
    mbarrier_init(&shared.decided, 1);
    for (auto& group : shared.turns)
      for (Mbarrier& turn : group) mbarrier_init(&turn, 1);
    mbarrier_init_is_done();
  }
}

// Whether this kernel computes the product; the producers learn it too.
template <Scheme scheme, Tile tile>
__device__ __forceinline__ bool decide_for_all(Shared<scheme, tile>& shared, const Work& work,
                                               int tid) {
  const Path path = decide<consumer_threads>(work.problem, *work.control, work.seen_blocks, tid,
                                             [] { sync_consumers(); });
  const bool works = path == (scheme.fp16 ? Path::fp16x3 : Path::bf16x6);
  if (tid == 0) {
    if (!work.problem.overlaps_previous && blockIdx.x == 0)
      work.control->takes_ffma = path == Path::ffma ? 1 : 0;  // for the kernel in plain fp32
    shared.works = works;
    mbarrier_arrive(&shared.decided);
  }
  if constexpr (scheme.fp16) {
    if (!works) return false;
    sort_residuals(*work.control, shared.outliers, static_cast<unsigned>(tid), consumer_threads);
    sync_consumers();
  }
  return works;
}

// `row` of the scheme's table.
template <bool fp16, int row>
__global__ __launch_bounds__(tile_threads, 1) void hopper_tile(const Work work) {
  constexpr Scheme scheme = scheme_of(fp16);
  constexpr Tile tile = tile_row(fp16, row).tile;
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  auto& shared = *gpu::dynamic_shared<Shared<scheme, tile>>();
  prepare_block<scheme, tile>(shared);
  __syncthreads();
  begin_concurrent(work.problem);
  const int tid = static_cast<int>(threadIdx.x), group = tid / warpgroup;
  if (group == 0) {
    setmaxnreg_dealloc<40>();
    if (tid / warp_lanes == 0) produce<true, scheme, tile>(shared, work);
    if (tid / warp_lanes == 1) produce<false, scheme, tile>(shared, work);
  } else {
    setmaxnreg_alloc<232>();
    if (decide_for_all(shared, work, tid - warpgroup))
      consume<scheme, tile>(shared, work, group - 1);
  }
  end_concurrent(work.problem);
  let_next_kernel_start();
#endif
}

}  // namespace KW_TARGET::hopper
