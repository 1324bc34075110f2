// How the threads of cgemm_thin read its operands: the wide one from memory into registers, the
// narrow one through shared memory.
#pragma once

#include <type_traits>

#include "cgemm/thin_plan.hpp"
#include "device/async_copy.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/thin_reader.hpp"

namespace KW_TARGET::complex_thin {

// Which elements of a block's step are one thread's: `rows` rows, `depth` of each one's k.
template <ComplexThinConfig config>
struct Position {
  static constexpr int R = config.rows, D = config.depth;
  static constexpr bool along_k = config.along_k;

  int k_warp, k_lane, k_thread, k_threads;
  int row_thread, row_threads;

  __device__ __forceinline__ explicit Position(int k_warps) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int row_lane = along_k ? lane / config.k_lanes : lane % config.row_lanes();
    k_lane = along_k ? lane % config.k_lanes : lane / config.row_lanes();
    k_warp = warp & (k_warps - 1);  // a power of two
    k_thread = k_warp * config.k_lanes + k_lane;
    k_threads = k_warps * config.k_lanes;
    const int row_warps = config.warps / k_warps;
    row_thread = warp / k_warps * config.row_lanes() + row_lane;
    row_threads = row_warps * config.row_lanes();
  }
  // Row i of the thread, in the block.
  __device__ __forceinline__ int row(int i) const { return row_thread + i * row_threads; }
  // k e of the thread, in the step. Where lines lie along rows, the thread's k are neighbours.
  static constexpr bool k_touch = !along_k;
  __device__ __forceinline__ int k(int e) const {
    return k_touch ? k_thread * D + e : k_thread + e * k_threads;
  }
  __device__ __forceinline__ int step() const { return D * k_threads; }
};

// A thread's way through the wide operand, R x D elements a step; zeros beyond its edges.
template <ComplexThinConfig config>
class WideOperand {
  using At = Position<config>;
  using Reader = std::conditional_t<config.keeps_steps(), KW_TARGET::thin::StepReader,
                                    KW_TARGET::thin::PlainReader>;
  static constexpr int R = config.rows, D = config.depth;
  static constexpr bool along_k = config.along_k;

 public:
  // `x`: the block's first row and k; `rows`, `k`: how many the block has from there on.
  __device__ __forceinline__ WideOperand(const At& at, const ComplexThinPlan& plan,
                                         const Complex* x, int rows, int k)
      : at_(at), reader_(plan.kept_steps), x_(x), ld_(plan.ld), rows_(rows), k_(k) {
    const std::int64_t ld = ld_;
    is_full_ = at.row(R - 1) < rows;
    x_ += along_k ? at.row(0) * ld + at.k(0) : at.k(0) * ld + at.row(0);
  }
  __device__ __forceinline__ bool more() const { return k_ > 0; }

  __device__ __forceinline__ void next(float2 (&x)[R][D]) {
    reader_.step([&](const auto& by) {
      if (is_full_ && at_.k(D - 1) < k_)
        load<false>(by, x);
      else
        load<true>(by, x);
    });
    k_ -= at_.step();
    x_ += along_k ? at_.step() : at_.step() * ld_;
  }

 private:
  template <bool edges, class Loads>
  __device__ __forceinline__ void load(const Loads& by, float2 (&x)[R][D]) const {
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int e = 0; e < D; ++e) {
        const int down = at_.row(i) - at_.row(0), deep = at_.k(e) - at_.k(0);
        const Complex* const from = x_ + (along_k ? down * ld_ + deep : deep * ld_ + down);
        if (!edges || (at_.row(i) < rows_ && at_.k(e) < k_))
          x[i][e] = by.two(reinterpret_cast<const float2*>(from));
        else
          x[i][e] = make_float2(0, 0);
      }
    }
  }

  const At& at_;
  Reader reader_;
  const Complex* x_;
  std::int64_t ld_;
  int rows_, k_;
  bool is_full_;
};

// A chunk of the narrow operand in shared memory: [j][k].
template <ComplexThinConfig config>
struct NarrowChunk {
  static constexpr int W = config.width, pitch = config.pitch();

  // Begins to copy the first `here` k, and zeros up to the end of a step and of the width.
  __device__ __forceinline__ static void fetch(float2* narrow, const Complex* from,
                                               const ComplexThinPlan& plan, int here, int step) {
    const int filled = (here + step - 1) & -step;  // a step is a power of two
    const auto copy = [&](int k, int j) {
      const bool inside = k < here && j < plan.width;
      const Complex* const element = inside ? from + k * plan.narrow_k + j * plan.narrow_j : from;
      async_copy<8>(&narrow[j * pitch + k].x, &element->re, inside ? 8 : 0);
    };
    const int tid = static_cast<int>(threadIdx.x);
    if (W > 1 && plan.narrow_k != 1) {
#pragma unroll 1
      for (int i = tid; i < W * filled; i += config.threads) copy(i / W, i % W);
    } else {
#pragma unroll 1
      for (int k = tid; k < filled; k += config.threads)
#pragma unroll 1
        for (int j = 0; j < W; ++j) copy(k, j);
    }
  }
  // Elements e and e + 1 of column j.
  __device__ __forceinline__ static float4 two(const float2* narrow, const Position<config>& at,
                                               int j, int e) {
    const float2* const from = narrow + j * pitch;
    if constexpr (Position<config>::k_touch)
      return *reinterpret_cast<const float4*>(from + at.k(e));
    const float2 first = from[at.k(e)], second = from[at.k(e + 1)];
    return make_float4(first.x, first.y, second.x, second.y);
  }
};

}  // namespace KW_TARGET::complex_thin
