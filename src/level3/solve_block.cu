// The kernel of solve_block.hpp.
#include "level3/solve_block.hpp"

#include "arithmetic.hpp"

namespace KW_TARGET {
namespace {

// Neighbouring threads read neighbours in memory, whichever way the triangle lies.
__device__ __forceinline__ void load_triangle(SolveShared& shared, const SolveBlock& b,
                                              const float* a, int tid) {
  const bool along_rows = b.a_row == 1 || b.a_row == -1;
  for (int i = tid; i < solve_size * solve_size; i += solve_lines) {
    const int inner = i % solve_size, outer = i / solve_size;
    const int row = along_rows ? inner : outer, col = along_rows ? outer : inner;
    float value = row == col ? 1.0f : 0.0f;
    if (row < b.size && (col < row || (col == row && !b.unit_diagonal))) {
      value = a[row * b.a_row + col * b.a_col];
      if (col == row) value = 1.0f / value;
    }
    shared.a[col][row] = value;
  }
}

// The sums of products of 16 unknowns with those that are known.
__device__ __forceinline__ void subtract_known(const SolveShared& shared, int first, int tid,
                                               float (&x)[solve_at_once]) {
#pragma unroll 2
  for (int j = 0; j < first; ++j) {
    const float known = -shared.x[j][tid];
    const float4* const column = reinterpret_cast<const float4*>(&shared.a[j][first]);
#pragma unroll
    for (int q = 0; q < solve_at_once / 4; ++q) {
      const float4 a = column[q];
      x[4 * q] = fmaf(a.x, known, x[4 * q]);
      x[4 * q + 1] = fmaf(a.y, known, x[4 * q + 1]);
      x[4 * q + 2] = fmaf(a.z, known, x[4 * q + 2]);
      x[4 * q + 3] = fmaf(a.w, known, x[4 * q + 3]);
    }
  }
}

__device__ __forceinline__ void solve_among(const SolveShared& shared, int first,
                                            float (&x)[solve_at_once]) {
#pragma unroll
  for (int j = 0; j < solve_at_once; ++j) {
    const float* const column = &shared.a[first + j][first];
    x[j] *= column[j];
#pragma unroll
    for (int i = j + 1; i < solve_at_once; ++i) x[i] = fmaf(column[i], -x[j], x[i]);
  }
}

__global__ void __launch_bounds__(solve_lines) solve_block_kernel(const SolveBlock b) {
  auto& shared = *gpu::dynamic_shared<SolveShared>();
  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t strips = ceil_div(b.lines, std::int64_t{solve_lines});
  const std::int64_t entry = blockIdx.x / strips;
  const std::int64_t line = (blockIdx.x - entry * strips) * solve_lines + tid;
  const float alpha = b.alpha_at != nullptr ? *b.alpha_at : b.alpha;
  if (alpha == 0) return;  // someone else writes the zeros
  load_triangle(shared, b, b.a + entry * b.stride_a, tid);
  float* const own = b.x + entry * b.stride_x + line * b.line_step;
  const bool is_there = line < b.lines;
#pragma unroll 8
  for (int i = 0; i < b.size; ++i) shared.x[i][tid] = is_there ? alpha * own[i * b.x_step] : 0.0f;
  __syncthreads();
  for (int first = 0; first < b.size; first += solve_at_once) {
    float x[solve_at_once];
#pragma unroll
    for (int i = 0; i < solve_at_once; ++i)
      x[i] = first + i < b.size ? shared.x[first + i][tid] : 0;
    subtract_known(shared, first, tid, x);
    solve_among(shared, first, x);
#pragma unroll
    for (int i = 0; i < solve_at_once; ++i) {
      if (first + i >= b.size) break;
      shared.x[first + i][tid] = x[i];
      if (is_there) own[(first + i) * b.x_step] = x[i];
    }
  }
}

}  // namespace

Status launch_solve_block(const SolveBlock& block, Stream stream) {
  const std::int64_t blocks = block.batch * ceil_div(block.lines, std::int64_t{solve_lines});
  return gpu::launch(solve_block_kernel,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(solve_lines),
                      .shared_bytes = sizeof(SolveShared),
                      .stream = stream},
                     block);
}

}  // namespace KW_TARGET
