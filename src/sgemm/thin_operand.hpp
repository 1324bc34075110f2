// How the threads of `thin` read its operands: the wide one from memory into registers, the narrow
// one through shared memory.
#pragma once

#include "device/async_copy.hpp"
#include "device/overlap.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/thin_reader.hpp"
#include "sgemm/thin_share.hpp"

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

  // Lines along k that start anywhere: a block has every fourth, in which boundaries lie alike.
  static constexpr bool every_fourth_row = along_k && loads == ThinLoads::shifted;
  // A block with few rows copies much of the narrow operand for what it reads of the wide one.
  static constexpr bool copies_quads = along_k && loads != ThinLoads::shifted;
  // Rows are neighbours where one load brings four of them.
  static constexpr bool rows_touch = !along_k && loads == ThinLoads::vector;
  __device__ int row_pitch() const { return rows_touch ? 1 : row_threads; }
  __device__ int row(int thread, int i) const {
    return rows_touch ? R * thread + i : thread + i * row_threads;
  }
  __device__ int first_row() const { return row(row_thread, 0); }

  // Four neighbouring k are one load of the wide or of the narrow operand, but of lines along k
  // that are read one element at a time: the threads' k alternate.
  static constexpr bool k_touch = !along_k || loads != ThinLoads::single;
  __device__ int first_k() const { return k_touch ? 4 * k_thread : k_thread; }
  // The distance of a thread's element e from its first one.
  __device__ int k_offset(int e) const {
    return k_touch ? e / 4 * 4 * k_threads + e % 4 : e * k_threads;
  }
  // From element e to the next one.
  __device__ int k_distance(int e) const { return k_offset(e + 1) - k_offset(e); }
  __device__ int step() const { return D * k_threads; }
};

// The floats between x and the 16-byte boundary at or before it.
__device__ __forceinline__ int beyond_boundary(const float* x) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(x) / sizeof(float) % 4);
}

// A thread's way through the wide operand, R x D elements a step. Where lines along k start
// anywhere, k counts from the boundary at or before a line's first element on.
// `whole_steps_apart`: steps that lie inside of the operand have loads of their own, with nothing
// to ask, where registers are left for it.
template <int R, int D, bool along_k, ThinLoads loads, class Reader, bool whole_steps_apart = true>
class WideOperand {
  static constexpr bool vector = loads != ThinLoads::single;
  static_assert(!vector || along_k || R == 4, "a vector has four rows");
  using Position = ThreadPosition<R, D, along_k, loads>;

 public:
  template <class Share>
  __device__ WideOperand(const ThinPlan& plan, const Position& own, const Share& share,
                         std::int64_t k)
      : own_(own),
        reader_(plan),
        ld_(Position::every_fourth_row ? 4 * plan.ld : plan.ld),
        rows_left_(share.rows(plan) - own.first_row()),
        k_left_(share.k(plan, k) - own.first_k()) {
    const std::int64_t first_k = share.first_k(plan) + own.first_k();
    offset_ = along_k ? share.first_row(plan) * plan.ld + own.first_row() * ld_ + first_k
                      : first_k * ld_ + share.first_row(plan) + own.first_row();
    if constexpr (Position::every_fourth_row) {
      most_shift_ = static_cast<int>(plan.k_per_part) - share.k(plan, k);
      begins_lines_ = share.part == 0 && own.first_k() == 0;
    }
    if constexpr (along_k) compute_now(offset_);
  }

  // The operand begins at x. Called once, before the other functions.
  __device__ void begin(const float* x) {
    at_ = x + offset_;
    if constexpr (Position::every_fourth_row) {
      k_shift_ = beyond_boundary(at_);
      at_ -= k_shift_;
      k_left_ += k_shift_ < most_shift_ ? k_shift_ : most_shift_;
      before_ = begins_lines_ ? k_shift_ : 0;
    }
  }

  // k by which the block begins before its first one.
  __device__ int k_shift() const { return k_shift_; }

  // The k of the block that it has not asked for yet.
  __device__ int left() const { return k_left_ + own_.first_k(); }
  __device__ bool more() const { return left() > 0; }

  // x[i][e] = element k e of row i; 0 outside. Of a block's first steps, which are the only ones
  // where k is short.
  __device__ __forceinline__ void first(float (&x)[R][D]) {
    read([&](const auto& by) { load_part(by, x); });
    move_on();
  }
  // Of later ones: loads of a step that lies inside ask nothing.
  __device__ __forceinline__ void next(float (&x)[R][D]) {
    if (whole_steps_apart && has_whole_step())
      read([&](const auto& by) { load_whole(by, x); });
    else
      read([&](const auto& by) { load_part(by, x); });
    move_on();
  }

 private:
  template <class Step>
  __device__ __forceinline__ void read(const Step& step) {
    // Lines across k stay in L2 by plain loads as well; lines along k do not.
    if constexpr (along_k && whole_steps_apart)
      reader_.step_by_all(step);
    else
      reader_.template step_by_each<!along_k>(step);
  }

  __device__ __forceinline__ void move_on() {
    before_ = 0;
    at_ += along_k ? own_.step() : own_.step() * ld_;
    k_left_ -= own_.step();
  }

  __device__ bool has_row(int i) const { return i * own_.row_pitch() < rows_left_; }
  __device__ bool has_whole_step() const {
    return has_row(R - 1) && own_.k_offset(D - 1) < k_left_ && before_ == 0;
  }

  // All elements of a step lie inside of the operand.
  template <class Loads>
  __device__ __forceinline__ void load_whole(const Loads& by, float (&x)[R][D]) const {
    const float* line = at_;
    if constexpr (along_k) {
#pragma unroll
      for (int i = 0; i < R; ++i, line += own_.row_pitch() * ld_)
#pragma unroll
        for (int e = 0; e < D; e += vector ? 4 : 1) {
          const float* const from = line + own_.k_offset(e);
          if constexpr (vector)
            by.four(*reinterpret_cast<float(*)[4]>(&x[i][e]), from);
          else
            x[i][e] = by.one(from);
        }
    } else {
#pragma unroll
      for (int e = 0; e < D; line += own_.k_distance(e++) * ld_) {
        float rows[4] = {};
        if constexpr (vector) by.four(rows, line);
#pragma unroll
        for (int i = 0; i < R; ++i)
          x[i][e] = vector ? rows[i] : by.one(line + i * own_.row_pitch());
      }
    }
  }

  // Those of them that do, and zeros for the others.
  template <class Loads>
  __device__ __forceinline__ void load_part(const Loads& by, float (&x)[R][D]) const {
    if constexpr (vector)
      load_vectors(by, x);
    else
      load_single(by, x);
    if constexpr (vector && along_k) {
      if (before_ > 0 || k_left_ % 4 != 0) load_ends(x);
    } else if constexpr (vector) {
      // Of a vector that lies in part outside, the elements inside.
      if (static_cast<unsigned>(rows_left_ - 1) < R - 1) load_single(PlainLoads(), x);
    }
  }

  // Whether all of the vector along k at e belongs to the block's part of the line.
  __device__ bool is_inside(int e) const {
    return own_.k_offset(e + 3) < k_left_ && (e > 0 || before_ == 0);
  }

  // The vectors that lie inside of the operand, zeros for the others.
  template <class Loads>
  __device__ __forceinline__ void load_vectors(const Loads& by, float (&x)[R][D]) const {
    const auto load = [&](const float* from, bool here, float& x0, float& x1, float& x2,
                          float& x3) {
      float four[4] = {};
      if (here) by.four(four, from);
      x0 = four[0], x1 = four[1], x2 = four[2], x3 = four[3];
    };
    const float* line = at_;
    if constexpr (along_k) {
#pragma unroll
      for (int i = 0; i < R; ++i, line += own_.row_pitch() * ld_)
#pragma unroll
        for (int e = 0; e < D; e += 4)
          load(line + own_.k_offset(e), has_row(i) && is_inside(e), x[i][e], x[i][e + 1],
               x[i][e + 2], x[i][e + 3]);
    } else {
#pragma unroll
      for (int e = 0; e < D; line += own_.k_distance(e++) * ld_)
        load(line, rows_left_ >= R && own_.k_offset(e) < k_left_, x[0][e], x[1][e], x[2][e],
             x[3][e]);
    }
  }

  // Of a vector along k that lies in part outside, the elements inside.
  __device__ __forceinline__ void load_ends(float (&x)[R][D]) const {
    const float* line = at_;
#pragma unroll
    for (int i = 0; i < R; ++i, line += own_.row_pitch() * ld_)
#pragma unroll
      for (int e = 0; e < D; e += 4)
        if (has_row(i) && !is_inside(e))
#pragma unroll
          for (int q = 0; q < 4; ++q)
            if (own_.k_offset(e + q) < k_left_ && (e > 0 || q >= before_))
              x[i][e + q] = PlainLoads().one(line + own_.k_offset(e + q));
  }

  template <class Loads>
  __device__ __forceinline__ void load_single(const Loads& by, float (&x)[R][D]) const {
    const auto load = [&](int i, int e, const float* from) {
      x[i][e] = has_row(i) && own_.k_offset(e) < k_left_ ? by.one(from) : 0.0f;
    };
    const float* line = at_;
    std::int64_t ld = ld_;
    if constexpr (whole_steps_apart) compute_now(ld);
    if constexpr (along_k) {
#pragma unroll
      for (int i = 0; i < R; ++i, line += own_.row_pitch() * ld)
#pragma unroll
        for (int e = 0; e < D; ++e) load(i, e, line + own_.k_offset(e));
    } else {
#pragma unroll
      for (int e = 0; e < D; line += own_.k_distance(e++) * ld)
#pragma unroll
        for (int i = 0; i < R; ++i) load(i, e, line + i * own_.row_pitch());
    }
  }

  Position own_;
  Reader reader_;
  std::int64_t offset_;  // of the thread's first element in the operand
  const float* at_ = nullptr;
  std::int64_t ld_;         // from line to line of the block
  int rows_left_, k_left_;  // from this thread's first element on
  // Of lines along k that start anywhere: the floats from the boundary to the line's first element
  // and how many of them lengthen the block's part; what of them the next step begins with.
  int k_shift_ = 0, most_shift_ = 0, before_ = 0;
  bool begins_lines_ = false;
};

// A chunk of the narrow operand in shared memory: element j of row k, where four k of a thread are
// one load if they can be.
template <int W, int chunk, class Position>
struct NarrowChunk {
  static constexpr int pitch = narrow_pitch(W, chunk);

  // Begins to copy the first `here` rows, and zeros up to the end of a step and for the first
  // `before` rows. Neighbouring threads read neighbouring memory.
  __device__ __forceinline__ static void fetch(float* narrow, const float* v, const ThinPlan& plan,
                                               int before, int here) {
    const int filled = (here + plan.step() - 1) & -plan.step();  // a step is a power of two
    const auto copy = [&](int k, int j) {
      async_copy<4>(narrow + j * pitch + k, v + k * plan.narrow_k + j * plan.narrow_j,
                    k >= before && k < here && j < plan.width ? 4 : 0);
    };
    const int tid = static_cast<int>(threadIdx.x);
    if constexpr (Position::copies_quads && W <= 2)
      if (plan.narrow_k == 1 && beyond_boundary(v) == 0 && (W == 1 || plan.narrow_j % 4 == 0)) {
        for (int k = 4 * tid; k < filled; k += 4 * plan.threads()) {
          const int left = here - k, bytes = left >= 4 ? 16 : left > 0 ? 4 * left : 0;
#pragma unroll
          for (int j = 0; j < W; ++j)
            async_copy<16, false>(narrow + j * pitch + k, v + k + j * plan.narrow_j,
                                  j < plan.width ? bytes : 0);
        }
        return;
      }
    if (W > 1 && plan.narrow_k != 1) {
      for (int i = tid; i < W * filled; i += plan.threads()) copy(i / W, i % W);
    } else {
      for (int k = tid; k < filled; k += plan.threads())
#pragma unroll
        for (int j = 0; j < W; ++j) copy(k, j);
    }
  }

  // Element j of the thread's k that belong to x[..][e .. e + 3] of the step at `at`.
  __device__ __forceinline__ static float4 four(const float* narrow, const Position& own, int j,
                                                int at, int e) {
    const float* from = narrow + j * pitch + at;
    if constexpr (Position::k_touch)
      return *reinterpret_cast<const float4*>(from + own.first_k() + own.k_offset(e));
    from += own.first_k();
    return make_float4(from[own.k_offset(e)], from[own.k_offset(e + 1)], from[own.k_offset(e + 2)],
                       from[own.k_offset(e + 3)]);
  }
};

}  // namespace KW_TARGET::thin
