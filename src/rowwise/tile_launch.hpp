// A launch of tiles (tile_rows.hpp), and where a tile's bytes are.
#pragma once

#include "rowwise/packs.hpp"

namespace KW_TARGET::rowwise {

// How rows with gaps between them are written: the part of a pack at either end of a row by a lane,
// in few instructions, or by a lane an element, in few requests to memory.
enum class TileGaps { none, by_parts, by_elements };
// And what of y is asked for then: the ends of rows, or, by the copy engine, the gaps between them.
enum class TileAsks { nothing, ends, gaps };

struct TileLaunch {
  int rows, cols, row_bytes;
  int pitch;          // bytes from a row to the next one
  unsigned of_pitch;  // 2^32 / pitch, rounded up
  TileAsks asks;
  int tile_rows;
  int tiles;
  int stage_bytes;
  int pairs_bytes;  // of what fill() leaves before the tiles, gamma and beta; 0: there is nothing
  int plane_pitch;  // of those, in planes: bytes from one to the other
  int full_groups;  // of words: those that all rows have
  unsigned turned;  // of each of a warp's rows, two bits: with which of a group's words it begins
  float count_inverse;
  int ahead;  // tiles from one to that whose warp takes its place; 0: nobody asks for that one
  int early;  // blocks that may be placed while the launch before ends

  // The pitch, as kernels know it.
  template <TileGaps gaps>
  __device__ __forceinline__ int step() const {
    return gaps == TileGaps::none ? row_bytes : pitch;
  }
};

// Where a tile's bytes are.
struct TilePiece {
  std::int64_t first;  // row
  int rows, bytes;
  int past, head;  // the address beyond a boundary of 16 bytes; bytes up to the next one
  int packs;

  __device__ __forceinline__ int edge_bytes() const { return bytes - packs * pack_bytes; }
  // Of byte i of the edges, within the tile.
  __device__ __forceinline__ int edge(int i) const { return i < head ? i : i + packs * pack_bytes; }
};
template <TileGaps gaps>
__device__ __forceinline__ TilePiece piece_of(const void* data, const TileLaunch& launch,
                                              int tile) {
  const int step = launch.step<gaps>();
  TilePiece piece;
  piece.first = static_cast<std::int64_t>(tile) * launch.tile_rows;
  piece.rows = min(launch.tile_rows, static_cast<int>(launch.rows - piece.first));
  piece.bytes = piece.rows * step - (step - launch.row_bytes);
  piece.past = static_cast<int>(
      (reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uint64_t>(piece.first * step)) %
      pack_bytes);
  piece.head = min(piece.past == 0 ? 0 : pack_bytes - piece.past, piece.bytes);
  piece.packs = (piece.bytes - piece.head) / pack_bytes;
  return piece;
}

}  // namespace KW_TARGET::rowwise
