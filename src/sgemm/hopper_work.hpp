// What the main kernels of the split products are given, and in which order their blocks take the
// tiles of C.
#pragma once

#include "device/bulk_copy.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper_control.hpp"
#include "sgemm/hopper_image.hpp"
#include "sgemm/hopper_tuning.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

struct Work {
  Sgemm problem;
  Image a, b;
  const char *image_a = nullptr, *image_b = nullptr;
  const int *scales_a = nullptr, *scales_b = nullptr;  // fp16: [entry][row], powers of two
  Control* control = nullptr;
  int seen_blocks = 0;          // of the pre-pass, by which the blocks decide
  float* part_sums = nullptr;   // where several blocks share a tile: what each has of it
  unsigned* tickets = nullptr;  // one a tile, zero before and after
  int parts = 1;                // that k is cut into, a block each
};

// A tile of C: rows from i0, columns from j0 of entry `entry`.
struct Place {
  std::int64_t entry, i0, j0;
};

// Where a block is in its cluster: clusters of tiles are row-major.
template <Tile tile>
struct ClusterPlace {
  int m = 0, n = 0;

  __device__ __forceinline__ ClusterPlace() {
    if constexpr (tile.cluster() == 1) return;
    const int rank = static_cast<int>(rank_in_cluster());
    m = rank / tile.cluster_n;
    n = rank % tile.cluster_n;
  }
};

// The clusters of a grid that fits the device (of one block or more) take every so many clusters of
// tiles. Those in flight at one time lie close together, so that L2 has what they read: column
// after column of a strip of 1536 rows.
template <Tile tile>
class TileWalk {
 public:
  __device__ __forceinline__ explicit TileWalk(const Work& work)
      : work_(work), index_(static_cast<int>(blockIdx.x) / blocks(work)) {}

  __device__ __forceinline__ bool has_tile() const {
    return index_ < tiles_m() * tiles_n() * static_cast<int>(work_.problem.batch);
  }
  __device__ __forceinline__ void next() { index_ += static_cast<int>(gridDim.x) / blocks(work_); }
  // Of this block's own tile.
  __device__ __forceinline__ int tile_index() const {
    if constexpr (tile.cluster() == 1) return index_;
    return index_ * tile.cluster() + static_cast<int>(rank_in_cluster());
  }

  __device__ __forceinline__ Place place() const {
    const int entry = index_ / (tiles_m() * tiles_n());
    const int in_entry = index_ % (tiles_m() * tiles_n());
    const int strip = in_entry / (strip_tiles * tiles_n());
    const int left = tiles_m() - strip * strip_tiles;
    const int height = left < strip_tiles ? left : strip_tiles;
    const int in_strip = in_entry - strip * strip_tiles * tiles_n();
    const std::int64_t i = strip * strip_tiles + in_strip % height, j = in_strip / height;
    const ClusterPlace<tile> own;
    return {entry, i * tile.height() + own.m * tile.bm(), j * tile.width() + own.n * tile.bn};
  }

 private:
  __device__ static __forceinline__ int blocks(const Work& work) {  // of a cluster of tiles
    return tile.shares_rows ? work.parts * tile.cluster() : tile.cluster();
  }
  static constexpr int strip_tiles = 1536 / tile.height();

  __device__ __forceinline__ int tiles_m() const {
    return static_cast<int>(gpu::ceil_div(work_.problem.m, tile.height()));
  }
  __device__ __forceinline__ int tiles_n() const {
    return static_cast<int>(gpu::ceil_div(work_.problem.n, tile.width()));
  }

  const Work& work_;
  int index_;
};

// The stages of k that a block computes: all, or its part.
struct StageRange {
  int first, end;
};
template <Tile tile>
__device__ __forceinline__ int own_part(const Work& work) {
  return static_cast<int>(blockIdx.x) / tile.cluster() % work.parts;
}
template <Tile tile>
__device__ __forceinline__ StageRange own_stages(const Work& work) {
  const int stages = static_cast<int>(work.a.stages);
  if (!tile.shares_rows) return {0, stages};
  const int part = own_part<tile>(work);
  return {stages * part / work.parts, stages * (part + 1) / work.parts};
}

}  // namespace KW_TARGET::hopper
