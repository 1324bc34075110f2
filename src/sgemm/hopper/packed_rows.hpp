// An operand's rows of a tile where the split pass has written their pieces: some rows of the
// packed operand, which bulk copies bring into a stage.
#pragma once

#include "device/bulk_copy.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/packed_layout.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

// A tile that reaches past the packed operand takes fewer rows; the rest of its buffer keeps what
// it has and meets no element of C.
struct PackedRows {
  const char* next;     // the stage to be copied
  std::int64_t stride;  // from block to block
  int rows;

  // `tile_rows` rows from `row` on, which begin where a block does, from a stage on.
  __device__ __forceinline__ void find(const PackedLayout& layout, const char* packed,
                                       std::int64_t entry, std::int64_t row, int tile_rows,
                                       int stage, int pieces) {
    const std::int64_t left = layout.blocks * block_rows - row;
    rows = left < tile_rows ? static_cast<int>(left) : tile_rows;
    stride = layout.stages * block_bytes(pieces);
    next = packed + layout.offset(entry, row / block_rows, stage, pieces);
  }
  // Copies the next stage; its bytes arrive at `full`. One thread calls it.
  template <int tile_rows, int pieces>
  __device__ __forceinline__ void copy_stage(char* to, Mbarrier* full) {
    static_assert(tile_rows % block_rows == 0);
    constexpr int bytes = block_bytes(pieces);
    mbarrier_arrive_expecting(full, static_cast<unsigned>(stage_bytes(rows, pieces)));
#pragma unroll
    for (int i = 0; i < tile_rows / block_rows; ++i)
      if (i * block_rows < rows) bulk_copy(to + i * bytes, next + i * stride, bytes, full);
    next += bytes;
  }
};

}  // namespace KW_TARGET::hopper
