// The copies of lean_tile: whatever an operand's layout in memory, a stage has it k after k.
#pragma once

#include <utility>

#include "device/async_copy.hpp"
#include "device/move_on.hpp"
#include "device/overlap.hpp"
#include "sgemm/lean_block.hpp"

namespace KW_TARGET {

// The same place of shared memory, its address kept in one register. Where copies have a predicate
// each, the compiler else adds it up for each of them.
__device__ __forceinline__ float* kept_place(float* at) {
#if defined(__CUDA_ARCH__)
  auto address = static_cast<unsigned>(__cvta_generic_to_shared(at));
  compute_now(address);
  return static_cast<float*>(__cvta_shared_to_generic(address));
#else
  return at;
#endif
}

// A thread's copies of one operand, stage after stage, to [bk][extent + lean_padding]; `to` is the
// place of the first stage's tile among the floats of shared memory. What lies beyond the last row
// is not written. A stage's copies are so many `steps`, which a kernel starts in this order, with
// products in between if it likes:
//   start<step>(shared, offset)          of the next whole stage, `offset` floats behind the first
//   start_some(shared, offset, depth)    all of a stage of `depth` k, and zeros behind them
//   move(depth)                          past those
//   stop()                               nothing is copied any more
//   compute()                            what they start from is computed here
//
// Where `turned` is not 0, lines lie along k, and a warp copies so many k of some lines at a time,
// float by float. Sixteen of two ask for fewer sectors than eight of four, and for more additions
// to addresses.
template <int threads, int extent, int bk, int turned>
class LeanCopies {
  static constexpr int pitch = extent + lean_padding, down = threads / turned;
  static_assert(extent % down == 0 && down % 4 == 0 && bk % turned == 0);

 public:
  static constexpr int steps = extent / down;

  __device__ __forceinline__ LeanCopies(const float* x, std::int64_t ld, bool, int rows, int to)
      : step_(down * ld) {
    const int row = static_cast<int>(threadIdx.x) / turned;
    const int k = static_cast<int>(threadIdx.x) % turned;
    left_ = rows - row;
    from_ = x + row * ld + k;
    to_ = to + k * pitch + (row ^ lean_swapped(turned, k));
  }

  template <int step>
  __device__ __forceinline__ void start(float* shared, int offset) {
    if constexpr (step == 0) {
      here_ = kept_place(shared + to_ + offset);
      line_ = from_;
      from_ += bk;
    } else {
      move_on(line_, step_);
    }
#pragma unroll
    for (int k = 0; k < bk; k += turned)
      if (step * down < left_) async_copy<4>(here_ + k * pitch + step * down, line_ + k, 4);
  }
  __device__ __forceinline__ void start_some(float* shared, int offset, int depth) const {
    float* const here = kept_place(shared + to_ + offset);
    const int first = static_cast<int>(threadIdx.x) % turned;
    const float* line = from_;
#pragma unroll
    for (int i = 0; i < extent; i += down, move_on(line, step_))
#pragma unroll
      for (int k = 0; k < bk; k += turned)
        if (i < left_) async_copy<4>(here + k * pitch + i, line + k, first + k < depth ? 4 : 0);
  }
  __device__ __forceinline__ void move(int depth) { from_ += depth; }
  __device__ __forceinline__ void stop() { left_ = 0; }
  __device__ __forceinline__ void compute() {
    compute_now(from_), compute_now(step_), compute_now(to_), compute_now(left_);
  }

 private:
  const float* from_;
  const float* line_ = nullptr;  // of the step before
  float* here_ = nullptr;
  std::int64_t step_;
  int to_, left_;
};

// Lines across k: neighbouring threads copy neighbours, single floats or four at a time.
template <int threads, int extent, int bk>
class LeanCopies<threads, extent, bk, 0> {
  static constexpr int pitch = extent + lean_padding;
  // Of a line, copies that lie so far apart are one thread's; so many lines are copied at a time.
  static constexpr int across = extent % 32 == 0 ? 32 : 16, down = threads / across;
  static constexpr int lanes4 = across / 4, down4 = threads / lanes4;
  static_assert(extent % across == 0 && threads % across == 0 && bk % down == 0);
  static_assert(down4 % down == 0 && (bk % down4 == 0 || bk < down4));

 public:
  static constexpr int steps = bk / down;

  __device__ __forceinline__ LeanCopies(const float* x, std::int64_t ld, bool aligned, int rows,
                                        int to)
      : step_(down * ld) {
    const bool by4 = aligned && rows % 4 == 0;
    const int thread = static_cast<int>(threadIdx.x);
    const int line = by4 ? thread / lanes4 : thread / across;
    const int row = by4 ? thread % lanes4 * 4 : thread % across;
    const int left = line < bk ? rows - row : 0;
    left1_ = by4 ? 0 : left;
    left4_ = by4 ? left : 0;
    line_ = line;
    from_ = x + line * ld + row;
    to_ = to + line * pitch + row;
  }

  template <int step>
  __device__ __forceinline__ void start(float* shared, int offset) {
    constexpr int line = step * down;
    if constexpr (step == 0) here_ = kept_place(shared + to_ + offset);
#pragma unroll
    for (int i = 0; i < extent; i += across) {
      if (line % down4 == 0 && i < left4_) async_copy<16>(here_ + line * pitch + i, from_ + i, 16);
      if (i < left1_) async_copy<4>(here_ + line * pitch + i, from_ + i, 4);
    }
    move_on(from_, step_);
  }
  __device__ __forceinline__ void start_some(float* shared, int offset, int depth) const {
    float* const here = kept_place(shared + to_ + offset);
    const float* from = from_;
#pragma unroll
    for (int line = 0; line < bk; line += down, move_on(from, step_)) {
      const bool counts = line_ + line < depth;
#pragma unroll
      for (int i = 0; i < extent; i += across) {
        float* const to = here + line * pitch + i;
        if (line % down4 == 0 && i < left4_) async_copy<16>(to, from + i, counts ? 16 : 0);
        if (i < left1_) async_copy<4>(to, from + i, counts ? 4 : 0);
      }
    }
  }
  __device__ __forceinline__ void move(int depth) { from_ += depth * (step_ / down); }
  __device__ __forceinline__ void stop() { left1_ = left4_ = 0; }
  __device__ __forceinline__ void compute() {
    compute_now(from_), compute_now(step_), compute_now(to_), compute_now(line_);
    compute_now(left1_), compute_now(left4_);
  }

 private:
  const float* from_;
  float* here_ = nullptr;
  std::int64_t step_;
  int to_, line_, left1_, left4_;
};

// Starts all copies of the next stage.
template <class Copies>
__device__ __forceinline__ void start_all(Copies& copies, float* shared, int offset) {
  const auto start_each = [&]<int... step>(std::integer_sequence<int, step...>) {
    (copies.template start<step>(shared, offset), ...);
  };
  start_each(std::make_integer_sequence<int, Copies::steps>());
}

}  // namespace KW_TARGET
