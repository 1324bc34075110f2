// The order in which a sequence of n elements is added up: a function of n and the element type
// alone, so that every device, any alignment and the CPU give the same bits.
//
//   chunks     The sequence is cut into chunks of chunk_elements(n). One block reduces one chunk.
//   lanes      A chunk has order_threads x width lanes, width elements being 16 bytes. Element i
//              belongs to lane i mod lanes; a lane takes its elements in ascending order.
//   tree       Lanes merge as neighbours: 2i with 2i + 1, then pairs with pairs, and so on up.
//              Lanes without an element are empty and change nothing, so a short sequence needs
//              only the tree's lowest levels, whoever computes them.
//   totals     Chunk c belongs to slot c mod order_threads; a slot takes its chunks in ascending
//              order; slots merge by the same tree.
//
// Rows and segments are sequences of their own length. Columns, whose elements lie a row apart,
// have an order of their own:
//
//   chunks     A column is cut into chunks of column_chunk_rows.
//   lanes      Element i of a chunk belongs to lane i mod column_lanes, in ascending order; lanes
//              merge by the tree.
//   totals     Chunks merge by the same tree: neighbours, then pairs of them. So any aligned run of
//              2^k chunks can be reduced by itself, and who reduces how many cannot show.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "host_device.hpp"

namespace kw {

constexpr int order_threads = 256;

template <class T>
constexpr int order_width = static_cast<int>(16 / sizeof(T));
template <class T>
constexpr std::int64_t order_lanes = std::int64_t{order_threads} * order_width<T>;

// Measured on an H200 (results/h200/explored-reduce.txt: r, m): smaller chunks leave SMs idle
// between blocks, larger ones leave SMs without a block.
constexpr std::int64_t smallest_chunk_rounds = 4;  // vectors a thread
template <class T>
constexpr std::int64_t smallest_chunk = smallest_chunk_rounds* order_lanes<T>;  // elements
constexpr std::int64_t max_chunks = 528;
constexpr std::int64_t largest_chunk_rounds = 1 << 16;  // what a lane of int8 holds

template <class T>
KW_HOST_DEVICE constexpr std::int64_t chunk_elements(std::int64_t n) {
  constexpr std::int64_t lanes = order_lanes<T>;
  const std::int64_t wanted = (n + max_chunks * lanes - 1) / (max_chunks * lanes);
  const std::int64_t rounds = wanted < smallest_chunk_rounds  ? smallest_chunk_rounds
                              : wanted > largest_chunk_rounds ? largest_chunk_rounds
                                                              : wanted;
  return rounds * lanes;
}

// At least one: an empty sequence is one empty chunk.
template <class T>
KW_HOST_DEVICE constexpr std::int64_t chunk_count(std::int64_t n) {
  const std::int64_t size = chunk_elements<T>(n);
  return n <= size ? 1 : ceil_div(n, size);
}

constexpr int column_lanes = 8;
constexpr int column_chunk_lane_rows = 8;  // that a lane adds
constexpr std::int64_t column_chunk_rows = std::int64_t{column_lanes} * column_chunk_lane_rows;

// At least one: an empty column is one empty chunk.
KW_HOST_DEVICE constexpr std::int64_t column_chunk_count(std::int64_t rows) {
  return rows <= column_chunk_rows ? 1 : ceil_div(rows, column_chunk_rows);
}

}  // namespace kw
