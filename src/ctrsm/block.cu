// The kernel of block.hpp.
//
// Prediction  128 unknowns, a block a multiprocessor: 16 times 0.45 us, of which one warp takes
//             half for 8 unknowns in a row, each a chain of ten operations.
//
// Method      Substitution; its residual is that of a sum of so many products (Higham 2002, section
//             8.1). Sums of products are kept apart from the right-hand side, and what is left of
//             that is rounded with the unknown. A quotient is a product with the reciprocal in two
//             floats, which is made in double.
#include "ctrsm/block.hpp"

#include <algorithm>

#include "cgemm/scalars.hpp"
#include "ctrsm/numbers.hpp"
#include "ctrsm/ways.hpp"
#include "device/async_copy.hpp"
#include "device/load_floats.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"

namespace KW_TARGET {
namespace {

constexpr int block_threads = 256, at_once = complex_at_once;
// One warp solves, one copies the triangle, one the right-hand side, and one stores: each on
// another quarter of the multiprocessor, as are the four that do the rest.
constexpr int updaters = block_threads - 4 * warp_lanes;

// Panels, and behind them the reciprocals of the diagonal in two parts.
template <int lines>
struct ComplexRoom : PanelRoom<float2, at_once, complex_panels, complex_pitch(lines)> {
  using Panels = PanelRoom<float2, at_once, complex_panels, complex_pitch(lines)>;
  float2 *near, *rest;

  __device__ __forceinline__ ComplexRoom(float2* shared, int rows)
      : Panels(shared, rows, complex_pitch(rows)), near(this->end()), rest(near + rows) {}
};

__device__ __forceinline__ void copy_element(float2* to, const Complex* from, bool is_there,
                                             const Complex* somewhere) {
  async_copy<8>(&to->x, is_there ? &from->re : &somewhere->re, is_there ? 8 : 0);
}

// Starts the copies of the columns from `first` on, below the diagonal. Neighbouring lanes read
// neighbours in memory, whichever way the triangle lies. What is not of the triangle is not read,
// and 0.
__device__ __forceinline__ void copy_columns(float2* panel, int pitch, const ComplexBlock& b,
                                             const Complex* a, int first, int rows, int lane) {
  const int height = rows - first, left = b.size - first;
  const Complex* const corner = a + first * (b.a_row + b.a_col);
  const auto copy = [&](float2* to, const Complex* from, int row, int col) {
    copy_element(to, from, row < left && row > col, a);
  };
  if (b.a_row == 1 || b.a_row == -1) {
    for (int row = lane; row < height; row += warp_lanes) {
      const Complex* from = corner + row * b.a_row;
#pragma unroll
      for (int col = 0; col < at_once; ++col, from += b.a_col)
        copy(panel + col * pitch + row, from, row, col);
    }
  } else {
    constexpr int step = warp_lanes / at_once;
    const int col = lane % at_once;
    const Complex* from = corner + lane / at_once * b.a_row + col * b.a_col;
    float2* const to = panel + col * pitch;
#pragma unroll 8
    for (int row = lane / at_once; row < height; row += step, from += step * b.a_row)
      copy(to + row, from, row, col);
  }
}

// Starts the copies of the right-hand side of 8 unknowns; of lines that there are not, zeros.
template <int lines>
__device__ __forceinline__ void copy_right(const ComplexRoom<lines>& room, const ComplexBlock& b,
                                           const Complex* x, std::int64_t count, int first,
                                           int lane) {
#pragma unroll
  for (int at = lane; at < at_once * lines; at += warp_lanes) {
    const bool along_lines = b.line_step == 1;
    const int i = first + (along_lines ? at / lines : at % at_once);
    const int line = along_lines ? at % lines : at / at_once;
    copy_element(room.right_of(i) + line, x + i * b.x_step + line * b.line_step,
                 i < b.size && line < count, x);
  }
}

// The reciprocals of the diagonal, by a thread each.
template <int lines>
__device__ __forceinline__ void invert_diagonal(const ComplexRoom<lines>& room,
                                                const ComplexBlock& b, const Complex* a, int rows,
                                                int tid) {
  for (int i = tid; i < rows; i += block_threads) {
    Complex diagonal{1, 0};
    if (!b.unit_diagonal && i < b.size) diagonal = a[i * (b.a_row + b.a_col)];
    const ComplexReciprocal reciprocal(diagonal);
    room.near[i] = reciprocal.near;
    room.rest[i] = reciprocal.rest;
  }
}

// What the 8 unknowns from `first` on need to be solved, by all threads: the right-hand side less
// all sums in the sums' place, and what that rounds away in the right-hand side's. The 8 before
// count, but for the first unknown not the last of them, which `run_through` takes. Where the
// triangle is a conjugate, the conjugate system is solved.
template <int lines>
__device__ __forceinline__ void prepare(const ComplexRoom<lines>& room, const ComplexBlock& b,
                                        const Complex& alpha, int first, int tid) {
  const int row = tid / lines, line = tid % lines;
  if (row >= at_once) return;
  float2 own = make_float2(0, 0);
  if (first > 0) {
    const float2* const a = room.panel(first - at_once) + at_once + row;
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      if (j == at_once - 1 && row == 0) break;
      add_product(own, a[j * room.panel_pitch], room.unknown(first - at_once + j)[line]);
    }
  }
  float2& left = room.unknown(first + row)[line];
  float2& right = room.right_of(first + row)[line];
  const Complex scaled = conjugate(times(alpha, {right.x, right.y}), b.conj);
  take_sums(scaled.re, left.x, own.x, left.x, right.x);
  take_sums(scaled.im, left.y, own.y, left.y, right.y);
}

// A column of the square on the diagonal.
struct SquareColumn {
  float2 a[at_once];

  __device__ __forceinline__ explicit SquareColumn(const float2* from) {
    float parts[2 * at_once];
    load_floats(parts, &from->x);
#pragma unroll
    for (int i = 0; i < at_once; ++i) a[i] = make_float2(parts[2 * i], parts[2 * i + 1]);
  }
};

// Eight unknowns of a line, one after the other: `left` less `taken` is what those before left but
// the last of them, `before`, of which the first unknown's element is `a`.
template <bool rounds_once, int lines>
__device__ __forceinline__ void run_through(float2 (&x)[at_once], const ComplexRoom<lines>& room,
                                            const float2 (&left)[at_once],
                                            const float2 (&taken)[at_once], float2 a, float2 before,
                                            int first) {
  const float2* const panel = room.panel(first);
  float2 sums[at_once];
#pragma unroll
  for (int i = 0; i < at_once; ++i) sums[i] = taken[i];
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
    const SquareColumn column(panel + j * room.panel_pitch);
    const float2 near = room.near[first + j];
    const float2 rest = rounds_once ? room.rest[first + j] : make_float2(0, 0);
    const float2 now =
        all_taken<rounds_once>(left[j], sums[j], a, j > 0 ? x[j > 0 ? j - 1 : 0] : before);
    if constexpr (rounds_once) {
      x[j] = quotient(now, near, rest);
    } else {  // what is left of a reciprocal may be 0, and no infinity times that is a number
      x[j] = make_float2(now.x * near.x - now.y * near.y, now.y * near.x + now.x * near.y);
    }
#pragma unroll
    for (int i = j + 2; i < at_once; ++i) add_product(sums[i], column.a[i], x[j]);
    if (j + 1 < at_once) a = column.a[j + 1];
  }
}

// A warp solves the 8 unknowns from `first` on, a lane a line.
template <int lines>
__device__ __forceinline__ void solve_among(const ComplexRoom<lines>& room, int first, int lane) {
  const int line = lane % lines;
  float2 x[at_once], left[at_once], taken[at_once];
#pragma unroll
  for (int i = 0; i < at_once; ++i) {
    left[i] = room.unknown(first + i)[line];
    taken[i] = room.right_of(first + i)[line];
  }
  float2 a = make_float2(0, 0), before = a;
  if (first > 0) {
    a = room.panel(first - at_once)[(at_once - 1) * room.panel_pitch + at_once];
    before = room.unknown(first - 1)[line];
  }
  run_through<true>(x, room, left, taken, a, before, first);
  // An infinite element times 0 is no number: without what is left of the reciprocals it stays.
  bool is_number = true;
#pragma unroll
  for (int i = 0; i < at_once; ++i) is_number = is_number && is_a_number(x[i]);
  if (any_of_warp(!is_number)) run_through<false>(x, room, left, taken, a, before, first);
  __syncwarp();
  if (lane >= lines) return;
#pragma unroll
  for (int i = 0; i < at_once; ++i) room.unknown(first + i)[lane] = x[i];
}

// Neighbouring lanes meet neighbours in memory, whichever way lines lie.
template <int lines>
__device__ __forceinline__ void store_solved(const ComplexRoom<lines>& room, const ComplexBlock& b,
                                             Complex* x, std::int64_t count, int first, int lane) {
  const bool along_lines = b.line_step == 1;
#pragma unroll
  for (int at = lane; at < at_once * lines; at += warp_lanes) {
    const int i = first + (along_lines ? at / lines : at % at_once);
    const int line = along_lines ? at % lines : at / at_once;
    if (i >= b.size || line >= count) continue;
    const float2 solved = room.unknown(i)[line];
    x[i * b.x_step + line * b.line_step] = conjugate({solved.x, solved.y}, b.conj);
  }
}

// What 8 known unknowns take from all that follow the next 8: `own` rows of two lines a thread.
// Sums of 8 products are added to sums of sums.
template <int own, int lines>
__device__ __forceinline__ void update(const ComplexRoom<lines>& room, int first, int rows,
                                       int thread) {
  constexpr int groups = lines / 2, step = updaters / groups * own;
  const int line = thread % groups * 2;
  const float2* const panel = room.panel(first);
  for (int row = 2 * at_once + thread / groups * own; first + row < rows; row += step) {
    float2 sums[own][2] = {};
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      const float4 both = *reinterpret_cast<const float4*>(room.unknown(first + j) + line);
      const float2 x = make_float2(both.x, both.y), y = make_float2(both.z, both.w);
      float parts[2 * own];
      load_floats(parts, &panel[j * room.panel_pitch + row].x);
#pragma unroll
      for (int i = 0; i < own; ++i) {
        const float2 a = make_float2(parts[2 * i], parts[2 * i + 1]);
        add_product(sums[i][0], a, x);
        add_product(sums[i][1], a, y);
      }
    }
#pragma unroll
    for (int i = 0; i < own; ++i) {
      float4& all = *reinterpret_cast<float4*>(room.unknown(first + row + i) + line);
      all.x += sums[i][0].x, all.y += sums[i][0].y, all.z += sums[i][1].x, all.w += sums[i][1].y;
    }
  }
}
template <int lines>
__device__ __forceinline__ void update_others(const ComplexRoom<lines>& room, int first, int rows,
                                              int thread) {
  const int left = (rows - first - 2 * at_once) * (lines / 2);
  if (left > 2 * updaters)
    update<4>(room, first, rows, thread);
  else if (left > updaters)
    update<2>(room, first, rows, thread);
  else
    update<1>(room, first, rows, thread);
}

// One warp solves 8 unknowns; two start the copies of those to come, one stores the 8 before, and
// the others take those from all that follow; then all prepare the next 8.
template <int lines, int per_sm>
__global__ void __launch_bounds__(block_threads, per_sm)
    complex_block_kernel(const ComplexBlock b) {
  const int tid = static_cast<int>(threadIdx.x), lane = tid % warp_lanes;
  const int rows = complex_rows(b.size);
  const ComplexRoom<lines> room(gpu::dynamic_shared<float2>(), rows);
  for (int i = tid; i < rows * room.pitch; i += block_threads) room.x[i] = make_float2(0, 0);
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Complex alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
  if (is_zero(alpha)) return;  // someone else writes the zeros
  const std::int64_t strips = ceil_div(b.lines, std::int64_t{lines});
  const std::int64_t entry = blockIdx.x / strips, line = (blockIdx.x - entry * strips) * lines;
  const Complex* const a = b.a + entry * b.stride_a;
  Complex* const x = b.x + entry * b.stride_x + line * b.line_step;
  const std::int64_t count = b.lines - line;
  const int role = tid / warp_lanes;
  const bool solves = any_of_warp(role == 0), copies_triangle = any_of_warp(role == 1);
  const bool copies = any_of_warp(role == 1 || role == 2), stores = any_of_warp(role == 3);
  const auto start_panel = [&](int first) {
    if (first < rows && copies_triangle)
      copy_columns(room.panel(first), room.panel_pitch, b, a, first, rows, lane);
    else if (first < rows)
      copy_right(room, b, x, count, first, lane);
    async_commit();
  };
  if (copies) start_panel(0), start_panel(at_once);
  invert_diagonal(room, b, a, rows, tid);
  async_wait<1>();
  __syncthreads();
  prepare(room, b, alpha, 0, tid);
  __syncthreads();
#pragma unroll 1
  for (int first = 0; first < rows; first += at_once) {
    const int before = first - at_once, next = first + at_once;
    if (solves) {
      solve_among(room, first, lane);
    } else if (copies) {
      start_panel(next + at_once);
      async_wait<1>();
    } else if (first > 0) {
      if (stores)
        store_solved(room, b, x, count, before, lane);
      else
        update_others(room, before, rows, tid - 4 * warp_lanes);
    }
    __syncthreads();
    if (next < rows) {
      prepare(room, b, alpha, next, tid);
      __syncthreads();
    } else if (stores) {
      store_solved(room, b, x, count, first, lane);
    }
  }
}

template <int lines, int per_sm>
Status launch_with(const ComplexBlock& block, Stream stream) {
  const std::int64_t blocks = block.batch * ceil_div(block.lines, std::int64_t{lines});
  return gpu::launch(complex_block_kernel<lines, per_sm>,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(block_threads),
                      .shared_bytes = complex_shared_bytes(block.size, lines),
                      .stream = stream,
                      .overlap = true},
                     block);
}

__global__ void __launch_bounds__(block_threads) clear_complex_kernel(const Ctrsm p) {
  wait_for_previous_kernel();
  if (p.alpha_at != nullptr && !is_zero(*p.alpha_at)) return;
  const std::int64_t of_entry = p.m * p.n, count = p.batch * of_entry;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * block_threads;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
       at < count; at += step) {
    const std::int64_t entry = at / of_entry, row = (at - entry * of_entry) / p.n;
    p.c[entry * p.stride_c + row * p.ldc + at % p.n] = {0, 0};
  }
}

}  // namespace

double complex_block_us(const ComplexBlock& block, const Device& device) {
  return choose_complex_way(block, device).us;
}

Status launch_complex_block(const ComplexBlock& block, const Device& device, Stream stream) {
  const ComplexWayChoice choice = choose_complex_way(block, device);
  switch (choice.way) {
    case ComplexWay::chain: return launch_complex_chain(block, choice.chain_lines, stream);
    case ComplexWay::lines: return launch_complex_lines(block, device, stream);
    case ComplexWay::warps: return launch_complex_warps(block, choice.warps, device, stream);
    case ComplexWay::strips: break;
  }
  const ComplexStrip strip = choice.strip;
  switch (strip.lines) {
    case 32: return launch_with<32, 2>(block, stream);
    case 16:
      return strip.per_sm == 1 ? launch_with<16, 1>(block, stream)
                               : launch_with<16, 2>(block, stream);
    default: return launch_with<8, 1>(block, stream);
  }
}

Status clear_complex_where_zero(const Ctrsm& p, Stream stream) {
  constexpr std::int64_t most_blocks = 1 << 16;
  const std::int64_t blocks = ceil_div(p.batch * p.m * p.n, std::int64_t{block_threads});
  return gpu::launch(clear_complex_kernel,
                     {.grid = dim3(static_cast<unsigned>(std::min(blocks, most_blocks))),
                      .block = dim3(block_threads),
                      .stream = stream,
                      .overlap = true},
                     p);
}

}  // namespace KW_TARGET
