// The producers of hopper_tile.hpp where the product splits one operand itself (Direct): warps
// read its floats, split them and write the pieces into the ring. The first of them also has the
// other operand's pieces copied, which the split pass wrote.
//
// What the makers read they cannot know before the path is selected. If pieces do not hold it after
// all, they say so in Control, and the kernel in plain fp32 that follows computes all of C.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/overlap.hpp"
#include "device/repeat.hpp"
#include "device/warp.hpp"
#include "sgemm/hopper/chunk.hpp"
#include "sgemm/hopper/pipeline.hpp"
#include "sgemm/hopper/scheduler.hpp"
#include "sgemm/hopper/select_path.hpp"

namespace KW_TARGET::hopper {

// Splits an operand's rows of tiles, a thread some chunks of 8 along k a stage. The next stage's
// loads are under way while a stage is split. All makers call the members.
template <bool is_a, Scheme scheme, Tile tile>
class Maker {
  static_assert(!scheme.fp16);
  static constexpr int tile_rows = is_a ? tile.bm() : tile.bn;
  static constexpr int chunks = tile_rows * stage_k / chunk_k / maker_threads;  // a thread's
  static constexpr int chunks_along_k = stage_k / chunk_k;
  static_assert(tile_rows * chunks_along_k % maker_threads == 0);

 public:
  __device__ __forceinline__ Maker(Shared<scheme, tile>& shared, const ProductParams& params)
      : shared_(shared),
        params_(params),
        source_(params.second_split.sources[is_a ? 0 : 1]),
        pipeline_(shared) {}

  // Makes the stages of a tile; false where this kernel does not compute the product.
  __device__ __forceinline__ bool make(const OutputTile& output, const Work& stages) {
    if (threadIdx.x == 0) find_others(output, stages.first);
    begin_rows(output, stages.first);
    repeat<chunks>([&](auto i) { load(i); });
    next_stage();
    if (!knows_path_) {
      mbarrier_wait(&shared_.path_selected, 0);
      if (!shared_.selected) return false;
      knows_path_ = true;
    }
    const int chunk = first_chunk(), packed = packed_row();
    for (int stage = stages.first; stage < stages.end; ++stage, pipeline_.advance()) {
      pipeline_.acquire();
      auto& buffers = pipeline_.stage();
      char* const to = is_a ? buffers.a : buffers.b;
      if (threadIdx.x == 0) copy_others(is_a ? buffers.b : buffers.a);
      __syncwarp();
      const bool has_next = stage + 1 < stages.end;
      repeat<chunks>([&](auto i) {
        sizes_.add(x_[i]);
        split_chunk_bf16(x_[i], to, along_k() ? packed + i * group_rows : packed,
                         along_k() ? chunk : chunk + i);
        if (has_next) load(i);
      });
      next_stage();
      shared_writes_before_copies();
      __syncwarp();
      if (lane() == 0) mbarrier_arrive(pipeline_.full());
    }
    return true;
  }

  // After the last tile: whether the pieces held what was read.
  __device__ __forceinline__ void end() {
    if (!knows_path_) return;
    const SizeRange of_thread = sizes_.range();
    const SizeRange own{largest_of_warp(of_thread.largest), largest_of_warp(of_thread.below)};
    if (lane() == 0 && !pieces_hold(own, shared_.other_range, params_.problem.k))
      params_.control->takes_fp32 = 1;
  }

 private:
  __device__ __forceinline__ static int lane() {
    return static_cast<int>(threadIdx.x % warp_lanes);
  }
  // Parameters, which need no registers.
  __device__ __forceinline__ bool along_k() const { return source_.along_k; }
  __device__ __forceinline__ std::int64_t ld() const {
    return is_a ? params_.problem.lda : params_.problem.ldb;
  }
  // Where a thread's first chunk of a stage lies packed, and along k: the next one 8 rows further
  // on where elements along k are neighbours, else 8 along k. Eight neighbouring lanes write 128
  // bytes.
  __device__ __forceinline__ int packed_row() const {
    const int tid = static_cast<int>(threadIdx.x);
    return along_k() ? tid / warp_lanes * (chunks * group_rows) + tid % group_rows
                     : tid % tile_rows;
  }
  __device__ __forceinline__ int first_chunk() const {
    return along_k() ? lane() / group_rows : static_cast<int>(threadIdx.x) / tile_rows * chunks;
  }
  static_assert(warp_lanes == group_rows * chunks_along_k);

  // The other operand's rows of a tile, and a stage of them. One thread calls these.
  static constexpr int other_rows = is_a ? tile.bn : tile.bm();
  __device__ __forceinline__ void find_others(const OutputTile& output, int stage) {
    shared_.other_rows.find(is_a ? params_.b : params_.a,
                            is_a ? params_.packed_b : params_.packed_a, output.entry,
                            is_a ? output.j0 : output.i0, other_rows, stage, scheme.pieces);
  }
  __device__ __forceinline__ void copy_others(char* to) {
    shared_.other_rows.template copy_stage<other_rows, scheme.pieces>(to, pipeline_.full());
  }
  // Finds the thread's first chunk of a tile.
  __device__ __forceinline__ void begin_rows(const OutputTile& output, int stage) {
    const auto stored = stored_operand<false>(params_.problem, is_a ? 0 : 1, output.entry);
    int row = is_a ? packed_row() : column_of_packed(packed_row());
    int in_stage = first_chunk() * chunk_k;
    compute_now(row), compute_now(in_stage);  // here: 64 bits of them would be kept for all tiles
    const std::int64_t first = (is_a ? output.i0 : output.j0) + row;
    const std::int64_t k = std::int64_t{stage} * stage_k + in_stage;
    at_ = stored.at(stored.data, stored.ld, first, k);
    rows_left_ = static_cast<int>(source_.layout.rows - first);
    k_left_ = static_cast<int>(source_.layout.k - k);
  }
  __device__ __forceinline__ void next_stage() {
    at_ += along_k() ? std::int64_t{stage_k} : stage_k * ld();
    k_left_ -= stage_k;
  }
  // Chunk i of the stage; zeros outside of the operand.
  __device__ __forceinline__ void load(int i) {
    float(&x)[chunk_k] = x_[i];
    std::int64_t own_ld = ld();
    compute_now(own_ld);  // each time: registers for all distances are short
    const float* from = at_ + (along_k() ? row_of(i) : i * chunk_k) * own_ld;
    const int rows_left = along_k() ? rows_left_ - row_of(i) : rows_left_,
              k_left = along_k() ? k_left_ : k_left_ - i * chunk_k;
    if (source_.aligned && along_k() && rows_left > 0 && k_left >= chunk_k) {
      load_neighbours(x, from);
      return;
    }
    const std::int64_t step = along_k() ? 1 : own_ld;
    const int valid = rows_left > 0 ? k_left : 0;
#pragma unroll
    for (int e = 0; e < chunk_k; ++e, from += step) x[e] = e < valid ? load_once(from) : 0.0f;
  }
  // Where elements along k are neighbours, how many rows behind the first chunk's the row of chunk
  // i is. Of B, the 8 packed columns of a chunk are every other two of 16 (packed_column).
  static constexpr int row_of(int i) { return is_a ? i * group_rows : i * 2; }
  static_assert(chunks == 2 && column_of_packed(group_rows) == 2);

  Shared<scheme, tile>& shared_;
  const ProductParams& params_;
  const Source& source_;
  Pipeline<scheme, tile> pipeline_;
  const float* at_ = nullptr;
  int rows_left_ = 0, k_left_ = 0;
  float x_[chunks][chunk_k];
  Sizes sizes_;

  bool knows_path_ = false;
};

template <Scheme scheme, Tile tile, class Scheduler>
__device__ __forceinline__ void make(Shared<scheme, tile>& shared, const ProductParams& params) {
  Maker<tile.direct == Direct::a, scheme, tile> maker(shared, params);
  for (Scheduler scheduler(params); scheduler.has_work(); scheduler.next())
    if (!maker.make(scheduler.output_tile(), scheduler.work())) break;
  maker.end();
}

}  // namespace KW_TARGET::hopper
