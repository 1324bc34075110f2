// thin: products with m <= 8 or n <= 8. They take little more time than reading the wide operand
// once; the rest of the kernel is arranged around that (thin_plan.hpp says which operand that is).
//
// Idea    Every thread has 4 rows x 4 k of the wide operand in registers, by four 16-byte loads,
//         and the next 4 x 4 on their way. The narrow operand lies in shared memory, [j][k], where
//         four k are one load whether the wide operand is contiguous along k or along its rows.
//         Threads of a block that share rows add up through shared memory. Where there are too few
//         rows to fill the device, blocks share them too, each with a part of k, and who comes last
//         adds up the parts.
// Limits  The device's memory bandwidth. Lines that are not 16-byte aligned are read 4 bytes a
//         load, four loads for one.
// Order   Of a thread: k ascending; then over the threads along k, then over the parts, both
//         ascending. The same bits for the same inputs on the same kind of device.
#include <iterator>
#include <utility>

#include "device/overlap.hpp"
#include "device/ticket.hpp"
#include "device/tile.hpp"
#include "sgemm/production.hpp"
#include "sgemm/thin_plan.hpp"

namespace KW_TARGET {
namespace {

constexpr int threads = thin_tuning.threads;
constexpr int chunk = thin_tuning.chunk;
static_assert(chunk % (4 * threads) == 0, "the longest step: all threads along k");

// This thread among those of its block, which lie along the wide operand's lines first.
template <bool along_k, bool aligned>
struct Place {
  int row_thread, k_thread;
  // From one to the next of a thread's four rows and of its four k: neighbours where they come by
  // one load, and where the narrow operand's do.
  int row_pitch, k_pitch;

  __device__ explicit Place(const ThinPlan& plan) {
    const int tid = static_cast<int>(threadIdx.x);
    k_thread = along_k ? tid % plan.k_threads : tid / plan.row_threads;
    row_thread = along_k ? tid / plan.k_threads : tid % plan.row_threads;
    row_pitch = !along_k && aligned ? 1 : plan.row_threads;
    k_pitch = along_k && !aligned ? plan.k_threads : 1;
  }
  // Row i of a thread, in the block.
  __device__ int row(int thread, int i) const {
    return (row_pitch == 1 ? 4 * thread : thread) + i * row_pitch;
  }
  __device__ int first_row() const { return row(row_thread, 0); }
  __device__ int first_k() const { return k_pitch == 1 ? 4 * k_thread : k_thread; }
};

// Four floats that nobody reads again: L1 keeps none of them.
__device__ __forceinline__ float4 read_once(const float* x) {
#if defined(__CUDA_ARCH__)
  float4 four;
  asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
      : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
      : "l"(x));
  return four;
#else
  return *reinterpret_cast<const float4*>(x);
#endif
}

// A thread's way through the wide operand, a step at a time. Its lines lie ld apart: `outer` counts
// them, `inner` the elements of a line.
template <bool along_k, bool aligned>
class WideOperand {
 public:
  __device__ WideOperand(const float* x, const ThinPlan& plan, const Place<along_k, aligned>& place,
                         std::int64_t row0, std::int64_t k0, std::int64_t k_end)
      : ld_(plan.ld),
        step_(plan.step()),
        outer_pitch_(along_k ? place.row_pitch : place.k_pitch),
        inner_pitch_(along_k ? place.k_pitch : place.row_pitch),
        rows_left_(here(plan, row0) - place.first_row()),
        k_left_(static_cast<int>(k_end - k0) - place.first_k()),
        inside_(along_k ? static_cast<int>(k_end - k0) : here(plan, row0)),
        inner_extent_(along_k ? plan.step() : plan.block_rows()) {
    const std::int64_t row = row0 + place.first_row(), k = k0 + place.first_k();
    at_ = x + (along_k ? row * ld_ + k : k * ld_ + row);
  }

  // x[i][e] = element k e of row i; 0 outside.
  __device__ __forceinline__ void next(float (&x)[4][4]) {
    if (inside_ >= inner_extent_)
      load<true>(x);
    else
      load<false>(x);
    at_ += along_k ? step_ : step_ * ld_;
    k_left_ -= step_;
    if (along_k) inside_ -= step_;
  }

 private:
  // Rows that the block has.
  __device__ static int here(const ThinPlan& plan, std::int64_t row0) {
    const std::int64_t left = plan.rows - row0;
    return left < plan.block_rows() ? static_cast<int>(left) : plan.block_rows();
  }

  template <bool whole>
  __device__ __forceinline__ void load(float (&x)[4][4]) const {
    const int outer_left = along_k ? rows_left_ : k_left_;
    const int inner_left = along_k ? k_left_ : rows_left_;
    const float* line = at_;
#pragma unroll
    for (int o = 0; o < 4; ++o, line += outer_pitch_ * ld_) {
      const bool here = o * outer_pitch_ < outer_left;
      float4 four = make_float4(0, 0, 0, 0);
      if constexpr (whole && aligned) {
        if (here) four = read_once(line);
      } else {
        const auto element = [&](int q) {
          return here && (whole || q * inner_pitch_ < inner_left) ? __ldg(line + q * inner_pitch_)
                                                                  : 0.0f;
        };
        four = make_float4(element(0), element(1), element(2), element(3));
      }
      (along_k ? x[o][0] : x[0][o]) = four.x;
      (along_k ? x[o][1] : x[1][o]) = four.y;
      (along_k ? x[o][2] : x[2][o]) = four.z;
      (along_k ? x[o][3] : x[3][o]) = four.w;
    }
  }

  const float* at_;
  std::int64_t ld_;
  int step_, outer_pitch_, inner_pitch_;
  int rows_left_, k_left_;  // from this thread's first element on
  int inside_;              // of the wide operand, along a line from the block's first element on
  int inner_extent_;        // of the block along a line
};

// Which part of the product a block computes.
struct Unit {
  unsigned entry, row_block, part;

  // Neighbouring blocks read neighbouring memory.
  __device__ Unit(const ThinPlan& plan, bool along_k) {
    const auto parts = static_cast<unsigned>(plan.parts);
    const auto row_blocks = static_cast<unsigned>(plan.row_blocks);
    const unsigned in_entry = blockIdx.x % (parts * row_blocks);
    entry = blockIdx.x / (parts * row_blocks);
    row_block = along_k ? in_entry / parts : in_entry % row_blocks;
    part = along_k ? in_entry % parts : in_entry / row_blocks;
  }
  __device__ std::int64_t first_row(const ThinPlan& plan) const {
    return static_cast<std::int64_t>(row_block) * plan.block_rows();
  }
};

// narrow[j * chunk + kk] = narrow operand's element j of row k0 + kk, 0 behind k_end and width.
template <int W>
__device__ __forceinline__ void fetch_narrow(float* narrow, const float* v, const ThinPlan& plan,
                                             std::int64_t k0, std::int64_t k_end) {
  const std::int64_t here = k_end - k0 < chunk ? k_end - k0 : chunk;
  const int step = plan.step();
  const int filled = static_cast<int>((here + step - 1) / step) * step;
  v += k0 * plan.narrow_k;
  for (int j = 0; j < W; ++j)
    for (int kk = static_cast<int>(threadIdx.x); kk < filled; kk += threads)
      narrow[j * chunk + kk] =
          kk < here && j < plan.width ? __ldg(v + kk * plan.narrow_k + j * plan.narrow_j) : 0;
}

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
                                           const ThinPlan& plan, const Unit& unit,
                                           const Place<along_k, aligned>& place) {
  const std::int64_t k0 = unit.part * plan.k_per_part;
  const std::int64_t k_end = p.k - k0 < plan.k_per_part ? p.k : k0 + plan.k_per_part;
  const float* const a = a_of(p, unit.entry);
  const float* const b = b_of(p, unit.entry);
  WideOperand<along_k, aligned> wide(plan.wide_is_b ? b : a, plan, place, unit.first_row(plan), k0,
                                     k_end);
  float x[4][4], ahead[4][4];
  wide.next(x);
  for (std::int64_t k = k0; k < k_end; k += chunk) {
    if (k > k0) __syncthreads();  // nobody needs the chunk before any more
    fetch_narrow<W>(narrow, plan.wide_is_b ? a : b, plan, k, k_end);
    __syncthreads();
    const int here = k_end - k < chunk ? static_cast<int>(k_end - k) : chunk;
    for (int at = place.first_k(); at < here + place.first_k(); at += plan.step()) {
      wide.next(ahead);  // behind the last step: nothing
      multiply<!along_k || aligned>(acc, x, narrow + at, place.k_pitch);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) x[i][e] = ahead[i][e];
    }
  }
}

// C's element for output o of a block: outputs go over the row threads first, then over a thread's
// rows, then over j.
template <bool along_k, bool aligned>
__device__ __forceinline__ void store_output(const Sgemm& p, const ThinPlan& plan,
                                             const Place<along_k, aligned>& place,
                                             std::int64_t row0, int o, float sum) {
  const std::int64_t row = row0 + place.row(o % plan.row_threads, o / plan.row_threads % 4);
  if (row >= plan.rows) return;
  float* c = p.c + row * plan.c_row + o / plan.block_rows() * plan.c_j;
  *c = blend(p.alpha, sum, p.beta, c);
}

// sums[o][k_thread] = acc, an odd number of floats an output: no two of a warp in one bank.
template <bool along_k, bool aligned, int W>
__device__ __forceinline__ void leave_sums(float* sums, const float (&acc)[4][W],
                                           const ThinPlan& plan,
                                           const Place<along_k, aligned>& place) {
#pragma unroll
  for (int j = 0; j < W; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[((4 * j + i) * plan.row_threads + place.row_thread) * (plan.k_threads + 1) +
           place.k_thread] = acc[i][j];
}
__device__ __forceinline__ float add_sums(const float* sums, const ThinPlan& plan, int o) {
  const float* from = sums + o * (plan.k_threads + 1);
  float sum = 0;
#pragma unroll 8
  for (int t = 0; t < plan.k_threads; ++t) sum += from[t];
  return sum;
}

// Parts of a row block, [part][output] in the workspace.
struct Parts {
  float* first;
  unsigned* ticket;

  __device__ Parts(const Workspace& workspace, const ThinPlan& plan, const Unit& unit) {
    const std::int64_t group = std::int64_t{unit.entry} * plan.row_blocks + unit.row_block;
    first = static_cast<float*>(workspace.data) + group * plan.parts * plan.outputs();
    ticket = workspace.tickets + group;
  }
};

template <int W, bool along_k, bool aligned>
__device__ __forceinline__ void compute(const Sgemm& all, const ThinPlan& plan,
                                        const Workspace& workspace) {
  // A chunk of the narrow operand, then sums. There are at least 8 threads along k.
  constexpr int sums = 4 * W * (threads + threads / 8);
  alignas(16) __shared__ float shared[W * chunk > sums ? W * chunk : sums];
  __shared__ bool last;

  const Place<along_k, aligned> place(plan);
  const Unit unit(plan, along_k);
  float acc[4][W] = {};
  if (reads_operands(all)) accumulate(acc, shared, all, plan, unit, place);
  let_next_kernel_start();
  __syncthreads();
  leave_sums(shared, acc, plan, place);
  __syncthreads();

  const int tid = static_cast<int>(threadIdx.x);
  const std::int64_t row0 = unit.first_row(plan);
  const Sgemm p = entry_of(all, unit.entry);
  if (plan.parts == 1) {
    for (int o = tid; o < plan.outputs(); o += threads)
      store_output(p, plan, place, row0, o, add_sums(shared, plan, o));
    return;
  }
  const Parts parts(workspace, plan, unit);
  for (int o = tid; o < plan.outputs(); o += threads)
    parts.first[unit.part * plan.outputs() + o] = add_sums(shared, plan, o);
  __syncthreads();
  if (tid == 0) {
    last = take_ticket(parts.ticket) + 1 == static_cast<unsigned>(plan.parts);
    if (last) *parts.ticket = 0;  // for the next launch
  }
  __syncthreads();
  if (!last) return;
  for (int o = tid; o < plan.outputs(); o += threads) {
    float sum = 0;
#pragma unroll 8
    for (std::int64_t part = 0; part < plan.parts; ++part)
      sum += __ldcg(&parts.first[part * plan.outputs() + o]);
    store_output(p, plan, place, row0, o, sum);
  }
}

template <int row, bool along_k, bool aligned>
__global__ void __launch_bounds__(threads, thin_configs[row].blocks_per_sm)
    thin(const Sgemm all, const ThinPlan plan, const Workspace workspace) {
  begin_concurrent(all);
  if (!is_called_off(all)) compute<thin_configs[row].width, along_k, aligned>(all, plan, workspace);
  end_concurrent(all);
}

using ThinKernel = void (*)(Sgemm, ThinPlan, Workspace);

template <int row>
ThinKernel instance(const ThinPlan& plan) {
  if (plan.along_k) return plan.aligned ? thin<row, true, true> : thin<row, true, false>;
  return plan.aligned ? thin<row, false, true> : thin<row, false, false>;
}

template <std::size_t... row>
ThinKernel instance_of(const ThinPlan& plan, std::index_sequence<row...>) {
  constexpr ThinKernel (*instances[])(const ThinPlan&) = {instance<static_cast<int>(row)>...};
  return instances[thin_config_of(plan.width)](plan);
}

}  // namespace

std::optional<Plan<Sgemm>> thin_make_plan(const Sgemm& problem, const Device& device) {
  if (!is_thin(problem)) return std::nullopt;
  const ThinPlan thin = thin_plan(problem, device);
  if (!thin_counts(problem, thin)) return std::nullopt;
  const double us = predict_us(thin, problem, device);
  Plan<Sgemm> plan = {
      .time_us = us, .cost = us, .workspace_bytes = thin.workspace_bytes(problem.batch)};
  plan.data.set(thin);
  return plan;
}

Status thin_launch_plan(const Sgemm& problem, const Device&, const Plan<Sgemm>& planned,
                        Workspace workspace, Stream stream) {
  if (problem.m == 0 || problem.n == 0) return Status::success();
  const auto plan = planned.data.get<ThinPlan>();
  const ThinKernel kernel = instance_of(plan, std::make_index_sequence<std::size(thin_configs)>());
  const auto blocks = static_cast<unsigned>(plan.blocks(problem.batch));
  return gpu::launch(
      kernel, {.grid = dim3(blocks), .block = dim3(threads), .stream = stream, .overlap = true},
      problem, plan, workspace);
}

}  // namespace KW_TARGET
