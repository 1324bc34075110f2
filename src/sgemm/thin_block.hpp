// What a block of `thin` computes (thin.cu): its part of a product, from the operands to C.
#pragma once

#include <type_traits>

#include "device/arrival.hpp"
#include "device/overlap.hpp"
#include "sgemm/finish.hpp"
#include "sgemm/thin_operand.hpp"
#include "sgemm/thin_plan.hpp"
#include "sgemm/thin_sums.hpp"

namespace KW_TARGET::thin {

// acc[i][j] += sum over e of x[i][e] * narrow[j][this thread's k e]. `apart`: the products are
// added up before that.
template <class Narrow, bool apart, int R, int D, int W, class Position>
__device__ __forceinline__ void multiply(float (&acc)[R][W], const float (&x)[R][D],
                                         const float* shared, const Position& own, int at) {
#pragma unroll
  for (int j = 0; j < W; ++j) {
    float sum[R];
#pragma unroll
    for (int i = 0; i < R; ++i) sum[i] = apart ? 0 : acc[i][j];
#pragma unroll
    for (int e = 0; e < D; e += 4) {
      const float4 v = Narrow::four(shared, own, j, at, e);
#pragma unroll
      for (int i = 0; i < R; ++i) {
        sum[i] = fmaf(x[i][e], v.x, sum[i]);
        sum[i] = fmaf(x[i][e + 1], v.y, sum[i]);
        sum[i] = fmaf(x[i][e + 2], v.z, sum[i]);
        sum[i] = fmaf(x[i][e + 3], v.w, sum[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < R; ++i) acc[i][j] = apart ? acc[i][j] + sum[i] : sum[i];
  }
}

// The threads that compute are the whole block.
struct WholeBlock {
  __device__ __forceinline__ static void sync() { __syncthreads(); }
};

// acc += this thread's part of the block's part of the product. The first `before` k of it are
// before the operands' first one.
template <class Threads, int chunk, ThinSums sums, int D, class Wide, class Position, int R, int W>
__device__ __forceinline__ void accumulate(float (&acc)[R][W], float* shared, const ThinPlan& plan,
                                           const Position& own, Wide& wide, const float* narrow,
                                           int before) {
  using Narrow = NarrowChunk<W, chunk, Position>;
  // Two steps are under way while the narrow operand is. What is little is asked for first. A chunk
  // has whole pairs of steps, or one step.
  constexpr bool narrow_first = W <= 4, apart = sums == ThinSums::steps_apart;
  const int step = own.step();
  int left = wide.left();
  const auto fetch = [&] {
    Narrow::fetch(shared, narrow, plan, before, left < chunk ? left : chunk);
    async_commit();
    narrow += chunk * plan.narrow_k;
    before = 0;
  };
  float x[2][R][D];
  float totals[R][W] = {};  // where sums are folded
  const auto fold = [&] {
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
      for (int j = 0; j < W; ++j) {
        totals[i][j] += acc[i][j];
        acc[i][j] = 0;
      }
  };
  if (narrow_first) fetch();
  wide.first(x[0]);
  if (step < chunk && wide.more()) wide.first(x[1]);
  if (!narrow_first) fetch();
  for (;;) {
    async_wait<0>();
    Threads::sync();
    const int here = left < chunk ? left : chunk;
    for (int at = 0; at < here; at += step) {
      multiply<Narrow, apart>(acc, x[0], shared, own, at);
      if (wide.more()) wide.next(x[0]);
      at += step;
      if (at >= here) break;
      multiply<Narrow, apart>(acc, x[1], shared, own, at);
      if (wide.more()) wide.next(x[1]);
      // After each pair of steps of eight products, and after every other one of four.
      if constexpr (sums == ThinSums::folded)
        if (D >= 8 || (at & (2 * step)) != 0) fold();
    }
    left -= chunk;
    if (left <= 0) break;
    Threads::sync();  // no thread still reads this chunk
    fetch();
  }
  if constexpr (sums == ThinSums::folded) {
#pragma unroll
    for (int i = 0; i < R; ++i)
#pragma unroll
      for (int j = 0; j < W; ++j) acc[i][j] += totals[i][j];
  }
}

// Stores the sum over the block's threads of each of its outputs.
template <class Threads, int J, bool in_lanes, int R, int D, int W, bool along_k, ThinLoads loads>
__device__ __forceinline__ void add_threads(float (&acc)[R][W], float* shared, const ThinPlan& plan,
                                            const ThreadPosition<R, D, along_k, loads>& own,
                                            const Target& target) {
  int count = own.k_threads, number = own.k_thread;
  bool writes = true;
  if constexpr (in_lanes) {
    const int lanes_shift = plan.k_lanes_shift();
    const int first = along_k ? 1 : own.row_threads;
    add_lanes(acc, first, first << lanes_shift);
    writes = (number & ((1 << lanes_shift) - 1)) == 0;
    count >>= lanes_shift;
    number >>= lanes_shift;
  }
  if (count <= 1) {
    if (!writes) return;
#pragma unroll
    for (int j = 0; j < W; ++j)
#pragma unroll
      for (int i = 0; i < R; ++i) target.store(own.row(own.row_thread, i), j, acc[i][j]);
    return;
  }
  // An output has an odd number of floats, so that no two threads of a warp meet one bank.
  const int outputs = R * J * own.row_threads;
#pragma unroll
  for (int j0 = 0; j0 < W; j0 += J) {
    Threads::sync();  // no thread still reads what was there
#pragma unroll
    for (int i = 0; i < R; ++i) {
      if (!writes) continue;
#pragma unroll
      for (int j = 0; j < J; ++j)
        shared[((R * j + i) * own.row_threads + own.row_thread) * (count + 1) + number] =
            acc[i][j0 + j];
    }
    Threads::sync();
    add_up<1>(
        outputs, count, plan.sum_shift, plan.threads(),
        [&](int o, int t) { return shared[o * (count + 1) + t]; },
        [&](int o, float sum) {
          const int of_thread = o >> plan.row_shift;
          const int thread = o & (own.row_threads - 1);
          target.store(own.row(thread, of_thread % R), j0 + of_thread / R, sum);
        });
  }
}

// The outputs of a block: some rows of the wide operand, row_stride apart, times the narrow one.
struct BlockOutputs {
  std::int64_t first_row;
  unsigned entry;
  int rows, row_stride, width, threads;
  bool wide_is_b;
};

// Out of line, as finish_stored is.
template <class Threads>
[[gnu::noinline]] __device__ void finish_outputs(const Sgemm& all, const BlockOutputs out) {
  Threads::sync();  // all are stored
  // Rows that are not neighbours one at a time.
  const int wides = out.row_stride == 1 ? out.rows : 1, parts = out.rows / wides;
  for (int i = 0; i < parts; ++i) {
    const std::int64_t wide = out.first_row + i * std::int64_t{out.row_stride};
    finish_part<1>(all,
                   out.wide_is_b ? StoredPart{out.entry, 0, wide, out.width, wides}
                                 : StoredPart{out.entry, wide, 0, wides, out.width},
                   static_cast<int>(threadIdx.x), out.threads);
  }
}

// That of a product's block number `block`, by the first threads of a block, as many as the plan
// has.
template <int row, bool along_k, ThinLoads loads, class Threads = WholeBlock>
__device__ __forceinline__ void compute(const Sgemm& all, const ThinPlan& plan,
                                        const Workspace& workspace, unsigned block, float* shared,
                                        bool& is_last) {
  constexpr ThinConfig config = thin_configs[row];
  constexpr int R = config.rows, D = config.depth, W = config.width;
  constexpr ThinSums thread_sums = config.thread_sums(along_k, loads == ThinLoads::single);

  using Position = ThreadPosition<R, D, along_k, loads>;
  const Position own(plan);
  constexpr int row_stride = Position::every_fourth_row ? 4 : 1;
  const BlockShare<row_stride> share(plan, along_k, block);
  using Reader = std::conditional_t<config.keeps_steps(), StepReader, PlainReader>;
  WideOperand<R, D, along_k, loads, Reader, config.reads_whole_steps(along_k)> wide(plan, own,
                                                                                    share, all.k);

  begin_concurrent(all);
  let_next_kernel_start();
  if (exits_early(all)) return;
  float acc[R][W] = {};
  if (reads_operands(all)) {
    const float* const a = a_of(all, share.entry);
    const float* const b = b_of(all, share.entry);
    wide.begin(plan.wide_is_b ? b : a);
    const std::int64_t k0 = share.first_k(plan) - wide.k_shift();
    const float* const narrow = (plan.wide_is_b ? a : b) + k0 * plan.narrow_k;
    accumulate<Threads, config.chunk(), thread_sums, D>(acc, shared, plan, own, wide, narrow,
                                                        share.part == 0 ? wide.k_shift() : 0);
  }

  const Sgemm p = stored_first(entry_of(all, share.entry));
  const auto finish = [&] {
    if (all.epilogue.any())
      finish_outputs<Threads>(all, {share.first_row(plan), share.entry, share.rows(plan),
                                    row_stride, plan.width, plan.threads(), plan.wide_is_b});
  };
  const SharedSums sums(workspace, plan, share);
  const bool whole = plan.parts == 1;
  const int rows = share.rows(plan);
  const std::int64_t c_row = row_stride * plan.c_row;
  float* const c = p.c + share.first_row(plan) * plan.c_row;
  const Target target = {.first = whole ? c : sums.first + share.part * plan.outputs(),
                         .row_stride = whole ? c_row : 1,
                         .j_stride = whole ? plan.c_j : plan.block_rows,
                         .alpha = whole ? p.alpha : 1,
                         .beta = whole ? p.beta : 0,
                         .rows = rows,
                         .width = plan.width};
  add_threads<Threads, config.sums_width(), config.adds_lanes()>(acc, shared, plan, own, target);
  if (whole) return finish();
  if (!arrives_last(
          is_last, static_cast<unsigned>(plan.parts), threadIdx.x == 0, [] { Threads::sync(); },
          [&] { return sums.ticket; }))
    return;
  const Target to_c = {c, c_row, plan.c_j, p.alpha, p.beta, rows, plan.width};
  const auto gather = [&](auto at_once) {
    add_up<decltype(at_once)::value>(
        plan.outputs(), static_cast<int>(plan.parts), plan.gather_shift, plan.threads(),
        [&](int o, int part) { return __ldcg(&sums.first[part * plan.outputs() + o]); },
        [&](int o, float sum) { to_c.store(o % plan.block_rows, o / plan.block_rows, sum); });
  };
  // What waits for L2 are loads of several outputs together, where a thread has several.
  if (plan.outputs() << plan.gather_shift > plan.threads())
    gather(std::integral_constant<int, 4>());
  else
    gather(std::integral_constant<int, 1>());
  finish();
}

}  // namespace KW_TARGET::thin
