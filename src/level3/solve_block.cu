// The kernel of solve_block.hpp.
//
// Prediction  256 unknowns, a block a multiprocessor: 16 times 0.5 us, 850 cycles, of which one
//             warp takes 550 for 16 unknowns in a row. Where all waited for it: 1.4 us.
// Method      Substitution; its residual is that of a sum of so many products (Higham 2002, section
//             8.1). Inverted blocks would lose what their condition is. Sums of products are kept
//             apart from the right-hand side, and what is left of that is rounded with the unknown:
//             once, where 256 unknowns that take from it in turn round it 16 times (a residual of
//             0.43 and not 0.21 u, random triangles).
#include "level3/solve_block.hpp"

#include "device/async_copy.hpp"
#include "device/load_floats.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "level3/solve_numbers.hpp"
#include "level3/solve_ways.hpp"
#include "sgemm/spread_blocks.hpp"

namespace KW_TARGET {
namespace {

constexpr int solve_threads = 256, at_once = solve_at_once;

// Panels, and behind them the reciprocals of 16 elements of the diagonal in two parts.
template <int lines>
struct SolveRoom : PanelRoom<float, at_once, solve_panels, solve_pitch(lines)> {
  using Panels = PanelRoom<float, at_once, solve_panels, solve_pitch(lines)>;
  float* reciprocals;

  __device__ __forceinline__ SolveRoom(float* shared, int rows)
      : Panels(shared, rows, solve_pitch(rows)), reciprocals(this->end()) {}
};

// The first warp solves; the others do all else, each thread numbered from 0 on.
constexpr int other_threads = solve_threads - warp_lanes;

// Starts the copies of the columns from `first` on, below the diagonal and on it. Neighbouring
// threads read neighbours in memory, whichever way the triangle lies. What is not of the triangle
// is not read, and 0.
__device__ __forceinline__ void copy_panel(float* panel, int pitch, const SolveBlock& b,
                                           const float* a, int first, int rows, int thread) {
  const int height = rows - first, left = b.size - first, diagonal = b.unit_diagonal ? 1 : 0;
  const float* const corner = a + first * (b.a_row + b.a_col);
  const auto copy = [&](float* to, const float* from, int row, int col) {
    const bool is_there = row < left && row >= col + diagonal;
    async_copy<4>(to, is_there ? from : a, is_there ? 4 : 0);
  };
  if (b.a_row == 1 || b.a_row == -1) {
    for (int row = thread; row < height; row += other_threads) {
      const float* from = corner + row * b.a_row;
#pragma unroll 4
      for (int col = 0; col < at_once; ++col, from += b.a_col)
        copy(panel + col * pitch + row, from, row, col);
    }
  } else {
    constexpr int step = other_threads / at_once;
    const int col = thread % at_once;
    const float* from = corner + thread / at_once * b.a_row + col * b.a_col;
    float* const to = panel + col * pitch;
#pragma unroll 4
    for (int row = thread / at_once; row < height; row += step, from += step * b.a_row)
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
                                           const float* x, std::int64_t count, int first,
                                           int thread) {
  for (int at = thread; at < at_once * lines; at += other_threads) {
    const ElementOf16<lines> of(b, at);
    const int i = first + of.i;
    const bool is_there = i < b.size && of.line < count;
    async_copy<4>(room.right_of(i) + of.line,
                  is_there ? x + i * b.x_step + of.line * b.line_step : x, is_there ? 4 : 0);
  }
}

// What the 16 unknowns from `first` on need to be solved, by all threads: the right-hand side less
// all sums in the sums' place, what that rounds away in the right-hand side's, and the reciprocals
// of the diagonal. The 16 before count, but for the first unknown not the last of them, which
// `run_through` takes.
template <int lines>
__device__ __forceinline__ void prepare(const SolveRoom<lines>& room, const SolveBlock& b,
                                        float alpha, int first, int tid) {
  constexpr int own = lines >= 16 ? lines / 16 : 1, groups = lines / own;  // lines of a thread
  if (const int i = solve_threads - 1 - tid; i < at_once) {
    const bool is_one = b.unit_diagonal || first + i >= b.size;
    const Reciprocal reciprocal(is_one ? 1.0f : room.panel(first)[i * room.panel_pitch + i]);
    room.reciprocals[i] = reciprocal.near;
    room.reciprocals[at_once + i] = reciprocal.rest;
  }
  const int row = tid / groups, line = tid % groups * own;
  if (row >= at_once) return;
  float sums[own] = {};
  if (first > 0) {
    const float* const a = room.panel(first - at_once) + at_once + row;
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      float x[own];
      load_floats(x, room.unknown(first - at_once + j) + line);
#pragma unroll
      for (int q = 0; q < own; ++q) {
        const float sum = fmaf(a[j * room.panel_pitch], x[q], sums[q]);
        if (j + 1 < at_once || row > 0) sums[q] = sum;
      }
    }
  }
  float* const left = room.unknown(first + row) + line;
  float* const right = room.right_of(first + row) + line;
#pragma unroll
  for (int q = 0; q < own; ++q) subtract(alpha, right[q], left[q] + sums[q], left[q], right[q]);
}

// Sixteen unknowns of a line, one after the other.
template <bool rounds_once, int lines>
__device__ __forceinline__ void run_through(const SolveRoom<lines>& room, float (&x)[at_once],
                                            int first, int lane) {
  const bool has_line = lane < lines;
  const float* const panel = room.panel(first);
  float sums[at_once];
#pragma unroll
  for (int i = 0; i < at_once; ++i) {
    x[i] = has_line ? room.unknown(first + i)[lane] : 0.0f;
    sums[i] = has_line ? room.right_of(first + i)[lane] : 0.0f;
  }
  float next = 0, before = 0;  // an unknown's element of the one before it, and that one
  if (first > 0) {
    next = room.panel(first - at_once)[(at_once - 1) * room.panel_pitch + at_once];
    before = has_line ? room.unknown(first - 1)[lane] : 0.0f;
  }
  float near[4], rest[4];
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
    if (j % 4 == 0) {
      load_floats(near, room.reciprocals + j);
      load_floats(rest, room.reciprocals + at_once + j);
    }
    float a[at_once];
    load_floats(a, panel + j * room.panel_pitch);
    const float now = all_taken<rounds_once>(x[j], sums[j], next, before);
    x[j] = rounds_once ? fmaf(now, near[j % 4], now * rest[j % 4]) : now * near[j % 4];
    before = x[j];
    if (j + 1 < at_once) next = a[(j + 1) % at_once];
#pragma unroll
    for (int i = j + 2; i < at_once; ++i) sums[i] = fmaf(a[i], x[j], sums[i]);
  }
}

// A warp solves 16 unknowns, a lane a line.
template <int lines>
__device__ __forceinline__ void solve_among(const SolveRoom<lines>& room, int first, int lane) {
  float x[at_once];
  run_through<true>(room, x, first, lane);
  // An infinite element times 0 is no number: without what is left of the reciprocals it stays.
  bool is_number = true;
#pragma unroll
  for (int i = 0; i < at_once; ++i) is_number = is_number && x[i] == x[i];
  if (any_of_warp(!is_number)) run_through<false>(room, x, first, lane);
  if (lane >= lines) return;
#pragma unroll
  for (int i = 0; i < at_once; ++i) room.unknown(first + i)[lane] = x[i];
}

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

// One warp solves 16 unknowns while the others store the 16 before and take them from all that
// follow; then all prepare the next 16.
// Strips of fewer lines are chosen where each has a multiprocessor to itself.
template <int lines>
__global__ void __launch_bounds__(solve_threads, lines == solve_most_lines ? 2 : 1)
    solve_block_kernel(const SolveBlock b) {
  const int tid = static_cast<int>(threadIdx.x), other = tid - warp_lanes;
  const int rows = solve_rows(b.size);
  const SolveRoom<lines> room(gpu::dynamic_shared<float>(), rows);
  for (int i = tid; i < rows * room.pitch; i += solve_threads) room.x[i] = 0;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const float alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
  if (alpha == 0) return;  // someone else writes the zeros
  const std::int64_t strips = ceil_div(b.lines, std::int64_t{lines});
  const std::int64_t entry = blockIdx.x / strips, line = (blockIdx.x - entry * strips) * lines;
  const float* const a = b.a + entry * b.stride_a;
  float* const x = b.x + entry * b.stride_x + line * b.line_step;
  const std::int64_t count = b.lines - line;
  const bool solves = any_of_warp(tid < warp_lanes);
  const auto start_panel = [&](int first) {
    if (first < rows) {
      copy_panel(room.panel(first), room.panel_pitch, b, a, first, rows, other);
      copy_right(room, b, x, count, first, other);
    }
    async_commit();
  };
  if (!solves) start_panel(0), start_panel(at_once);
  async_wait<1>();
  __syncthreads();
  prepare(room, b, alpha, 0, tid);
  __syncthreads();
#pragma unroll 1
  for (int first = 0; first < rows; first += at_once) {
    const int before = first - at_once, next = first + at_once;
    if (solves) {
      solve_among(room, first, tid);
    } else {
      start_panel(next + at_once);
      if (first > 0) {
        store_solved(room, b, x, count, before, other);
        update_others(room, before, rows, other);
      }
    }
    async_wait<1>();
    __syncthreads();
    if (next < rows) {
      prepare(room, b, alpha, next, tid);
      __syncthreads();
    } else if (!solves) {
      store_solved(room, b, x, count, first, other);
    }
  }
}

// Its blocks keep apart: where the next launch begins beside others' blocks, two of its own would
// come to lie on each multiprocessor without any, and take half as long again.
template <int lines>
Status launch_with(const SolveBlock& block, const Device& device, Stream stream) {
  const std::int64_t blocks = block.batch * ceil_div(block.lines, std::int64_t{lines});
  return gpu::launch(solve_block_kernel<lines>,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(solve_threads),
                      .shared_bytes = shared_bytes_that_spread(
                          blocks, solve_shared_bytes(block.size, lines), device),
                      .stream = stream,
                      .overlap = true},
                     block);
}

}  // namespace

Status launch_solve_block(const SolveBlock& block, const Device& device, Stream stream) {
  const SolveWayChoice choice = choose_solve_way(block, device);
  switch (choice.way) {
    case SolveWay::chain: return launch_solve_chain(block, stream);
    case SolveWay::lines: return launch_solve_lines(block, stream);
    case SolveWay::lanes: return launch_solve_lanes(block, choice.lines_of_warp, stream);
    case SolveWay::warps: return launch_solve_warps(block, choice.warps, device, stream);
    case SolveWay::block: break;
  }
  switch (solve_block_times_of(block.batch * block.lines, device).lines) {
    case 32: return launch_with<32>(block, device, stream);
    case 16: return launch_with<16>(block, device, stream);
    default: return launch_with<8>(block, device, stream);
  }
}

}  // namespace KW_TARGET
