// The kernel of solve_block.hpp.
#include "level3/solve_block.hpp"

#include "arithmetic.hpp"
#include "device/async_copy.hpp"

namespace KW_TARGET {
namespace {

// Starts the copies of the triangle below the diagonal and on it. Neighbouring threads read
// neighbours in memory, whichever way the triangle lies.
__device__ __forceinline__ void copy_triangle_of(SolveShared& shared, const SolveBlock& b,
                                                 const float* a, int tid) {
  const bool along_rows = b.a_row == 1 || b.a_row == -1;
#pragma unroll 8
  for (int outer = 0; outer < solve_size; ++outer) {
    const int row = along_rows ? tid : outer, col = along_rows ? outer : tid;
    const bool is_there = row < b.size && (col < row || (col == row && !b.unit_diagonal));
    async_copy<4>(&shared.a[col][row], is_there ? a + row * b.a_row + col * b.a_col : a,
                  is_there ? 4 : 0);
  }
}

// The sums of products of 16 unknowns with those that are known.
__device__ __forceinline__ void subtract_known(const SolveShared& shared, int first, int tid,
                                               float (&x)[solve_at_once]) {
#pragma unroll 4
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
  static_assert(solve_size == solve_lines, "a thread a row of the triangle");
  copy_triangle_of(shared, b, b.a + entry * b.stride_a, tid);
  const bool is_there = line < b.lines;
  float* const own = b.x + entry * b.stride_x + (is_there ? line : 0) * b.line_step;
#pragma unroll 8
  for (int i = 0; i < solve_size; ++i) {
    const bool reads = is_there && i < b.size;
    async_copy<4>(&shared.x[i][tid], reads ? own + i * b.x_step : own, reads ? 4 : 0);
  }
  async_commit();
  async_wait<0>();
  __syncthreads();
  float& diagonal = shared.a[tid][tid];
  diagonal = b.unit_diagonal || tid >= b.size ? 1.0f : 1.0f / diagonal;
  __syncthreads();
  for (int first = 0; first < b.size; first += solve_at_once) {
    float x[solve_at_once];
#pragma unroll
    for (int i = 0; i < solve_at_once; ++i) x[i] = alpha * shared.x[first + i][tid];
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
