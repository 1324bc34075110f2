// The consumers of the complex stream tiles: they multiply the stages of the ring.
#pragma once

#include "cgemm/stream/stage.hpp"
#include "device/basic_block.hpp"

namespace KW_TARGET::complex_stream {

// What a thread reads of a stage at one k: elements of a, and the parts of b as they lie there.
template <int TM, int TN, int lanes_m, int lanes_n>
struct Fragments {
  alignas(16) float a[2 * TM];
  alignas(16) float b[2 * TN];

  __device__ __forceinline__ void load(const float* as, const float* bs) {
#pragma unroll
    for (int j = 0; j < TN; j += 2)
      *reinterpret_cast<float4*>(&b[2 * j]) =
          *reinterpret_cast<const float4*>(bs + 2 * j * lanes_n);
#pragma unroll
    for (int i = 0; i < TM; i += 2)
      *reinterpret_cast<float4*>(&a[2 * i]) =
          *reinterpret_cast<const float4*>(as + 2 * i * lanes_m);
  }
};

// acc += a b, or, where they differ in their conjugates, acc += conj(a) b. A row's sums lie as b
// does: two real parts, then their two imaginary parts. An FFMA can read a register of each of two
// banks a cycle, and one more of each may wait; what the last instruction marked for reuse counts
// not. So a part of an element of a goes along all of b, whose parts lie in the other bank than
// their sums (device/quad.hpp), and the next one comes back, so that b's part at the turn is
// reused. All rows' first parts come first, as ptxas would have it, and by turns they are real and
// imaginary: parts of a lie in both banks by turns, too. Loads that come before stay within the
// first so many quarters of the products, where these are less than four.
template <bool differ, int loads_within = 4, int TM, int TN2>
__device__ __forceinline__ void add_products(float (&acc)[TM][TN2], const float (&a)[2 * TM],
                                             const float (&b)[TN2],
                                             [[maybe_unused]] int number = 0) {
  const auto go = [&](int i, bool imaginary) {
    const float part = a[2 * i + (imaginary ? 1 : 0)];
#pragma unroll
    for (int n = 0; n < TN2; ++n) {
      const int at = i % 2 == 0 ? n : TN2 - 1 - n;
      const bool takes = imaginary && (at % 4 >= 2) != differ;  // i times i, or a conjugate's
      float& sum = acc[i][imaginary ? at ^ 2 : at];
      sum = fmaf(takes ? -part : part, b[at], sum);
    }
  };
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    go(i, i % 2 != 0);
    if (i + 1 == TM * loads_within / 2) end_basic_block(number);
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) go(i, i % 2 == 0);
}

// The consumers of a block, and their position in the ring.
template <ComplexStreamConfig config>
class Consumer {
  using S = Shape<config>;

 public:
  using Sums = float[S::TM][2 * S::TN];

  __device__ explicit Consumer(Shared<config>& shared) : shared_(shared) {}

  // acc = the products of the next `stages` stages of the ring, of which the last one has `last_k`
  // of k; of each stage the part that is this thread's group's. In the last stage the groups take
  // equal parts of its k.
  template <bool differ>
  __device__ __forceinline__ void multiply(int stages, int last_k, Sums& acc) {
    const OwnOutputs<config> own;
    Fragments<S::TM, S::TN, S::lanes_m, S::lanes_n> f[2];  // of this step along k and of the next
    const float *as, *bs;
    int steps;
    const auto enter_stage = [&](bool is_last) {
      mbarrier_wait(&shared_.full[ring_.stage], ring_.round);
      const Stage<config>& stage = shared_.stage[ring_.stage];
      steps = is_last ? S::steps_of(last_k) : S::steps;
      as = &stage.a[own.group * steps][2 * own.row];
      bs = &stage.b[own.group * steps][2 * own.col];
    };
    const auto first_of_two = [&] {
      f[1].load(as + S::pitch_a, bs + S::pitch_b);
      add_products<differ, config.loads_within>(acc, f[0].a, f[0].b, last_k);
      as += 2 * S::pitch_a;
      bs += 2 * S::pitch_b;
    };
    const auto second_of_two = [&] {
      f[0].load(as, bs);
      add_products<differ, config.loads_within>(acc, f[1].a, f[1].b, last_k);
    };
    enter_stage(stages == 1);
    f[0].load(as, bs);
    // A stage's last steps come after the loop: a test for them inside it takes instructions in
    // each iteration.
#pragma unroll 1
    for (int left = stages; left > 0; --left) {
#pragma unroll 1
      for (int step = 2; step < steps; step += 2) {
        first_of_two();
        second_of_two();
      }
      first_of_two();
      // All elements of this stage that the warp needs are in registers.
      __syncwarp();
      if (own.tid % 32 == 0) mbarrier_arrive(&shared_.free[ring_.stage]);
      ring_.advance();
      if (left > 1)
        enter_stage(left == 2);
      else
        as = bs = shared_.idle;
      second_of_two();
    }
  }

 private:
  Shared<config>& shared_;
  Ring<S::stages> ring_;
};

}  // namespace KW_TARGET::complex_stream
