// The consumers of stream_tile: they multiply the stages of the ring.
#pragma once

#include <type_traits>

#include "sgemm/stream/outputs.hpp"
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
// device/quad.hpp arranges.
// `swapped`: elements lie apart from their place by the bits of this.
template <int swapped = 0, int TM, int TN>
__device__ __forceinline__ void outer_product(float (&acc)[TM][TN], const float (&a)[TM],
                                              const float (&b)[TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i)
#pragma unroll
    for (int step = 0; step < TN; ++step) {
      const int j = i % 2 == 0 ? step : TN - 1 - step;
      acc[i][j] = fmaf(a[i ^ swapped], b[j ^ swapped], acc[i][j]);
    }
}

// The consumers of a block, and their position in the ring.
template <StreamTileConfig config>
class Consumer {
  using S = Shape<config>;

 public:
  __device__ explicit Consumer(Shared<config>& shared) : shared_(shared), pipeline_(shared) {}

  // acc = op_a(A) op_b(B) over the next `stages` stages of the ring, of which the last one has
  // `last_k` of k; of each stage the part that is this thread's warp's.
  __device__ __forceinline__ void multiply(int stages, int last_k, float (&acc)[S::TM][S::TN]) {
#pragma unroll
    for (auto& row : acc)
#pragma unroll
      for (float& x : row) x = 0;
    if (stages > 0) accumulate(stages, last_k, acc);
  }

 private:
  // In the last stage, if it is not a whole one, the warps along k take equal parts of its k.
  __device__ __forceinline__ void accumulate(int stages, int last_k, float (&acc)[S::TM][S::TN]) {
    constexpr int pitch_a = S::copied_m + 4, pitch_b = S::copied_n + 4;
    const OwnOutputs<config> own;
    Fragment<S::TM, S::lanes_m> a[2];  // of this step along k and of the next
    Fragment<S::TN, S::lanes_n> b[2];
    const float *as, *bs;
    const auto enter = [&](int first) {
      const Stage<config>& stage = pipeline_.wait();
      as = &stage.as[first][own.row];
      bs = &stage.bs[first][own.col];
    };
    const auto enter_stage = [&] { enter(own.group * (S::swaps ? 8 : S::steps)); };
    const auto load = [&](int which, int step) {
      b[which].load(bs + step * pitch_b);
      a[which].load(as + step * pitch_a);
    };
    const auto first_of_two = [&](auto whole) {
      load(1, whole ? S::second_step : 1);
      outer_product(acc, a[0].x, b[0].x);
      as += (whole ? S::two_steps : 2) * pitch_a;
      bs += (whole ? S::two_steps : 2) * pitch_b;
    };
    const auto second_of_two = [&](auto whole) {
      load(0, 0);
      outer_product<whole && S::halves ? 2 : 0>(acc, a[1].x, b[1].x);
    };
    const int last_steps = S::steps_of(last_k);
    const auto enter_last = [&] { enter(own.group * last_steps); };
    // Two steps along k at a time. With more, ptxas moves accumulators from register to register,
    // and so from bank to bank. A stage's last two steps come after the loop: a test for them
    // inside it takes five more instructions in each iteration.
    const auto multiply_stage = [&](auto whole, int steps, const auto& go_on) {
#pragma unroll 1
      for (int step = 2; step < steps; step += 2) {
        first_of_two(whole);
        second_of_two(whole);
      }
      first_of_two(whole);
      // All elements of this stage are in registers. The barrier also keeps the warps in step, so
      // that they share the fetched instructions of the loop.
      sync_consumers<config>();
      pipeline_.release(own.tid == 0);
      go_on();
      second_of_two(whole);
    };
    const auto stop = [&] { as = bs = shared_.idle; };
    const bool last_is_whole = last_steps == S::steps;
    const int whole = last_is_whole ? stages : stages - 1;
    if (whole > 0)
      enter_stage();
    else
      enter_last();
    load(0, 0);
#pragma unroll 1
    for (int left = whole; left > 0; --left)
      multiply_stage(std::true_type(), S::steps, [&] {
        if (left > 1)
          enter_stage();
        else if (last_is_whole)
          stop();
        else
          enter_last();
      });
    if (!last_is_whole) multiply_stage(std::false_type(), last_steps, stop);
  }

  Shared<config>& shared_;
  Pipeline<config> pipeline_;
};

}  // namespace KW_TARGET::stream_tile
