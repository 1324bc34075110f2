// Systems of solve_block.hpp of up to 128 unknowns, a warp its own lines.
//
// Idea        As ctrsm/warps.cu: a lane has a line, its unknowns in shared memory. 8 unknowns at a
//             time: what all before take is summed up in registers, square after square of the
//             triangle, and then the lane solves the 8 by itself. Nobody waits for another lane's
//             unknowns, and a block meets only where the next rows of the triangle have come.
//             Where lines are few, two or four lanes share a line's sums.
// Prediction  20 unknowns of 6143 lines: a launch of 1.3 us, one way to memory, three times 8
//             unknowns of 250 cycles each, and 3 squares of 150: 2.9 us; by solve_block.cu 5.2.
// Limits      One or two warps a scheduler, which issues in half of the cycles.
// Method      As solve_block.cu: sums of products apart from the right-hand side, a quotient
//             rounded once.
#include "device/load_floats.hpp"
#include "level3/own_lines.hpp"
#include "level3/solve_block.hpp"
#include "level3/solve_numbers.hpp"

namespace KW_TARGET {
namespace {

using namespace own_lines;

template <int lines>
using WarpRoom = Room<float, lines>;

template <int lines>
__device__ __forceinline__ void invert_diagonal(const WarpRoom<lines>& room, const SolveBlock& b,
                                                const float* a, int rows) {
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < rows; i += static_cast<int>(blockDim.x)) {
    const bool is_one = b.unit_diagonal || i >= b.size;
    const Reciprocal reciprocal(is_one ? 1.0f : a[i * (b.a_row + b.a_col)]);
    room.near[i] = reciprocal.near;
    room.rest[i] = reciprocal.rest;
  }
}

// What the unknowns before a panel take from the 8 of its line, but for the first of these not the
// last unknown, which solve_panel takes. Sums of 8 products are added to sums of sums.
template <int lines>
__device__ __forceinline__ void sum_before(float (&sums)[at_once], const WarpRoom<lines>& room,
                                           int panel, int lane) {
  constexpr int rows = Lanes<float, lines>::rows;
  const float* square = room.square(panel, 0) + lane / lines * rows;
  const float* unknown = room.x + lane % lines;
  float all[rows] = {}, taken[rows] = {}, without_last = 0;
#pragma unroll 1
  for (int before = 0; before < panel; ++before) {
    float a[at_once][rows], x[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      load_floats(a[j], square + j * at_once);
      x[j] = unknown[j * room.pitch];
    }
    square += of_square, unknown += at_once * room.pitch;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      all[i] += taken[i];
      taken[i] = 0;
#pragma unroll
      for (int j = 0; j < at_once; ++j) {
        if (i == 0 && j + 1 == at_once) without_last = taken[i];
        taken[i] = fmaf(a[j][i], x[j], taken[i]);
      }
    }
  }
  if (lane < lines) taken[0] = without_last;
#pragma unroll
  for (int i = 0; i < rows; ++i) all[i] += taken[i];
  share<lines>(sums, all, lane);
}

// The 8 unknowns of a line, one after the other, in place of what is left of their right-hand side;
// `sums` is what that rounded away, `a` the first one's element of the unknown before it. Whether
// all are numbers.
template <bool unit>
__device__ __forceinline__ bool solve_panel(float (&x)[at_once], float (&sums)[at_once], float a,
                                            float before, const float* square, const float* near,
                                            const float* rest) {
  bool are_numbers = true;
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
    const float now = all_taken<true>(x[j], sums[j], a, before);
    before = x[j] = unit ? now : fmaf(now, near[j], now * rest[j]);
    are_numbers = are_numbers && before == before;
    if (j + 1 == at_once) break;
    float column[at_once];
    load_floats(column, square + j * at_once);
#pragma unroll
    for (int i = j + 2; i < at_once; ++i) sums[i] = fmaf(column[i], before, sums[i]);
    a = column[j + 1];
  }
  return are_numbers;
}

// The same in shared memory, without what is left of the reciprocals: where an element is infinite,
// that times 0 is no number.
template <int lines>
__device__ __forceinline__ void solve_plainly(const WarpRoom<lines>& room, float alpha, int panel,
                                              int line) {
#pragma unroll 1
  for (int r = 0; r < at_once; ++r) {
    const int i = panel * at_once + r;
    float& own = room.unknown(i)[line];
    float sum = 0;
#pragma unroll 1
    for (int j = 0; j < i; ++j)
      sum = fmaf(room.square(panel, j / at_once)[j % at_once * at_once + r], room.unknown(j)[line],
                 sum);
    own = (fmaf(alpha, own, 0.0f) - sum) * room.near[i];
  }
}

template <int lines>
__device__ __forceinline__ void solve_own(const WarpRoom<lines>& room, const SolveBlock& b,
                                          float alpha, int panel, int lane) {
  const int line = lane % lines, first = panel * at_once;
  float sums[at_once], x[at_once], a = 0, before = 0;
  sum_before<lines>(sums, room, panel, lane);
  if (panel > 0) {
    a = room.square(panel, panel - 1)[(at_once - 1) * at_once];
    before = room.unknown(first - 1)[line];
  }
#pragma unroll
  for (int i = 0; i < at_once; ++i)
    subtract(alpha, room.unknown(first + i)[line], sums[i], x[i], sums[i]);
  const float *const square = room.square(panel, panel), *const near = room.near + first,
                     *const rest = room.rest + first;
  const bool are_numbers = b.unit_diagonal
                               ? solve_panel<true>(x, sums, a, before, square, near, rest)
                               : solve_panel<false>(x, sums, a, before, square, near, rest);
  if constexpr (Lanes<float, lines>::sharing > 1) {
    __syncwarp();  // all lanes of a line have read it
    if (lane >= lines) return;
  }
  if (!are_numbers) return solve_plainly(room, alpha, panel, line);
#pragma unroll
  for (int i = 0; i < at_once; ++i) room.unknown(first + i)[line] = x[i];
}

template <int lines>
__global__ void __launch_bounds__(own_lines_most_warps* warp_lanes, 4)
    solve_warps_kernel(const SolveBlock b) {
  solve_own_lines<float, lines>(
      b, [&](const auto& room, const float* a, int rows) { invert_diagonal(room, b, a, rows); },
      [&](const auto& room, float alpha, int panel, int lane) {
        solve_own(room, b, alpha, panel, lane);
      },
      [](float x) { return x; });
}

}  // namespace

Status launch_solve_warps(const SolveBlock& block, const OwnLines<1>& with, const Device& device,
                          Stream stream) {
  switch (with.lines) {
    case 8: return launch_own_lines(solve_warps_kernel<8>, block, with, device, stream);
    case 16: return launch_own_lines(solve_warps_kernel<16>, block, with, device, stream);
    default: return launch_own_lines(solve_warps_kernel<32>, block, with, device, stream);
  }
}

}  // namespace KW_TARGET
