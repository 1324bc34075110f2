// Systems of block.hpp of up to 128 unknowns, a warp its own lines.
//
// Idea        A lane has a line, its unknowns in shared memory. 8 unknowns at a time: what all
//             before take is summed up in registers, square after square of the triangle, and then
//             the lane solves the 8 by itself. Nobody waits for another lane's unknowns, and a
//             block meets only where the next rows of the triangle have come. Where lines are few,
//             two or four lanes share a line's sums.
// Prediction  64 unknowns of 20 000 lines: 8100 FFMAs a line of a lane, five warps a
//             multiprocessor, 10 us; a block of block.cu takes 45, in which most warps wait.
// Limits      One or two warps a scheduler, which issues in half of the cycles.
#include "cgemm/scalars.hpp"
#include "ctrsm/block.hpp"
#include "ctrsm/numbers.hpp"
#include "ctrsm/strips.hpp"
#include "device/load_floats.hpp"
#include "level3/own_lines.hpp"

namespace KW_TARGET {
namespace {

using namespace own_lines;

template <int lines>
using WarpRoom = Room<float2, lines>;

template <int lines>
__device__ __forceinline__ void invert_diagonal(const WarpRoom<lines>& room, const ComplexBlock& b,
                                                const Complex* a, int rows) {
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < rows; i += static_cast<int>(blockDim.x)) {
    Complex diagonal{1, 0};
    if (!b.unit_diagonal && i < b.size) diagonal = a[i * (b.a_row + b.a_col)];
    const ComplexReciprocal reciprocal(diagonal);
    room.near[i] = reciprocal.near;
    room.rest[i] = reciprocal.rest;
  }
}

// What a lane reads of a column of squares: its rows of that, and the unknown of its line.
template <int rows>
struct LaneColumn {
  float a[2 * rows];
  float2 x;

  __device__ __forceinline__ void load(const float2* column, const float2* unknown) {
    load_floats(a, &column->x);
    x = *unknown;
  }
};

// What the unknowns before a panel take from its rows: the last 8, which where unknowns grow take
// most, and all others. Sums of 8 products are added to sums of sums. Columns of a row of squares
// follow each other; what is read behind the last one is not used.
template <int lines>
__device__ __forceinline__ void sum_before(float2 (&sums)[at_once], float2 (&last)[at_once],
                                           const WarpRoom<lines>& room, int panel, int lane) {
  using L = Lanes<float2, lines>;
  const float2* column = room.square(panel, 0) + lane / lines * L::rows;
  const float2* unknown = room.x + lane % lines;
  float2 all[L::rows] = {}, taken[L::rows] = {};
  LaneColumn<L::rows> at[2];
  at[0].load(column, unknown);
#pragma unroll 1
  for (int before = 0; before < panel; ++before) {
#pragma unroll
    for (int i = 0; i < L::rows; ++i) {
      all[i].x += taken[i].x, all[i].y += taken[i].y;
      taken[i] = make_float2(0, 0);
    }
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      column += at_once, unknown += L::pitch;
      at[(j + 1) % 2].load(column, unknown);
      const LaneColumn<L::rows>& now = at[j % 2];
#pragma unroll
      for (int i = 0; i < L::rows; ++i)
        add_product(taken[i], make_float2(now.a[2 * i], now.a[2 * i + 1]), now.x);
    }
  }
  share<lines>(sums, all, lane);
  share<lines>(last, taken, lane);
}

// left - taken = right - (sum + last), in the places of right and last, where there is no infinity;
// of that sum, as where `last` is the larger part.
__device__ __forceinline__ void take(float& right, float sum, float& last) {
  const float all = sum + last, rounded = (all - last) - sum;
  float off;
  two_difference(right, all, right, off);
  last = off - rounded;
}

// The 8 unknowns of a line, one after the other, in place of their right-hand side; `sums` and
// `last` are what those before take. Whether all are numbers.
template <bool unit>
__device__ __forceinline__ bool solve_panel(float2 (&x)[at_once], const float2 (&sums)[at_once],
                                            float2 (&last)[at_once], const float2* square,
                                            const float2* near, const float2* rest) {
#pragma unroll
  for (int i = 0; i < at_once; ++i)
    take(x[i].x, sums[i].x, last[i].x), take(x[i].y, sums[i].y, last[i].y);
  const float2 none = make_float2(0, 0);
  float2 a = none;  // the element beside the diagonal
  bool are_numbers = true;
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
    float column[2 * at_once];
    load_floats(column, &square[j * at_once].x);
    const float2 now = all_taken<true>(x[j], last[j], a, j > 0 ? x[j > 0 ? j - 1 : 0] : none);
    x[j] = unit ? now : quotient(now, near[j], rest[j]);
    are_numbers = are_numbers && is_a_number(x[j]);
#pragma unroll
    for (int i = j + 2; i < at_once; ++i)
      add_product(last[i], make_float2(column[2 * i], column[2 * i + 1]), x[j]);
    if (j + 1 < at_once) a = make_float2(column[2 * j + 2], column[2 * j + 3]);
  }
  return are_numbers;
}

// The same in shared memory, without what is left of the reciprocals: where an element is infinite,
// that times 0 is no number.
template <int lines>
__device__ __forceinline__ void solve_plainly(const WarpRoom<lines>& room, const ComplexBlock& b,
                                              const Complex& alpha, int panel, int line) {
#pragma unroll 1
  for (int r = 0; r < at_once; ++r) {
    const int i = panel * at_once + r;
    float2& own = room.unknown(i)[line];
    const Complex right = conjugate(times(alpha, {own.x, own.y}), b.conj);
    float2 left = make_float2(right.re, right.im), x = make_float2(0, 0);
#pragma unroll 1
    for (int j = 0; j < i; ++j) {
      const float2 a = room.square(panel, j / at_once)[j % at_once * at_once + r];
      const float2 known = room.unknown(j)[line];
      add_product(left, a, make_float2(-known.x, -known.y));
    }
    add_product(x, left, room.near[i]);
    own = x;
  }
}

// alpha times each, or the conjugate of that. What alpha is like is asked once for all.
__device__ __forceinline__ void scale(float2 (&x)[at_once], const Complex& alpha, bool conj) {
  const auto each = [&](const auto& act) {
#pragma unroll
    for (float2& z : x) act(z);
  };
  if (alpha.im == 0)
    each([&](float2& z) { z.x *= alpha.re, z.y *= alpha.re; });
  else
    each([&](float2& z) {
      const Complex product = times(alpha, {z.x, z.y});
      z.x = product.re, z.y = product.im;
    });
  if (conj) each([](float2& z) { z.y = -z.y; });
}

template <int lines>
__device__ __forceinline__ void solve_own(const WarpRoom<lines>& room, const ComplexBlock& b,
                                          const Complex& alpha, int panel, int lane) {
  const int line = lane % lines, first = panel * at_once;
  float2 sums[at_once], last[at_once], x[at_once];
  sum_before<lines>(sums, last, room, panel, lane);
#pragma unroll
  for (int i = 0; i < at_once; ++i) x[i] = room.unknown(first + i)[line];
  scale(x, alpha, b.conj);
  const float2 *const square = room.square(panel, panel), *const near = room.near + first,
                      *const rest = room.rest + first;
  const bool are_numbers = b.unit_diagonal ? solve_panel<true>(x, sums, last, square, near, rest)
                                           : solve_panel<false>(x, sums, last, square, near, rest);
  if constexpr (Lanes<float2, lines>::sharing > 1) {
    __syncwarp();  // all lanes of a line have read it
    if (lane >= lines) return;
  }
  if (!are_numbers) return solve_plainly(room, b, alpha, panel, line);
#pragma unroll
  for (int i = 0; i < at_once; ++i) room.unknown(first + i)[line] = x[i];
}

template <int lines>
__global__ void __launch_bounds__(own_lines_most_warps* warp_lanes, 3)
    complex_warps_kernel(const ComplexBlock b) {
  solve_own_lines<float2, lines>(
      b, [&](const auto& room, const Complex* a, int rows) { invert_diagonal(room, b, a, rows); },
      [&](const auto& room, const Complex& alpha, int panel, int lane) {
        solve_own(room, b, alpha, panel, lane);
      },
      [&](const float2& x) {
        return conjugate({x.x, x.y}, b.conj);
      });
}

}  // namespace

Status launch_complex_warps(const ComplexBlock& block, const OwnLines<2>& with,
                            const Device& device, Stream stream) {
  switch (with.lines) {
    case 8: return launch_own_lines(complex_warps_kernel<8>, block, with, device, stream);
    case 16: return launch_own_lines(complex_warps_kernel<16>, block, with, device, stream);
    default: return launch_own_lines(complex_warps_kernel<32>, block, with, device, stream);
  }
}

}  // namespace KW_TARGET
