// Small systems of solve_block.hpp, a line of the right-hand side a thread.
//
// Idea        The triangle lies in shared memory, a line in the registers of a thread, which solves
//             it by itself: no warp waits for another. Lines whose unknowns lie side by side in
//             memory come and go through shared memory, so that a warp reads and writes neighbours.
// Prediction  16 unknowns of 12 000 lines: 1.5 MB, a launch and one way to memory, 2.5 us; by
//             solve_block.cu, in which one warp of eight solves, 5.
// Limits      Up to 32 unknowns. All steps are straight code, which is fetched cold and grows with
//             the square of the size, so there are sizes of each multiple of four.
// Method      As solve_block.cu: sums of products apart from the right-hand side, a quotient
//             rounded once.
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "level3/solve_block.hpp"
#include "level3/solve_numbers.hpp"

namespace KW_TARGET {
namespace {

constexpr int lines_of_block = 64;  // a thread each

// Threads that lie side by side over so many elements, and so many lines of them a block has.
template <int size>
constexpr int across = size <= 8    ? 8
                       : size <= 16 ? 16
                                    : 32;
template <int size>
constexpr int lines_at_once = lines_of_block / across<size>;

// The triangle as [column][row], with zeros beside, and the reciprocals of its diagonal.
template <int size>
struct SmallTriangle {
  __align__(16) float columns[size][size + 4];
  float near[size], rest[size];
};

// Neighbouring threads read neighbours in memory; nothing beside the triangle is read.
template <int size>
class TriangleLoads {
  static constexpr int at_once = lines_at_once<size>, each = size / at_once;
  static_assert(size % at_once == 0);

 public:
  __device__ __forceinline__ TriangleLoads(const SolveBlock& b, const float* a)
      : by_rows_(b.a_row == 1 || b.a_row == -1),
        own_(static_cast<int>(threadIdx.x) % across<size>),
        other_(static_cast<int>(threadIdx.x) / across<size>) {
    const std::int64_t step = by_rows_ ? b.a_col : b.a_row;
    const float* from = a + own_ * (by_rows_ ? b.a_row : b.a_col) + other_ * step;
    const int diagonal = b.unit_diagonal ? 1 : 0;
#pragma unroll
    for (int i = 0; i < each; ++i, from += at_once * step) {
      const int row = row_of(i), col = col_of(i);
      x_[i] = row < b.size && row >= col + diagonal ? *from : 0.0f;
    }
  }
  __device__ __forceinline__ void store(SmallTriangle<size>& to, const SolveBlock& b) const {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int row = row_of(i), col = col_of(i);
      if (across < size >> size && own_ >= size) break;
      to.columns[col][row] = x_[i];
      if (row != col) continue;
      const Reciprocal reciprocal(b.unit_diagonal || row >= b.size ? 1.0f : x_[i]);
      to.near[row] = reciprocal.near;
      to.rest[row] = reciprocal.rest;
    }
  }

 private:
  __device__ __forceinline__ int row_of(int i) const {
    return by_rows_ ? own_ : other_ + i * at_once;
  }
  __device__ __forceinline__ int col_of(int i) const {
    return by_rows_ ? other_ + i * at_once : own_;
  }

  bool by_rows_;
  int own_, other_;
  float x_[each];
};

// The unknowns of a line, one after the other, from its right-hand side.
template <bool rounds_once, int size>
__device__ __forceinline__ void run_through(float (&x)[size], const SmallTriangle<size>& of,
                                            const float (&right)[size]) {
  float sums[size] = {};
#pragma unroll
  for (int j = 0; j < size; ++j) {
    const float now = right[j] - sums[j];
    x[j] = rounds_once ? fmaf(now, of.near[j], now * of.rest[j]) : now * of.near[j];
#pragma unroll
    for (int i = j + 1; i < size; ++i) sums[i] = fmaf(of.columns[j][i], x[j], sums[i]);
  }
}

// Where `turns`, unknowns of a line lie side by side in memory, else lines.
template <int size, bool turns>
__global__ void __launch_bounds__(lines_of_block) solve_lines_kernel(const SolveBlock b) {
  __shared__ SmallTriangle<size> triangle;
  __shared__ float turned[turns ? lines_of_block : 1][size + 1];
  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t strips = ceil_div(b.lines, std::int64_t{lines_of_block});
  const std::int64_t entry = blockIdx.x / strips;
  const std::int64_t first = (blockIdx.x - entry * strips) * lines_of_block;
  const int count =
      b.lines - first < lines_of_block ? static_cast<int>(b.lines - first) : lines_of_block;
  // A thread's elements: of its own line, or of one unknown and every so many lines.
  constexpr int elements = turns ? across<size> : size, at_once = lines_at_once<size>;
  const int unknown = turns ? tid % across<size> : 0, line = turns ? tid / across<size> : tid;
  float* const own = b.x + entry * b.stride_x + unknown * b.x_step + (first + line) * b.line_step;
  const std::int64_t step = turns ? at_once * b.line_step : b.x_step;
  const auto is_there = [&](int i) {
    return turns ? unknown < b.size && line + i * at_once < count : i < b.size && line < count;
  };
  wait_for_previous_kernel();
  let_next_kernel_start();
  const float alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
  if (alpha == 0) return;  // someone else writes the zeros
  float own_elements[elements];
#pragma unroll
  for (int i = 0; i < elements; ++i) own_elements[i] = is_there(i) ? own[i * step] : 0.0f;
  TriangleLoads<size>(b, b.a + entry * b.stride_a).store(triangle, b);
  if constexpr (turns) {
#pragma unroll
    for (int i = 0; i < elements; ++i)
      if (unknown < size) turned[line + i * at_once][unknown] = own_elements[i];
  }
  __syncthreads();
  float x[size], right[size];
#pragma unroll
  for (int i = 0; i < size; ++i)
    right[i] = fmaf(alpha, turns ? turned[tid][i] : own_elements[i], 0.0f);
  run_through<true>(x, triangle, right);
  // An infinite element times 0 is no number: without what is left of the reciprocals it stays.
  bool is_number = true;
#pragma unroll
  for (int i = 0; i < size; ++i) is_number = is_number && x[i] == x[i];
  if (any_of_warp(!is_number)) run_through<false>(x, triangle, right);
  if constexpr (turns) {
#pragma unroll
    for (int i = 0; i < size; ++i) turned[tid][i] = x[i];  // this thread's own line
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < elements; ++i)
    if (is_there(i)) own[i * step] = turns ? turned[line + i * at_once][unknown] : x[i];
}

template <int size>
Status launch_with(const SolveBlock& block, Stream stream) {
  const std::int64_t blocks = block.batch * ceil_div(block.lines, std::int64_t{lines_of_block});
  return gpu::launch(
      block.line_step == 1 ? solve_lines_kernel<size, false> : solve_lines_kernel<size, true>,
      {.grid = dim3(static_cast<unsigned>(blocks)),
       .block = dim3(lines_of_block),
       .stream = stream,
       .overlap = true},
      block);
}

}  // namespace

Status launch_solve_lines(const SolveBlock& block, Stream stream) {
  switch (solve_lines_size(block.size)) {
    case 8: return launch_with<8>(block, stream);
    case 12: return launch_with<12>(block, stream);
    case 16: return launch_with<16>(block, stream);
    case 20: return launch_with<20>(block, stream);
    case 24: return launch_with<24>(block, stream);
    case 28: return launch_with<28>(block, stream);
    default: return launch_with<32>(block, stream);
  }
}

}  // namespace KW_TARGET
