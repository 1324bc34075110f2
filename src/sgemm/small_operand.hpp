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

  // Starts the copy of `rows` rows, `depth` k of each, from `from` on. Zeros follow the last k up
  // to a multiple of four; what lies beyond the last row is not written.
  template <unsigned threads>
  __device__ __forceinline__ void copy(const float* from, std::int64_t ld, bool by_16,
                                       unsigned rows, unsigned depth, bool in_fours) {
    const bool stays = in_fours != along_k;
    if (!by_16 || (!along_k && !stays))
      stays ? start<threads, 1, true>(from, ld, rows, depth)
            : start<threads, 1, false>(from, ld, rows, depth);
    else if constexpr (along_k)
      stays ? start<threads, 4, true>(from, ld, rows, depth)
            : start<threads, 4, false>(from, ld, rows, depth);
    else
      start<threads, 4, true>(from, ld, rows, depth);
  }

 private:
  static_assert((lanes & (lanes - 1)) == 0, "sums of rows without common bits move by summands");

  // Where the row lies that does not stay at its place.
  __device__ static constexpr unsigned moved(unsigned r) {
    const unsigned group = r / (4 * lanes);
    return along_k ? r / 4 % lanes + (r % 4 + group * 4) * lanes
                   : r % lanes * 4 + r / lanes % 4 + group * 4 * lanes;
  }
  template <bool stays>
  __device__ static constexpr unsigned offset(unsigned line, unsigned at) {
    return (along_k && !stays ? moved(line) : line) * pitch + (!along_k && !stays ? moved(at) : at);
  }

  // The block's threads, width floats each, lie along a line first.
  template <unsigned threads, unsigned width, bool stays>
  __device__ __forceinline__ void start(const float* from, std::int64_t ld, unsigned rows,
                                        unsigned depth) {
    static_assert(length <= threads * width, "a line is no longer than what one step copies");
    if (rows == extent && depth == bk)
      start_full<threads, width, stays>(from, ld);
    else
      start_part<threads, width, stays>(from, ld, rows, depth);
  }
  template <unsigned threads, unsigned width, bool stays>
  __device__ __forceinline__ void start_full(const float* from, std::int64_t ld) {
    constexpr int bytes = 4 * width;
    constexpr unsigned across = length / width, down = threads / across;
    constexpr unsigned steps = lines < 8 * down ? (lines + down - 1) / down : 8;
    const unsigned tid = threadIdx.x, line = tid / across, at = tid % across * width;
    if (across * down != threads && line >= down) return;
    from += line * ld + at;
    float* const to = &x[0][0] + offset<stays>(line, at);
#pragma unroll 1
    for (unsigned i = 0; i < lines; i += steps * down) {
      float* const here = to + offset<stays>(i, 0);
#pragma unroll
      for (unsigned s = 0; s < steps; ++s, from += down * ld)
        if (lines % (steps * down) == 0 || line + i + s * down < lines)
          async_copy<bytes, false>(here + offset<stays>(s * down, 0), from, bytes);
    }
  }
  template <unsigned threads, unsigned width, bool stays>
  __device__ __forceinline__ void start_part(const float* from, std::int64_t ld, unsigned rows,
                                             unsigned depth) {
    constexpr int bytes = 4 * width;
    const unsigned tid = threadIdx.x, full_depth = (depth + 3) / 4 * 4;
    const unsigned lines_here = along_k ? rows : depth, length_here = along_k ? depth : rows;
    const unsigned all_length = along_k ? full_depth : rows;
    // The least power of two of threads that a line needs, as an exponent.
    const int across = 32 - __clz(static_cast<int>((all_length - 1) / width));
    const unsigned down = threads >> across, line = tid >> across;
    const unsigned at = (tid - (line << across)) * width;
    if (line < down && at < all_length) {
      const int valid = at >= length_here ? 0 : length_here - at < width ? length_here - at : width;
      const std::int64_t next_line = down * ld;
      from += line * ld + at;
      float* const to = &x[0][0] + offset<stays>(line, at);
      // compute-sanitizer takes a copy of 16 bytes that are partly valid for a read of all, which
      // the last line of an operand may not have: its floats are copied one by one.
      const bool is_part = width > 1 && valid % width != 0;
      const unsigned lines_at_once = is_part ? lines_here - 1 : lines_here;
      unsigned i = 0;
      for (; line + i + 3 * down < lines_at_once; i += 4 * down)
#pragma unroll
        for (unsigned four = 0; four < 4; ++four, from += next_line)
          async_copy<bytes, false>(to + offset<stays>(i + four * down, 0), from, 4 * valid);
      for (; line + i < lines_at_once; i += down, from += next_line)
        async_copy<bytes, false>(to + offset<stays>(i, 0), from, 4 * valid);
      if (is_part && line + i < lines_here) {
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
          async_copy<4>(to + offset<stays>(i, 0) + e, from + e,
                        static_cast<int>(e) < valid ? 4 : 0);
      }
    }
    if (!along_k)
      for (unsigned i = depth * pitch + tid; i < full_depth * pitch; i += threads)
        (&x[0][0])[i] = 0;
  }
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
