// The sample of the split pass: how large a row is, which fp16x3 must know before it can scale it.
// 128 elements of each row say that nearly always; the scale leaves room for elements that are
// larger by up to 2^sample_room, and the split sets larger ones apart.
#pragma once

#include "sgemm/hopper/chunk.hpp"

namespace KW_TARGET::hopper {

// Of 2^-110 and less, which the pieces hold only where the other operand is zeros: with a row of
// those the scale would be too large for a float (unscale.hpp).
constexpr int largest_scale = 14 + 110;

// Writes the scales of 64 rows, from the largest sampled element of each; from the largest of all
// 64, where a row's are zeros.
__device__ inline void sample_rows(const SplitParams& params, const SplitItem& item) {
  __shared__ std::uint32_t sizes[block_rows], block_size;
  const Source& source = params.sources[item.operand];
  const auto [data, ld] = stored_operand(params, item);
  const int tid = static_cast<int>(threadIdx.x);
  const ThreadChunk own(tid, source.along_k);
  const std::int64_t first_row = item.row_block * block_rows;

  if (tid < block_rows) sizes[tid] = 0;
  if (tid == 0) block_size = 0;
  float x[sampled_stages][chunk_k];
#pragma unroll
  for (int s = 0; s < sampled_stages; ++s) {
    const std::int64_t stage = s * (source.layout.stages - 1) / (sampled_stages - 1);
    load_chunk(x[s], source, data, ld, first_row + own.row, stage * stage_k + own.chunk * chunk_k);
  }
  SizeRange sampled;
#pragma unroll
  for (int s = 0; s < sampled_stages; ++s) sampled.add(SizeRange::of(x[s]));
  __syncthreads();
  atomicMax(&sizes[own.row], sampled.largest);
  __syncthreads();
  if (tid < block_rows) atomicMax(&block_size, sizes[tid]);
  __syncthreads();
  if (tid < block_rows && first_row + tid < source.layout.rows) {
    const std::uint32_t size = sizes[tid] != 0 ? sizes[tid] : block_size;
    source.scales[item.entry * source.layout.rows + first_row + tid] =
        min(split::fp16_scale(size), largest_scale) - sample_room;
  }
  __syncthreads();
}

}  // namespace KW_TARGET::hopper
