// r04: a thread has 4 x 4 scores and 4 x 8 elements of O in registers.
//
// Idea        Each word that comes from shared memory is multiplied four or eight times. Q and K
// lie
//             by columns, so that four rows are one load of 16 bytes; the weights go back to shared
//             memory by columns, as the second product wants them.
// Prediction  A step of Q K^T is two loads for 16 FMAs, one of them the same for half a warp: 2 + 4
//             wavefronts; of P V three loads, 2 + 4 + 4, for 32. Four schedulers issue 16 FMAs each
//             in the time of 24 wavefronts, 32 in that of 40: at most 67 and 80 % of the FMA peak.
//             Loads of a tile stand alone between barriers, 64 KB from L2 for 2.1e6 FMAs: with two
//             blocks a multiprocessor a third of that again. 27 TFLOP/s, 2.5 times r03.
// Limits      The tile's own loads, which nothing covers but the other block.
#include "register_tile.hpp"

namespace KW_TARGET {
namespace {

using namespace register_tile;

// 64 rows of a head, by columns.
__device__ __forceinline__ void bring_columns(float (&to)[widest][pitch], const float* from,
                                              std::int64_t first, std::int64_t rows,
                                              std::int64_t stride, std::int64_t cols) {
  for (int i = static_cast<int>(threadIdx.x); i < tile * widest; i += threads) {
    const int row = i / 8 % tile, d = i / (8 * tile) * 8 + i % 8;
    to[d][row] = element(from, first + row, rows, stride, d, cols);
  }
}

__global__ void __launch_bounds__(threads) register_tiles(Attention p) {
  auto& shared = *gpu::dynamic_shared<Operands>();
  const Queries queries(p, tile);
  const AttentionHead& head = queries.head;
  bring_columns(shared.q, head.q, queries.first, head.queries, p.q_strides.row, p.dim);
  Sums sums;
  for (std::int64_t first_key = 0; first_key < queries.keys; first_key += tile) {
    __syncthreads();  // nobody reads the last tile
    bring_columns(shared.k, head.k, first_key, head.keys, p.k_strides.row, p.dim);
    for (int i = static_cast<int>(threadIdx.x); i < tile * widest; i += threads)
      shared.v[i / widest][i % widest] =
          element(head.v, first_key + i / widest, head.keys, p.v_strides.row, i % widest, p.dim);
    __syncthreads();
    float x[own][own] = {};
    find_scores(x, shared, p, queries, first_key);
    sums.weigh(x, shared);
    __syncthreads();
    sums.add(shared);
  }
  sums.store(p, queries);
}

}  // namespace

Status r04_register_tiles(const Attention& p, const Device&, Workspace, Stream stream) {
  return launch_over_queries(register_tiles, tile, threads, sizeof(Operands), p, stream);
}

}  // namespace KW_TARGET
