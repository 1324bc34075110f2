// cgemm_strip: complex products with a short k and many rows.
//
// Idea        A warp keeps its columns of B in registers and walks down the rows of C. The rows of
//             A come through shared memory, where all lanes read the same elements, and the next
//             tile of them is under way while one is multiplied. Stores of C follow each other
//             without a wait.
// Prediction  C at the speed of memory while 4 k FFMAs an element of it take less.
// Limits      Up to k = 16; a B that lies along k comes a sector per element, once.
// Order       k ascending: the same bits for the same call.
#include <optional>

#include "cgemm/finish.hpp"
#include "cgemm/line_columns.hpp"
#include "cgemm/production.hpp"
#include "cgemm/strip_plan.hpp"
#include "device/async_copy.hpp"
#include "device/blocks_per_sm.hpp"
#include "device/overlap.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

struct StripParams {
  Cgemm problem;
  ComplexStripCut cut;
};

template <ComplexStripConfig config>
struct StripShared {
  alignas(16) float2 a[2][config.most_rows * config.pitch()];
};

// Starts the copies of some rows of A; zeros beyond its edges.
template <ComplexStripConfig config>
__device__ __forceinline__ void copy_rows(float2* to, const Cgemm& p, const Complex* a,
                                          std::int64_t row0, int rows_shift) {
  const int rows = 1 << rows_shift, k = static_cast<int>(p.k);
  const bool along_k = p.op_a == Op::none;
  for (int e = static_cast<int>(threadIdx.x); e < rows * config.k; e += config.threads) {
    const int row = along_k ? e / config.k : e & (rows - 1),
              kk = along_k ? e % config.k : e >> rows_shift;
    const bool inside = kk < k && row0 + row < p.m;
    const Complex* const from =
        along_k ? a + (row0 + row) * p.lda + kk : a + kk * p.lda + row0 + row;
    async_copy<8>(&to[row * config.pitch() + kk].x, inside ? &from->re : &a->re, inside ? 8 : 0);
  }
}

template <ComplexStripConfig config>
using StripColumns = LineColumns<config.columns>;

template <ComplexStripConfig config>
using StripOfB = float2[config.k][config.columns];

template <ComplexStripConfig config>
__device__ __forceinline__ void load_strip(StripOfB<config>& y, const Cgemm& p, const Complex* b,
                                           const StripColumns<config>& columns) {
  const std::int64_t col = p.op_b == Op::none ? 1 : p.ldb, of_k = p.op_b == Op::none ? p.ldb : 1;
  const Complex* const from = b + columns.first * col;
  const float sign = p.conj_a == p.conj_b ? 1.0f : -1.0f;
  const int k = static_cast<int>(p.k);
#pragma unroll
  for (int kk = 0; kk < config.k; ++kk)
#pragma unroll
    for (int j = 0; j < config.columns; ++j) {
      y[kk][j] = make_float2(0, 0);
      if (kk < k && columns.has(j))
        y[kk][j] = __ldg(reinterpret_cast<const float2*>(from + kk * of_k + columns.at(j) * col));
      y[kk][j].y *= sign;
    }
}

// sums = a row of A, of which all lanes read the same elements, times the strip.
template <ComplexStripConfig config>
__device__ __forceinline__ void multiply_row(float2 (&sums)[config.columns], const float2* row,
                                             const StripOfB<config>& y) {
#pragma unroll
  for (int kk = 0; kk < config.k; kk += 2) {
    const float4 two = *reinterpret_cast<const float4*>(row + kk);
#pragma unroll
    for (int next = 0; next < 2; ++next) {
      const float re = next == 0 ? two.x : two.z, im = next == 0 ? two.y : two.w;
#pragma unroll
      for (int j = 0; j < config.columns; ++j) {
        const float2& z = y[kk + next][j];
        sums[j].x = fmaf(re, z.x, sums[j].x);
        sums[j].y = fmaf(re, z.y, sums[j].y);
        sums[j].x = fmaf(-im, z.y, sums[j].x);
        sums[j].y = fmaf(im, z.x, sums[j].y);
      }
    }
  }
}

// By all rules for scalars and triangles.
template <ComplexStripConfig config>
__device__ __forceinline__ void finish_row(const float2 (&sums)[config.columns], const Cgemm& p,
                                           Complex* c, std::int64_t row,
                                           const StripColumns<config>& columns,
                                           const Finish& finish) {
#pragma unroll
  for (int j = 0; j < config.columns; ++j)
    if (columns.has(j)) finish.store(p, c, row, columns.first + columns.at(j), sums[j], p.conj_a);
}

template <int index>
__global__ void __launch_bounds__(ComplexStripConfig::threads,
                                  blocks_per_sm_within(ComplexStripConfig::threads,
                                                       complex_strips[index].config.blocks_per_sm))
    complex_strip(__grid_constant__ const StripParams params) {
  constexpr ComplexStripConfig config = complex_strips[index].config;
  __shared__ StripShared<config> shared;
  const Cgemm& p = params.problem;
  const ComplexStripCut& cut = params.cut;
  const unsigned an_entry = static_cast<unsigned>(cut.blocks_n * cut.walkers);
  const unsigned entry = p.batch == 1 ? 0 : blockIdx.x / an_entry;
  const unsigned block = blockIdx.x - entry * an_entry;
  int walker = static_cast<int>(block) / cut.blocks_n;
  int block_n = static_cast<int>(block) - walker * cut.blocks_n;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_n = warp & (cut.warps_n - 1), warp_m = warp / cut.warps_n;
  const int warps_m = config.warps / cut.warps_n, rows = 1 << cut.rows_shift;
  compute_now(block_n), compute_now(walker);
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Finish finish(p);
  const Complex* const a = a_of(p, entry);
  Complex* const c = c_of(p, entry);
  const std::int64_t step = std::int64_t{cut.walkers} << cut.rows_shift;
  std::int64_t row0 = std::int64_t{walker} << cut.rows_shift;
  if (finish.has_sum) copy_rows<config>(shared.a[0], p, a, row0, cut.rows_shift);
  async_commit();
  const StripColumns<config> columns(p, c, std::int64_t{block_n} * cut.warps_n + warp_n);
  StripOfB<config> y = {};
  if (finish.has_sum) load_strip<config>(y, p, b_of(p, entry), columns);
  const bool is_plain = finish.is_plain(p);
  const float re = finish.alpha.re, im = p.conj_a ? -re : re;
  for (int now = 0; row0 < p.m; row0 += step, now ^= 1) {
    if (finish.has_sum && row0 + step < p.m)
      copy_rows<config>(shared.a[now ^ 1], p, a, row0 + step, cut.rows_shift);
    async_commit();
    async_wait<1>();
    __syncthreads();
    const std::int64_t below = p.m - row0;
    const int here = below < rows ? static_cast<int>(below) : rows;
    Complex* to = c + (row0 + warp_m) * p.ldc + columns.first;
    const float2* from = shared.a[now] + warp_m * config.pitch();
#pragma unroll 2
    for (int row = warp_m; row < here; row += warps_m) {
      float2 sums[config.columns] = {};
      if (finish.has_sum) multiply_row<config>(sums, from, y);
      if (is_plain)
        store_line(sums, to, columns, re, im);
      else
        finish_row<config>(sums, p, c, row0 + row, columns, finish);
      to += warps_m * p.ldc;
      from += warps_m * config.pitch();
    }
    __syncthreads();
  }
}

// --- the row of the registry

std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  const std::optional<TimedComplexStrip> fastest = fastest_complex_strip(p, device);
  if (!fastest) return std::nullopt;
  Plan<Cgemm> plan;
  plan.time_us = plan.cost = fastest->us;
  plan.data.set(fastest->cut);
  return plan;
}

template <int index>
Status launch(const Cgemm& p, const ComplexStripCut& cut, Stream stream) {
  constexpr ComplexStripConfig config = complex_strips[index].config;
  return launch_entries(p, cut.blocks(), [&](const Cgemm& part, unsigned blocks) {
    return gpu::launch(
        complex_strip<index>,
        {.grid = dim3(blocks), .block = dim3(config.threads), .stream = stream, .overlap = true},
        StripParams{part, cut});
  });
}

Status launch_plan(const Cgemm& p, const Device&, const Plan<Cgemm>& plan, Workspace,
                   Stream stream) {
  constexpr auto launches = of_each_row<complex_strips>([](auto row) { return &launch<row>; });
  const auto cut = plan.data.get<ComplexStripCut>();
  return launches[static_cast<std::size_t>(cut.config)](p, cut, stream);
}

}  // namespace

KernelList<Cgemm> cgemm_strip_rows() {
  return {{.name = "cgemm_strip",
           .parent = nullptr,
           .idea = "complex products with a short k, each warp's columns of B in registers",
           .role = Role::production,
           .math = Math::fp32,
           .make_plan = make_plan,
           .launch_plan = launch_plan}};
}

}  // namespace KW_TARGET
