// Which tiles of C and which stages of k a block computes, and in which order.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace KW_TARGET::hopper {

// A tile of C: rows from i0, columns from j0 of entry `entry`.
struct OutputTile {
  std::int64_t entry, i0, j0;
};

// The tiles of a block: the grid fits the device, and each block takes every so many tiles. Those
// in flight at one time lie close together, so that L2 has what they read: column after column of a
// strip of 1536 rows.
template <Tile tile>
class TileScheduler {
 public:
  __device__ __forceinline__ explicit TileScheduler(const ProductParams& params)
      : params_(params), index_(static_cast<int>(blockIdx.x) / blocks_per_tile(params)) {}

  __device__ __forceinline__ bool has_tile() const {
    return index_ < tiles_m() * tiles_n() * static_cast<int>(params_.problem.batch);
  }
  __device__ __forceinline__ void next() {
    index_ += static_cast<int>(gridDim.x) / blocks_per_tile(params_);
  }
  __device__ __forceinline__ int tile_index() const { return index_; }

  __device__ __forceinline__ OutputTile output_tile() const {
    const int entry = index_ / (tiles_m() * tiles_n());
    const int in_entry = index_ % (tiles_m() * tiles_n());
    const int strip = in_entry / (strip_tiles * tiles_n());
    const int left = tiles_m() - strip * strip_tiles;
    const int height = left < strip_tiles ? left : strip_tiles;
    const int in_strip = in_entry - strip * strip_tiles * tiles_n();
    const std::int64_t i = strip * strip_tiles + in_strip % height, j = in_strip / height;
    return {entry, i * tile.bm(), j * tile.bn};
  }

 private:
  __device__ static __forceinline__ int blocks_per_tile(const ProductParams& params) {
    return tile.shares_rows ? params.k_splits : 1;
  }
  static constexpr int strip_tiles = 1536 / tile.bm();

  __device__ __forceinline__ int tiles_m() const {
    return static_cast<int>(ceil_div(params_.problem.m, tile.bm()));
  }
  __device__ __forceinline__ int tiles_n() const {
    return static_cast<int>(ceil_div(params_.problem.n, tile.bn));
  }

  const ProductParams& params_;
  int index_;
};

// The stages of k that a block computes of its tiles: all, or one of k_splits parts.
struct StageRange {
  int first, end;
};
__device__ __forceinline__ int own_k_split(const ProductParams& params) {
  return static_cast<int>(blockIdx.x) % params.k_splits;
}
template <Tile tile>
__device__ __forceinline__ StageRange own_stages(const ProductParams& params) {
  const int stages = static_cast<int>(params.a.stages);
  if (!tile.shares_rows) return {0, stages};
  const int split = own_k_split(params);
  return {stages * split / params.k_splits, stages * (split + 1) / params.k_splits};
}

}  // namespace KW_TARGET::hopper
