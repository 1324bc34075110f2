// level3_lines: a product with a small triangle, or a small symmetric matrix, and many lines: a
// column of C where A is on the left, else a row, is A times a column or row of B.
//
// Idea        A block has A whole in shared memory, zeros or its mirror image beside the triangle,
//             and beside it its lines of B, which it reads once, and before it writes any of C: so
//             C may be B. Threads stand along lines where these lie side by side in memory, else
//             along each, so all of what a warp reads and writes is neighbours. Each thread
//             computes eight elements of a line.
// Prediction  8 with 10474 lines: 0.7 MB of B and C, 2.2 us; in squares of 32 of C, of which a
//             quarter is there, 4.4.
// Limits      Up to 32 x 32, else A's products are the work, and tiles do them faster.
// Order       k ascending: the same bits for the same call.
#include <optional>

#include "device/overlap.hpp"
#include "level3/lines_plan.hpp"
#include "level3/loop.hpp"
#include "level3/production.hpp"

namespace KW_TARGET {
namespace {

// A of up to `size` rows and columns.
template <int size>
struct LinesShape {
  static constexpr int outputs = 8, parts = size / outputs;  // of a line, a thread each
  static constexpr int lines = lines_threads / parts, pitch = lines + 4, pitch_of_a = size + 4;
  static constexpr int elements = size * lines;
  static_assert(lines % 32 == 0 && elements % lines_threads == 0);
  static_assert(lines == lines_of_block(size));
};

// A matrix of which an index runs along a line, the other from line to line.
struct Lines {
  const float* x;
  std::int64_t step, line_step;  // one of them is 1
};
__device__ __forceinline__ Lines lines_of(const float* x, std::int64_t ld, bool along_rows) {
  return along_rows ? Lines{x, 1, ld} : Lines{x, ld, 1};
}
__device__ __forceinline__ Lines lines_of_b(const Level3& p) {
  return lines_of(p.b, p.ldb, p.on_left == (p.op_b == Op::transpose));
}

// Element `at` of a block's lines: its place in a line, and the line.
template <int size>
struct ElementOfLines {
  using S = LinesShape<size>;
  int i, line;

  __device__ __forceinline__ ElementOfLines(const Lines& of, int at)
      : i(of.line_step == 1 ? at / S::lines : at % size),
        line(of.line_step == 1 ? at % S::lines : at / size) {}
};

// What a line of B is multiplied by, [along B's line][along C's line]; zeros beside. All loads of a
// thread come before the first of them is waited for, here and below.
template <int size>
class SmallMatrix {
 public:
  __device__ __forceinline__ explicit SmallMatrix(const Level3& p) : turns_(p.on_left) {
    const bool is_symm = p.routine == Routine::symm, lower = p.triangle == Triangle::lower;
    const bool turned = !is_symm && p.op_a == Op::transpose;
    const int k = static_cast<int>(p.k);
#pragma unroll
    for (int step = 0; step < each; ++step) {
      const int row = row_at(step), col = col_at(step);
      int i = turned ? col : row, j = turned ? row : col;  // as A is stored
      const bool is_stored = lower ? j <= i : i <= j, is_inside = row < k && col < k;
      const bool is_one = !is_symm && p.unit_diagonal && i == j;
      if (is_symm && !is_stored) i = col, j = row;
      const bool is_there = is_inside && (is_stored || is_symm) && !is_one;
      x_[step] = is_there ? p.a[i * p.lda + j] : is_one && is_inside ? 1.0f : 0.0f;
    }
  }
  __device__ __forceinline__ void store(float (&to)[size][LinesShape<size>::pitch_of_a]) const {
#pragma unroll
    for (int step = 0; step < each; ++step) {
      const int row = row_at(step), col = col_at(step);
      if (size * size < lines_threads && row >= size) break;
      (turns_ ? to[col][row] : to[row][col]) = x_[step];
    }
  }

 private:
  static constexpr int each = size * size < lines_threads ? 1 : size * size / lines_threads;
  __device__ __forceinline__ static int row_at(int step) {
    return (static_cast<int>(threadIdx.x) + step * lines_threads) / size;
  }
  __device__ __forceinline__ static int col_at(int step) {
    return (static_cast<int>(threadIdx.x) + step * lines_threads) % size;
  }

  const bool turns_;
  float x_[each];
};

// A block's lines of B.
template <int size>
class BlockLines {
 public:
  __device__ __forceinline__ BlockLines(const Lines& from, int k, std::int64_t count)
      : from_(from) {
#pragma unroll
    for (int step = 0; step < each; ++step) {
      const ElementOfLines<size> of = at(step);
      const bool is_there = of.i < k && of.line < count;
      x_[step] = is_there ? from.x[of.i * from.step + of.line * from.line_step] : 0.0f;
    }
  }
  __device__ __forceinline__ void store(float (&to)[size][LinesShape<size>::pitch]) const {
#pragma unroll
    for (int step = 0; step < each; ++step) to[at(step).i][at(step).line] = x_[step];
  }

 private:
  static constexpr int each = LinesShape<size>::elements / lines_threads;
  __device__ __forceinline__ ElementOfLines<size> at(int step) const {
    return {from_, static_cast<int>(threadIdx.x) + step * lines_threads};
  }

  const Lines& from_;
  float x_[each];
};

__device__ __forceinline__ float finished(const float* before, float product, float beta) {
  return beta == 0 ? product : fmaf(beta, *before, product);
}

template <int size>
__global__ void __launch_bounds__(lines_threads)
    level3_lines_kernel(__grid_constant__ const Level3 p) {
  using S = LinesShape<size>;
  __shared__ __align__(16) float a[size][S::pitch_of_a];
  __shared__ float x[size][S::pitch];
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int tid = static_cast<int>(threadIdx.x), k = static_cast<int>(p.k);
  const float alpha = p.alpha_at != nullptr ? *p.alpha_at : p.alpha;
  const float beta = p.routine == Routine::trmm ? 0.0f : p.beta_at != nullptr ? *p.beta_at : p.beta;
  const std::int64_t first = blockIdx.x * std::int64_t{S::lines};
  const std::int64_t count = level3::lines(p) - first;
  if (alpha != 0) {
    Lines b = lines_of_b(p);
    b.x += first * b.line_step;
    const BlockLines<size> lines(b, k, count);
    const SmallMatrix<size> small(p);
    lines.store(x);
    small.store(a);
  }
  __syncthreads();
  const int line = tid % S::lines, own = tid / S::lines * S::outputs;
  float sums[S::outputs] = {};
  if (alpha != 0) {
#pragma unroll 8
    for (int l = 0; l < size; ++l) {
      const float4 low = *reinterpret_cast<const float4*>(&a[l][own]);
      const float4 high = *reinterpret_cast<const float4*>(&a[l][own + 4]);
      const float of_a[S::outputs] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int i = 0; i < S::outputs; ++i) sums[i] = fmaf(of_a[i], x[l][line], sums[i]);
    }
  }
  const Lines c = lines_of(p.c, p.ldc, !p.on_left);
  float* const to = p.c + first * c.line_step;
  if (p.on_left) {
#pragma unroll
    for (int i = 0; i < S::outputs; ++i) {
      float* const at = to + (own + i) * c.step + line;
      if (own + i < k && line < count) *at = finished(at, alpha * sums[i], beta);
    }
    return;
  }
  __syncthreads();  // all have read their lines
#pragma unroll
  for (int i = 0; i < S::outputs; ++i) x[own + i][line] = alpha * sums[i];
  __syncthreads();
#pragma unroll
  for (int step = 0; step < S::elements / lines_threads; ++step) {
    const ElementOfLines<size> of(c, tid + step * lines_threads);
    float* const at = to + of.line * c.line_step + of.i;
    if (of.i < k && of.line < count) *at = finished(at, x[of.i][of.line], beta);
  }
}

template <int size>
Status launch_with(const Level3& p, Stream stream) {
  const std::int64_t blocks = ceil_div(level3::lines(p), std::int64_t{LinesShape<size>::lines});
  return gpu::launch(level3_lines_kernel<size>,
                     {.grid = dim3(static_cast<unsigned>(blocks)),
                      .block = dim3(lines_threads),
                      .stream = stream,
                      .overlap = true},
                     p);
}

std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
  if (!level3_lines_supports(p)) return std::nullopt;
  Plan<Level3> plan;
  plan.time_us = plan.cost = predict_level3_lines_us(p, device);
  plan.min_workspace_bytes = 0;
  return plan;
}

Status launch_plan(const Level3& p, const Device&, const Plan<Level3>&, Workspace, Stream stream) {
  if (p.m == 0 || p.n == 0) return Status::success();
  switch (lines_size(p.k)) {
    case 8: return launch_with<8>(p, stream);
    case 16: return launch_with<16>(p, stream);
    default: return launch_with<32>(p, stream);
  }
}

}  // namespace

KernelList<Level3> level3_lines_rows() {
  return {{.name = "level3_lines",
           .parent = nullptr,
           .idea = "a small triangle or symmetric matrix in shared memory, lines of C past it",
           .role = Role::production,
           .math = Math::fp32,
           .make_plan = make_plan,
           .launch_plan = launch_plan}};
}

}  // namespace KW_TARGET
