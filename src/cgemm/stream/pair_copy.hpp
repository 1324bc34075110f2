// The copies of b, where neighbours lie so in memory, into the ring of the complex stream tiles by
// way of registers: of two of them the real parts come to lie side by side, then the imaginary
// parts (stage.hpp), 16 bytes at a time. Copies that pass no register bring four bytes each.
#pragma once

#include "cgemm/problem.hpp"
#include "cgemm/stream/access.hpp"
#include "device/move_on.hpp"
#include "device/overlap.hpp"
#include "device/thread_index.hpp"

namespace KW_TARGET::complex_stream {

// One producer's share of b's tiles, stage after stage: pairs of neighbours at one k each.
template <int BK, int Extent, int most>
class PairCopy {
  static constexpr int pitch = 2 * Extent + 4, producers = 128, pairs = Extent / 2;
  static constexpr int across = producers_across(pairs, producers), down = producers / across;
  // Of a share no more than `most` pairs lie in registers, those of batch_k of k.
  static constexpr int batch_of(int k) { return pairs * k / producers; }
  static constexpr int batch_k = batch_of(BK) <= most       ? BK
                                 : batch_of(BK / 2) <= most ? BK / 2
                                                            : BK / 4;
  static constexpr int batch = batch_of(batch_k);
  static_assert(pairs % across == 0 && BK % batch_k == 0 && batch_k % down == 0);

 public:
  __device__ PairCopy(const Complex* x, std::int64_t ld, bool lines_begin_at_16,
                      std::int64_t extent, std::int64_t i0, std::int64_t k0)
      : step_(2 * ld), wide_(lines_begin_at_16) {
    const int tid = reread_thread_index();
    i_here_ = extent - i0 < Extent ? static_cast<int>(extent - i0) : Extent;
    k_ = tid / across, pair_ = tid % across;
    from_ = &x->re + 2 * ((k0 + k_) * ld + i0 + 2 * pair_);
    to_ = k_ * pitch + 4 * pair_;
  }

  // Where the first tile begins is known before the previous kernel has ended.
  __device__ __forceinline__ void compute_now() {
    KW_TARGET::compute_now(from_);
    KW_TARGET::compute_now(to_);
  }

  // Loads the first batch of the next tile, of which the matrix has k_here along k.
  __device__ __forceinline__ void load(int k_here) { load_batch(0, k_here); }
  // Leaves the tile in its place, with the batches that are not loaded yet.
  __device__ __forceinline__ void next(float* tile, AccessPattern, int k_here) {
    leave_batch(tile + to_);
#pragma unroll
    for (int k = batch_k; k < BK; k += batch_k) {
      load_batch(k, k_here);
      leave_batch(tile + to_ + k * pitch);
    }
    from_ += BK * step_;
  }

 private:
  // Those from k0 on.
  __device__ __forceinline__ void load_batch(int k0, int k_here) {
    if (k_here != BK || i_here_ != Extent)
      each(k0, [&](float4& x, const float* from, int i, int k) {
        const bool inside = k < k_here - k_ - k0;
        first(x) = element(from, inside && i < i_here_ - 2 * pair_);
        second(x) = element(from + 2, inside && i + 1 < i_here_ - 2 * pair_);
      });
    else if (wide_)
      each(k0, [](float4& x, const float* from, int, int) {
        x = *reinterpret_cast<const float4*>(from);
      });
    else
      each(k0, [](float4& x, const float* from, int, int) {
        first(x) = element(from, true), second(x) = element(from + 2, true);
      });
  }
  template <class Take>
  __device__ __forceinline__ void each(int k0, const Take& take) {
    const float* from = from_ + k0 * step_;
    int at = 0;
#pragma unroll
    for (int k = 0; k < batch_k; k += down) {
#pragma unroll
      for (int i = 0; i < Extent; i += 2 * across) take(loaded_[at++], from + 2 * i, i, k);
      if (k + down < batch_k) move_on(from, down * step_);
    }
  }
  __device__ __forceinline__ void leave_batch(float* to) const {
    int at = 0;
#pragma unroll
    for (int k = 0; k < batch_k; k += down)
#pragma unroll
      for (int i = 0; i < Extent; i += 2 * across) {
        const float4 x = loaded_[at++];
        *reinterpret_cast<float4*>(to + k * pitch + 2 * i) = make_float4(x.x, x.z, x.y, x.w);
      }
  }

  __device__ __forceinline__ static float2 element(const float* from, bool inside) {
    return inside ? *reinterpret_cast<const float2*>(from) : make_float2(0, 0);
  }
  __device__ __forceinline__ static float2& first(float4& x) {
    return reinterpret_cast<float2*>(&x)[0];
  }
  __device__ __forceinline__ static float2& second(float4& x) {
    return reinterpret_cast<float2*>(&x)[1];
  }

  const float* from_;  // this producer's first element of the next tile
  std::int64_t step_;  // from line to line, in floats
  bool wide_;          // whether all lines begin at 16 bytes
  int to_;             // the offset of that pair in the tile in shared memory
  int pair_, k_;       // which one it is
  int i_here_;         // the matrix's columns in the tile, Extent at most
  float4 loaded_[batch];
};

}  // namespace KW_TARGET::complex_stream
