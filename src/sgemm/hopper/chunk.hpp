// What a thread of the split pass does with 8 elements along k: load them, split them into pieces,
// name outliers, store the pieces where the packed operand wants them.
#pragma once

#include "device/cache_hint.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/stored_operand.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::hopper {

// Eight neighbours in memory, on a boundary of 16 bytes.
__device__ __forceinline__ void load_neighbours(float (&x)[chunk_k], const float* from) {
  const float4* const at = reinterpret_cast<const float4*>(from);
  const float4 first = load_once(at), second = load_once(at + 1);
  x[0] = first.x, x[1] = first.y, x[2] = first.z, x[3] = first.w;
  x[4] = second.x, x[5] = second.y, x[6] = second.z, x[7] = second.w;
}

// The elements of a row from k0 on; zeros outside of the operand.
template <bool triangular>
__device__ __forceinline__ void load_chunk(float (&x)[chunk_k], const Source& source,
                                           const StoredOperand<triangular>& stored,
                                           std::int64_t row, std::int64_t k0) {
  const PackedLayout& layout = source.layout;
  std::int64_t step;
  const float* const from = stored.find(row, k0, step);
  if (triangular && from == nullptr) {
#pragma unroll
    for (float& zero : x) zero = 0;
    return;
  }
  const bool is_whole = row < layout.rows && k0 + chunk_k <= layout.k;
  if (is_whole && source.along_k && source.aligned) {
    load_neighbours(x, from);
    return;
  }
  const float* at = from;
  if (is_whole) {
#pragma unroll
    for (int i = 0; i < chunk_k; ++i, at += step) x[i] = load_once(at);
    return;
  }
  const std::int64_t valid = row < layout.rows ? layout.k - k0 : 0;
#pragma unroll
  for (int i = 0; i < chunk_k; ++i) x[i] = i < valid ? load_once(at + i * step) : 0.0f;
}

// `stage`: where the packed operand has the stage of the row's block.
template <int pieces>
__device__ __forceinline__ void store_chunk(char* stage, int row, int chunk,
                                            const split::Pair (&words)[chunk_k / 2][pieces]) {
#pragma unroll
  for (int p = 0; p < pieces; ++p) {
    *reinterpret_cast<uint4*>(stage + chunk_offset(row, chunk, p, pieces)) =
        make_uint4(words[0][p], words[1][p], words[2][p], words[3][p]);
  }
}

__device__ __forceinline__ void split_chunk_bf16(const float (&x)[chunk_k], char* stage, int row,
                                                 int chunk) {
  split::Pair words[chunk_k / 2][split::bf16_pieces];
#pragma unroll
  for (int i = 0; i < chunk_k / 2; ++i) split::split_bf16(x[2 * i], x[2 * i + 1], words[i]);
  store_chunk(stage, row, chunk, words);
}

// `of_chunk`: the range of x. is_outlier(i, x[i]) is told of elements that the pieces of this scale
// cannot hold.
template <class IsOutlier>
__device__ __forceinline__ void split_chunk_fp16(float (&x)[chunk_k], const SizeRange& of_chunk,
                                                 char* stage, int row, int chunk, int scale,
                                                 const IsOutlier& is_outlier) {
  if (!split::fp16_holds(of_chunk.largest, scale) ||
      !split::fp16_holds(of_chunk.smallest(), scale)) {
#pragma unroll
    for (int i = 0; i < chunk_k; ++i) {
      if (split::fp16_holds(x[i], scale)) continue;
      is_outlier(i, x[i]);
      x[i] = 0;
    }
  }
  split::Pair words[chunk_k / 2][split::fp16_pieces];
#pragma unroll
  for (int i = 0; i < chunk_k / 2; ++i) {
    split::split_fp16(split::scale(x[2 * i], scale), split::scale(x[2 * i + 1], scale), words[i]);
  }
  store_chunk(stage, row, chunk, words);
}

}  // namespace KW_TARGET::hopper
