// The copies of level3_lean: whatever an operand's layout in memory, a stage has it k after k. All
// copies of a stage are started at once; with lean_tile's copies and stores, updates that
// read C take a fourteenth longer (results/h200/explored-lean-loop.txt).
#pragma once

#include <numeric>

#include "device/async_copy.hpp"
#include "device/move_on.hpp"
#include "device/overlap.hpp"
#include "sgemm/lean_block.hpp"

namespace KW_TARGET {

// Where a thread is, found anew: what follows from it is cheap where it is rarely needed, and takes
// no register where it is not.
__device__ __forceinline__ int update_thread() {
  int thread = static_cast<int>(threadIdx.x);
  compute_now(thread);
  return thread;
}

// A thread's copies of one operand, stage after stage, to [bk][extent + lean_padding]; `to` is the
// place of the first stage's tile among the floats of shared memory. Of the last stage, with fewer
// than bk k, zeros follow up to a multiple of four. What lies beyond the last row is not written.
template <int threads, int extent, int bk, bool along_k>
class UpdateCopies;

// Lines across k: neighbouring threads copy neighbours, single floats or four at a time.
template <int threads, int extent, int bk>
class UpdateCopies<threads, extent, bk, false> {
  static constexpr int pitch = extent + lean_padding;
  // By single floats: a thread's places in a line repeat after so many copies, so many lines on.
  static constexpr int places = extent / std::gcd(extent, threads);
  static constexpr int down = threads / std::gcd(extent, threads);
  // By four: so many threads a line, of which so many are copied at a time.
  static constexpr int lanes4 = extent / 4, down4 = threads / lanes4;
  static constexpr int steps4 = (bk + down4 - 1) / down4;
  static constexpr bool all_copy4 = threads % lanes4 == 0, even4 = all_copy4 && bk % down4 == 0;
  static_assert(bk % down == 0);

 public:
  __device__ __forceinline__ UpdateCopies(const float* x, std::int64_t ld, bool aligned, int rows,
                                          int to)
      : by4_(aligned && rows % 4 == 0), stage_(bk * ld), step_((by4_ ? down4 : down) * ld) {
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int p = 0; p < places; ++p) {
      const int line = by4_ ? thread / lanes4 : (thread + p * threads) / extent;
      const int row = by4_ ? thread % lanes4 * 4 : (thread + p * threads) % extent;
      has_[p] = row < rows && (!by4_ || all_copy4 || line < down4);
      from_[p] = x + line * ld + row;
      to_[p] = to + line * pitch + row;
    }
  }

  // Starts the copy of the next stage, `offset` floats behind the first.
  __device__ __forceinline__ void start(float* shared, int offset) {
    if (by4_) return start4(shared, offset);
#pragma unroll
    for (int p = 0; p < places; ++p) {
      float* const here = target(shared, p, offset);
#pragma unroll
      for (int k = 0; k < bk; k += down, move_on(from_[p], step_))
        if (has_[p]) async_copy<4>(here + k * pitch, from_[p], 4);
    }
  }
  __device__ __forceinline__ void start_last(float* shared, int offset, int depth) const {
    const int end = (depth + 3) / 4 * 4, thread = update_thread();
#pragma unroll
    for (int p = 0; p < places; ++p) {
      if (!has_[p] || (by4_ && p > 0)) continue;
      const int lines = by4_ ? down4 : down;
      float* here = shared + to_[p] + offset;
      const float* from = from_[p];
#pragma unroll 1
      for (int k = by4_ ? thread / lanes4 : (thread + p * threads) / extent; k < end; k += lines) {
        if (by4_)
          async_copy<16>(here, from, k < depth ? 16 : 0);
        else
          async_copy<4>(here, from, k < depth ? 4 : 0);
        here += lines * pitch;
        move_on(from, step_);
      }
    }
  }

 private:
  __device__ __forceinline__ float* target(float* shared, int p, int offset) const {
    int at = to_[p] + offset;
    compute_now(at);
    return shared + at;
  }
  __device__ __forceinline__ void start4(float* shared, int offset) {
    float* const here = target(shared, 0, offset);
    const float* from = from_[0];
#pragma unroll
    for (int s = 0; s < steps4; ++s, move_on(from, step_))
      if (has_[0] &&
          ((s + 1) * down4 <= bk || static_cast<int>(threadIdx.x) / lanes4 + s * down4 < bk))
        async_copy<16>(here + s * down4 * pitch, from, 16);
    from_[0] = even4 ? from : from_[0] + stage_;
  }

  bool by4_;
  std::int64_t stage_, step_;
  const float* from_[places];
  int to_[places];
  bool has_[places];
};

// Lines along k, turned: a warp copies eight k of four lines at a time, float by float.
template <int threads, int extent, int bk>
class UpdateCopies<threads, extent, bk, true> {
  static constexpr int pitch = extent + lean_padding, down = threads / 8;
  static_assert(extent % down == 0 && bk % 8 == 0);

 public:
  __device__ __forceinline__ UpdateCopies(const float* x, std::int64_t ld, bool, int rows, int to)
      : step_(down * ld) {
    const int row = static_cast<int>(threadIdx.x) / 8, k = static_cast<int>(threadIdx.x) % 8;
    left_ = rows - row;
    from_ = x + row * ld + k;
    to_ = to + k * pitch + row;
  }

  __device__ __forceinline__ void start(float* shared, int offset) {
    int at = to_ + offset;
    compute_now(at);
    float* const here = shared + at;
    const float* from = from_;
#pragma unroll
    for (int i = 0; i < extent; i += down, move_on(from, step_))
#pragma unroll
      for (int k = 0; k < bk; k += 8)
        if (i < left_) async_copy<4>(here + k * pitch + i, from + k, 4);
    from_ += bk;
  }
  __device__ __forceinline__ void start_last(float* shared, int offset, int depth) const {
    const int end = (depth + 3) / 4 * 4, k0 = update_thread() % 8;
    float* here = shared + to_ + offset;
    const float* from = from_;
#pragma unroll 1
    for (int i = 0; i < extent && i < left_; i += down, here += down, move_on(from, step_))
#pragma unroll
      for (int k = 0; k < bk; k += 8)
        if (k0 + k < end) async_copy<4>(here + k * pitch, from + k, k0 + k < depth ? 4 : 0);
  }

 private:
  std::int64_t step_;
  const float* from_;
  int to_, left_;
};

}  // namespace KW_TARGET
