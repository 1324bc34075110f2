// The kernel of solve_block.hpp.
//
// Prediction  256 unknowns, a block a multiprocessor: 16 times 0.4 us, where two barriers, and one
//             warp and the others in turn, take 0.75.
// Method      Substitution; its residual is that of a sum of so many products (Higham 2002, section
//             8.1). Inverted blocks would lose what their condition is. Sums of products are kept
//             apart from the right-hand side, and what is left of that is rounded with the unknown:
//             once, where 256 unknowns that take from it in turn round it 16 times (a residual of
//             0.43 and not 0.21 u, random triangles).
#include "level3/solve_block.hpp"

#include <algorithm>

#include "device/async_copy.hpp"
#include "device/warp.hpp"

namespace KW_TARGET {
namespace {

constexpr int solve_threads = 256, at_once = solve_at_once;

// The floats of shared memory: of each line what known unknowns take from it, and the unknowns once
// they are solved, [unknown][line]; a ring of the right-hand side, 16 unknowns a panel; and a ring
// of panels of 16 columns of the triangle, [column][row], whose row 0 is the first unknown's.
template <int lines>
struct SolveRoom {
  static constexpr int pitch = solve_pitch(lines);
  float *x, *right, *panels;
  int panel_pitch;

  __device__ __forceinline__ SolveRoom(float* shared, int rows)
      : x(shared),
        right(shared + rows * pitch),
        panels(right + solve_panels * at_once * pitch),
        panel_pitch(solve_pitch(rows)) {}
  __device__ __forceinline__ float* unknown(int i) const { return x + i * pitch; }
  __device__ __forceinline__ float* right_of(int i) const {
    return right + i % (solve_panels * at_once) * pitch;
  }
  __device__ __forceinline__ float* panel(int first) const {
    return panels + first / at_once % solve_panels * at_once * panel_pitch;
  }
};

// Starts the copies of the columns from `first` on, below the diagonal and on it. Neighbouring
// threads read neighbours in memory, whichever way the triangle lies. What is not of the triangle
// is not read, and 0.
__device__ __forceinline__ void copy_panel(float* panel, int pitch, const SolveBlock& b,
                                           const float* a, int first, int rows, int tid) {
  const int height = rows - first, left = b.size - first, diagonal = b.unit_diagonal ? 1 : 0;
  const float* const corner = a + first * (b.a_row + b.a_col);
  const auto copy = [&](float* to, const float* from, int row, int col) {
    const bool is_there = row < left && row >= col + diagonal;
    async_copy<4>(to, is_there ? from : a, is_there ? 4 : 0);
  };
  if (b.a_row == 1 || b.a_row == -1) {
    for (int row = tid; row < height; row += solve_threads) {
      const float* from = corner + row * b.a_row;
#pragma unroll 4
      for (int col = 0; col < at_once; ++col, from += b.a_col)
        copy(panel + col * pitch + row, from, row, col);
    }
  } else {
    constexpr int step = solve_threads / at_once;
    const int col = tid % at_once;
    const float* from = corner + tid / at_once * b.a_row + col * b.a_col;
    float* const to = panel + col * pitch;
#pragma unroll 4
    for (int row = tid / at_once; row < height; row += step, from += step * b.a_row)
      copy(to + row, from, row, col);
  }
}

// Where element `at` of 16 unknowns of all lines lies: neighbouring threads meet neighbours in
// memory, whichever way lines lie.
template <int lines>
struct ElementOf16 {
  int i, line;

  __device__ __forceinline__ ElementOf16(const SolveBlock& b, int at)
      : i(b.line_step == 1 ? at / lines : at % at_once),
        line(b.line_step == 1 ? at % lines : at / at_once) {}
};

// Starts the copies of the right-hand side of 16 unknowns; of lines that there are not, zeros.
template <int lines>
__device__ __forceinline__ void copy_right(const SolveRoom<lines>& room, const SolveBlock& b,
                                           const float* x, std::int64_t count, int first, int tid) {
  for (int at = tid; at < at_once * lines; at += solve_threads) {
    const ElementOf16<lines> of(b, at);
    const int i = first + of.i;
    const bool is_there = i < b.size && of.line < count;
    async_copy<4>(room.right_of(i) + of.line,
                  is_there ? x + i * b.x_step + of.line * b.line_step : x, is_there ? 4 : 0);
  }
}

template <int count>
__device__ __forceinline__ void load_floats(float (&to)[count], const float* from) {
  if constexpr (count % 4 == 0) {
#pragma unroll
    for (int i = 0; i < count; i += 4) {
      const float4 v = *reinterpret_cast<const float4*>(from + i);
      to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
    }
  } else if constexpr (count == 2) {
    const float2 v = *reinterpret_cast<const float2*>(from);
    to[0] = v.x, to[1] = v.y;
  } else {
    to[0] = *from;
  }
}

// 1 / d as the sum of two floats, so that a quotient by d is rounded once.
struct Reciprocal {
  float near, rest;

  __device__ __forceinline__ explicit Reciprocal(float d) : near(1.0f / d) {
    const float off = fmaf(-near, d, 1.0f) * near;
    rest = fabsf(off) < fabsf(near) ? off : 0.0f;  // not where 1 / d is no number, or 0
  }
};

// A warp solves 16 unknowns after the other 16, a lane a line.
template <int lines>
class LineSolver {
 public:
  __device__ __forceinline__ LineSolver(const SolveRoom<lines>& room, const SolveBlock& b,
                                        float alpha, int lane)
      : room_(room), b_(b), alpha_(alpha), lane_(lane) {}

  // Those from `first` on, which have met all unknowns but the 16 before them.
  __device__ __forceinline__ void solve(int first) const {
    float x[at_once];
    run_through<true>(x, first);
    // An infinite element times 0 is no number: without what is left of the reciprocals it stays.
    bool is_number = true;
#pragma unroll
    for (int i = 0; i < at_once; ++i) is_number = is_number && x[i] == x[i];
    if (any_of_warp(!is_number)) run_through<false>(x, first);
    if (lane_ >= lines) return;
#pragma unroll
    for (int i = 0; i < at_once; ++i) room_.unknown(first + i)[lane_] = x[i];
  }

 private:
  template <bool rounds_once>
  __device__ __forceinline__ void run_through(float (&x)[at_once], int first) const {
    float left[at_once], sums[at_once];
    begin(left, sums, first);
    const float* const panel = room_.panel(first);
    const int own = lane_ < at_once ? lane_ : 0;
    const bool is_one = b_.unit_diagonal || first + own >= b_.size;
    const Reciprocal reciprocal(is_one ? 1.0f : panel[own * room_.panel_pitch + own]);
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      float a[at_once];
      load_floats(a, panel + j * room_.panel_pitch);
      const float now = left[j] - sums[j], near = from_lane(reciprocal.near, j);
      x[j] = rounds_once ? fmaf(now, near, now * from_lane(reciprocal.rest, j)) : now * near;
#pragma unroll
      for (int i = j + 1; i < at_once; ++i) sums[i] = fmaf(a[i], x[j], sums[i]);
    }
  }
  // left - sums = alpha times the right-hand side, less what all known unknowns take. So what is
  // left of a right-hand side is rounded once, with the unknown itself, and not with every 16 that
  // are known.
  __device__ __forceinline__ void begin(float (&left)[at_once], float (&sums)[at_once],
                                        int first) const {
    const bool has_line = lane_ < lines;  // the others only exchange
    const int line = has_line ? lane_ : 0;
    add_known(sums, first, line);
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const float right = has_line ? room_.right_of(first + i)[line] : 0.0f;
      const float sum = has_line ? room_.unknown(first + i)[line] + sums[i] : 0.0f;
      const float scaled = fmaf(alpha_, right, 0.0f);  // no part of an fma with the sum
      left[i] = scaled - sum;
      const float back = left[i] - scaled, off = (scaled - (left[i] - back)) - (sum + back);
      sums[i] = off == off ? -off : 0.0f;
    }
  }
  // What the 16 unknowns before these take.
  __device__ __forceinline__ void add_known(float (&sums)[at_once], int first, int line) const {
#pragma unroll
    for (int i = 0; i < at_once; ++i) sums[i] = 0;
    if (first == 0) return;
    const float* from = room_.panel(first - at_once) + at_once;
    const float* known = room_.unknown(first - at_once) + line;
#pragma unroll 2
    for (int j = 0; j < at_once; ++j, from += room_.panel_pitch, known += room_.pitch) {
      float a[at_once];
      load_floats(a, from);
#pragma unroll
      for (int i = 0; i < at_once; ++i) sums[i] = fmaf(a[i], *known, sums[i]);
    }
  }

  const SolveRoom<lines>& room_;
  const SolveBlock& b_;
  const float alpha_;
  const int lane_;
};

// The threads that do all else: each numbers itself from 0 on.
constexpr int other_threads = solve_threads - warp_lanes;

// What 16 known unknowns take from all that follow the next 16: `own` rows of four lines a thread.
// Sums of 16 products are added to sums of sums.
template <int own, int lines>
__device__ __forceinline__ void update(const SolveRoom<lines>& room, int first, int rows,
                                       int thread) {
  constexpr int groups = lines / 4, step = other_threads / groups * own;
  const int line = thread % groups * 4;
  const float* const panel = room.panel(first);
  for (int row = 2 * at_once + thread / groups * own; first + row < rows; row += step) {
    float sums[own][4] = {};
#pragma unroll 8
    for (int j = 0; j < at_once; ++j) {
      float a[own], x[4];
      load_floats(a, panel + j * room.panel_pitch + row);
      load_floats(x, room.unknown(first + j) + line);
#pragma unroll
      for (int i = 0; i < own; ++i) {
#pragma unroll
        for (int q = 0; q < 4; ++q) sums[i][q] = fmaf(a[i], x[q], sums[i][q]);
      }
    }
#pragma unroll
    for (int i = 0; i < own; ++i) {
      float4& all = *reinterpret_cast<float4*>(room.unknown(first + row + i) + line);
      all.x += sums[i][0], all.y += sums[i][1], all.z += sums[i][2], all.w += sums[i][3];
    }
  }
}
template <int lines>
__device__ __forceinline__ void update_others(const SolveRoom<lines>& room, int first, int rows,
                                              int thread) {
  const int left = (rows - first - 2 * at_once) * (lines / 4);
  if (left > 2 * other_threads)
    update<4>(room, first, rows, thread);
  else if (left > other_threads)
    update<2>(room, first, rows, thread);
  else
    update<1>(room, first, rows, thread);
}

template <int lines>
__device__ __forceinline__ void store_solved(const SolveRoom<lines>& room, const SolveBlock& b,
                                             float* x, std::int64_t count, int first, int thread) {
  for (int at = thread; at < at_once * lines; at += other_threads) {
    const ElementOf16<lines> of(b, at);
    const int i = first + of.i;
    if (i < b.size && of.line < count)
      x[i * b.x_step + of.line * b.line_step] = room.unknown(i)[of.line];
  }
}

// While one warp solves 16 unknowns, the others take the 16 before them from all that follow.
template <int lines>
__global__ void __launch_bounds__(solve_threads, 2) solve_block_kernel(const SolveBlock b) {
  const int tid = static_cast<int>(threadIdx.x);
  const float alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
  if (alpha == 0) return;  // someone else writes the zeros
  const std::int64_t strips = ceil_div(b.lines, std::int64_t{lines});
  const std::int64_t entry = blockIdx.x / strips, line = (blockIdx.x - entry * strips) * lines;
  const float* const a = b.a + entry * b.stride_a;
  float* const x = b.x + entry * b.stride_x + line * b.line_step;
  const std::int64_t count = b.lines - line;
  const int rows = ceil_div(b.size, at_once) * at_once;
  const SolveRoom<lines> room(gpu::dynamic_shared<float>(), rows);
  const auto start_panel = [&](int first) {
    if (first < rows) {
      copy_panel(room.panel(first), room.panel_pitch, b, a, first, rows, tid);
      copy_right(room, b, x, count, first, tid);
    }
    async_commit();
  };
#pragma unroll 1
  for (int i = 0; i < solve_panels - 1; ++i) start_panel(i * at_once);
  for (int i = tid; i < rows * room.pitch; i += solve_threads) room.x[i] = 0;
  async_wait<solve_panels - 2>();
  __syncthreads();
  const bool solves = any_of_warp(tid < warp_lanes);
  const LineSolver<lines> solver(room, b, alpha, tid % warp_lanes);
  if (solves) solver.solve(0);
#pragma unroll 1
  for (int first = 0; first < rows; first += at_once) {
    async_wait<solve_panels - 3>();
    __syncthreads();
    start_panel(first + (solve_panels - 1) * at_once);
    if (!solves) {
      store_solved(room, b, x, count, first, tid - warp_lanes);
      update_others(room, first, rows, tid - warp_lanes);
    } else if (first + at_once < rows) {
      solver.solve(first + at_once);
    }
  }
}

template <int lines>
Status launch_with(const SolveBlock& block, Stream stream) {
  const std::int64_t blocks = block.batch * ceil_div(block.lines, std::int64_t{lines});
  return gpu::launch(solve_block_kernel<lines>,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(solve_threads),
                      .shared_bytes = solve_shared_bytes(block.size, lines),
                      .stream = stream},
                     block);
}

}  // namespace

int solve_lines_for(std::int64_t lines_of_all, const Device& device) {
  int found = solve_lines[0];
  for (const int lines : solve_lines) {
    if (ceil_div(lines_of_all, std::int64_t{lines}) <= device.sm_count) found = lines;
  }
  return found;
}

double solve_block_us(int size, std::int64_t lines_of_all, const Device& device) {
  constexpr double launch_us = 4, step_us = 0.75, fma_per_us = 6e4;  // of a multiprocessor
  const int lines = solve_lines_for(lines_of_all, device);
  const double steps = ceil_div(size, solve_at_once);
  const double work_us = 0.5 * size * size * lines / fma_per_us;
  const double per_sm = std::max(
      1.0, static_cast<double>(ceil_div(lines_of_all, std::int64_t{lines})) / device.sm_count);
  return launch_us + steps * step_us + work_us * per_sm;
}

Status launch_solve_block(const SolveBlock& block, const Device& device, Stream stream) {
  switch (solve_lines_for(block.batch * block.lines, device)) {
    case 32: return launch_with<32>(block, stream);
    case 16: return launch_with<16>(block, stream);
    default: return launch_with<8>(block, stream);
  }
}

}  // namespace KW_TARGET
