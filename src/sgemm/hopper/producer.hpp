// The producers of hopper_tile.hpp: a warp for each operand keeps the pipeline full by bulk copies.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "sgemm/hopper/pace.hpp"
#include "sgemm/hopper/pipeline.hpp"
#include "sgemm/hopper/scheduler.hpp"

namespace KW_TARGET::hopper {

// Copies an operand's rows of a tile: some rows of the packed operand. A tile that reaches past the
// packed operand takes fewer rows; the rest of its buffer keeps what it has and meets no element of
// C.
//
// Where the pieces are written before the kernel begins, the producer fills the ring once before
// the path is selected. All lanes of a warp call the member functions.
template <bool is_a, Scheme scheme, Tile tile>
class Producer {
  static_assert(tile.stages <=
                pace_stages / 2);  // so that no pace is kept before the path is selected
  static constexpr int tile_rows = is_a ? tile.bm() : tile.bn;
  // Tiles begin where blocks of rows do, or are parts of one; or else anywhere.
  static constexpr bool fits_blocks = tile_rows % block_rows == 0 || block_rows % tile_rows == 0;
  static constexpr int copy_rows = tile_rows < block_rows ? tile_rows : block_rows;
  static constexpr int bytes = stage_bytes(copy_rows, scheme.pieces);

 public:
  __device__ __forceinline__ Producer(Shared<scheme, tile>& shared, const ProductParams& params)
      : shared_(shared),
        params_(params),
        layout_(is_a ? params.a : params.b),
        pipeline_(shared),
        pace_(params) {}

  __device__ __forceinline__ void copy(const OutputTile& output, const Work& stages) {
    const std::int64_t row = is_a ? output.i0 : output.j0;
    const std::int64_t left = layout_.blocks * block_rows - row;
    const int rows = left < 0 ? 0 : left < tile_rows ? static_cast<int>(left) : tile_rows;
    const std::int64_t stride = layout_.stages * block_bytes(scheme.pieces);  // from block to block
    const char* from = (is_a ? params_.packed_a : params_.packed_b) +
                       layout_.offset(output.entry, row / block_rows, stages.first, scheme.pieces) +
                       stage_bytes(static_cast<int>(row % block_rows), scheme.pieces);
    int stage = stages.first;
    while (stage < stages.end) {
      if (!knows_path_ && ahead_ == 0) {
        if (!is_selected()) return;
        wait_for_previous_kernel();  // where that wrote the pieces
        knows_path_ = true;
      }
      const int some = knows_path_ ? stages.end - stage : min(stages.end - stage, ahead_);
      if (!knows_path_) ahead_ -= some;
      for (const int end = stage + some; stage < end; ++stage, pipeline_.advance()) {
        if constexpr (is_a && keeps_pace(tile)) pace_.before(stages.tile, stage);
        pipeline_.acquire();
        if (elect_one()) copy_stage(from, stride, static_cast<int>(row % block_rows), rows);
        __syncwarp();
        from += block_bytes(scheme.pieces);
      }
    }
  }
  // After the last tile. Where the consumers exit early, this waits for the copies that they do not
  // wait for: those must have landed when the block ends.
  __device__ __forceinline__ void end() {
    if (knows_path_ || is_selected()) return;
    for (int stage = 0; stage < max_ahead() - ahead_; ++stage)
      mbarrier_wait(&shared_.full[stage], 0);
  }

 private:
  __device__ __forceinline__ void copy_stage(const char* from, std::int64_t stride, int in_block,
                                             int rows) {
    Mbarrier* const full = pipeline_.commit(stage_bytes(rows, scheme.pieces));
    auto& buffers = pipeline_.stage();
    char* const to = is_a ? buffers.a : buffers.b;
    if constexpr (fits_blocks) {
#pragma unroll
      for (int i = 0; i < tile_rows / copy_rows; ++i) {
        if (i * copy_rows >= rows) break;
        bulk_copy(to + i * bytes, from + i * stride, bytes, full);
      }
    } else {
      // Up to the end of a block at a time.
      for (int at = 0; at < rows; in_block = 0) {
        const int some = min(block_rows - in_block, rows - at);
        bulk_copy(to + stage_bytes(at, scheme.pieces), from, stage_bytes(some, scheme.pieces),
                  full);
        at += some;
        from += stride - stage_bytes(in_block, scheme.pieces);
      }
    }
  }
  __device__ __forceinline__ bool is_selected() {
    mbarrier_wait(&shared_.path_selected, 0);
    return shared_.selected;
  }
  __device__ __forceinline__ int max_ahead() const {
    return params_.problem.overlaps_previous ? 0 : tile.stages;
  }

  Shared<scheme, tile>& shared_;
  const ProductParams& params_;
  const PackedLayout& layout_;
  Pipeline<scheme, tile> pipeline_;
  Pace pace_;
  int ahead_ = max_ahead();  // stages that may still be copied before the path is selected
  bool knows_path_ = false;  // and it is this kernel's
};

template <bool is_a, Scheme scheme, Tile tile, class Scheduler>
__device__ __forceinline__ void produce(Shared<scheme, tile>& shared, const ProductParams& params) {
  Producer<is_a, scheme, tile> producer(shared, params);
  for (Scheduler scheduler(params); scheduler.has_work(); scheduler.next())
    producer.copy(scheduler.output_tile(), scheduler.work());
  producer.end();
}

}  // namespace KW_TARGET::hopper
