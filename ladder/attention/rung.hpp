// What the rungs share, so that each file holds its own step and nothing else: which head and
// queries a block has, how many keys they see, and the launch over all of them.
#pragma once

#include "attention/weights.hpp"
#include "device/warp.hpp"
#include "rungs.hpp"

namespace KW_TARGET {

using namespace attention;  // powers of two as weights, and what becomes of -Inf

// A block's head, its first query, and how many keys the last of its `rows` queries sees.
struct Queries {
  AttentionHead head;
  std::int64_t first, keys;

  __device__ __forceinline__ Queries(const Attention& p, int rows)
      : head(head_of(p, blockIdx.y / p.heads, blockIdx.y % p.heads)),
        first(std::int64_t{blockIdx.x} * rows) {
    const std::int64_t last = first + rows < head.queries ? first + rows : head.queries;
    keys = visible_keys(p.causal, last - 1, head.queries, head.keys);
  }
};

// The score of a product: in powers of two, -Inf where the query does not see the key.
__device__ __forceinline__ float score(const Attention& p, const AttentionHead& head,
                                       std::int64_t query, std::int64_t key, float product) {
  const bool sees =
      query < head.queries && key < visible_keys(p.causal, query, head.queries, head.keys);
  return sees ? product * (p.scale * log2_e) : minus_infinity();
}

// An element of a row, or 0 beyond the rows and columns that there are.
__device__ __forceinline__ float element(const float* data, std::int64_t row, std::int64_t rows,
                                         std::int64_t stride, int col, std::int64_t cols) {
  return row < rows && col < cols ? data[row * stride + col] : 0.0f;
}

using QueriesKernel = void(Attention);
inline Status launch_over_queries(QueriesKernel* kernel, int rows, int threads,
                                  std::size_t shared_bytes, const Attention& p, Stream stream) {
  return gpu::launch(kernel,
                     {dim3(static_cast<unsigned>(ceil_div(p.queries, rows)),
                           static_cast<unsigned>(p.batch * p.heads)),
                      dim3(static_cast<unsigned>(threads)), shared_bytes, stream},
                     p);
}

}  // namespace KW_TARGET
