// How the threads of `thin` read its operands: the wide one from memory into registers, the narrow
// one through shared memory.
#pragma once

#include "device/async_copy.hpp"
#include "device/overlap.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/thin_reader.hpp"

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
  // From element e to the next one.
  __device__ int k_distance(int e) const { return k_offset(e + 1) - k_offset(e); }
  __device__ int step() const { return D * k_threads; }
};

// x[i][e] = the i-th of four rows that touch in the line, or 0 where the line is beyond the last k.
template <class Loads, int R, int D>
__device__ __forceinline__ void read_rows(const Loads& by, float (&x)[R][D], int e,
                                          const float* line, bool here) {
  float four[4] = {};
  if (here) by.four(four, line);
#pragma unroll
  for (int i = 0; i < R; ++i) x[i][e] = four[i];
}

// A thread's way through the wide operand, R x D elements a step. Lines lie ld apart.
template <int R, int D, bool along_k, ThinLoads loads, class Reader>
class WideOperand {
  static constexpr bool vector = loads == ThinLoads::vector;
  static_assert(!vector || along_k || R == 4, "a vector has four rows");
  using Position = ThreadPosition<R, D, along_k, loads>;

 public:
  __device__ WideOperand(const ThinPlan& plan, const Position& own, std::int64_t row0,
                         std::int64_t k0, int count)
      : own_(own), reader_(plan), ld_(plan.ld), k_left_(count - own.first_k()) {
    const std::int64_t rows = plan.rows - row0;
    const int rows_here = rows < plan.block_rows() ? static_cast<int>(rows) : plan.block_rows();
    rows_left_ = rows_here - own.first_row();
    const std::int64_t row = row0 + own.first_row(), k = k0 + own.first_k();
    offset_ = along_k ? row * ld_ + k : k * ld_ + row;
    compute_now(offset_);
  }

  // The operand begins at x. Called once, before the other functions.
  __device__ void begin(const float* x) { at_ = x + offset_; }

  // Rows by which the thread begins before its first one.
  __device__ int shift() const { return 0; }

  // Whether the block has a further step.
  __device__ bool more() const { return k_left_ + own_.first_k() > 0; }

  // x[i][e] = element k e of row i; 0 outside.
  __device__ __forceinline__ void next(float (&x)[R][D]) {
    reader_.template step<vector>([&](const auto& by) {
      if constexpr (vector)
        load_vectors(by, x);
      else
        load_single(by, x);
    });
    if constexpr (vector && along_k) {
      if (k_left_ % 4 != 0 && own_.k_offset(D - 1) >= k_left_) load_ends(x);
    } else if constexpr (vector) {
      if (rows_left_ < R) load_single(PlainLoads(), x);
    }
    at_ += along_k ? own_.step() : own_.step() * ld_;
    k_left_ -= own_.step();
  }

 private:
  __device__ bool has_row(int i) const { return i * own_.row_pitch() < rows_left_; }

  // The vectors that lie inside of the operand, zeros for the others.
  template <class Loads>
  __device__ __forceinline__ void load_vectors(const Loads& by, float (&x)[R][D]) const {
    if constexpr (along_k) {
      const float* line = at_;
#pragma unroll
      for (int i = 0; i < R; ++i, line += own_.row_pitch() * ld_)
#pragma unroll
        for (int e = 0; e < D; e += 4) {
          float four[4] = {};
          if (has_row(i) && own_.k_offset(e + 3) < k_left_) by.four(four, line + own_.k_offset(e));
#pragma unroll
          for (int q = 0; q < 4; ++q) x[i][e + q] = four[q];
        }
    } else {
      const float* line = at_;
#pragma unroll
      for (int e = 0; e < D; line += own_.k_distance(e++) * ld_)
        read_rows(by, x, e, line, rows_left_ >= R && own_.k_offset(e) < k_left_);
    }
  }

  // Of a vector along k that lies in part outside, the elements inside.
  __device__ __forceinline__ void load_ends(float (&x)[R][D]) const {
    const float* line = at_;
#pragma unroll
    for (int i = 0; i < R; ++i, line += own_.row_pitch() * ld_)
#pragma unroll
      for (int e = 0; e < D; e += 4)
        if (has_row(i) && own_.k_offset(e + 3) >= k_left_)
#pragma unroll
          for (int q = 0; q < 3; ++q)
            if (own_.k_offset(e + q) < k_left_)
              x[i][e + q] = PlainLoads().one(line + own_.k_offset(e + q));
  }

  template <class Loads>
  __device__ __forceinline__ void load_single(const Loads& by, float (&x)[R][D]) const {
    const auto load = [&](int i, int e, const float* from) {
      x[i][e] = has_row(i) && own_.k_offset(e) < k_left_ ? by.one(from) : 0.0f;
    };
    const float* line = at_;
    if constexpr (along_k) {
#pragma unroll
      for (int i = 0; i < R; ++i, line += own_.row_pitch() * ld_)
#pragma unroll
        for (int e = 0; e < D; ++e) load(i, e, line + own_.k_offset(e));
    } else {
#pragma unroll
      for (int e = 0; e < D; line += own_.k_distance(e++) * ld_)
#pragma unroll
        for (int i = 0; i < R; ++i) load(i, e, line + i * own_.row_pitch());
    }
  }

  Position own_;
  Reader reader_;
  std::int64_t offset_;  // of the thread's first element in the operand
  const float* at_ = nullptr;
  std::int64_t ld_;
  int rows_left_, k_left_;  // from this thread's first element on
};

// The same where lines, of which each is one k of all rows, do not start on 16-byte boundaries. A
// thread's lines are multiples of four lines apart, so boundaries lie alike in them: `shift` rows
// before the thread's first row. Of a vector that lies in part outside of the operand, the elements
// inside are read one by one.
template <int R, int D, class Reader>
class WideOperand<R, D, false, ThinLoads::shifted, Reader> {
  static_assert(R == 4, "a vector has four rows");
  using Position = ThreadPosition<R, D, false, ThinLoads::shifted>;

 public:
  __device__ WideOperand(const ThinPlan& plan, const Position& own, std::int64_t row0,
                         std::int64_t k0, int count)
      : own_(own), reader_(plan), ld_(plan.ld), k_left_(count - own.first_k()) {
    const std::int64_t row = row0 + own.first_row(), left = plan.rows - row;
    offset_ = (k0 + own.first_k()) * ld_ + row;
    rows_left_ = left < R ? static_cast<int>(left) : R;
    rows_before_ = row < R ? static_cast<int>(row) : R;
    compute_now(offset_);
  }

  __device__ void begin(const float* x) {
    at_ = x + offset_;
    shift_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(at_) / sizeof(float) % 4);
    at_ -= shift_;
    for (int i = 0; i < R; ++i)
      if (rows_before_ + i >= shift_ && i < rows_left_ + shift_) inside_ |= 1 << i;
  }

  __device__ int shift() const { return shift_; }
  __device__ bool more() const { return k_left_ + own_.first_k() > 0; }

  __device__ __forceinline__ void next(float (&x)[R][D]) {
    const bool whole = inside_ == (1 << R) - 1;
    reader_.template step<true>([&](const auto& by) {
      if (whole) load_vectors(by, x);
    });
    if (!whole) load_single(x);
    at_ += own_.step() * ld_;
    k_left_ -= own_.step();
  }

 private:
  // All of a vector lies inside of the operand.
  template <class Loads>
  __device__ __forceinline__ void load_vectors(const Loads& by, float (&x)[R][D]) const {
    const float* line = at_;
#pragma unroll
    for (int e = 0; e < D; line += own_.k_distance(e++) * ld_)
      read_rows(by, x, e, line, own_.k_offset(e) < k_left_);
  }

  __device__ __forceinline__ void load_single(float (&x)[R][D]) const {
    const float* line = at_;
#pragma unroll
    for (int e = 0; e < D; line += own_.k_distance(e++) * ld_)
#pragma unroll
      for (int i = 0; i < R; ++i)
        x[i][e] = own_.k_offset(e) < k_left_ && (inside_ >> i & 1) != 0 ? PlainLoads().one(line + i)
                                                                        : 0.0f;
  }

  Position own_;
  Reader reader_;
  std::int64_t offset_;        // of the thread's first element in the operand
  const float* at_ = nullptr;  // the thread's next vector
  std::int64_t ld_;
  int shift_ = 0;
  int k_left_;  // from the thread's first element on
  int rows_before_,
      rows_left_;   // of the operand, before the thread's first one and from it on; capped
  int inside_ = 0;  // the rows of a vector that lie in the operand, a bit each
};

// A chunk of the narrow operand in shared memory: element j of row k, where four k of a thread are
// one load if they can be.
template <int W, int chunk, class Position>
struct NarrowChunk {
  // Where lines are read by every fourth k, those that one thread reads lie side by side.
  __device__ static int place(int k) {
    return Position::every_fourth_k ? (k & ~15) | (k & 3) << 2 | (k >> 2 & 3) : k;
  }

  // Begins to copy the first `here` rows, and zeros up to the end of a step.
  __device__ __forceinline__ static void fetch(float* narrow, const float* v, const ThinPlan& plan,
                                               int here) {
    const int filled = (here + plan.step() - 1) & -plan.step();  // a step is a power of two
    for (int k = static_cast<int>(threadIdx.x); k < filled; k += plan.threads())
#pragma unroll
      for (int j = 0; j < W; ++j)
        async_copy<4>(narrow + j * chunk + place(k), v + k * plan.narrow_k + j * plan.narrow_j,
                      k < here && j < plan.width ? 4 : 0);
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
