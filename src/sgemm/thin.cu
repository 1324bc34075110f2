// thin: products with m <= 16 or n <= 16. They take little more time than reading the wide operand
// once; the rest of the kernel is arranged around that (thin_plan.hpp says which operand that is,
// and how a product is cut).
//
// Idea    Every thread has 4 rows x 4 k of the wide operand in registers, by four 16-byte loads,
//         and the next 4 x 4 on their way; where rows are few, 1 x 16 or 1 x 8, so that more
//         threads share the work. The narrow operand lies in shared memory, [j][k], where four k
//         are one load whether the wide operand is contiguous along k or along its rows. Threads of
//         a block that share rows add up through their warp's lanes, then through shared memory.
//         Where there are too few rows to fill the device, blocks share them too, each with a part
//         of k, and the last block to arrive adds up the parts.
// Lines   that do not start on a 16-byte boundary are read 4 bytes a load, or, where they are many
//         and each is one k of all rows, from the boundary before on: a thread then keeps to lines
//         in which boundaries lie alike, every fourth k.
// Limits  The device's memory bandwidth; where all is in L2 and small, the latency of two or three
//         accesses one after the other.
// Order   In a thread k ascending; then over the lanes, the threads along k and the parts, each in
//         an order that follows from the plan. The same bits for the same inputs on the same kind
//         of device.
#include <iterator>
#include <utility>

#include "device/arrival.hpp"
#include "device/overlap.hpp"
#include "sgemm/production.hpp"
#include "sgemm/thin_plan.hpp"
#include "sgemm/thin_sums.hpp"

namespace KW_TARGET {
namespace thin {

// acc[i][j] += sum over e of x[i][e] * narrow[j][this thread's k e]
template <class Narrow, int R, int D, int W, class Position>
__device__ __forceinline__ void multiply(float (&acc)[R][W], const float (&x)[R][D],
                                         const float* shared, const Position& own, int at) {
#pragma unroll
  for (int j = 0; j < W; ++j)
#pragma unroll
    for (int e = 0; e < D; e += 4) {
      const float4 v = Narrow::four(shared, own, j, at, e);
#pragma unroll
      for (int i = 0; i < R; ++i) {
        acc[i][j] = fmaf(x[i][e], v.x, acc[i][j]);
        acc[i][j] = fmaf(x[i][e + 1], v.y, acc[i][j]);
        acc[i][j] = fmaf(x[i][e + 2], v.z, acc[i][j]);
        acc[i][j] = fmaf(x[i][e + 3], v.w, acc[i][j]);
      }
    }
}

// acc += this thread's part of the block's part of the product. Gives the rows by which the
// thread's lie before those of its position.
template <int chunk, int R, int D, int W, bool along_k, ThinLoads loads>
__device__ __forceinline__ int accumulate(float (&acc)[R][W], float* shared, const Sgemm& p,
                                          const ThinPlan& plan, const BlockShare& share,
                                          const ThreadPosition<R, D, along_k, loads>& own) {
  using Narrow = NarrowChunk<W, chunk, ThreadPosition<R, D, along_k, loads>>;
  const std::int64_t k0 = share.part * plan.k_per_part;
  const std::int64_t k_end = p.k - k0 < plan.k_per_part ? p.k : k0 + plan.k_per_part;
  const float* const a = a_of(p, share.entry);
  const float* const b = b_of(p, share.entry);
  WideOperand<R, D, along_k, loads> wide(plan.wide_is_b ? b : a, plan, own, share.first_row(plan),
                                         k0, k_end);
  float x[R][D];
  wide.next(x);
  int left = static_cast<int>(k_end - k0);
  for (int k = 0; left > 0; k += chunk) {
    const int here = left < chunk ? left : chunk;
    if (k > 0) __syncthreads();  // no thread still reads the previous chunk
    Narrow::fetch(shared, plan.wide_is_b ? a : b, plan, k0 + k, here);
    __syncthreads();
    for (int at = 0; at < here; at += own.step(), left -= own.step()) {
      float ahead[R][D];
      if (left > own.step()) wide.next(ahead);
      multiply<Narrow>(acc, x, shared, own, at);
#pragma unroll
      for (int i = 0; i < R; ++i)
#pragma unroll
        for (int e = 0; e < D; ++e) x[i][e] = ahead[i][e];
    }
  }
  return wide.shift();
}

// Stores the sum over the block's threads of each of its outputs.
template <int J, bool in_lanes, int R, int D, int W, bool along_k, ThinLoads loads>
__device__ __forceinline__ void add_threads(float (&acc)[R][W], float* shared, const ThinPlan& plan,
                                            const ThreadPosition<R, D, along_k, loads>& own,
                                            int shift, const Target& target) {
  constexpr bool shifts_rows = loads == ThinLoads::shifted;
  int count = own.k_threads, number = own.k_thread;
  bool writes = true;
  if constexpr (in_lanes) {
    const int lanes = plan.k_lanes();
    const int first = along_k ? 1 : own.row_threads;
    if (lanes > 1) add_lanes(acc, first, first * lanes);
    count /= lanes;
    writes = number % lanes == 0;
    number /= lanes;
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
    __syncthreads();  // no thread still reads what was there
#pragma unroll
    for (int i = 0; i < R; ++i) {
      // Row i of a thread, or, shifted, of it or of its neighbour.
      int of_thread = i, thread = own.row_thread;
      if constexpr (shifts_rows) {
        of_thread = (i - shift) & 3;
        thread += (i - shift) >> 2;
      }
      if (!writes || thread < 0) continue;
#pragma unroll
      for (int j = 0; j < J; ++j)
        shared[((R * j + of_thread) * own.row_threads + thread) * (count + 1) + number] =
            acc[i][j0 + j];
    }
    __syncthreads();
    add_up(
        outputs, count, plan.sum_shift, plan.threads(),
        [&](int o, int t) { return shared[o * (count + 1) + t]; },
        [&](int o, float sum) {
          const int of_thread = o >> plan.row_shift;
          const int thread = o & (own.row_threads - 1);
          if (shifts_rows && thread == own.row_threads - 1) return;  // the next block's
          target.store(own.row(thread, of_thread % R), j0 + of_thread / R, sum);
        });
  }
}

template <int row, bool along_k, ThinLoads loads>
__device__ __forceinline__ void compute(const Sgemm& all, const ThinPlan& plan,
                                        const Workspace& workspace) {
  constexpr ThinConfig config = thin_configs[row];
  constexpr int R = config.rows, W = config.width;
  // A chunk of the narrow operand, later sums.
  alignas(16) __shared__ float shared[config.shared_floats()];
  __shared__ bool is_last;

  const ThreadPosition<R, config.depth, along_k, loads> own(plan);
  const BlockShare share(plan, along_k);
  float acc[R][W] = {};
  int shift = 0;
  if (reads_operands(all)) shift = accumulate<config.chunk()>(acc, shared, all, plan, share, own);

  const std::int64_t row0 = share.first_row(plan);
  const int rows =
      plan.rows - row0 < plan.block_rows() ? static_cast<int>(plan.rows - row0) : plan.block_rows();
  const Sgemm p = entry_of(all, share.entry);
  const SharedSums sums(workspace, plan, share);
  const bool whole = plan.parts == 1;
  float* const c = p.c + row0 * plan.c_row;
  const Target target = {.first = whole ? c : sums.first + share.part * plan.outputs(),
                         .row_stride = whole ? plan.c_row : 1,
                         .j_stride = whole ? plan.c_j : plan.block_rows(),
                         .alpha = whole ? p.alpha : 1,
                         .beta = whole ? p.beta : 0,
                         .rows = rows,
                         .width = plan.width};
  add_threads<config.sums_width(), config.adds_lanes()>(acc, shared, plan, own, shift, target);
  if (whole) return;
  if (!arrives_last(
          is_last, static_cast<unsigned>(plan.parts), threadIdx.x == 0, [] { __syncthreads(); },
          [&] { return sums.ticket; }))
    return;
  const Target to_c = {c, plan.c_row, plan.c_j, p.alpha, p.beta, rows, plan.width};
  add_up(
      plan.outputs(), static_cast<int>(plan.parts), plan.gather_shift, plan.threads(),
      [&](int o, int part) { return __ldcg(&sums.first[part * plan.outputs() + o]); },
      [&](int o, float sum) { to_c.store(o % plan.block_rows(), o / plan.block_rows(), sum); });
}

template <int row, bool along_k, ThinLoads loads>
__global__ void __launch_bounds__(thin_configs[row].threads, thin_configs[row].blocks_per_sm)
    thin(const Sgemm all, const ThinPlan plan, const Workspace workspace) {
  begin_concurrent(all);
  let_next_kernel_start();
  if (!exits_early(all)) compute<row, along_k, loads>(all, plan, workspace);
  end_concurrent(all);
}

}  // namespace thin

namespace {

using ThinKernel = void (*)(Sgemm, ThinPlan, Workspace);

template <int row, bool along_k>
ThinKernel instance(const ThinPlan& plan) {
  // A thread with one row has nothing to read four of.
  if constexpr (along_k || thin_configs[row].rows == 4)
    if (plan.loads == ThinLoads::vector) return thin::thin<row, along_k, ThinLoads::vector>;
  if constexpr (!along_k && thin_configs[row].rows == 4)
    if (plan.loads == ThinLoads::shifted) return thin::thin<row, along_k, ThinLoads::shifted>;
  return thin::thin<row, along_k, ThinLoads::single>;
}

template <std::size_t... row>
ThinKernel instance_of(const ThinPlan& plan, std::index_sequence<row...>) {
  constexpr ThinKernel (*along_k[])(const ThinPlan&) = {instance<static_cast<int>(row), true>...};
  constexpr ThinKernel (*along_rows[])(const ThinPlan&) = {
      instance<static_cast<int>(row), false>...};
  return (plan.along_k ? along_k : along_rows)[plan.config](plan);
}

}  // namespace

std::optional<Plan<Sgemm>> thin_make_plan(const Sgemm& problem, const Device& device) {
  if (!is_thin(problem)) return std::nullopt;
  const ThinPlan own = thin_plan(problem, device);
  if (!thin_counts(problem, own)) return std::nullopt;
  const double us = predict_us(own, problem, device);
  Plan<Sgemm> plan = {
      .time_us = us, .cost = us, .workspace_bytes = own.workspace_bytes(problem.batch)};
  plan.data.set(own);
  return plan;
}

Status thin_launch_plan(const Sgemm& problem, const Device&, const Plan<Sgemm>& planned,
                        Workspace workspace, Stream stream) {
  if (problem.m == 0 || problem.n == 0) return Status::success();
  const auto plan = planned.data.get<ThinPlan>();
  const ThinKernel kernel = instance_of(plan, std::make_index_sequence<std::size(thin_configs)>());
  const auto blocks = static_cast<unsigned>(plan.blocks(problem.batch));
  return gpu::launch(kernel,
                     {.grid = dim3(blocks),
                      .block = dim3(static_cast<unsigned>(plan.threads())),
                      .stream = stream,
                      .overlap = true},
                     problem, plan, workspace);
}

}  // namespace KW_TARGET
