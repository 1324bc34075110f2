// How a complex stream tile's sums get to C.
#pragma once

#include "cgemm/finish.hpp"
#include "cgemm/stream/sums.hpp"

namespace KW_TARGET::complex_stream {

// How a thread leaves its pairs of a tile in C.
template <ComplexStreamConfig config>
class Store {
  using Own = OwnOutputs<config>;
  using S = Shape<config>;

 public:
  __device__ __forceinline__ Store(const Cgemm& p, bool c16, const StreamTileIndex& tile)
      : p_(p), finish_(p) {
    const std::int64_t row0 = tile.row * std::int64_t{S::BM}, col0 = tile.col * std::int64_t{S::BN};
    rows_ = left(p_.m - row0, S::BM);
    cols_ = left(p_.n - col0, S::BN);
    in_pairs_ = c16 && (p_.n % 2 == 0 || col0 + S::BN <= p_.n);
    c_ = c_of(p_, tile.entry) + row0 * p_.ldc + col0;
  }

  // All of them, by every thread of a warp. Most products are multiplied by a real number and
  // stored over what was there.
  __device__ __forceinline__ void all(Shared<config>& shared, const Pairs<config>& out) const {
    const Factor alpha(finish_.alpha), beta(finish_.beta);
    if (!alpha.is_real || !is_zero(finish_.beta)) {
      each_row(out, [&](const float* x, Complex* to, int cols) {
        const bool reads = !is_zero(finish_.beta);
#pragma unroll
        for (int next = 0; next < 2; ++next) {
          if (next >= cols) continue;
          Complex value = alpha.times({x[next], of_im(x[2 + next])});
          if (reads) {
            const Complex added = beta.times(to[next]);
            value.re += added.re, value.im += added.im;
          }
          to[next] = value;
        }
      });
    } else if (in_pairs_) {
      each_row(out, [&](const float* x, Complex* to, int cols) {
        const float re = finish_.alpha.re, im = of_im(re);
        if (cols > 0)
          *reinterpret_cast<float4*>(to) = make_float4(x[0] * re, x[2] * im, x[1] * re, x[3] * im);
      });
    } else if constexpr (config.staged) {
      each_row_of_warp(shared, out);
    } else {
      each_row(out, [&](const float* x, Complex* to, int cols) {
        const float re = finish_.alpha.re, im = of_im(re);
        if (cols > 0) to[0] = {x[0] * re, x[2] * im};
        if (cols > 1) to[1] = {x[1] * re, x[3] * im};
      });
    }
  }
  // One of them.
  __device__ __forceinline__ void one(int v, const float (&sums)[4]) const {
    const First first;
    const int row = first.row + Own::row_step(v / of_row);
    const int col = first.col + Own::col_step(v % of_row * 2);
    if (row >= rows_) return;
    Complex* const to = c_ + row * p_.ldc + col;
    const auto value = [&](int next) {
      return finish_.element(to + next, make_float2(sums[next], sums[2 + next]), p_.conj_b);
    };
    if (in_pairs_ && col < cols_) {
      const Complex x = value(0), y = value(1);
      *reinterpret_cast<float4*>(to) = make_float4(x.re, x.im, y.re, y.im);
      return;
    }
    if (col < cols_) to[0] = value(0);
    if (col + 1 < cols_) to[1] = value(1);
  }

 private:
  static constexpr int of_row = S::of_row;

  // This thread's first output in the tile that it stores. Whoever needs it computes it, since the
  // loops before have no register for it.
  struct First {
    int row, col, warp, lane;

    __device__ __forceinline__ First() {
      const Own own;
      row = own.first_row();
      col = own.first_col();
      warp = own.tid / 32, lane = own.tid % 32;
    }
  };

  // A warp's part of shared memory, where its lanes leave pairs of one row each.
  struct Staged {
    float4* warp;
    int lane_m, lane_n, lane;

    __device__ __forceinline__ Staged(Shared<config>& shared, const First& first)
        : warp(&shared.scratch[first.warp * S::staged]),
          lane_m(first.row % S::WM / 2 % S::lanes_m),
          lane_n(first.col % S::WN / 2 % S::lanes_n),
          lane(first.lane) {}
    template <int pairs>
    __device__ __forceinline__ void leave(const float* out) const {
      float4* const own = warp + lane_m * S::staged_pitch + lane_n;
      __syncwarp();  // nobody reads what was left there before
#pragma unroll
      for (int next = 0; next < pairs; ++next) own[next * S::lanes_n] = quad_of(&out[4 * next]);
      __syncwarp();
    }
    __device__ __forceinline__ const float* element(int row, int col) const {
      return &warp[row * S::staged_pitch + col / 2].x + (1 - col % 2);
    }
  };

  __device__ __forceinline__ static int left(std::int64_t extent, int tile) {
    return extent < tile ? static_cast<int>(extent) : tile;
  }
  __device__ __forceinline__ float of_im(float x) const { return p_.conj_b ? -x : x; }

  // From the thread's row i to the next one. The empty asm keeps ptxas from computing all addresses
  // in advance, for which there are no registers.
  __device__ __forceinline__ void next_row(Complex*& to, int i) const {
    if (i + 1 < S::rows) to += (Own::row_step(i + 1) - Own::row_step(i)) * p_.ldc;
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+l"(to));
#endif
  }

  // take(pair, where its first element lies in C, columns of the matrix from there on) for each of
  // the thread's pairs in the matrix's rows.
  template <class Take>
  __device__ __forceinline__ void each_row(const Pairs<config>& out, const Take& take) const {
    const First first;
    const int rows = rows_ - first.row, cols = cols_ - first.col;
    Complex* to = c_ + first.row * p_.ldc + first.col;
#pragma unroll
    for (int i = 0; i < S::rows; ++i) {
      if (Own::row_step(i) < rows)
#pragma unroll
        for (int j = 0; j < of_row; ++j)
          take(&out[4 * (i * of_row + j)], to + Own::col_step(2 * j), cols - Own::col_step(2 * j));
      next_row(to, i);
    }
  }

  // 32 neighbours of a row at a time, and then what is left of its columns, by way of the warp's
  // own part of shared memory: halves of sectors that each thread stores for itself take twice as
  // long.
  __device__ __forceinline__ void each_row_of_warp(Shared<config>& shared,
                                                   const Pairs<config>& out) const {
    if constexpr (S::warps_k > 1) sync_consumers<config>();  // nobody reads sums any more
    constexpr int whole = of_row / S::staged_pairs * S::staged_pairs, rest = of_row - whole;
    const First first;
    const Staged staged(shared, first);
    const int rows = rows_ - (first.row - 2 * staged.lane_m);
    const int first_col = first.col - 2 * staged.lane_n, cols = cols_ - first_col;
    Complex* line = c_ + (first.row - 2 * staged.lane_m) * p_.ldc + first_col;
#pragma unroll
    for (int i = 0; i < S::rows; ++i) {
      const auto some = [&]<int pairs>(int j) {
        const int at = Own::col_step(2 * j);
        staged.template leave<pairs>(&out[4 * (i * of_row + j)]);
        some_rows<pairs>(staged, line + at, rows - Own::row_step(i), cols - at);
      };
#pragma unroll
      for (int j = 0; j < whole; j += S::staged_pairs) some.template operator()<S::staged_pairs>(j);
      if constexpr (rest > 0) some.template operator()<rest>(whole);
      next_row(line, i);
    }
  }
  // An element of each row, every other one of the tile's, of which `rows` and `cols` lie in C. A
  // warp stores as many rows at once as it has lanes for.
  template <int pairs>
  __device__ __forceinline__ void some_rows(const Staged& staged, Complex* to, int rows,
                                            int cols) const {
    constexpr int across = 2 * S::lanes_n * pairs, down = 32 / across, all = S::lanes_m / down;
    constexpr int together = all < 4 ? all : 4;
    const int col = staged.lane % across, row = down == 1 ? 0 : staged.lane / across;
    const float re = finish_.alpha.re, im = of_im(re);
    const float* from = staged.element(row, col);
    int inside = staged.lane < down * across && col < cols ? rows - 2 * row : 0;
    to += 2 * row * p_.ldc + col;
#pragma unroll 1
    for (int r = 0; r < all; r += together, inside -= 2 * down * together) {
      float2 sum[together];
#pragma unroll
      for (int q = 0; q < together; ++q, from += 4 * down * S::staged_pitch)
        sum[q] = make_float2(from[0], from[2]);
#pragma unroll
      for (int q = 0; q < together; ++q, to += 2 * down * p_.ldc)
        if (2 * down * q < inside) *to = {sum[q].x * re, sum[q].y * im};
    }
  }

  const Cgemm& p_;
  const Finish finish_;
  int rows_, cols_;  // of the tile that lie in C
  bool in_pairs_;    // C is aligned, and no pair crosses its edge
  Complex* c_;       // the tile
};

}  // namespace KW_TARGET::complex_stream
