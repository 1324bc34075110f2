// A block's way through its share of a product: which tiles of C, where they lie, which stages of
// k.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace KW_TARGET::hopper {

// A tile of C: rows from i0, columns from j0 of entry `entry`.
struct OutputTile {
  std::int64_t entry, i0, j0;
};

// Takes its tiles in the order of Tile::strip_tiles.
template <Tile tile>
class TileScheduler {
 public:
  static constexpr bool has_diagonal = false, has_ranges = false;

  __device__ __forceinline__ explicit TileScheduler(const ProductParams& params)
      : params_(params), work_(params.schedule.first(static_cast<int>(blockIdx.x))) {}

  __device__ __forceinline__ bool has_work() const { return work_.valid(); }
  __device__ __forceinline__ void next() {
    work_ = params_.schedule.next(work_, static_cast<int>(blockIdx.x));
  }
  __device__ __forceinline__ const Work& work() const { return work_; }
  __device__ __forceinline__ int stages() const { return work_.end - work_.first; }
  // Whether the work is all stages of its tile.
  __device__ __forceinline__ bool is_whole() const { return params_.schedule.is_whole(work_); }

  __device__ __forceinline__ OutputTile output_tile() const {
    const TileAt at = params_.grid.at<strip_tiles>(static_cast<std::uint32_t>(work_.tile));
    return {at.entry, std::int64_t{at.row} * tile.bm(), std::int64_t{at.column} * tile.bn};
  }

 protected:
  static constexpr int strip_tiles = tile.strip_tiles();

  __device__ __forceinline__ int tiles_m() const {
    return static_cast<int>(ceil_div(params_.problem.m, tile.bm()));
  }
  __device__ __forceinline__ int tiles_n() const {
    return static_cast<int>(ceil_div(params_.problem.n, tile.bn));
  }

  const ProductParams& params_;
  Work work_;
};

}  // namespace KW_TARGET::hopper
