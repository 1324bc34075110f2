// cgemm_strip: complex products with a short k and many rows.
//
// Idea        A warp keeps its columns of B in registers and walks down the rows of C. A B that
//             lies along k comes to them by way of shared memory. The rows of A come through
//             shared memory, where all lanes read the same elements, and the next tile of them is
//             under way while one is multiplied. Stores of C follow each other without a wait.
// Prediction  C at the speed of memory while 4 k FFMAs an element of it take less.
// Limits      Up to k = 16.
// Order       k ascending: the same bits for the same call.
#include <optional>

#include "cgemm/finish.hpp"
#include "cgemm/line_columns.hpp"
#include "cgemm/production.hpp"
#include "cgemm/strip_plan.hpp"
#include "device/async_copy.hpp"
#include "device/blocks_per_sm.hpp"
#include "device/overlap.hpp"
#include "sgemm/spread_blocks.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

struct StripParams {
  Cgemm problem;
  ComplexStripCut cut;
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

// Starts the copies of a block's strips of a B that lies along k, column after column: a lane that
// loads its columns for itself wants a line of memory for each element.
template <ComplexStripConfig config>
__device__ __forceinline__ void copy_strips(float2* to, const Cgemm& p, const Complex* b,
                                            std::int64_t first, int strips) {
  const int k = static_cast<int>(p.k);
  for (int e = static_cast<int>(threadIdx.x); e < strips * config.width() * config.k;
       e += config.threads) {
    const int column = e / config.k, kk = e % config.k;
    const bool inside = kk < k && first + column < p.n;
    const Complex* const from = b + (first + column) * p.ldb + kk;
    async_copy<8>(&to[column * config.pitch_b() + kk].x, inside ? &from->re : &b->re,
                  inside ? 8 : 0);
  }
}

template <ComplexStripConfig config>
using StripOfB = float2[config.k][config.columns];

// Of a B that lies along n, from memory.
template <ComplexStripConfig config>
__device__ __forceinline__ void load_strip(StripOfB<config>& y, const Cgemm& p, const Complex* b,
                                           const StripColumns<config>& columns) {
  const Complex* const from = b + columns.first;
  const int k = static_cast<int>(p.k);
#pragma unroll
  for (int kk = 0; kk < config.k; ++kk)
#pragma unroll
    for (int j = 0; j < config.columns; ++j)
      y[kk][j] = element_of(from + kk * p.ldb + columns.at(j), kk < k && columns.has(j));
}

// What copy_strips left there of this warp's strip.
template <ComplexStripConfig config>
__device__ __forceinline__ void take_strip(StripOfB<config>& y, const float2* strip,
                                           const StripColumns<config>& columns) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float2* const from = strip + (columns.in_pairs ? 2 * lane : lane) * config.pitch_b();
#pragma unroll
  for (int kk = 0; kk < config.k; ++kk)
#pragma unroll
    for (int j = 0; j < config.columns; ++j) y[kk][j] = from[columns.at(j) * config.pitch_b() + kk];
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
  constexpr int tile = config.most_rows * config.pitch();
  auto* const tiles = gpu::dynamic_shared<float2>();
  float2* const strips = tiles + 2 * tile;
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
  if (finish.has_sum) copy_rows<config>(tiles, p, a, row0, cut.rows_shift);
  const std::int64_t first_strip = std::int64_t{block_n} * cut.warps_n;
  const StripColumns<config> columns(p, c, first_strip + warp_n);
  StripOfB<config> y = {};
  if (finish.has_sum && p.op_b != Op::none) {
    copy_strips<config>(strips, p, b_of(p, entry), first_strip * config.width(), cut.warps_n);
    async_commit();
    async_wait<0>();
    __syncthreads();
    take_strip<config>(y, strips + warp_n * config.width() * config.pitch_b(), columns);
  } else {
    async_commit();
    if (finish.has_sum) load_strip<config>(y, p, b_of(p, entry), columns);
  }
  if (p.conj_a != p.conj_b) {
#pragma unroll
    for (auto& line : y)
#pragma unroll
      for (float2& element : line) element.y = -element.y;
  }
  const bool is_plain = finish.is_plain(p);
  const float re = finish.alpha.re, im = p.conj_a ? -re : re;
  for (int now = 0; row0 < p.m; row0 += step, now ^= 1) {
    if (finish.has_sum && row0 + step < p.m)
      copy_rows<config>(tiles + (now ^ 1) * tile, p, a, row0 + step, cut.rows_shift);
    async_commit();
    async_wait<1>();
    __syncthreads();
    const std::int64_t below = p.m - row0;
    const int here = below < rows ? static_cast<int>(below) : rows;
    Complex* to = c + (row0 + warp_m) * p.ldc + columns.first;
    const float2* from = tiles + now * tile + warp_m * config.pitch();
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
Status launch(const Cgemm& p, const ComplexStripCut& cut, const Device& device, Stream stream) {
  constexpr ComplexStripConfig config = complex_strips[index].config;
  return launch_entries(p, cut.blocks(), [&](const Cgemm& part, unsigned blocks) {
    return gpu::launch(complex_strip<index>,
                       {.grid = dim3(blocks),
                        .block = dim3(config.threads),
                        .shared_bytes = shared_bytes_where_all_fit(blocks, config.blocks_per_sm,
                                                                   cut.shared_bytes(p), device),
                        .stream = stream,
                        .overlap = true},
                       StripParams{part, cut});
  });
}

Status launch_plan(const Cgemm& p, const Device& device, const Plan<Cgemm>& plan, Workspace,
                   Stream stream) {
  constexpr auto launches = of_each_row<complex_strips>([](auto row) { return &launch<row>; });
  const auto cut = plan.data.get<ComplexStripCut>();
  return launches[static_cast<std::size_t>(cut.config)](p, cut, device, stream);
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
