// attention_split's pieces of K and V in the workspace, in the order in which they lie in shared
// memory later, and what tells whether pieces hold the data.
//
//   Q, K   blocks of 64 rows: [block][32 along the head][8 rows][16 along it][piece][8][8 rows][8]
//   V      blocks of 64 keys, turned: its rows are the head's elements, and k is keys
//
// A row of Q, and a block of K or V, has one scale, a power of two that brings its largest element
// to 2^14 or more. Pieces are x * 2^scale = hi + lo, both fp16: exact to 2^-23 of x down to 2^-17
// of the largest element, to 2^-39 of the largest below that. Q's pieces never leave a block of
// threads.
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
  unsigned next_tile;   // to be taken from the list of tiles, beyond the first one of each block
  unsigned next_block;  // of K and V, to be split
};

constexpr std::size_t control_bytes = 256;
static_assert(sizeof(Control) <= control_bytes);

// The note of a block of K or V whose pieces are there: this and the bits of its largest element.
// Until then it is 0.
constexpr std::uint32_t is_split = 0x80000000u;

// Whether pieces hold what has this scale.
KW_HOST_DEVICE constexpr bool scale_holds(int scale) { return scale > -60 && scale < 74; }

// Errors of scores are absolute, so what counts is how large a sum of products could be: below
// 2^19, scaled, 2^-40 of it is less than 2^-24 once errors of many products average. The arguments
// are the bits of the largest elements of Q and K.
KW_HOST_DEVICE inline bool scores_hold(std::uint32_t q, std::uint32_t k, float scale,
                                       std::int64_t dim) {
  const float bound = (scale < 0 ? -scale : scale) * static_cast<float>(dim) *
                      std::bit_cast<float>(q) * std::bit_cast<float>(k);
  return bound < 524288.0f;
}
// Of V all blocks that a query sees must be about as large, as one accumulator meets weights of
// 2^-39 of the largest. The arguments are the bits of the largest element, and of the least of the
// blocks' largest elements other than 0.
KW_HOST_DEVICE inline bool values_hold(std::uint32_t most, std::uint32_t least) {
  return most == 0 || std::bit_cast<float>(most) <= 32768.0f * std::bit_cast<float>(least);
}

// What a plan decides.
struct SplitSchedule {
  bool splits_first;  // K and V by a launch in front, and not beside the products
};

struct Layout {
  std::int64_t q_tiles, k_blocks;  // of a head
  std::int64_t notes_k, notes_v, k, v, end;

  Layout() = default;
  Layout(const Attention& p, int dim) {
    q_tiles = ceil_div(p.queries, tile_queries);
    k_blocks = ceil_div(p.keys, block_rows);
    const std::int64_t all = p.batch * p.kv_heads * k_blocks, notes = ceil_div(all * 4, 256) * 256;
    notes_k = control_bytes;
    notes_v = notes_k + notes;
    k = notes_v + notes;
    v = k + all * block_bytes(dim);
    end = v + all * block_bytes(dim);
  }
  // What a call clears: all in front of the pieces.
  std::int64_t cleared_bytes() const { return k; }
};

}  // namespace kw::attention_split
