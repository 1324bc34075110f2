// An operand's tile in the shared memory of small_tile: how it is copied there, which of its rows a
// thread has, and how a thread reads them.
//
// A tile lies as the operand lies in memory: lines along k, or lines across it. Which rows (of A;
// columns of B) belong to one thread is free, and the copy puts each where its thread reads it:
//   in fours  4 neighbours, the next 4 beyond those of all other threads: one store of 16 bytes
//   spread    every `lanes`-th: neighbouring threads store neighbours, wherever a row of C starts
//
// Copies go through the L1 cache: tiles in one row or column of C read the same lines. Where C is
// one tile wide and k short, all blocks read the same few KB of B, and those lie in so few parts of
// the L2 cache that they would set the pace.
#pragma once

#include "device/async_copy.hpp"
#include "sgemm/small_tuning.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET {

// `extent` rows by bk; `lanes` threads lie side by side along the rows.
template <int extent, int bk, bool along_k, int lanes>
struct SmallOperand {
  static constexpr int lines = along_k ? extent : bk, length = along_k ? bk : extent;
  static constexpr int pitch = length + small_padding;
  float x[lines][pitch];

  // The i-th row of a thread.
  __device__ static constexpr int row(int thread, int i, bool in_fours) {
    return in_fours ? 4 * thread + i % 4 + i / 4 * 4 * lanes : thread + i * lanes;
  }
  // Where a thread finds its i-th row: along k neighbouring threads read neighbouring lines, so
  // that four k of each lie in different banks; else a thread reads four rows at once.
  __device__ static constexpr int slot(int thread, int i) { return row(thread, i, !along_k); }

  static_assert((lanes & (lanes - 1)) == 0, "sums of rows without common bits move by summands");

  // Where the row lies that does not stay at its place.
  __device__ static constexpr unsigned moved(unsigned r) {
    const unsigned group = r / (4 * lanes);
    return along_k ? r / 4 % lanes + (r % 4 + group * 4) * lanes
                   : r % lanes * 4 + r / lanes % 4 + group * 4 * lanes;
  }
  // Across k: the row that moved to this place.
  __device__ static constexpr unsigned moved_here(unsigned place) {
    return place % (4 * lanes) / 4 + place % 4 * lanes + place / (4 * lanes) * 4 * lanes;
  }
  __device__ static constexpr unsigned offset(unsigned line, unsigned at, bool stays) {
    return (along_k && !stays ? moved(line) : line) * pitch + (!along_k && !stays ? moved(at) : at);
  }
};

// A thread's copies into the tiles of one operand, stage after stage: its place in them and in the
// operand are calculated once.
template <unsigned threads, int extent, int bk, bool along_k, int lanes>
class SmallCopies {
  using Tile = SmallOperand<extent, bk, along_k, lanes>;
  static constexpr unsigned lines = Tile::lines, length = Tile::length;

 public:
  // Of the operand whose first row of the tile starts at `from`, `rows` rows.
  __device__ __forceinline__ SmallCopies(const float* from, std::int64_t ld, bool by_16,
                                         unsigned rows, bool in_fours)
      : ld_(ld),
        rows_(rows),
        stays_(in_fours != along_k),
        by_16_(by_16 && (along_k || (stays_ && rows % 4 == 0))) {
    const Spot spot = by_16_ ? spot_by<4>() : spot_by<1>();
    from_ = from + spot.line * ld + spot.at;
    compute_now(rows_);
  }

  // Starts the copy of the next `depth` k. Zeros follow the last k up to a multiple of four; what
  // lies beyond the last row is not written.
  __device__ __forceinline__ void start(Tile& tile, unsigned depth) {
    by_16_ ? start<4>(tile, depth) : start<1>(tile, depth);
    from_ += along_k ? bk : bk * ld_;
  }

 private:
  // The block's threads, width floats each, lie along a line first.
  struct Spot {
    unsigned line, at;
  };
  template <unsigned width>
  __device__ __forceinline__ static Spot spot_by() {
    static_assert(length <= threads * width, "a line is no longer than what one step copies");
    unsigned tid = threadIdx.x;
    compute_now(tid);  // each time anew: what follows from it is cheap, and registers are few
    return {tid / (length / width), tid % (length / width) * width};
  }

  template <unsigned width>
  __device__ __forceinline__ void start(Tile& tile, unsigned depth) const {
    const bool whole = rows_ == extent && depth == bk;
    if (!along_k || stays_)
      whole ? start<width, true, true>(tile, depth) : start<width, true, false>(tile, depth);
    else
      whole ? start<width, false, true>(tile, depth) : start<width, false, false>(tile, depth);
  }
  template <unsigned width, bool stays, bool whole>
  __device__ __forceinline__ void start(Tile& tile, unsigned depth) const {
    constexpr unsigned across = length / width, down = threads / across;
    constexpr unsigned steps = lines < 8 * down ? (lines + down - 1) / down : 8;
    const Spot spot = spot_by<width>();
    if (across * down != threads && spot.line >= down) return;
    const unsigned lines_here = along_k ? rows_ : depth, length_here = along_k ? depth : rows_;
    if (!whole && spot.at >= (along_k ? (depth + 3) / 4 * 4 : rows_)) return;
    // How many lines there are from the thread's first one on.
    const int left = spot.at < length_here ? static_cast<int>(lines_here - spot.line) : 0;
    // compute-sanitizer takes a copy of 16 bytes that are partly valid for a read of all, which the
    // last line of an operand may not have.
    const bool by_floats = width > 1 && along_k && !whole && spot.at + width > depth;
    float* const to = &tile.x[0][0] + Tile::offset(spot.line, spot.at, along_k ? stays : stays_);
    const float* from = from_;
#pragma unroll 1
    for (unsigned i = 0; i < lines; i += steps * down) {
      if (!whole && i >= lines_here) break;
      float* const here = to + Tile::offset(i, 0, stays);
      if (by_floats) {
#pragma unroll 1
        for (unsigned s = 0; s < steps; ++s, from += down * ld_)
#pragma unroll
          for (unsigned e = 0; e < width; ++e)
            if (static_cast<int>(i + s * down) < left)
              async_copy<4>(here + Tile::offset(s * down, 0, stays) + e, from + e,
                            spot.at + e < depth ? 4 : 0);
        continue;
      }
#pragma unroll
      for (unsigned s = 0; s < steps; ++s, from += down * ld_) {
        if (lines % (steps * down) != 0 && spot.line + i + s * down >= lines) continue;
        const bool is_there = whole || static_cast<int>(i + s * down) < left;
        async_copy<4 * width, false>(here + Tile::offset(s * down, 0, stays), from,
                                     is_there ? 4 * width : 0);
      }
    }
  }

  const std::int64_t ld_;
  unsigned rows_;
  const bool stays_, by_16_;
  const float* from_;
};

// The same for an operand that lies along k and is turned: its tile lies across k. One place of a
// row after the other is filled, whosever row it is. `stays_always`: in_fours is, each time.
template <unsigned threads, int extent, int bk, int lanes, bool stays_always>
class SmallTurnedCopies {
  using Tile = SmallOperand<extent, bk, false, lanes>;

 public:
  __device__ __forceinline__ SmallTurnedCopies(const float* from, std::int64_t ld, bool,
                                               unsigned rows, bool in_fours)
      : ld_(ld), rows_(rows), stays_(stays_always || in_fours) {
    from_ = from + row_at(threadIdx.x / bk) * ld + threadIdx.x % bk;
    compute_now(rows_);
  }
  __device__ __forceinline__ void start(Tile& tile, unsigned depth) {
    const bool whole = rows_ == extent && depth == bk;
    whole ? start<true>(tile, depth) : start<false>(tile, depth);
    from_ += bk;
  }

 private:
  __device__ __forceinline__ unsigned row_at(unsigned place) const {
    return stays_ ? place : Tile::moved_here(place);
  }
  template <bool whole>
  __device__ __forceinline__ void start(Tile& tile, unsigned depth) const {
    constexpr unsigned down = threads / bk;
    // So many steps go through rows that lie equally far apart.
    constexpr unsigned alike = (stays_always ? extent : 4 * lanes) / down;
    constexpr unsigned steps = alike < 8 ? alike : 8;
    static_assert(threads % bk == 0 && down % 4 == 0 && extent % (steps * down) == 0);
    unsigned tid = threadIdx.x;
    compute_now(tid);  // each time anew: what follows from it is cheap, and registers are few
    const unsigned place = tid / bk, at = tid % bk;
    if (!whole && at >= (depth + 3) / 4 * 4) return;
    // How many rows there are from the thread's first one on.
    const int left = at < depth ? static_cast<int>(rows_ - row_at(place)) : 0;
    const unsigned step = stays_ ? down : down / 4;  // in rows
#pragma unroll 1
    for (unsigned i = 0; i < extent; i += steps * down) {
      const float* from = from_ + row_at(i) * ld_;
#pragma unroll
      for (unsigned s = 0; s < steps; ++s, from += step * ld_) {
        const bool is_there = whole || static_cast<int>(row_at(i) + s * step) < left;
        async_copy<4>(&tile.x[at][place] + i + s * down, from, is_there ? 4 : 0);
      }
    }
  }

  const std::int64_t ld_;
  unsigned rows_;
  const bool stays_;
  const float* from_;
};

// A thread's rows of four k.
template <int count>
struct SmallFragment {
  float x[4][count];  // [k][row]

  template <int extent, int bk, bool along_k, int lanes>
  __device__ __forceinline__ void load(const SmallOperand<extent, bk, along_k, lanes>& tile,
                                       int thread, int k) {
    if constexpr (along_k) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const auto four = *reinterpret_cast<const float4*>(&tile.x[tile.slot(thread, i)][k]);
        x[0][i] = four.x, x[1][i] = four.y, x[2][i] = four.z, x[3][i] = four.w;
      }
    } else {
#pragma unroll
      for (int kk = 0; kk < 4; ++kk)
#pragma unroll
        for (int i = 0; i < count; i += 4)
          *reinterpret_cast<float4*>(&x[kk][i]) =
              *reinterpret_cast<const float4*>(&tile.x[k + kk][tile.slot(thread, i)]);
    }
  }
};

}  // namespace KW_TARGET
