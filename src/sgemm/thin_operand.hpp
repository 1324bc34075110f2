// How the threads of `thin` read its operands: the wide one from memory into registers, the narrow
// one through shared memory.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/thin_plan.hpp"

namespace KW_TARGET::thin {

// Which elements of a block's step are one thread's: R rows, D of each one's k. A block's threads
// lie along the lines of the wide operand first.
template <int R, int D, bool along_k, ThinLoads loads>
struct ThreadPosition {
  int row_threads, k_threads;
  int row_thread, k_thread;

  __device__ explicit ThreadPosition(const ThinPlan& plan)
      : row_threads(1 << plan.row_shift), k_threads(1 << plan.k_shift) {
    const int tid = static_cast<int>(threadIdx.x);
    k_thread = along_k ? tid & (k_threads - 1) : tid >> plan.row_shift;
    row_thread = along_k ? tid >> plan.k_shift : tid & (row_threads - 1);
  }

  // Rows are neighbours where one load brings four of them.
  static constexpr bool rows_touch = !along_k && loads != ThinLoads::single;
  __device__ int row_pitch() const { return rows_touch ? 1 : row_threads; }
  __device__ int row(int thread, int i) const {
    return rows_touch ? R * thread + i : thread + i * row_threads;
  }
  __device__ int first_row() const { return row(row_thread, 0); }

  // Four neighbouring k are one load of the wide or of the narrow operand, with two exceptions.
  // Lines along k that are read one element at a time: the threads' k alternate. Lines across k
  // that do not lie alike: every fourth does.
  static constexpr bool every_fourth_k = loads == ThinLoads::shifted;
  static constexpr bool k_touch = !(along_k && loads == ThinLoads::single) && !every_fourth_k;
  __device__ int first_k() const {
    return every_fourth_k ? k_thread / 4 * 16 + k_thread % 4 : k_touch ? 4 * k_thread : k_thread;
  }
  // The distance of a thread's element e from its first one.
  __device__ int k_offset(int e) const {
    return every_fourth_k ? e / 4 * 4 * k_threads + e % 4 * 4
           : k_touch      ? e / 4 * 4 * k_threads + e % 4
                          : e * k_threads;
  }
  __device__ int step() const { return D * k_threads; }
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

// x[i][e] = the i-th of four rows that touch in the line, or 0 where the line is beyond the last k.
template <int R, int D>
__device__ __forceinline__ void read_rows(float (&x)[R][D], int e, const float* line, bool here) {
  float4 four = make_float4(0, 0, 0, 0);
  if (here) four = read_once(line);
  x[0][e] = four.x, x[1][e] = four.y, x[2][e] = four.z, x[3][e] = four.w;
}

// A thread's way through the wide operand, R x D elements a step. Lines lie ld apart.
template <int R, int D, bool along_k, ThinLoads loads>
class WideOperand {
  static constexpr bool vector = loads == ThinLoads::vector;
  static_assert(!vector || along_k || R == 4, "a vector has four rows");
  using Position = ThreadPosition<R, D, along_k, loads>;

 public:
  __device__ WideOperand(const float* x, const ThinPlan& plan, const Position& own,
                         std::int64_t row0, std::int64_t k0, std::int64_t k_end)
      : own_(own), ld_(plan.ld), k_left_(static_cast<int>(k_end - k0) - own.first_k()) {
    const std::int64_t rows = plan.rows - row0;
    const int rows_here = rows < plan.block_rows() ? static_cast<int>(rows) : plan.block_rows();
    rows_left_ = rows_here - own.first_row();
    inside_ = along_k ? static_cast<int>(k_end - k0) : rows_here;
    const std::int64_t row = row0 + own.first_row(), k = k0 + own.first_k();
    at_ = x + (along_k ? row * ld_ + k : k * ld_ + row);
  }

  // Rows by which the thread begins before its first one.
  __device__ int shift() const { return 0; }

  // x[i][e] = element k e of row i; 0 outside.
  __device__ __forceinline__ void next(float (&x)[R][D]) {
    if (inside_ >= (along_k ? own_.step() : R * own_.row_threads))
      load<true>(x);
    else
      load<false>(x);
    at_ += along_k ? own_.step() : own_.step() * ld_;
    k_left_ -= own_.step();
    if (along_k) inside_ -= own_.step();
  }

 private:
  // `whole`: the block's part of every line lies inside of the operand.
  template <bool whole>
  __device__ __forceinline__ void load(float (&x)[R][D]) const {
    if constexpr (along_k) {
#pragma unroll
      for (int i = 0; i < R; ++i) {
        const bool here = i * own_.row_pitch() < rows_left_;
        const float* const line = at_ + i * own_.row_pitch() * ld_;
#pragma unroll
        for (int e = 0; e < D; e += 4) {
          if constexpr (whole && vector) {
            float4 four = make_float4(0, 0, 0, 0);
            if (here) four = read_once(line + own_.k_offset(e));
            x[i][e] = four.x, x[i][e + 1] = four.y, x[i][e + 2] = four.z, x[i][e + 3] = four.w;
          } else {
#pragma unroll
            for (int q = e; q < e + 4; ++q)
              x[i][q] = here && (whole || own_.k_offset(q) < k_left_)
                            ? __ldg(line + own_.k_offset(q))
                            : 0.0f;
          }
        }
      }
    } else {
#pragma unroll
      for (int e = 0; e < D; ++e) {
        const bool here = own_.k_offset(e) < k_left_;
        const float* const line = at_ + own_.k_offset(e) * ld_;
        if constexpr (whole && vector) {
          read_rows(x, e, line, here);
        } else {
#pragma unroll
          for (int i = 0; i < R; ++i)
            x[i][e] = here && (whole || i * own_.row_pitch() < rows_left_)
                          ? __ldg(line + i * own_.row_pitch())
                          : 0.0f;
        }
      }
    }
  }

  Position own_;
  const float* at_;
  std::int64_t ld_;
  int rows_left_, k_left_;  // from this thread's first element on
  int inside_;              // of the operand, along a line from the block's first element on
};

// The same where lines, of which each is one k of all rows, do not start on 16-byte boundaries. A
// thread's lines are multiples of four lines apart, so boundaries lie alike in them: `shift` rows
// before the thread's first row. Of a vector that lies in part outside of the operand, the elements
// inside are read one by one.
template <int R, int D>
class WideOperand<R, D, false, ThinLoads::shifted> {
  static_assert(R == 4, "a vector has four rows");
  using Position = ThreadPosition<R, D, false, ThinLoads::shifted>;

 public:
  __device__ WideOperand(const float* x, const ThinPlan& plan, const Position& own,
                         std::int64_t row0, std::int64_t k0, std::int64_t k_end)
      : own_(own), ld_(plan.ld), k_left_(static_cast<int>(k_end - k0) - own.first_k()) {
    const std::int64_t row = row0 + own.first_row();
    at_ = x + ((k0 + own.first_k()) * ld_ + row);
    shift_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(at_) / sizeof(float) % 4);
    at_ -= shift_;
    const std::int64_t left = plan.rows - row;
    rows_left_ = (left < R ? static_cast<int>(left) : R) + shift_;
    rows_before_ = (row < R ? static_cast<int>(row) : R) - shift_;
  }

  __device__ int shift() const { return shift_; }

  __device__ __forceinline__ void next(float (&x)[R][D]) {
    if (rows_before_ >= 0 && rows_left_ >= R)
      load<true>(x);
    else
      load<false>(x);
    at_ += own_.step() * ld_;
    k_left_ -= own_.step();
  }

 private:
  // `whole`: all of the vector lies inside of the operand.
  template <bool whole>
  __device__ __forceinline__ void load(float (&x)[R][D]) const {
#pragma unroll
    for (int e = 0; e < D; ++e) {
      const bool here = own_.k_offset(e) < k_left_;
      const float* const line = at_ + own_.k_offset(e) * ld_;
      if constexpr (whole) {
        read_rows(x, e, line, here);
      } else {
#pragma unroll
        for (int i = 0; i < R; ++i)
          x[i][e] = here && rows_before_ + i >= 0 && i < rows_left_ ? __ldg(line + i) : 0.0f;
      }
    }
  }

  Position own_;
  const float* at_;  // the thread's first vector
  std::int64_t ld_;
  int shift_;
  int k_left_;                   // from the thread's first element on
  int rows_before_, rows_left_;  // of the operand, before its first vector and from it on; capped
};

// A chunk of the narrow operand in shared memory: element j of row k, where four k of a thread are
// one load if they can be.
template <int W, int chunk, class Position>
struct NarrowChunk {
  // Where lines are read by every fourth k, those that one thread reads lie side by side.
  __device__ static int place(int k) {
    return Position::every_fourth_k ? (k & ~15) | (k & 3) << 2 | (k >> 2 & 3) : k;
  }

  // Rows k0 to k0 + here - 1, and zeros up to the end of a step.
  __device__ __forceinline__ static void fetch(float* narrow, const float* v, const ThinPlan& plan,
                                               std::int64_t k0, int here) {
    const int filled = (here + plan.step() - 1) & -plan.step();  // a step is a power of two
    v += k0 * plan.narrow_k;
    for (int k = static_cast<int>(threadIdx.x); k < filled; k += plan.threads()) {
      float values[W];
#pragma unroll
      for (int j = 0; j < W; ++j)
        values[j] =
            k < here && j < plan.width ? __ldg(v + k * plan.narrow_k + j * plan.narrow_j) : 0;
#pragma unroll
      for (int j = 0; j < W; ++j) narrow[j * chunk + place(k)] = values[j];
    }
  }

  // Element j of the thread's k that belong to x[..][e .. e + 3] of the step at `at`.
  __device__ __forceinline__ static float4 four(const float* narrow, const Position& own, int j,
                                                int at, int e) {
    const float* from = narrow + j * chunk + at;
    if constexpr (Position::every_fourth_k)
      return *reinterpret_cast<const float4*>(from + 4 * own.k_thread);
    if constexpr (Position::k_touch)
      return *reinterpret_cast<const float4*>(from + own.first_k() + own.k_offset(e));
    from += own.first_k();
    return make_float4(from[own.k_offset(e)], from[own.k_offset(e + 1)], from[own.k_offset(e + 2)],
                       from[own.k_offset(e + 3)]);
  }
};

}  // namespace KW_TARGET::thin
