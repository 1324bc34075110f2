// r03: queries share the keys that they read, a tile of 32 at a time.
//
// Idea        A block has 32 queries and brings 32 keys and their V into shared memory (Dao et al.
//             2022). A warp has one query, a lane one of the keys: a score is one thread's own sum,
//             and softmax's exchanges come once for 32 keys. For P V a lane has its elements of O,
//             and the weights come from the other lanes, one exchange a key.
// Prediction  Shared memory: a score's step reads a word of Q, the same for the warp, and one of K,
//             in different banks as rows are padded by one: 2 wavefronts for an FMA. P V reads one
//             word of V for an FMA. A tile is 32 warps x (256 + 128) wavefronts = 12288 cycles for
//             32 x 256 FMAs, of which the schedulers do 4 a cycle: a sixth of the FMA peak, 11
//             TFLOP/s.
// Limits      Shared-memory wavefronts, 1.5 an FMA.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int tile = 32, widest = 128, outputs = widest / tile;

struct SharedTiles {
  float q[tile][widest], k[tile][widest + 1], v[tile][widest];
};

__global__ void __launch_bounds__(tile* tile) shared_tiles(Attention p) {
  auto& shared = *gpu::dynamic_shared<SharedTiles>();
  const Queries own(p, tile);
  const int lane = static_cast<int>(threadIdx.x) % tile, row = static_cast<int>(threadIdx.x) / tile;
  const std::int64_t query = own.first + row;
#pragma unroll
  for (int i = 0; i < outputs; ++i)
    shared.q[row][i * tile + lane] =
        element(own.head.q, query, own.head.queries, p.q_strides.row, i * tile + lane, p.dim);
  float o[outputs] = {}, largest = minus_infinity(), sum = 0;
  for (std::int64_t first_key = 0; first_key < own.keys; first_key += tile) {
    __syncthreads();  // nobody reads the last tile
#pragma unroll
    for (int i = 0; i < outputs; ++i) {
      const int d = i * tile + lane;
      const std::int64_t key = first_key + row;
      shared.k[row][d] = element(own.head.k, key, own.head.keys, p.k_strides.row, d, p.dim);
      shared.v[row][d] = element(own.head.v, key, own.head.keys, p.v_strides.row, d, p.dim);
    }
    __syncthreads();
    float x = 0;
#pragma unroll 16
    for (int d = 0; d < widest; ++d) x = fmaf(shared.q[row][d], shared.k[lane][d], x);
    x = score(p, own.head, query, first_key + lane, x);
    const float before = largest;
    float of_tile = x;
#pragma unroll
    for (int lanes = tile / 2; lanes > 0; lanes /= 2)
      of_tile = fmaxf(of_tile, __shfl_xor_sync(whole_warp(), of_tile, lanes));
    largest = fmaxf(largest, of_tile);
    const float reference = reference_of(largest), factor = rescale(before, reference),
                weight = power_of_2(x - reference);
    sum = fmaf(sum, factor, weight);
#pragma unroll
    for (int i = 0; i < outputs; ++i) o[i] *= factor;
#pragma unroll
    for (int key = 0; key < tile; ++key) {
      const float of_key = __shfl_sync(whole_warp(), weight, key, warp_lanes);
#pragma unroll
      for (int i = 0; i < outputs; ++i) o[i] = fmaf(of_key, shared.v[key][i * tile + lane], o[i]);
    }
  }
#pragma unroll
  for (int lanes = tile / 2; lanes > 0; lanes /= 2)
    sum += __shfl_xor_sync(whole_warp(), sum, lanes);
  if (query >= own.head.queries) return;
#pragma unroll
  for (int i = 0; i < outputs; ++i) {
    const int d = i * tile + lane;
    if (d < p.dim) own.head.o[query * p.o_strides.row + d] = o[i] * divisor(sum);
  }
}

}  // namespace

Status r03_shared_tiles(const Attention& p, const Device&, Workspace, Stream stream) {
  return launch_over_queries(shared_tiles, tile, tile * tile, sizeof(SharedTiles), p, stream);
}

}  // namespace KW_TARGET
