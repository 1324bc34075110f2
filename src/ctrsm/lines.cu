// Systems of block.hpp of up to 16 unknowns, a line of the right-hand side a thread.
//
// Idea        As level3/solve_lines.cu: the triangle lies in shared memory, a line in the registers
//             of a thread, which solves it by itself.
// Prediction  2 unknowns of 10 000 lines: a launch and one way to memory, 2.3 us; by block.cu, in
//             which a warp of eight solves, 4.3.
// Limits      32 unknowns as straight code take 12 us however many lines there are: it is fetched
//             cold.
#include <algorithm>

#include "arithmetic.hpp"
#include "cgemm/scalars.hpp"
#include "ctrsm/block.hpp"
#include "ctrsm/numbers.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET {
namespace {

// Lines of a block of threads, a thread each.
constexpr int lines_of_block(int size) { return size <= 8 ? 128 : 64; }

// The triangle as [column][row], and the reciprocals of its diagonal.
template <int size>
struct SmallTriangle {
  float2 columns[size][size];
  float2 near[size], rest[size];
};

// Nothing beside the triangle is read, nor a diagonal of ones. Neighbouring threads read neighbours
// in memory.
template <int size>
__device__ __forceinline__ void load_triangle(SmallTriangle<size>& to, const ComplexBlock& b,
                                              const Complex* a) {
  constexpr int threads = lines_of_block(size), each = ceil_div(size * size, threads);
  const bool by_rows = b.a_row == 1 || b.a_row == -1;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * threads;
    const int row = by_rows ? at % size : at / size, col = by_rows ? at / size : at % size;
    if (at >= size * size) continue;
    Complex element{row == col ? 1.0f : 0.0f, 0};
    if (row < b.size && (row > col || (row == col && !b.unit_diagonal)))
      element = a[row * b.a_row + col * b.a_col];
    to.columns[col][row] = make_float2(element.re, element.im);
    if (row != col) continue;
    const ComplexReciprocal reciprocal(element);
    to.near[row] = reciprocal.near;
    to.rest[row] = reciprocal.rest;
  }
}

// The unknowns of a line, one after the other, in place of its right-hand side; whether all are
// numbers.
template <int size>
__device__ __forceinline__ bool run_line(float2 (&x)[size], const SmallTriangle<size>& of) {
  const float2 none = make_float2(0, 0);
  float2 sums[size] = {};
  bool is_number = true;
#pragma unroll
  for (int j = 0; j < size; ++j) {
    const int before = j > 0 ? j - 1 : 0;
    const float2 now = all_taken<true>(x[j], sums[j], j > 0 ? of.columns[before][j] : none,
                                       j > 0 ? x[before] : none);
    x[j] = quotient(now, of.near[j], of.rest[j]);
    is_number = is_number && is_a_number(x[j]);
#pragma unroll
    for (int i = j + 2; i < size; ++i) add_product(sums[i], of.columns[j][i], x[j]);
  }
  return is_number;
}

// The same in memory, without what is left of the reciprocals: where an element is infinite, that
// times 0 is no number.
template <int size>
__device__ __forceinline__ void run_plainly(const SmallTriangle<size>& of, int count, bool conj,
                                            const Complex& alpha, Complex* line,
                                            std::int64_t step) {
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const Complex right = conjugate(times(alpha, line[i * step]), conj);
    float2 left = make_float2(right.re, right.im), x = make_float2(0, 0);
#pragma unroll 1
    for (int j = 0; j < i; ++j) {
      const Complex known = conjugate(line[j * step], conj);
      add_product(left, of.columns[j][i], make_float2(-known.re, -known.im));
    }
    add_product(x, left, of.near[i]);
    line[i * step] = conjugate({x.x, x.y}, conj);
  }
}

// The elements of a block's lines in memory that a thread reads and writes: where `turns`, unknowns
// of a line lie side by side, and neighbouring threads meet neighbours; else lines do, and they are
// the thread's own line's.
template <int size, bool turns>
class OwnElements {
  static constexpr int lines = lines_of_block(size);

 public:
  __device__ __forceinline__ OwnElements(const ComplexBlock& b, std::int64_t entry,
                                         std::int64_t first)
      : b_(b),
        x_(b.x + entry * b.stride_x + first * b.line_step),
        count_(b.lines - first < lines ? static_cast<int>(b.lines - first) : lines) {}
  __device__ __forceinline__ bool has(int i) const {
    return unknown_of(i) < b_.size && line_of(i) < count_;
  }
  __device__ __forceinline__ Complex& at(int i) const {
    return x_[unknown_of(i) * b_.x_step + line_of(i) * b_.line_step];
  }
  __device__ __forceinline__ int unknown_of(int i) const { return turns ? number(i) % size : i; }
  __device__ __forceinline__ int line_of(int i) const {
    return turns ? number(i) / size : static_cast<int>(threadIdx.x);
  }
  __device__ __forceinline__ bool has_line() const {
    return static_cast<int>(threadIdx.x) < count_;
  }
  __device__ __forceinline__ Complex* line() const { return x_ + threadIdx.x * b_.line_step; }

 private:
  static __device__ __forceinline__ int number(int i) {
    return static_cast<int>(threadIdx.x) + i * lines;
  }

  const ComplexBlock& b_;
  Complex* const x_;
  const int count_;
};

template <int size, bool turns>
__global__ void __launch_bounds__(lines_of_block(size)) complex_lines_kernel(const ComplexBlock b) {
  __shared__ SmallTriangle<size> triangle;
  __shared__ Complex turned[turns ? lines_of_block(size) : 1][size + 1];
  constexpr int lines = lines_of_block(size);
  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t strips = ceil_div(b.lines, std::int64_t{lines});
  const std::int64_t entry = blockIdx.x / strips;
  const OwnElements<size, turns> own(b, entry, (blockIdx.x - entry * strips) * lines);
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Complex alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
  if (is_zero(alpha)) return;  // someone else writes the zeros
  Complex elements[size];
#pragma unroll
  for (int i = 0; i < size; ++i) elements[i] = own.has(i) ? own.at(i) : Complex{0, 0};
  load_triangle(triangle, b, b.a + entry * b.stride_a);
  if constexpr (turns) {
#pragma unroll
    for (int i = 0; i < size; ++i) turned[own.line_of(i)][own.unknown_of(i)] = elements[i];
  }
  __syncthreads();
  float2 x[size];
#pragma unroll
  for (int i = 0; i < size; ++i) {
    if constexpr (turns) elements[i] = turned[tid][i];
    const Complex scaled = conjugate(times(alpha, elements[i]), b.conj);
    x[i] = make_float2(scaled.re, scaled.im);
  }
  const bool are_numbers = run_line(x, triangle);
  if constexpr (turns) {
    if (!are_numbers) run_plainly(triangle, b.size, b.conj, alpha, turned[tid], 1);
#pragma unroll
    for (int i = 0; i < size; ++i)
      if (are_numbers) turned[tid][i] = conjugate({x[i].x, x[i].y}, b.conj);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < size; ++i)
      if (own.has(i)) own.at(i) = turned[own.line_of(i)][own.unknown_of(i)];
  } else {
    if (!are_numbers && own.has_line())
      run_plainly(triangle, b.size, b.conj, alpha, own.line(), b.x_step);
#pragma unroll
    for (int i = 0; i < size; ++i)
      if (are_numbers && own.has(i)) own.at(i) = conjugate({x[i].x, x[i].y}, b.conj);
  }
}

template <int size, bool turns>
Status launch_lines(const ComplexBlock& block, Stream stream) {
  constexpr int lines = lines_of_block(size);
  const std::int64_t blocks = block.batch * ceil_div(block.lines, std::int64_t{lines});
  return gpu::launch(complex_lines_kernel<size, turns>,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(lines),
                      .stream = stream,
                      .overlap = true},
                     block);
}
template <int size>
Status launch_lines(const ComplexBlock& block, bool turns, Stream stream) {
  return turns ? launch_lines<size, true>(block, stream) : launch_lines<size, false>(block, stream);
}

}  // namespace

bool complex_solves_by_lines(const ComplexBlock& block, const Device& device) {
  // More unknowns are as quick by warps.cu, whose code for 8 comes again.
  const bool are_many = block.batch * block.lines > 64 * device.sm_count;
  const bool along = block.line_step == 1;
  return block.size <= (along || are_many ? 12 : 8) || (block.size <= 16 && along && are_many);
}

// On an H200 5, 9 and 12 unknowns of 4200 lines take 1.6, 2.5 and 2.8 us: the more, the more code.
double complex_lines_us(const ComplexBlock& block, const Device& device) {
  constexpr double launch_us = 1.2, unknown_us = 0.05, product_us = 0.008;
  constexpr double of_line_us = 3e-4;  // of a multiprocessor
  const double size = block.size, lines = static_cast<double>(block.batch * block.lines);
  return launch_us + size * (unknown_us + size * product_us +
                             of_line_us * lines / std::max(device.sm_count, 1));
}

Status launch_complex_lines(const ComplexBlock& block, const Device& device, Stream stream) {
  // Many lines across memory are quicker turned: on an H200 8 unknowns of 4200 take 2.7 us and of
  // 20000 as many.
  const bool turns = block.line_step != 1 && block.batch * block.lines > 64 * device.sm_count;
  if (block.size <= 4) return launch_lines<4>(block, turns, stream);
  if (block.size <= 8) return launch_lines<8>(block, turns, stream);
  return block.size <= 12 ? launch_lines<12>(block, turns, stream)
                          : launch_lines<16, false>(block, stream);
}

}  // namespace KW_TARGET
