// The consumers of stream_tile: they multiply the stages of the ring.
#pragma once

#include "sgemm/stream/pipeline.hpp"

namespace KW_TARGET::stream_tile {

// Elements of a row or column of a stage that a thread needs: groups of four, `lanes` x 4 apart.
template <int count, int lanes>
struct Fragment {
  alignas(16) float x[count];

  __device__ __forceinline__ void load(const float* from) {
#pragma unroll
    for (int i = 0; i < count; i += 4)
      *reinterpret_cast<float4*>(&x[i]) = *reinterpret_cast<const float4*>(from + i * lanes);
  }
};

// acc += a b^T, row by row, back and forth. In this order an FFMA reads two registers, since the
// reuse cache holds the row's element of a, and at a turn that of b. The two, b's element and the
// accumulator, are read in one cycle if they lie in different banks (odd and even registers), which
// Fixup::store arranges.
template <int TM, int TN>
__device__ __forceinline__ void outer_product(float (&acc)[TM][TN], const float (&a)[TM],
                                              const float (&b)[TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int step = 0; step < TN; ++step) {
      const int j = i % 2 == 0 ? step : TN - 1 - step;
      acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
    }
}

// Neighbours first, then pairs of them. Its rounding error is smaller than a chain's.
template <int count>
__device__ __forceinline__ float4 sum_as_tree(float4 (&x)[count]) {
#pragma unroll
  for (int apart = 1; apart < count; apart *= 2)
#pragma unroll
    for (int i = 0; i + apart < count; i += 2 * apart) {
      float4& to = x[i];
      const float4 more = x[i + apart];
      to.x += more.x, to.y += more.y, to.z += more.z, to.w += more.w;
    }
  return x[0];
}

// Which outputs of a tile a consumer computes.
template <StreamTileConfig config>
struct OwnOutputs {
  using S = Shape<config>;

  int tid;       // among the consumers
  int row, col;  // of its first output in the tile
  int step;      // of its first along k in a stage

  __device__ __forceinline__ OwnOutputs() : tid(reread_thread_index() - S::producers) {
    const int warp = tid / 32, lane = tid % 32;
    row = warp / S::warps_n % S::warps_m * S::WM + lane / S::lanes_n * 4;
    col = warp % S::warps_n * S::WN + lane % S::lanes_n * 4;
    step = warp / (S::warps_n * S::warps_m) * S::steps;
  }

  // Where outputs 4 v ... 4 v + 3 of this thread lie in the tile: next to each other in a row.
  __device__ __forceinline__ int row_of(int v) const {
    if constexpr (S::warps_k > 1) return (v * S::consumers + tid) * 4 / S::BN;
    const int i = v * 4 / S::TN;
    return row + i / 4 * (4 * S::lanes_m) + i % 4;
  }
  __device__ __forceinline__ int col_of(int v) const {
    if constexpr (S::warps_k > 1) return (v * S::consumers + tid) * 4 % S::BN;
    return col + v * 4 % S::TN * S::lanes_n;
  }
};

// The consumers of a block, and their position in the ring.
template <StreamTileConfig config>
class Consumer {
  using S = Shape<config>;

 public:
  __device__ explicit Consumer(Shared<config>& shared) : shared_(shared), pipeline_(shared) {}

  // out[TM x TN / warps_k] = op_a(A) op_b(B) over the next `stages` stages of the ring.
  __device__ __forceinline__ void multiply(int stages, float (&out)[S::outputs]) {
    float acc[S::TM][S::TN] = {};
    if (stages > 0) accumulate(stages, acc);
    if constexpr (S::warps_k == 1) {
#pragma unroll
      for (int i = 0; i < S::TM; ++i)
#pragma unroll
        for (int j = 0; j < S::TN; ++j) out[i * S::TN + j] = acc[i][j];
    } else {
      add_warps(acc, out);
    }
  }

  __device__ static void sync() { sync_some_threads<1, S::consumers>(); }

 private:
  __device__ __forceinline__ void accumulate(int stages, float (&acc)[S::TM][S::TN]) {
    constexpr int pitch_a = S::BM + 4, pitch_b = S::BN + 4;
    const OwnOutputs<config> own;
    Fragment<S::TM, S::lanes_m> a[2];  // of this step along k and of the next
    Fragment<S::TN, S::lanes_n> b[2];
    const float *as, *bs;
    const auto enter_stage = [&] {
      const Stage<config>& stage = pipeline_.wait();
      as = &stage.as[own.step][own.row];
      bs = &stage.bs[own.step][own.col];
    };
    const auto load = [&](int which, int step) {
      b[which].load(bs + step * pitch_b);
      a[which].load(as + step * pitch_a);
    };
    const auto first_of_two = [&] {
      load(1, 1);
      outer_product(acc, a[0].x, b[0].x);
      as += 2 * pitch_a;
      bs += 2 * pitch_b;
    };
    const auto second_of_two = [&] {
      load(0, 0);
      outer_product(acc, a[1].x, b[1].x);
    };
    enter_stage();
    load(0, 0);
    // Two steps along k at a time. With more, ptxas moves accumulators from register to register,
    // and so from bank to bank. A stage's last two steps come after the loop: a test for them
    // inside it takes five more instructions in each iteration.
#pragma unroll 1
    for (int left = stages; left > 0; --left) {
#pragma unroll 1
      for (int step = 2; step < S::steps; step += 2) {
        first_of_two();
        second_of_two();
      }
      first_of_two();
      // All elements of this stage are in registers. The barrier also keeps the warps in step, so
      // that they share the fetched instructions of the loop.
      sync();
      pipeline_.release(own.tid == 0);
      if (left > 1)
        enter_stage();
      else
        as = bs = shared_.idle;
      second_of_two();
    }
  }

  // Warps that share a tile store their sums; each thread adds up its share of the outputs.
  // Neighbours are swapped because of the register banks, as in Fixup.
  __device__ __forceinline__ void add_warps(const float (&acc)[S::TM][S::TN],
                                            float (&out)[S::outputs]) {
    const OwnOutputs<config> own;
    float4* const mine = shared_.sums[own.tid / (S::consumers / S::warps_k)];
    sync();  // nobody reads the last tile's sums any more
#pragma unroll
    for (int i = 0; i < S::TM; ++i)
#pragma unroll
      for (int j = 0; j < S::TN; j += 4) {
        const int row = own.row + i / 4 * (4 * S::lanes_m) + i % 4, col = own.col + j * S::lanes_n;
        mine[(row * S::BN + col) / 4] =
            make_float4(acc[i][j + 1], acc[i][j], acc[i][j + 3], acc[i][j + 2]);
      }
    sync();
#pragma unroll
    for (int v = 0; v < S::outputs / 4; ++v) {
      const float4 sum = sum_of_warps(v * S::consumers + own.tid);
      out[4 * v + 1] = sum.x, out[4 * v] = sum.y, out[4 * v + 3] = sum.z, out[4 * v + 2] = sum.w;
    }
  }

  __device__ __forceinline__ float4 sum_of_warps(int at) const {
    float4 sum[S::warps_k];
#pragma unroll
    for (int w = 0; w < S::warps_k; ++w) sum[w] = shared_.sums[w][at];
    return sum_as_tree(sum);
  }

  Shared<config>& shared_;
  Pipeline<config> pipeline_;
};

}  // namespace KW_TARGET::stream_tile
