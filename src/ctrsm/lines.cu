// Systems of block.hpp of up to 8 unknowns, a line of the right-hand side a thread.
//
// Idea        As level3/solve_lines.cu: the triangle lies in shared memory, a line in the registers
//             of a thread, which solves it by itself.
// Prediction  2 unknowns of 10 000 lines: a launch and one way to memory, 2.3 us; by block.cu, in
//             which a warp of eight solves, 4.3.
#include "cgemm/scalars.hpp"
#include "ctrsm/block.hpp"
#include "ctrsm/numbers.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET {
namespace {

constexpr int lines_of_block = 128;  // a thread each

// The triangle as [column][row], and the reciprocals of its diagonal.
template <int size>
struct SmallTriangle {
  float2 columns[size][size];
  float2 near[size], rest[size];
};

// Nothing beside the triangle is read, nor a diagonal of ones.
template <int size>
__device__ __forceinline__ void load_triangle(SmallTriangle<size>& to, const ComplexBlock& b,
                                              const Complex* a) {
  static_assert(size * size <= lines_of_block);
  const int at = static_cast<int>(threadIdx.x), row = at % size, col = at / size;
  if (at >= size * size) return;
  Complex element{row == col ? 1.0f : 0.0f, 0};
  if (row < b.size && (row > col || (row == col && !b.unit_diagonal)))
    element = a[row * b.a_row + col * b.a_col];
  to.columns[col][row] = make_float2(element.re, element.im);
  if (row != col) return;
  const ComplexReciprocal reciprocal(element);
  to.near[row] = reciprocal.near;
  to.rest[row] = reciprocal.rest;
}

template <bool rounds_once, int size>
__device__ __forceinline__ bool run_line(float2 (&x)[size], const SmallTriangle<size>& of,
                                         const float2 (&right)[size]) {
  const float2 none = make_float2(0, 0);
  float2 sums[size] = {};
  bool is_number = true;
#pragma unroll
  for (int j = 0; j < size; ++j) {
    const float2 a = j > 0 ? of.columns[j > 0 ? j - 1 : 0][j] : none;
    const float2 now =
        all_taken<rounds_once>(right[j], sums[j], a, j > 0 ? x[j > 0 ? j - 1 : 0] : none);
    x[j] = quotient(now, of.near[j], rounds_once ? of.rest[j] : none);
    is_number = is_number && x[j].x == x[j].x && x[j].y == x[j].y;
#pragma unroll
    for (int i = j + 2; i < size; ++i) add_product(sums[i], of.columns[j][i], x[j]);
  }
  return is_number;
}

template <int size>
__global__ void __launch_bounds__(lines_of_block) complex_lines_kernel(const ComplexBlock b) {
  __shared__ SmallTriangle<size> triangle;
  const std::int64_t strips = ceil_div(b.lines, std::int64_t{lines_of_block});
  const std::int64_t entry = blockIdx.x / strips;
  const std::int64_t line = (blockIdx.x - entry * strips) * lines_of_block + threadIdx.x;
  Complex* const own = b.x + entry * b.stride_x + line * b.line_step;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Complex alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
  if (is_zero(alpha)) return;  // someone else writes the zeros
  float2 x[size], right[size];
#pragma unroll
  for (int i = 0; i < size; ++i) {
    Complex before{0, 0};
    if (i < b.size && line < b.lines) before = own[i * b.x_step];
    right[i] = make_float2(before.re, before.im);
  }
  load_triangle(triangle, b, b.a + entry * b.stride_a);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < size; ++i) {
    const Complex scaled = conjugate(times(alpha, {right[i].x, right[i].y}), b.conj);
    right[i] = make_float2(scaled.re, scaled.im);
  }
  // An infinite element times 0 is no number: without what is left of the reciprocals it stays.
  if (!run_line<true>(x, triangle, right)) run_line<false>(x, triangle, right);
#pragma unroll
  for (int i = 0; i < size; ++i)
    if (i < b.size && line < b.lines) own[i * b.x_step] = conjugate({x[i].x, x[i].y}, b.conj);
}

template <int size>
Status launch_lines(const ComplexBlock& block, Stream stream) {
  const std::int64_t blocks = block.batch * ceil_div(block.lines, std::int64_t{lines_of_block});
  return gpu::launch(complex_lines_kernel<size>,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(lines_of_block),
                      .stream = stream,
                      .overlap = true},
                     block);
}

}  // namespace

Status launch_complex_lines(const ComplexBlock& block, Stream stream) {
  return block.size <= 4 ? launch_lines<4>(block, stream) : launch_lines<8>(block, stream);
}

}  // namespace KW_TARGET
