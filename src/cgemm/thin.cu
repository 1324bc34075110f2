// cgemm_thin: complex products with m <= 16 or n <= 16, as they are stored, in one launch. They
// take little more time than reading the wide operand once.
//
// Idea        A thread has some rows and some k of the wide operand a step, two steps under way.
//             The narrow operand is copied to shared memory past the registers, [j][k], in two
//             buffers. Threads that share rows add up through the lanes of their warp, each giving
//             half of its sums away for half of another's, then through shared memory, warps in
//             pairs. Where there are too few rows to fill the device blocks share them too, each
//             with a part of k, and the last block to arrive adds up the parts.
// L2          keeps of an operand that it cannot hold whole the steps that the plan names, and
// gives
//             up the others first: the next call finds these there.
// Conjugates  cost a sign of each element of the wide operand, as in tile.cu.
// Prediction  The device's memory bandwidth up to a width of 8; from there on the FFMAs.
// Limits      Where all is in L2 and small, the latency of two or three accesses one after another.
// Order       In a thread k ascending; then over lanes, warps and parts, each in an order that
//             follows from the plan: the same bits for the same call.
#include <optional>

#include "cgemm/finish.hpp"
#include "cgemm/production.hpp"
#include "cgemm/thin_operand.hpp"
#include "cgemm/thin_plan.hpp"
#include "device/arrival.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace complex_thin {

// acc[i][j] += sum over e of x[i][e] * narrow[j][k of e], with x's imaginary parts times `sign`.
template <ComplexThinConfig config>
__device__ __forceinline__ void multiply(float2 (&acc)[config.rows * config.width],
                                         const float2 (&x)[config.rows][config.depth],
                                         const float2* narrow, const Position<config>& at,
                                         float sign) {
  constexpr int R = config.rows, W = config.width;
#pragma unroll
  for (int e = 0; e < config.depth; e += 2) {
    float turned[R][2];
#pragma unroll
    for (int i = 0; i < R; ++i)
      turned[i][0] = sign * x[i][e].y, turned[i][1] = sign * x[i][e + 1].y;
#pragma unroll
    for (int j = 0; j < W; ++j) {
      const float4 v = NarrowChunk<config>::two(narrow, at, j, e);
#pragma unroll
      for (int i = 0; i < R; ++i) {
        float2& sum = acc[i * W + j];
        sum.x = fmaf(x[i][e].x, v.x, sum.x);
        sum.y = fmaf(x[i][e].x, v.y, sum.y);
        sum.x = fmaf(turned[i][0], v.y, sum.x);
        sum.y = fmaf(-turned[i][0], v.x, sum.y);
        sum.x = fmaf(x[i][e + 1].x, v.z, sum.x);
        sum.y = fmaf(x[i][e + 1].x, v.w, sum.y);
        sum.x = fmaf(turned[i][1], v.w, sum.x);
        sum.y = fmaf(-turned[i][1], v.z, sum.y);
      }
    }
  }
}

// acc += this thread's part of the block's: `k` from where `wide` and `narrow` begin.
template <ComplexThinConfig config>
__device__ __forceinline__ void accumulate(float2 (&acc)[config.rows * config.width],
                                           const ComplexThinPlan& plan, const Position<config>& at,
                                           WideOperand<config>& wide, const Complex* narrow, int k,
                                           float sign) {
  using Narrow = NarrowChunk<config>;
  constexpr int chunk = config.chunk();
  auto* const shared = gpu::dynamic_shared<float2>();
  const int step = at.step();
  float2 x[2][config.rows][config.depth];
  float2* now = nullptr;
  float2* ahead = shared;  // the buffers take turns
  int to_fetch = k;
#pragma unroll 1
  for (bool is_first = true;; is_first = false) {
    if (!is_first) {
      async_wait<0>();
      __syncthreads();  // and no thread still reads the other buffer
    }
    if (to_fetch > 0) {
      Narrow::fetch(ahead, narrow, plan, to_fetch < chunk ? to_fetch : chunk, step);
      narrow += chunk * plan.narrow_k;
      to_fetch -= chunk;
    }
    async_commit();
    if (is_first) {
      wide.next(x[0]);
      if (wide.more()) wide.next(x[1]);
    } else {
      const float2* from = now;
      const int here = k < chunk ? k : chunk;
      for (int done = 0; done < here; done += 2 * step, from += 2 * step) {
        multiply<config>(acc, x[0], from, at, sign);
        if (wide.more()) wide.next(x[0]);
        if (done + step >= here) break;
        multiply<config>(acc, x[1], from + step, at, sign);
        if (wide.more()) wide.next(x[1]);
      }
      k -= chunk;
      if (k <= 0) return;
    }
    now = ahead;
    ahead = shared + (ahead == shared ? config.width * config.pitch() : 0);
  }
}

// The sums of a thread after those over the lanes along k: `count` of its outputs from `first` on.
template <ComplexThinConfig config>
struct LaneSums {
  static constexpr int all = config.rows * config.width;
  static constexpr int count = all > config.k_lanes ? all / config.k_lanes : 1;
  int first = 0;
  bool writes = true;

  __device__ __forceinline__ LaneSums(float2 (&acc)[all], int k_lane) {
    add<1, all / 2>(acc, k_lane);
    if constexpr (all < config.k_lanes) writes = k_lane < all;
  }

 private:
  // With the lane `bit` further along k. Lanes give half of their sums away for half of another's
  // as long as they have two.
  template <int bit, int half>
  __device__ __forceinline__ void add(float2 (&acc)[all], int k_lane) {
    if constexpr (bit < config.k_lanes) {
      constexpr int apart = bit * (config.along_k ? 1 : config.row_lanes());
      const int other = static_cast<int>(threadIdx.x) % 32 ^ apart;
      if constexpr (half == 0) {
        acc[0] = added(acc[0], from_lane(acc[0], other));
      } else {
        const bool upper = (k_lane & bit) != 0;
#pragma unroll
        for (int i = 0; i < half; ++i) {
          const float2 low = acc[i], high = acc[i + half];
          const float2 given = chosen(upper, low, high);
          acc[i] = added(chosen(upper, high, low), from_lane(given, other));
        }
        if (upper) first += half;
      }
      add<2 * bit, half / 2>(acc, k_lane);
    }
  }
  // Of values, not of places: acc would lie in memory.
  __device__ __forceinline__ static float2 chosen(bool first, const float2& a, const float2& b) {
    return make_float2(first ? a.x : b.x, first ? a.y : b.y);
  }
  __device__ __forceinline__ static float2 added(const float2& a, const float2& b) {
    return make_float2(a.x + b.x, a.y + b.y);
  }
};

// Adds up the sums of warps that share rows, in pairs; those with k_warp 0 have them then.
template <int count, class At>
__device__ __forceinline__ void add_warps(float2* acc, const At& at, int k_warps) {
  auto* const shared = gpu::dynamic_shared<float2>();
  const int thread = static_cast<int>(threadIdx.x);
  const int group = thread / 32 / k_warps, lane = thread % 32;
  for (int half = k_warps / 2; half >= 1; half /= 2) {
    float2* const place = shared + (group * half + (at.k_warp & (half - 1))) * 32 + lane;
    __syncthreads();  // nobody reads what was there
    if (at.k_warp >= half && at.k_warp < 2 * half)
#pragma unroll
      for (int i = 0; i < count; ++i) place[i * 128] = acc[i];
    __syncthreads();
    if (at.k_warp < half)
#pragma unroll
      for (int i = 0; i < count; ++i)
        acc[i] = make_float2(acc[i].x + place[i * 128].x, acc[i].y + place[i * 128].y);
  }
}

// Where a block's outputs go: row in the block and column of the narrow operand to C.
struct BlockOutputs {
  const Cgemm& p;
  const ComplexThinPlan& plan;
  Complex* c;
  std::int64_t first_row;
  int rows;
  Finish finish;

  __device__ __forceinline__ void store(int row, int j, const float2& sum) const {
    if (row >= rows || j >= plan.width) return;
    const std::int64_t wide = first_row + row;
    // The narrow operand is conjugated last.
    if (plan.wide_is_b)
      finish.store(p, c, j, wide, sum, p.conj_a);
    else
      finish.store(p, c, wide, j, sum, p.conj_b);
  }
  // Where Finish::is_plain: a thread runs each of the few instructions once.
  __device__ __forceinline__ void store_plain(int row, int j, const float2& sum) const {
    if (row >= rows || j >= plan.width) return;
    const std::int64_t wide = first_row + row;
    const float re = finish.alpha.re, im = (plan.wide_is_b ? p.conj_a : p.conj_b) ? -re : re;
    c[plan.wide_is_b ? j * p.ldc + wide : wide * p.ldc + j] = {re * sum.x, im * sum.y};
  }
};

// The sum over `count` parts of each output, 2^gather_shift threads sharing one.
template <class Store>
__device__ __forceinline__ void gather(const float2* sums, int outputs, int count, int shift,
                                       int threads, const Store& store) {
  const int tid = static_cast<int>(threadIdx.x), sharing = 1 << shift, own = tid & (sharing - 1);
  for (int at = 0; at < outputs; at += threads >> shift) {
    const int o = at + (tid >> shift);
    float2 sum = make_float2(0, 0);
    for (int first = own; first < count; first += 8 * sharing) {
      float2 some[8];
#pragma unroll
      for (int q = 0; q < 8; ++q) {
        const int part = first + q * sharing;
        some[q] = o < outputs && part < count ? __ldcg(&sums[std::int64_t{part} * outputs + o])
                                              : make_float2(0, 0);
      }
#pragma unroll
      for (int q = 0; q < 8; ++q) sum.x += some[q].x, sum.y += some[q].y;
    }
    for (int bit = 1; bit < sharing; bit *= 2) {
      const float2 other = from_lane(sum, (tid % 32) ^ bit);
      sum.x += other.x, sum.y += other.y;
    }
    if (o < outputs && own == 0) store(o, sum);
  }
}

// Which rows and k of which entry a block has. Neighbouring blocks read neighbouring memory.
struct BlockShare {
  std::int64_t entry, row_block, part;

  __device__ __forceinline__ BlockShare(const ComplexThinPlan& plan, bool along_k) {
    const auto parts = static_cast<unsigned>(plan.parts);
    const auto row_blocks = static_cast<unsigned>(plan.row_blocks);
    const unsigned of_entry = parts * row_blocks, in_entry = blockIdx.x % of_entry;
    entry = blockIdx.x / of_entry;
    row_block = along_k ? in_entry / parts : in_entry % row_blocks;
    part = along_k ? in_entry % parts : in_entry / row_blocks;
  }
};

template <ComplexThinConfig config>
__device__ __forceinline__ void compute(const Cgemm& p, const ComplexThinPlan& plan,
                                        float2* all_sums, unsigned* tickets) {
  constexpr int block_sums = config.rows * config.width;
  __shared__ bool is_last;
  const Position<config> at(plan.k_warps);
  const BlockShare share(plan, config.along_k);
  const int block_rows = plan.block_rows;
  const std::int64_t first_row = share.row_block * block_rows;
  const std::int64_t rows_left = plan.rows - first_row;
  const int rows = rows_left < block_rows ? static_cast<int>(rows_left) : block_rows;
  const std::int64_t k0 = share.part * plan.k_per_part;

  wait_for_previous_kernel();
  let_next_kernel_start();
  float2 acc[block_sums] = {};
  if (p.k > 0 && !is_zero(alpha_of(p))) {
    const Complex* const a = a_of(p, share.entry);
    const Complex* const b = b_of(p, share.entry);
    const std::int64_t k_left = p.k - k0;
    const int k = static_cast<int>(k_left < plan.k_per_part ? k_left : plan.k_per_part);
    WideOperand<config> wide(at, plan,
                             (plan.wide_is_b ? b : a) + (config.along_k ? first_row * plan.ld + k0
                                                                        : k0 * plan.ld + first_row),
                             rows, k);
    accumulate<config>(acc, plan, at, wide, (plan.wide_is_b ? a : b) + k0 * plan.narrow_k, k,
                       p.conj_a == p.conj_b ? -1.0f : 1.0f);
  }
  const LaneSums<config> sums(acc, at.k_lane);
  if (plan.k_warps > 1) add_warps<sums.count>(acc, at, plan.k_warps);
  const bool writes = sums.writes && at.k_warp == 0;
  // What stores need is read here, where the loop's registers are free.
  const BlockOutputs outputs{p, plan, c_of(p, share.entry), first_row, rows, Finish(p)};
  const std::int64_t group = share.entry * plan.row_blocks + share.row_block;
  float2* const of_group = all_sums + group * plan.parts * plan.outputs();
  float2* const own = of_group + share.part * plan.outputs();
  const auto each_output = [&](const auto& take) {
    if (!writes) return;
#pragma unroll
    for (int s = 0; s < sums.count; ++s) {
      const int output = sums.first + s;
      take(at.row(output / config.width), output % config.width, acc[s]);
    }
  };
  if (plan.parts == 1) {
    if (outputs.finish.is_plain(p))
      each_output([&](int row, int j, const float2& sum) { outputs.store_plain(row, j, sum); });
    else
      each_output([&](int row, int j, const float2& sum) { outputs.store(row, j, sum); });
    return;
  }
  each_output([&](int row, int j, const float2& sum) {
    if (j < plan.width) own[j * block_rows + row] = sum;
  });
  if (!arrives_last(
          is_last, static_cast<unsigned>(plan.parts), threadIdx.x == 0, [] { __syncthreads(); },
          [&] { return tickets + group; }))
    return;
  gather(of_group, plan.outputs(), static_cast<int>(plan.parts), plan.gather_shift, config.threads,
         [&](int o, const float2& sum) { outputs.store(o % block_rows, o / block_rows, sum); });
}

template <int index>
__global__ void __launch_bounds__(ComplexThinConfig::threads,
                                  complex_thin_configs[index].blocks_per_sm)
    complex_thin(__grid_constant__ const Cgemm p, const ComplexThinPlan plan, float2* sums,
                 unsigned* tickets) {
  compute<complex_thin_configs[index]>(p, plan, sums, tickets);
}

}  // namespace complex_thin

namespace {

std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  if (!is_complex_thin(p)) return std::nullopt;
  const TimedComplexThin fastest = fastest_complex_thin(p, device);
  const ComplexThinPlan& own = fastest.plan;
  if (own.row_blocks * own.parts > most_launch_blocks || own.k_per_part > most_launch_blocks / 2)
    return std::nullopt;
  Plan<Cgemm> plan;
  plan.time_us = plan.cost = fastest.us;
  plan.workspace_bytes = own.workspace_bytes(p.batch);
  plan.min_workspace_bytes = 0;  // with longer sums
  plan.data.set(own);
  return plan;
}

Status launch_plan(const Cgemm& p, const Device&, const Plan<Cgemm>& planned, Workspace workspace,
                   Stream stream) {
  if (p.m == 0 || p.n == 0) return Status::success();
  auto plan = planned.data.get<ComplexThinPlan>();
  while (plan.workspace_bytes(p.batch) > workspace.bytes) cut_complex_thin(plan, p, plan.parts / 2);
  constexpr auto kernels =
      of_each_row<complex_thin_configs>([](auto row) { return &complex_thin::complex_thin<row>; });
  const auto kernel = kernels[static_cast<std::size_t>(plan.config)];
  const auto shared = static_cast<std::size_t>(complex_thin_configs[plan.config].shared_bytes());
  // A batch of more blocks than a launch has is one without parts, and goes in several.
  return launch_entries(p, plan.row_blocks * plan.parts, [&](const Cgemm& part, unsigned blocks) {
    return gpu::launch(kernel,
                       {.grid = dim3(blocks),
                        .block = dim3(ComplexThinConfig::threads),
                        .shared_bytes = shared,
                        .stream = stream,
                        .overlap = true},
                       part, plan, static_cast<float2*>(workspace.data), workspace.tickets);
  });
}

}  // namespace

KernelList<Cgemm> cgemm_thin_rows() {
  return {{.name = "cgemm_thin",
           .parent = nullptr,
           .idea = "complex products with a narrow side, at the speed of memory",
           .role = Role::production,
           .math = Math::fp32,
           .make_plan = make_plan,
           .launch_plan = launch_plan}};
}

}  // namespace KW_TARGET
