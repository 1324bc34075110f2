// r05: the tiles of K and V come while the products of others run.
//
// Idea        cp.async copies without a register. V's copies start before Q K^T and are waited for
//             before P V; K's of the next tile start once all warps have their scores, and come
//             under P V. One buffer for each is enough, and the number of barriers is the same.
// Prediction  The loads of a tile were a third of r04's time, and their latency goes; the
//             instructions stay, a copy of 4 bytes each, 64 a thread and tile beside 2560 others. A
//             quarter less time: 36 TFLOP/s.
// Limits      Two loads for 16 FMAs in Q K^T: shared memory gives no more. The library's
//             attention_tile has 8 x 8 scores and 8 x 8 outputs a thread, four loads for 64.
#include "device/async_copy.hpp"
#include "register_tile.hpp"

namespace KW_TARGET {
namespace {

using namespace register_tile;

// Starts the copy of an element, or of a zero where there is none.
__device__ __forceinline__ void copy_element(float* to, const float* data, std::int64_t row,
                                             std::int64_t rows, std::int64_t stride, int col,
                                             std::int64_t cols) {
  const bool there = row < rows && col < cols;
  async_copy<4>(to, there ? data + row * stride + col : data, there ? 4 : 0);
}

__device__ __forceinline__ void copy_columns(float (&to)[widest][pitch], const float* from,
                                             std::int64_t first, std::int64_t rows,
                                             std::int64_t stride, std::int64_t cols) {
  for (int i = static_cast<int>(threadIdx.x); i < tile * widest; i += threads) {
    const int row = i / 8 % tile, d = i / (8 * tile) * 8 + i % 8;
    copy_element(&to[d][row], from, first + row, rows, stride, d, cols);
  }
}

__global__ void __launch_bounds__(threads, 1) async_copies(Attention p) {
  auto& shared = *gpu::dynamic_shared<Operands>();
  const Queries queries(p, tile);
  const AttentionHead& head = queries.head;
  copy_columns(shared.q, head.q, queries.first, head.queries, p.q_strides.row, p.dim);
  if (queries.keys > 0) copy_columns(shared.k, head.k, 0, head.keys, p.k_strides.row, p.dim);
  async_commit();
  Sums sums;
  for (std::int64_t first_key = 0; first_key < queries.keys; first_key += tile) {
    async_wait<0>();
    __syncthreads();  // K is there, and nobody reads the last V and weights
    for (int i = static_cast<int>(threadIdx.x); i < tile * widest; i += threads)
      copy_element(&shared.v[i / widest][i % widest], head.v, first_key + i / widest, head.keys,
                   p.v_strides.row, i % widest, p.dim);
    async_commit();
    float x[own][own] = {};
    find_scores(x, shared, p, queries, first_key);
    sums.weigh(x, shared);
    async_wait<0>();
    __syncthreads();  // V and the weights are there, and nobody reads K
    if (first_key + tile < queries.keys)
      copy_columns(shared.k, head.k, first_key + tile, head.keys, p.k_strides.row, p.dim);
    async_commit();
    sums.add(shared);
  }
  async_wait<0>();
  sums.store(p, queries);
}

}  // namespace

Status r05_async_copies(const Attention& p, const Device&, Workspace, Stream stream) {
  return launch_over_queries(async_copies, tile, threads, sizeof(Operands), p, stream);
}

}  // namespace KW_TARGET
