// How reduce_pieces_kernel (segment_pieces.hpp) cuts segments into batches and shared memory among
// warps: made on the host, which sees no lengths.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "reduce/problem.hpp"

namespace kw {

constexpr int piece_warps = 4;         // of a block
constexpr int most_of_batch = 64;      // segments
constexpr int most_piece_batches = 4;  // of a warp, under way at a time

struct PiecePlan {
  int each = 0;        // segments of a unit; 0: no pieces
  int warp_bytes = 0;  // of shared memory
  int ring_bytes = 0;  // the first of these
  int room = 0;        // elements of a batch, at most
  int most = 0;        // elements of a segment, at most
  int blocks_an_sm = 0;
};

// What a plan depends on besides the problem and the device.
struct PieceElement {
  int bytes;         // of an element
  int beside_bytes;  // of a warp, beside its ring
  int most;          // elements of a segment that a warp's places suffice for
  int blocks_an_sm;
};

PiecePlan plan_pieces(const Reduce& problem, const PieceElement& element, const Device& device);

}  // namespace kw
