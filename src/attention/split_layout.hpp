// attention_split's pieces in the workspace, in the order in which they lie in shared memory later,
// and what the split pass finds out about the data.
//
//   Q, K   blocks of 64 rows: [block][32 along the head][8 rows][16 along it][piece][8][8 rows][8]
//   V      blocks of 64 keys, turned: its rows are the head's elements, and k is keys
//
// A block has one scale, a power of two that brings its largest element to 2^14 or more. Pieces
// are x * 2^scale = hi + lo, both fp16: exact to 2^-23 of x down to 2^-17 of the block's largest
// element, to 2^-40 of the largest below that.
#pragma once

#include <bit>
#include <cstdint>

#include "arithmetic.hpp"
#include "attention/problem.hpp"
#include "host_device.hpp"

namespace kw::attention_split {

constexpr int block_rows = 64, tile_queries = 128, pieces = 2;

KW_HOST_DEVICE constexpr int block_bytes(int dim) { return block_rows * dim * 2 * pieces; }

// Where 8 elements along k of a row lie, from k8 * 8 on, in a block with so many rows.
KW_HOST_DEVICE constexpr int chunk_at(int rows, int row, int k8, int piece) {
  return k8 / 4 * rows * 128 + row / 8 * 1024 + (k8 % 4 / 2 * 2 + piece) * 256 + k8 % 2 * 128 +
         row % 8 * 16;
}

// At the start of the workspace.
struct Control {
  unsigned takes_fp32;  // 1: the pieces do not hold the data
  unsigned unfit;       // a block said so
  unsigned largest[3];  // of Q, K and V: bits of a size
  unsigned below;       // all bits minus the least of the largest elements of V's blocks
  unsigned next_tile;   // to be taken from the list of tiles, beyond the first one of each block
  unsigned unused;
};

constexpr std::size_t control_bytes = 256;
static_assert(sizeof(Control) <= control_bytes);

// Errors of scores are absolute, so what counts is how large a sum of products could be: below
// 2^19, scaled, 2^-40 of it is less than 2^-24 once errors of many products average. Of V all
// blocks must be about as large, as one accumulator meets weights of 2^-39 of the largest.
KW_HOST_DEVICE inline bool pieces_hold(const Control& control, float scale, std::int64_t dim) {
  const auto size = [&](int i) { return std::bit_cast<float>(control.largest[i]); };
  const float bound = (scale < 0 ? -scale : scale) * static_cast<float>(dim) * size(0) * size(1);
  const float least = control.below == 0 ? 0.0f : std::bit_cast<float>(~control.below);
  return control.unfit == 0 && bound < 524288.0f &&
         (control.below == 0 || size(2) <= 32768.0f * least);
}

struct Layout {
  std::int64_t q_blocks, k_blocks;  // of a head
  std::int64_t q, k, v, scales_q, scales_k, scales_v, end;

  Layout() = default;
  Layout(const Attention& p, int dim) {
    q_blocks = ceil_div(p.queries, tile_queries) * (tile_queries / block_rows);
    k_blocks = ceil_div(p.keys, block_rows);
    const std::int64_t all_q = p.batch * p.heads * q_blocks,
                       all_k = p.batch * p.kv_heads * k_blocks;
    const auto round = [](std::int64_t bytes) { return ceil_div(bytes, 256) * 256; };
    scales_q = control_bytes;
    scales_k = scales_q + round(all_q * 4);
    scales_v = scales_k + round(all_k * 4);
    q = scales_v + round(all_k * 4);
    k = q + all_q * block_bytes(dim);
    v = k + all_k * block_bytes(dim);
    end = v + all_k * block_bytes(dim);
  }
};

}  // namespace kw::attention_split
