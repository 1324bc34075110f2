// The loop of lean_tile. Nothing in it waits for what has just been asked for: the copies of a
// stage go out beside the products of another, and the elements of its first k are loaded beside
// the products of the last k before it.
#pragma once

#include <type_traits>
#include <utility>

#include "sgemm/lean_block.hpp"
#include "sgemm/lean_copies.hpp"

namespace KW_TARGET {

// What a ring of stages has, whichever stages it copies: `First` and `Second` (LeanCopies) each
// copy an operand's part of one.
template <LeanTileConfig tile, class First, class Second>
class LeanStages {
 public:
  // Starts the copies of the next stage, if there is one, in parts: beside the products of each k
  // of a stage.
  template <int k>
  __device__ __forceinline__ void fill_beside() {
    if constexpr (k == 0) {
      begin_to_fill();
      start_all(first_, shared_, to_fill_);
    }
    if constexpr (k == S::bk / 2) start_all(second_, shared_, to_fill_);
    if constexpr (k == S::bk - 1) end_to_fill();
  }
  // The stage behind the one at `offset`.
  __device__ static int behind(int offset) {
    return offset + S::stage < size ? offset + S::stage : 0;
  }

 protected:
  using S = LeanShape<tile>;

  // `left`: whole stages behind the first one.
  __device__ __forceinline__ LeanStages(float* shared, const First& first, const Second& second,
                                        int left)
      : shared_(shared), first_(first), second_(second), left_(left) {}

  __device__ __forceinline__ void begin_to_fill() {
    if (left_ <= 0) first_.stop(), second_.stop();
  }
  __device__ __forceinline__ void end_to_fill() {
    async_commit();
    --left_;
    to_fill_ = behind(to_fill_);
  }

  float* const shared_;
  First first_;
  Second second_;
  int left_, to_fill_ = 0;

 private:
  static constexpr int size = tile.stages * S::stage;
};

template <LeanTileConfig tile, Op op_a>
using LeanCopiesOfA = LeanCopies<tile.threads(), LeanShape<tile>::bm, LeanShape<tile>::bk,
                                 op_a == Op::none ? tile.turned : 0>;
template <LeanTileConfig tile, Op op_b>
using LeanCopiesOfB = LeanCopies<tile.threads(), LeanShape<tile>::bn, LeanShape<tile>::bk,
                                 op_b != Op::none ? tile.turned : 0>;

// The ring of a product's stages. The first one has what k is beyond whole stages, or all of one.
template <LeanTileConfig tile, Op op_a, Op op_b>
class LeanRing : public LeanStages<tile, LeanCopiesOfA<tile, op_a>, LeanCopiesOfB<tile, op_b>> {
  using Base = LeanStages<tile, LeanCopiesOfA<tile, op_a>, LeanCopiesOfB<tile, op_b>>;
  using S = LeanShape<tile>;
  using Base::shared_, Base::first_, Base::second_, Base::to_fill_;

 public:
  // Whether copies of some stages are of more code than products should wait for.
  static constexpr bool has_slow_stages = false;

  __device__ __forceinline__ LeanRing(float* shared, const Sgemm& p, const LeanOutputs<tile>& out,
                                      int left)
      : Base(shared,
             {p.a + (op_a == Op::none ? out.row * p.lda : out.row), p.lda,
              rows_aligned_16(p.a, p.lda), out.rows, 0},
             {p.b + (op_b == Op::none ? out.col : out.col * p.ldb), p.ldb,
              rows_aligned_16(p.b, p.ldb), out.cols, S::bk * S::pitch_a},
             left) {}

  __device__ __forceinline__ void compute() { first_.compute(), second_.compute(); }
  // Starts the copies of the first stage, of `depth` k.
  __device__ __forceinline__ void fill_first(int depth) {
    first_.start_some(shared_, 0, depth), first_.move(depth);
    second_.start_some(shared_, 0, depth), second_.move(depth);
    async_commit();
    to_fill_ = S::stage;
  }
  // Starts those of the next stage, if there is one.
  __device__ __forceinline__ void fill() {
    Base::begin_to_fill();
    start_all(first_, shared_, to_fill_);
    start_all(second_, shared_, to_fill_);
    Base::end_to_fill();
  }
};

// Adds up the products of all stages of a ring: the first one of `depth` k, none where that is 0,
// and `left` whole ones. `begin` waits for the kernel before, once all that memory has no part in
// is computed, and says whether there is anything to do.
template <LeanTileConfig tile, Op op_a, Op op_b, class Ring, class Begin>
__device__ __forceinline__ bool multiply_stages(LeanSums<tile>& acc, float* shared, Ring& ring,
                                                int depth, int left, const Begin& begin) {
  using S = LeanShape<tile>;
  const LeanPlace<tile> place;
  const float *const a = shared + place.m, *const b = shared + S::bk * S::pitch_a + place.n;
  ring.compute();
  if (!begin()) return false;
  if (depth == 0) return true;
  const auto wait_for_next = [] {
    async_wait<tile.stages - 2>();
    __syncthreads();  // it is here, and nobody reads the stage before any more
  };

  ring.fill_first(depth);
#pragma unroll 1
  for (int stage = 2; stage < tile.stages; ++stage) ring.fill();
  wait_for_next();
  LeanElements<tile, op_a == Op::none, op_b != Op::none> elements;
  elements.multiply_some(acc, a, b, depth);
  if (left == 0) return true;

  ring.fill();
  wait_for_next();
  int stage = S::stage;
  if constexpr (Ring::has_slow_stages) {
    for (; ring.next_is_slow(); --left, stage = ring.behind(stage)) {
      ring.fill();
      elements.multiply_some(acc, a + stage, b + stage, S::bk);
      wait_for_next();
    }
  }
  elements.load(a + stage, b + stage, 0);
#pragma unroll 1
  for (; left > 0; --left) {
    const int next = ring.behind(stage);
    const auto multiply = [&](auto at) {
      constexpr int q = decltype(at)::value;
      if constexpr (q + 1 < S::bk) {
        elements.load(a + stage, b + stage, q + 1);
        ring.template fill_beside<q>();
      } else {
        ring.template fill_beside<q>();
        wait_for_next();
        elements.load(a + next, b + next, 0);
      }
      elements.multiply(acc, q);
    };
    const auto multiply_each = [&]<int... q>(std::integer_sequence<int, q...>) {
      (multiply(std::integral_constant<int, q>()), ...);
    };
    multiply_each(std::make_integer_sequence<int, S::bk>());
    stage = next;
  }
  return true;
}

// Adds up all products of a block's part of C.
template <LeanTileConfig tile, Op op_a, Op op_b, class Begin>
__device__ __forceinline__ bool multiply_all(LeanSums<tile>& acc, float* shared, const Sgemm& p,
                                             const LeanOutputs<tile>& out, const Begin& begin) {
  constexpr int bk = LeanShape<tile>::bk;
  const int k = static_cast<int>(p.k), depth = (k - 1) % bk + 1, left = (k - depth) / bk;
  LeanRing<tile, op_a, op_b> ring(shared, p, out, left);
  return multiply_stages<tile, op_a, op_b>(acc, shared, ring, depth, left, begin);
}

}  // namespace KW_TARGET
