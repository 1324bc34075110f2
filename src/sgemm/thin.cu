// thin: products with m <= 8 or n <= 8. They take little more time than reading the wide operand
// once; the rest of the kernel is arranged around that (thin_plan.hpp says which operand that is).
//
// Idea    Every thread has 4 rows x 4 k of the wide operand in registers, by four 16-byte loads,
//         and the next 4 x 4 on their way. The narrow operand lies in shared memory, [j][k], where
//         four k are one load whether the wide operand is contiguous along k or along its rows.
//         Threads of a block that share rows add up through shared memory. Where there are too few
//         rows to fill the device, blocks share them too, each with a part of k, and the last block
//         to arrive adds up the parts.
// Limits  The device's memory bandwidth. Lines that are not 16-byte aligned are read 4 bytes per
//         load, four loads for one.
// Order   In a thread k ascending; then over the threads along k, then over the parts, both
//         ascending. The same bits for the same inputs on the same kind of device.
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
template <bool neighbours, int W>
__device__ __forceinline__ void multiply(float (&acc)[4][W], const float (&x)[4][4],
                                         const float* narrow, int k_pitch) {
#pragma unroll
  for (int j = 0; j < W; ++j, narrow += chunk) {
    float4 v;
    if constexpr (neighbours)
      v = *reinterpret_cast<const float4*>(narrow);
    else
      v = make_float4(narrow[0], narrow[k_pitch], narrow[2 * k_pitch], narrow[3 * k_pitch]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      acc[i][j] = fmaf(x[i][0], v.x, acc[i][j]);
      acc[i][j] = fmaf(x[i][1], v.y, acc[i][j]);
      acc[i][j] = fmaf(x[i][2], v.z, acc[i][j]);
      acc[i][j] = fmaf(x[i][3], v.w, acc[i][j]);
    }
  }
}

// acc += this thread's part of the block's part of the product.
template <bool along_k, bool aligned, int W>
__device__ __forceinline__ void accumulate(float (&acc)[4][W], float* narrow, const Sgemm& p,
                                           const ThinPlan& plan, const BlockShare& share,
                                           const ThreadPosition<along_k, aligned>& own) {
  const std::int64_t k0 = share.part * plan.k_per_part;
  const std::int64_t k_end = p.k - k0 < plan.k_per_part ? p.k : k0 + plan.k_per_part;
  const float* const a = a_of(p, share.entry);
  const float* const b = b_of(p, share.entry);
  WideOperand<along_k, aligned> wide(plan.wide_is_b ? b : a, plan, own, share.first_row(plan), k0,
                                     k_end);
  float x[4][4], ahead[4][4];
  wide.next(x);
  for (std::int64_t k = k0; k < k_end; k += chunk) {
    if (k > k0) __syncthreads();  // no thread still reads the previous chunk
    fetch_narrow<W>(narrow, plan.wide_is_b ? a : b, plan, k, k_end);
    __syncthreads();
    const int here = k_end - k < chunk ? static_cast<int>(k_end - k) : chunk;
    for (int at = own.first_k(); at < here + own.first_k(); at += plan.step()) {
      wide.next(ahead);  // zeros behind the last step
      multiply<!along_k || aligned>(acc, x, narrow + at, own.k_pitch);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) x[i][e] = ahead[i][e];
    }
  }
}

template <int W, bool along_k, bool aligned>
__device__ __forceinline__ void compute(const Sgemm& all, const ThinPlan& plan,
                                        const Workspace& workspace) {
  // A chunk of the narrow operand, later sums, of which an output has one more than threads along
  // k.
  constexpr int sums = 4 * W * (threads + threads / thin_tuning.min_k_threads);
  alignas(16) __shared__ float shared[W * chunk > sums ? W * chunk : sums];
  __shared__ bool is_last;

  const ThreadPosition<along_k, aligned> own(plan);
  const BlockShare share(plan, along_k);
  float acc[4][W] = {};
  if (reads_operands(all)) accumulate(acc, shared, all, plan, share, own);
  let_next_kernel_start();
  __syncthreads();
  leave_sums(shared, acc, plan, own);
  __syncthreads();

  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t row0 = share.first_row(plan);
  const Sgemm p = entry_of(all, share.entry);
  if (plan.parts == 1) {
    for (int o = tid; o < plan.outputs(); o += threads)
      store_output(p, plan, own, row0, o, add_sums(shared, plan, o));
    return;
  }
  const SharedSums all_sums(workspace, plan, share);
  for (int o = tid; o < plan.outputs(); o += threads)
    all_sums.first[share.part * plan.outputs() + o] = add_sums(shared, plan, o);
  if (!arrives_last(
          is_last, static_cast<unsigned>(plan.parts), tid == 0, [] { __syncthreads(); },
          [&] { return all_sums.ticket; }))
    return;
  for (int o = tid; o < plan.outputs(); o += threads) {
    float sum = 0;
#pragma unroll 8
    for (std::int64_t part = 0; part < plan.parts; ++part)
      sum += __ldcg(&all_sums.first[part * plan.outputs() + o]);
    store_output(p, plan, own, row0, o, sum);
  }
}

template <int row, bool along_k, bool aligned>
__global__ void __launch_bounds__(threads, thin_configs[row].blocks_per_sm)
    thin(const Sgemm all, const ThinPlan plan, const Workspace workspace) {
  begin_concurrent(all);
  if (!exits_early(all)) compute<thin_configs[row].width, along_k, aligned>(all, plan, workspace);
  end_concurrent(all);
}

}  // namespace thin

namespace {

using ThinKernel = void (*)(Sgemm, ThinPlan, Workspace);

template <int row>
ThinKernel instance(const ThinPlan& plan) {
  if (plan.along_k)
    return plan.aligned ? thin::thin<row, true, true> : thin::thin<row, true, false>;
  return plan.aligned ? thin::thin<row, false, true> : thin::thin<row, false, false>;
}

template <std::size_t... row>
ThinKernel instance_of(const ThinPlan& plan, std::index_sequence<row...>) {
  constexpr ThinKernel (*instances[])(const ThinPlan&) = {instance<static_cast<int>(row)>...};
  return instances[thin_config_of(plan.width)](plan);
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
  return gpu::launch(
      kernel,
      {.grid = dim3(blocks), .block = dim3(thin::threads), .stream = stream, .overlap = true},
      problem, plan, workspace);
}

}  // namespace KW_TARGET
