// How a thread of the complex tiles (tile.cu) multiplies: the shape of a configuration, what is
// read of a stage at one k, and the FFMAs on it.
#pragma once

#include "cgemm/tile_operand.hpp"
#include "cgemm/tile_tuning.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET::complex_tile {

template <int index>
struct TileOf {
  static constexpr ComplexTileConfig config = complex_tiles[index].config;
  static constexpr int BM = config.bm, BN = config.bn, BK = config.bk;
  static constexpr int TM = config.tm, TN = config.tn, threads = config.threads();
  static constexpr int threads_m = BM / TM, threads_n = BN / TN;
  static constexpr int parts_k = config.parts_k, threads_of_part = threads / parts_k;
  // The rows of outputs that a thread stores, in quads of two neighbours.
  static constexpr int rows = TM / parts_k, quads_of_row = TN / 2, quads = rows * quads_of_row;
  static constexpr int warp_m = threads_m < 8 ? threads_m : 8, warp_n = 32 / warp_m;
  static_assert(TM % parts_k == 0 && BK % (2 * parts_k) == 0);
  static_assert(TM % 2 == 0 && TN % 2 == 0 && threads_n % warp_n == 0 && threads_m % warp_m == 0);
};

// What a thread reads of a stage at one k: elements of a, and of b their parts, two neighbours'
// real ones and then their imaginary ones.
template <class T>
struct Fragments {
  __align__(16) float2 a[T::TM];
  __align__(16) float b[2 * T::TN];

  // From the thread's first elements at that k, as places in the block's dynamic shared memory.
  __device__ __forceinline__ void load(int at_a, int at_b) {
    const float2* const from_a = gpu::dynamic_shared<float2>() + at_a;
    const float2* const from_b = gpu::dynamic_shared<float2>() + at_b;
#pragma unroll
    for (int j = 0; j < T::TN; j += 2)
      *reinterpret_cast<float4*>(&b[2 * j]) =
          *reinterpret_cast<const float4*>(from_b + j * T::threads_n);
#pragma unroll
    for (int i = 0; i < T::TM; i += 2)
      *reinterpret_cast<float4*>(&a[i]) =
          *reinterpret_cast<const float4*>(from_a + i * T::threads_m);
  }
};

// acc += a b, as two outer products of real numbers: all real parts of a with all parts of b, row
// by row, back and forth; then the imaginary parts. In this order an FFMA reads two registers, as
// in sgemm's stream_tile: a's element comes from the reuse cache. The other two, b's part and the
// accumulator, lie in different banks, which OutputQuad arranges. ptxas keeps to the order the
// better the longer a row is.
template <class T>
__device__ __forceinline__ void add_products(float2 (&acc)[T::TM][T::TN], const Fragments<T>& f) {
#pragma unroll
  for (int part = 0; part < 2; ++part)
#pragma unroll
    for (int i = 0; i < T::TM; ++i)
#pragma unroll
      for (int step = 0; step < 2 * T::TN; ++step) {
        const int at = i % 2 == 0 ? step : 2 * T::TN - 1 - step, j = at / 4 * 2 + at % 2;
        const bool imaginary = at % 4 >= 2;  // of b
        float2& to = acc[i][j];
        if (part == 0 && !imaginary) to.x = fmaf(f.a[i].x, f.b[at], to.x);
        if (part == 0 && imaginary) to.y = fmaf(f.a[i].x, f.b[at], to.y);
        if (part == 1 && imaginary) to.x = fmaf(-f.a[i].y, f.b[at], to.x);
        if (part == 1 && !imaginary) to.y = fmaf(f.a[i].y, f.b[at], to.y);
      }
}

// Two neighbours of a row of outputs in the order in which a thread leaves them in memory. What a
// thread stores in 16 bytes comes from an aligned quad of registers, and ptxas keeps accumulators
// in such quads throughout: so the second neighbour's parts lie in even registers and the first
// one's in odd ones, where b has the first one's in even ones.
struct OutputQuad {
  __device__ __forceinline__ static float4 of(const float2& first, const float2& second) {
    return make_float4(second.x, first.x, second.y, first.y);
  }
  __device__ __forceinline__ static void add(const float4& quad, float2& first, float2& second) {
    second.x += quad.x, first.x += quad.y, second.y += quad.z, first.y += quad.w;
  }
};

// acc += the product of a block's tiles over `stages` stages of the ring, of each the part along k
// that is this thread's. `row` and `col` are its first element of a and of b in a stage.
template <class T, class CopyA, class CopyB>
class StageProducts {
 public:
  // The last stage has `last_k` of k.
  __device__ __forceinline__ StageProducts(CopyA& a, CopyB& b, int stages, int last_k, int row,
                                           int col, int of_k)
      : a_(a),
        b_(b),
        stages_(stages),
        last_k_(last_k),
        own_a_(of_k * pitch_a + row),
        own_b_(of_b + of_k * pitch_b + col) {}

  // Two steps along k at a time, fragments a step ahead: of the next stage too, once its copies
  // are there. With each two steps go some copies of a later stage, to where the stage before this
  // one was, which all have read.
  __device__ __forceinline__ void add_to(float2 (&acc)[T::TM][T::TN]) {
    // One group of copies per stage, empty ones at the end included, since async_wait counts
    // groups.
#pragma unroll 1
    for (int s = 0; s < in_flight; ++s) {
      if (s < stages_) {
        a_.whole_stage(s * stage_size, k_of(s));
        b_.whole_stage(s * stage_size + of_b, k_of(s));
      }
      async_commit();
    }
    Fragments<T> f[2];
    async_wait<in_flight - 1>();
    __syncthreads();
    enter(0);
    load(f[0], 0);
    int now = 0, ahead = in_flight;
#pragma unroll 1
    for (int at = 0; at < stages_; ++at) {
      const bool copies = at + in_flight < stages_;
      if (copies) {
        a_.begin(ahead * stage_size, k_of(at + in_flight));
        b_.begin(ahead * stage_size + of_b, k_of(at + in_flight));
      }
#pragma unroll 1
      for (int step = 0; step < steps - 1; ++step) {
        load(f[1], 1);
        if (copies) copy(step);
        add_products<T>(acc, f[0]);
        advance(2);
        load(f[0], 0);
        add_products<T>(acc, f[1]);
      }
      load(f[1], 1);
      if (copies) {
        copy(steps - 1);
        a_.end();
        b_.end();
      }
      async_commit();
      add_products<T>(acc, f[0]);
      async_wait<in_flight - 1>();
      __syncthreads();
      now = now + 1 < T::config.stages ? now + 1 : 0;
      ahead = ahead + 1 < T::config.stages ? ahead + 1 : 0;
      enter(now);
      load(f[0], 0);  // behind the last stage nobody uses it
      add_products<T>(acc, f[1]);
    }
  }

 private:
  static constexpr int in_flight = T::config.stages - 1;
  static constexpr int steps = T::BK / (2 * T::parts_k);
  // In elements of the block's dynamic shared memory, where the ring begins: a stage of A's tile
  // and B's, k-major, with padding.
  static constexpr int pitch_a = T::BM + complex_padding, pitch_b = T::BN + complex_padding;
  static constexpr int of_b = T::BK * pitch_a, stage_size = of_b + T::BK * pitch_b;
  static_assert(T::config.stages * stage_size * sizeof(float2) == T::config.ring_bytes());

  __device__ __forceinline__ int k_of(int stage) const {
    return stage + 1 < stages_ ? T::BK : last_k_;
  }
  __device__ __forceinline__ void copy(int step) {
    a_.template passes_of_step<steps>(step);
    b_.template passes_of_step<steps>(step);
  }
  __device__ __forceinline__ void enter(int place) {
    from_a_ = place * stage_size + own_a_;
    from_b_ = place * stage_size + own_b_;
  }
  __device__ __forceinline__ void load(Fragments<T>& f, int step) const {
    f.load(from_a_ + step * T::parts_k * pitch_a, from_b_ + step * T::parts_k * pitch_b);
  }
  __device__ __forceinline__ void advance(int by) {
    from_a_ += by * T::parts_k * pitch_a;
    from_b_ += by * T::parts_k * pitch_b;
  }

  CopyA& a_;
  CopyB& b_;
  int stages_, last_k_;
  int own_a_, own_b_;  // this thread's first element of a and of b in a stage
  int from_a_ = 0, from_b_ = 0;
};

}  // namespace KW_TARGET::complex_tile
