// How the complex tiles (tile.cu) copy an operand's tiles to shared memory, from an operand that
// lies along k or across it.
#pragma once

#include <cstdint>

#include "cgemm/problem.hpp"
#include "device/async_copy.hpp"

namespace KW_TARGET::complex_tile {

// Two elements between neighbouring k: the reads of a warp then begin at 16 bytes, and half of the
// copies that turn an operand meet in a bank.
constexpr int complex_padding = 2;

// This thread's copies of one operand's tiles, stage after stage along k; zeros beyond the edges.
// A stage is copied element by element, k-major; threads stand along the operand's lines in memory:
//   along k   x[i * ld + k]; each pass takes threads / BK lines, all of a stage's k of each
//   across    x[k * ld + i]; each pass takes threads / Extent lines
// Passes are asked for one by one, so that they can lie between the steps that multiply: as many
// copies at once, by all warps after a barrier, keep the FMA units waiting for a tenth of the time.
//
// `parted`: of two neighbours the real parts lie side by side, then the imaginary parts; with
// `swapped` the other way round.
template <int Extent, int BK, int threads, bool parted>
class ElementCopy {
 public:
  static constexpr int passes = Extent * BK / threads;
  static_assert(threads % Extent == 0 && threads % BK == 0 && Extent * BK % threads == 0);

  __device__ __forceinline__ ElementCopy(const Complex* x, std::int64_t ld, bool along_k,
                                         std::int64_t extent, std::int64_t i0, std::int64_t k0,
                                         bool swapped = false)
      : real_at_(swapped ? 2 : 0) {
    const int tid = static_cast<int>(threadIdx.x), lanes = along_k ? BK : Extent;
    const int along = tid % lanes, across = tid / lanes;
    first_i_ = along_k ? across : along;
    first_k_ = along_k ? along : across;
    const std::int64_t left = extent - i0;
    i_left_ = left < Extent ? static_cast<int>(left) : Extent;
    constexpr int lines_of_i = threads / BK, lines_of_k = threads / Extent;
    step_i_ = along_k ? lines_of_i : 0;
    step_k_ = along_k ? 0 : lines_of_k;
    step_ = (along_k ? lines_of_i : lines_of_k) * ld;
    step_to_ = along_k ? 2 * lines_of_i : lines_of_k * pitch;
    from_ =
        x + (along_k ? (i0 + first_i_) * ld + k0 + first_k_ : (k0 + first_k_) * ld + i0 + first_i_);
    to_next_stage_ = (along_k ? BK : BK * ld) - passes * step_;
  }

  // Begins a stage, which has so many of k, at element `tile` of the block's dynamic shared memory.
  __device__ __forceinline__ void begin(int tile, int k_here) {
    constexpr bool is_parted = parted;
    to_ =
        2 * tile + first_k_ * pitch + (is_parted ? first_i_ / 2 * 4 + first_i_ % 2 : 2 * first_i_);
    i_ = first_i_;
    k_ = first_k_;
    k_here_ = k_here;
  }
  __device__ __forceinline__ void next_pass() {
    const bool inside = i_ < i_left_ && k_ < k_here_;
    float* const shared = gpu::dynamic_shared<float>();
    if constexpr (parted) {
      async_copy<4>(shared + to_ + real_at_, &from_->re, inside ? 4 : 0);
      async_copy<4>(shared + to_ + 2 - real_at_, &from_->im, inside ? 4 : 0);
    } else {
      async_copy<8>(shared + to_, &from_->re, inside ? 8 : 0);
    }
    from_ += step_;
    to_ += step_to_;
    i_ += step_i_;
    k_ += step_k_;
  }
  // Those of step `step` of `steps`, over which a stage's passes are spread.
  template <int steps>
  __device__ __forceinline__ void passes_of_step(int step) {
    static_assert(passes % steps == 0 || passes < steps);
    if (passes < steps && step >= passes) return;
    constexpr int at_once = passes < steps ? 1 : passes / steps;
#pragma unroll
    for (int i = 0; i < at_once; ++i) next_pass();
  }
  // After all passes.
  __device__ __forceinline__ void end() { from_ += to_next_stage_; }

  __device__ __forceinline__ void whole_stage(int tile, int k_here) {
    begin(tile, k_here);
#pragma unroll 1
    for (int i = 0; i < passes; ++i) next_pass();
    end();
  }

 private:
  static constexpr int pitch = 2 * (Extent + complex_padding);  // floats

  const Complex* from_;
  std::int64_t step_, to_next_stage_;
  int first_i_, first_k_, i_left_;  // this thread's first element of a stage
  int step_i_, step_k_, step_to_;
  int real_at_;  // of a pair of real parts, in a quad
  // Of the next pass; `to_` counts floats of shared memory, since a pointer takes a register more.
  int to_ = 0, i_ = 0, k_ = 0, k_here_ = 0;
};

}  // namespace KW_TARGET::complex_tile
