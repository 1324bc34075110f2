// The sample of the split pass: how large a row is, which fp16x3 must know before it can scale it.
// 128 elements of each row say that nearly always; the scale leaves room for elements that are
// larger by up to 2^sample_room, and the split sets larger ones apart. The element on the diagonal
// is looked at, too: in Gram, covariance and kernel matrices it outweighs its row.
#pragma once

#include "device/warp.hpp"
#include "sgemm/hopper/chunk.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"

namespace KW_TARGET::hopper {

// Of 2^-110 and less, which the pieces hold only where the other operand is zeros: with a row of
// those the scale would be too large for a float (unscale.hpp).
constexpr int largest_scale = 14 + 110;

// The size of a row's element on the diagonal; 0 where the row has none.
template <bool triangular>
__device__ __forceinline__ std::uint32_t diagonal_size(const Source& source,
                                                       const StoredOperand<triangular>& stored,
                                                       std::int64_t row) {
  if (row >= source.layout.rows || row >= source.layout.k) return 0;
  return std::bit_cast<std::uint32_t>(stored.element(row, row)) & ~split::sign_bit;
}

// Scaled by a diagonal that is larger still, too many elements would be too small for the pieces.
__device__ __forceinline__ int scale_of(std::uint32_t sampled, std::uint32_t diagonal) {
  const int scale = min(split::fp16_scale(sampled), largest_scale);
  const int of_diagonal = split::fp16_scale(diagonal);
  const bool has_peak = diagonal != 0 && scale - of_diagonal <= largest_diagonal;
  return min(scale - sample_room, has_peak ? of_diagonal : largest_scale);
}

// The scale of this thread's row (ThreadChunk), from the largest sampled element of the row; from
// the largest of the item's 64 rows, where the row's are zeros. All segments of a row block come to
// the same scales; the first one writes them, for the product. All threads of the block call it.
template <bool triangular>
__device__ inline int sampled_scale(const SplitParams& params, const SplitItem& item, int tid) {
  __shared__ std::uint32_t sizes[block_rows], diagonals[block_rows], block_size;
  const Source& source = params.sources[item.operand];
  const auto stored = stored_operand<triangular>(params.problem, item.operand, item.entry);
  const ThreadChunk own(tid, source.along_k);
  const std::int64_t row = item.row_block * block_rows + own.row;

  if (tid < block_rows) sizes[tid] = 0;
  if (tid == 0) block_size = 0;
  float x[sampled_stages][chunk_k];
#pragma unroll
  for (int s = 0; s < sampled_stages; ++s) {
    const std::int64_t stage = s * (source.layout.stages - 1) / (sampled_stages - 1);
    load_chunk(x[s], source, stored, row, stage * stage_k + own.chunk * chunk_k);
  }
  const std::uint32_t diagonal = own.chunk == 0 ? diagonal_size(source, stored, row) : 0;
  SizeRange sampled;
#pragma unroll
  for (int s = 0; s < sampled_stages; ++s) sampled.add(SizeRange::of(x[s]));
  const std::uint32_t of_warp = largest_of_warp(sampled.largest);
  __syncthreads();
  atomicMax(&sizes[own.row], sampled.largest);
  if (own.chunk == 0) diagonals[own.row] = diagonal;
  if (tid % warp_lanes == 0) atomicMax(&block_size, of_warp);
  __syncthreads();
  const std::uint32_t size = sizes[own.row] != 0 ? sizes[own.row] : block_size;
  const int scale = scale_of(size, diagonals[own.row]);
  if (item.segment == 0 && own.chunk == 0 && row < source.layout.rows)
    source.scales[item.entry * source.layout.rows + row] = scale;
  __syncthreads();  // before the next item's
  return scale;
}

}  // namespace KW_TARGET::hopper
