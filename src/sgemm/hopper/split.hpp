// The split pass: reads A and B once, in any layout, and writes their pieces as packed operands
// (packed_layout.hpp), with zeros around. On the way it finds out which path the data allow
// (control.hpp).
//
// For fp16 the rows are sampled first, for their scales (sample.hpp), by a launch of its own or by
// each block; then the split meets the elements that the scaled pieces cannot hold.
//
// Prediction: a copy at memory bandwidth, per element 4 bytes in and 6 (bf16) or 4 (fp16) out.
#pragma once

#include "device/overlap.hpp"
#include "sgemm/hopper/chunk.hpp"
#include "sgemm/hopper/outliers.hpp"
#include "sgemm/hopper/sample.hpp"
#include "sgemm/hopper/select_path.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"
#include "sgemm/hopper/terms.hpp"

namespace KW_TARGET::hopper {

// Writes the ranges of A and B that a block has read, for select_path. All its threads call this.
__device__ inline void write_ranges(const SplitParams& params, const SizeRange (&ranges)[2],
                                    unsigned block) {
  constexpr int warps = split_threads / warp_lanes;
  __shared__ std::uint32_t of_warps[warps][range_words];
  const int tid = static_cast<int>(threadIdx.x);
  std::uint32_t words[range_words] = {ranges[0].largest, ranges[0].below, ranges[1].largest,
                                      ranges[1].below};
  share_warp_maxima(words, of_warps, tid, tid % warp_lanes, [] { __syncthreads(); });
  if (tid >= range_words) return;
  std::uint32_t most = 0;
#pragma unroll
  for (int warp = 0; warp < warps; ++warp) {
    const std::uint32_t other = of_warps[warp][tid];
    if (other > most) most = other;
  }
  params.control->ranges[block].words[tid] = most;
}

// In shared memory, for the passes that meet any.
__device__ inline FoundOutliers& found_outliers() {
  __shared__ FoundOutliers found;
  return found;
}

// Of the stages of some rows of a triangle those that tiles read: their ranges of k.
__device__ __forceinline__ void keep_range(const Sgemm& p, const PackedLayout& layout,
                                           const SplitItem& item, std::int64_t& first,
                                           std::int64_t& end) {
  constexpr int side = range_tile_side;
  const StepRange range =
      step_range(p.k_range, static_cast<int>(item.row_block) * block_rows / side,
                 static_cast<int>(ceil_div(layout.rows, std::int64_t{side})), side, stage_k,
                 static_cast<int>(layout.stages));
  if (first < range.first) first = range.first;
  if (end > range.end) end = range.end;
}

// Splits some stages of 64 rows, and adds what it reads to the range of the operand. `turn`: how
// many items the block has split before.
template <SplitPass pass, bool triangular>
__device__ __forceinline__ void split_rows(const SplitParams& params, const SplitItem& item,
                                           unsigned turn, int tid, SizeRange& range) {
  const Source& source = params.sources[item.operand];
  const auto stored = stored_operand<triangular>(params.problem, item.operand, item.entry);
  const ThreadChunk own(tid, source.along_k);
  const std::int64_t row = item.row_block * block_rows + own.row;
  constexpr int pieces = is_fp16(pass) ? split::fp16_pieces : split::bf16_pieces;
  const SplitItems& items = params.items[item.operand];
  std::int64_t first = items.first_stage(item.segment), end = items.first_stage(item.segment + 1);
  if constexpr (triangular) {
    if (stored.squares != nullptr) keep_range(params.problem, source.layout, item, first, end);
  }

  [[maybe_unused]] int scale = 0;
  if constexpr (pass == SplitPass::sampled_fp16)
    scale = sampled_scale<triangular>(params, item, tid);
  if (pass == SplitPass::fp16 && row < source.layout.rows)
    scale = source.scales[item.entry * source.layout.rows + row];
  const int packed_row = item.operand == 1 ? packed_column(own.row) : own.row;
  char* packed = source.packed + source.layout.offset(item.entry, item.row_block, first, pieces);
  for (std::int64_t stage = first; stage < end; stage += stages_at_once) {
    float x[stages_at_once][chunk_k];
#pragma unroll
    for (int s = 0; s < stages_at_once; ++s) {
      // Beyond the end: k is beyond the operand, or the stage is another item's and not stored.
      load_chunk(x[s], source, stored, row,
                 stage + s < end ? (stage + s) * stage_k + own.chunk * chunk_k : source.layout.k);
    }
#pragma unroll
    for (int s = 0; s < stages_at_once; ++s) {
      if (stage + s >= end) break;
      char* const to = packed + s * block_bytes(pieces);
      const SizeRange of_chunk = SizeRange::of(x[s]);
      range.add(of_chunk);
      if constexpr (is_fp16(pass)) {
        const std::int64_t k = (stage + s) * stage_k + own.chunk * chunk_k;
        split_chunk_fp16(x[s], of_chunk, to, packed_row, own.chunk, scale, [&](int i, float lost) {
          found_outliers().add(
              turn, {static_cast<std::int32_t>(row), static_cast<std::int32_t>(k + i), lost});
        });
      } else {
        split_chunk_bf16(x[s], to, packed_row, own.chunk);
      }
    }
    packed += stages_at_once * block_bytes(pieces);
  }
  if constexpr (is_fp16(pass)) {
    const OutlierLists& lists = params.outliers[item.operand];
    found_outliers().write(turn, lists, lists.first_of(item.entry, item.row_block) + item.segment,
                           *params.outlier_totals, tid);
  }
}

// The work items of one of `blocks` blocks, by split_threads threads, `tid` among them; adds what
// they read to the ranges.
template <SplitPass pass, bool triangular>
__device__ __forceinline__ void split_operands(const SplitParams& params, unsigned block,
                                               unsigned blocks, int tid, SizeRange (&ranges)[2]) {
  unsigned index = block, turn = 0;
  if constexpr (is_fp16(pass)) {
    if (tid == 0) found_outliers().begin();
    __syncthreads();
  }
  const auto split_operand = [&](int operand, SizeRange& range) {
    const Source& source = params.sources[operand];
    SplitItems items = params.items[operand];
    if constexpr (pass == SplitPass::sample) items.segments = 1;
    const unsigned count = static_cast<unsigned>(params.problem.batch) * items.per_entry();
    for (; index < count; index += blocks) {
      const SplitItem item = split_item_at(items, source.along_k, operand, index);
      if constexpr (pass == SplitPass::sample)
        sampled_scale<triangular>(params, item, tid);
      else
        split_rows<pass, triangular>(params, item, turn++, tid, range);
    }
    index -= count;
  };
  split_operand(0, ranges[0]);
  split_operand(1, ranges[1]);
}

// `triangular`: an instance for operands that are triangles whose zeros are not stored.
template <SplitPass pass, bool triangular = false>
__global__ __launch_bounds__(split_threads,
                             split_blocks_per_sm(pass)) void split_pass(const SplitParams params) {
  begin_concurrent(params.problem);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    params.control->paced = 0, params.control->takes_fp32 = 0;
  constexpr unsigned first = weighs_terms(pass) ? term_blocks : 0;
  if (weighs_terms(pass) && blockIdx.x < term_blocks) {
    if (reads_operands(params.problem)) weigh_terms_of_block<triangular>(params);
  } else {
    SizeRange ranges[2];
    const unsigned block = blockIdx.x - first;
    if (reads_operands(params.problem))
      split_operands<pass, triangular>(params, block, gridDim.x - first,
                                       static_cast<int>(threadIdx.x), ranges);
    if (pass != SplitPass::sample) write_ranges(params, ranges, block);
  }
  let_next_kernel_start();
  end_concurrent(params.problem);
}

}  // namespace KW_TARGET::hopper
