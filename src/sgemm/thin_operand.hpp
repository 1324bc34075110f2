// How the threads of `thin` read its operands: the wide one from memory into registers, the narrow
// one through shared memory.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/thin_plan.hpp"

namespace KW_TARGET::thin {

constexpr int threads = thin_tuning.threads;
constexpr int chunk = thin_tuning.chunk;
static_assert(chunk % (4 * threads) == 0, "the longest step: all threads along k");

// The wide operand is a row of lines in memory. `outer` counts the lines, `inner` the elements of a
// line: with along_k a line is a row of the operand, else it is one k of all rows.
template <bool along_k>
struct Axes {
  template <class T>
  __device__ static constexpr T outer(T of_rows, T of_k) {
    return along_k ? of_rows : of_k;
  }
  template <class T>
  __device__ static constexpr T inner(T of_rows, T of_k) {
    return along_k ? of_k : of_rows;
  }
  // Of x[row][k].
  __device__ static float& element(float (&x)[4][4], int outer, int inner) {
    return along_k ? x[outer][inner] : x[inner][outer];
  }
};

// Which rows and which k of a block's step are this thread's. A block's threads lie along the lines
// of the wide operand first.
template <bool along_k, bool aligned>
struct ThreadPosition {
  int row_thread, k_thread;
  // The distance between a thread's four rows, and between its four k. They are neighbours where
  // one load brings four of the wide or the narrow operand.
  int row_pitch, k_pitch;

  __device__ explicit ThreadPosition(const ThinPlan& plan) {
    const int tid = static_cast<int>(threadIdx.x);
    k_thread = along_k ? tid % plan.k_threads : tid / plan.row_threads;
    row_thread = along_k ? tid / plan.k_threads : tid % plan.row_threads;
    row_pitch = !along_k && aligned ? 1 : plan.row_threads;
    k_pitch = along_k && !aligned ? plan.k_threads : 1;
  }
  // Row i of a thread, in the block.
  __device__ int row(int thread, int i) const {
    return (row_pitch == 1 ? 4 * thread : thread) + i * row_pitch;
  }
  __device__ int first_row() const { return row(row_thread, 0); }
  __device__ int first_k() const { return k_pitch == 1 ? 4 * k_thread : k_thread; }
};

// Four floats that are read once: L1 keeps none of them.
__device__ __forceinline__ float4 read_once(const float* x) {
#if defined(__CUDA_ARCH__)
  float4 four;
  asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
      : "l"(x));
  return four;
#else
  return *reinterpret_cast<const float4*>(x);
#endif
}

// A thread's way through the wide operand, 4 x 4 elements a step. Lines lie ld apart.
template <bool along_k, bool aligned>
class WideOperand {
  using A = Axes<along_k>;

 public:
  __device__ WideOperand(const float* x, const ThinPlan& plan,
                         const ThreadPosition<along_k, aligned>& own, std::int64_t row0,
                         std::int64_t k0, std::int64_t k_end)
      : ld_(plan.ld),
        step_(plan.step()),
        outer_pitch_(A::outer(own.row_pitch, own.k_pitch)),
        inner_pitch_(A::inner(own.row_pitch, own.k_pitch)),
        rows_left_(rows_here(plan, row0) - own.first_row()),
        k_left_(static_cast<int>(k_end - k0) - own.first_k()),
        inside_(along_k ? static_cast<int>(k_end - k0) : rows_here(plan, row0)),
        inner_extent_(A::inner(plan.block_rows(), plan.step())) {
    const std::int64_t row = row0 + own.first_row(), k = k0 + own.first_k();
    at_ = x + (A::outer(row, k) * ld_ + A::inner(row, k));
  }

  // x[i][e] = element k e of row i; 0 outside.
  __device__ __forceinline__ void next(float (&x)[4][4]) {
    if (inside_ >= inner_extent_)
      load<true>(x);
    else
      load<false>(x);
    at_ += along_k ? step_ : step_ * ld_;
    k_left_ -= step_;
    if (along_k) inside_ -= step_;
  }

 private:
  // Rows that the block has.
  __device__ static int rows_here(const ThinPlan& plan, std::int64_t row0) {
    const std::int64_t left = plan.rows - row0;
    return left < plan.block_rows() ? static_cast<int>(left) : plan.block_rows();
  }

  // `whole`: the block's part of every line lies inside of the operand.
  template <bool whole>
  __device__ __forceinline__ void load(float (&x)[4][4]) const {
    const int outer_left = A::outer(rows_left_, k_left_),
              inner_left = A::inner(rows_left_, k_left_);
    const float* line = at_;
#pragma unroll
    for (int o = 0; o < 4; ++o, line += outer_pitch_ * ld_) {
      const bool here = o * outer_pitch_ < outer_left;
      float4 four = make_float4(0, 0, 0, 0);
      if constexpr (whole && aligned) {
        if (here) four = read_once(line);
      } else {
        const auto element = [&](int q) {
          return here && (whole || q * inner_pitch_ < inner_left) ? __ldg(line + q * inner_pitch_)
                                                                  : 0.0f;
        };
        four = make_float4(element(0), element(1), element(2), element(3));
      }
      A::element(x, o, 0) = four.x;
      A::element(x, o, 1) = four.y;
      A::element(x, o, 2) = four.z;
      A::element(x, o, 3) = four.w;
    }
  }

  const float* at_;
  std::int64_t ld_;
  int step_, outer_pitch_, inner_pitch_;
  int rows_left_, k_left_;  // from this thread's first element on
  int inside_;              // of the operand, along a line from the block's first element on
  int inner_extent_;        // of the block along a line
};

// narrow[j * chunk + kk] = narrow operand's element j of row k0 + kk, 0 behind k_end and width.
template <int W>
__device__ __forceinline__ void fetch_narrow(float* narrow, const float* v, const ThinPlan& plan,
                                             std::int64_t k0, std::int64_t k_end) {
  const std::int64_t here = k_end - k0 < chunk ? k_end - k0 : chunk;
  const int step = plan.step();
  const int filled = static_cast<int>(ceil_div(here, step)) * step;
  v += k0 * plan.narrow_k;
  for (int j = 0; j < W; ++j)
    for (int kk = static_cast<int>(threadIdx.x); kk < filled; kk += threads)
      narrow[j * chunk + kk] =
          kk < here && j < plan.width ? __ldg(v + kk * plan.narrow_k + j * plan.narrow_j) : 0;
}

}  // namespace KW_TARGET::thin
