// What the main kernels of the split products are given, and in which order their blocks take the
// tiles of C.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/tuning.hpp"
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

// The blocks of a grid that fits the device take every so many tiles. Those in flight at one time
// lie close together, so that L2 has what they read: column after column of a strip of 1536 rows.
template <Tile tile>
class TileWalk {
 public:
  __device__ __forceinline__ explicit TileWalk(const Work& work)
      : work_(work), index_(static_cast<int>(blockIdx.x) / blocks(work)) {}

  __device__ __forceinline__ bool has_tile() const {
    return index_ < tiles_m() * tiles_n() * static_cast<int>(work_.problem.batch);
  }
  __device__ __forceinline__ void next() { index_ += static_cast<int>(gridDim.x) / blocks(work_); }
  __device__ __forceinline__ int tile_index() const { return index_; }

  __device__ __forceinline__ Place place() const {
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
  __device__ static __forceinline__ int blocks(const Work& work) {  // of a tile
    return tile.shares_rows ? work.parts : 1;
  }
  static constexpr int strip_tiles = 1536 / tile.bm();

  __device__ __forceinline__ int tiles_m() const {
    return static_cast<int>(gpu::ceil_div(work_.problem.m, tile.bm()));
  }
  __device__ __forceinline__ int tiles_n() const {
    return static_cast<int>(gpu::ceil_div(work_.problem.n, tile.bn));
  }

  const Work& work_;
  int index_;
};

// The stages of k that a block computes: all, or its part.
struct StageRange {
  int first, end;
};
__device__ __forceinline__ int own_part(const Work& work) {
  return static_cast<int>(blockIdx.x) % work.parts;
}
template <Tile tile>
__device__ __forceinline__ StageRange own_stages(const Work& work) {
  const int stages = static_cast<int>(work.a.stages);
  if (!tile.shares_rows) return {0, stages};
  const int part = own_part(work);
  return {stages * part / work.parts, stages * (part + 1) / work.parts};
}

}  // namespace KW_TARGET::hopper
