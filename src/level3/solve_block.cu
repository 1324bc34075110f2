// The kernel of solve_block.hpp.
//
// Prediction  256 unknowns, a block a multiprocessor: 16 times 0.7 us for 16 unknowns in a row, two
//             barriers and the products below them.
// Method      Substitution; its residual is that of a sum of so many products (Higham 2002, section
//             8.1). Inverted blocks would lose what their condition is.
#include "level3/solve_block.hpp"

#include <algorithm>

#include "device/async_copy.hpp"
#include "device/warp.hpp"

namespace KW_TARGET {
namespace {

constexpr int solve_threads = 256, at_once = solve_at_once;

// The floats of shared memory: the lines, [unknown][line]; and a ring of panels of 16 columns of
// the triangle, [column][row], whose row 0 is the first unknown's.
template <int lines>
struct SolveRoom {
  static constexpr int pitch = solve_pitch(lines);
  float* x;
  float* panels;
  int panel_pitch;

  __device__ __forceinline__ SolveRoom(float* shared, int rows)
      : x(shared), panels(shared + rows * pitch), panel_pitch(solve_pitch(rows)) {}
  __device__ __forceinline__ float* unknown(int i) const { return x + i * pitch; }
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

// Starts the copies of the right-hand side; of lines that there are not, zeros.
template <int lines>
__device__ __forceinline__ void copy_lines(const SolveRoom<lines>& room, const SolveBlock& b,
                                           const float* x, std::int64_t count, int rows, int tid) {
  const auto copy = [&](int i, int line) {
    const bool is_there = i < b.size && line < count;
    async_copy<4>(room.unknown(i) + line, is_there ? x + i * b.x_step + line * b.line_step : x,
                  is_there ? 4 : 0);
  };
  if (b.line_step == 1) {
#pragma unroll 4
    for (int i = tid / lines; i < rows; i += solve_threads / lines) copy(i, tid % lines);
  } else {
    for (int i = tid; i < rows; i += solve_threads) {
#pragma unroll 4
      for (int line = 0; line < lines; ++line) copy(i, line);
    }
  }
}

// Multiplies what this thread has copied.
template <int lines>
__device__ __forceinline__ void scale_lines(const SolveRoom<lines>& room, const SolveBlock& b,
                                            float alpha, int rows, int tid) {
  if (b.line_step == 1) {
    for (int i = tid / lines; i < rows; i += solve_threads / lines)
      room.unknown(i)[tid % lines] *= alpha;
  } else {
    for (int i = tid; i < rows; i += solve_threads) {
      for (int line = 0; line < lines; ++line) room.unknown(i)[line] *= alpha;
    }
  }
}

// A warp solves 16 unknowns, a lane a line.
template <int lines>
__device__ __forceinline__ void solve_among(const SolveRoom<lines>& room, const SolveBlock& b,
                                            int first, int lane) {
  const float* const panel = room.panel(first);
  const int pitch = room.panel_pitch;
  const int own = lane < at_once ? lane : 0;
  const float diagonal = panel[own * pitch + own];
  const bool is_one = b.unit_diagonal || first + own >= b.size;
  const float reciprocal = is_one ? 1.0f : 1.0f / diagonal;
  const bool has_line = lane < lines;  // the others only exchange
  float x[at_once], sums[at_once];
#pragma unroll
  for (int i = 0; i < at_once; ++i) {
    x[i] = has_line ? room.unknown(first + i)[lane] : 0.0f;
    sums[i] = 0;
  }
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
    x[j] = (x[j] - sums[j]) * from_lane(reciprocal, j);
#pragma unroll
    for (int i = j + 1; i < at_once; ++i) sums[i] = fmaf(panel[j * pitch + i], x[j], sums[i]);
  }
  if (!has_line) return;
#pragma unroll
  for (int i = 0; i < at_once; ++i) room.unknown(first + i)[lane] = x[i];
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

// What 16 known unknowns take from all that follow: `own` rows of four lines a thread. The products
// are summed up before: a sum that is subtracted at once is rounded once to the size of what is
// left.
template <int own, int lines>
__device__ __forceinline__ void update(const SolveRoom<lines>& room, int first, int rows, int tid) {
  constexpr int groups = lines / 4, step = solve_threads / groups * own;
  const int line = tid % groups * 4;
  const float* const panel = room.panel(first);
  for (int row = at_once + tid / groups * own; first + row < rows; row += step) {
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
      float4& left = *reinterpret_cast<float4*>(room.unknown(first + row + i) + line);
      left.x -= sums[i][0], left.y -= sums[i][1], left.z -= sums[i][2], left.w -= sums[i][3];
    }
  }
}

template <int lines>
__device__ __forceinline__ void store_solved(const SolveRoom<lines>& room, const SolveBlock& b,
                                             float* x, std::int64_t count, int first, int tid) {
  for (int at = tid; at < at_once * lines; at += solve_threads) {
    const bool along_lines = b.line_step == 1;
    const int i = first + (along_lines ? at / lines : at % at_once);
    const int line = along_lines ? at % lines : at / at_once;
    if (i < b.size && line < count) x[i * b.x_step + line * b.line_step] = room.unknown(i)[line];
  }
}

template <int lines>
__global__ void __launch_bounds__(solve_threads) solve_block_kernel(const SolveBlock b) {
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
  copy_lines(room, b, x, count, rows, tid);
  const auto start_panel = [&](int first) {
    if (first < rows) copy_panel(room.panel(first), room.panel_pitch, b, a, first, rows, tid);
    async_commit();
  };
#pragma unroll 1
  for (int i = 0; i < solve_panels - 1; ++i) start_panel(i * at_once);
  for (int first = 0; first < rows; first += at_once) {
    async_wait<solve_panels - 2>();
    if (first == 0 && alpha != 1) scale_lines(room, b, alpha, rows, tid);
    __syncthreads();
    const int next = first + at_once;
    start_panel(first + (solve_panels - 1) * at_once);
    if (tid < warp_lanes) solve_among(room, b, first, tid);
    __syncthreads();
    store_solved(room, b, x, count, first, tid);
    const int left = (rows - next) * (lines / 4);
    if (left > 2 * solve_threads)
      update<4>(room, first, rows, tid);
    else if (left > solve_threads)
      update<2>(room, first, rows, tid);
    else
      update<1>(room, first, rows, tid);
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
