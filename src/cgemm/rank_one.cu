// cgemm_rank_one: complex products with a k of one, which write C and do little else.
//
// Idea        A warp has some rows of 64 or 128 columns. Each lane loads its columns of B and one
//             row's element of A, all at once; the others get that element from the lane. So there
//             is one wait for memory, and then stores follow each other, two elements each where
//             lines of C begin at 16 bytes.
// Prediction  C at the speed of the L2 cache where it fits: 13764 x 299 in 8.8 us.
// Limits      k of one or none; a B that lies along k comes a sector per element.
// Order       One product an element.
#include <algorithm>
#include <cmath>
#include <optional>

#include "cgemm/finish.hpp"
#include "cgemm/line_columns.hpp"
#include "cgemm/production.hpp"
#include "cgemm/rank_one_tuning.hpp"
#include "cgemm/tile_plan.hpp"
#include "device/blocks_per_sm.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

// A lane's part of a warp's rows.
template <ComplexRankOneConfig config>
struct RankOnePart {
  std::int64_t row;  // the first one
  int rows;          // of the matrix, from there on
  LineColumns<2 * config.pairs> columns;

  __device__ __forceinline__ RankOnePart(const Cgemm& p, const Complex* c, unsigned tile_row,
                                         unsigned tile_col)
      : row(tile_row * std::int64_t{config.block_rows()} +
            static_cast<int>(threadIdx.x) / 32 * config.rows),
        rows(p.m - row < config.rows ? static_cast<int>(p.m - row) : config.rows),
        columns(p, c, tile_col) {
    static_assert(LineColumns<2 * config.pairs>::width == config.block_columns());
  }
};

// The lane's row's element of A, and its elements of B.
template <ComplexRankOneConfig config>
struct RankOneValues {
  float2 x, y[2 * config.pairs];

  __device__ __forceinline__ RankOneValues(const Cgemm& p, std::int64_t entry,
                                           const RankOnePart<config>& part, bool reads) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t a_row = p.op_a == Op::none ? p.lda : 1;
    const std::int64_t b_col = p.op_b == Op::none ? 1 : p.ldb;
    const Complex* const b = b_of(p, entry) + part.columns.first * b_col;
    x = element_of(a_of(p, entry) + (part.row + lane) * a_row, reads && lane < part.rows);
#pragma unroll
    for (int j = 0; j < 2 * config.pairs; ++j)
      y[j] = element_of(b + part.columns.at(j) * b_col, reads && part.columns.has(j));
    x.y = p.conj_a == p.conj_b ? x.y : -x.y;
  }
  // The sums of row i, of the conjugates where conj_b says so. All lanes take part.
  __device__ __forceinline__ void multiply(int i, float2 (&sums)[2 * config.pairs]) const {
    const float re = from_lane(x.x, i), im = from_lane(x.y, i);
#pragma unroll
    for (int j = 0; j < 2 * config.pairs; ++j)
      sums[j] = make_float2(fmaf(-im, y[j].y, re * y[j].x), fmaf(im, y[j].x, re * y[j].y));
  }
};

template <int index>
__global__ void __launch_bounds__(
    complex_rank_ones[index].config.threads(),
    blocks_per_sm_within(complex_rank_ones[index].config.threads(),
                         complex_rank_ones[index].config.blocks_per_sm))
    complex_rank_one(__grid_constant__ const Cgemm p) {
  constexpr ComplexRankOneConfig config = complex_rank_ones[index].config;
  const auto tiles_n = static_cast<unsigned>(ceil_div(p.n, config.block_columns()));
  const auto tiles = static_cast<unsigned>(ceil_div(p.m, config.block_rows())) * tiles_n;
  const unsigned entry = p.batch == 1 ? 0 : blockIdx.x / tiles;
  if (p.c_array != nullptr) wait_for_previous_kernel();  // which may write the pointers
  Complex* c = c_of(p, entry);
  const unsigned tile = blockIdx.x - entry * tiles, tile_row = tile / tiles_n;
  RankOnePart<config> part(p, c, tile_row, tile - tile_row * tiles_n);
  auto& columns = part.columns;
  float* at = &c->re + 2 * (part.row * p.ldc + columns.first);
  compute_now(at), compute_now(part.row), compute_now(columns.first);
  wait_for_previous_kernel();
  let_next_kernel_start();
  if (part.rows <= 0) return;
  auto* to = reinterpret_cast<Complex*>(at);
  const Finish finish(p);
  const RankOneValues<config> values(p, entry, part, finish.has_sum);
  float2 sums[2 * config.pairs];
  if (finish.is_plain(p)) {
    const float re = finish.alpha.re, im = p.conj_b ? -re : re;
#pragma unroll
    for (int i = 0; i < config.rows; ++i, to += p.ldc) {
      values.multiply(i, sums);
      if (i < part.rows) store_line(sums, to, columns, re, im);
    }
    return;
  }
#pragma unroll 1
  for (int i = 0; i < part.rows; ++i) {
    values.multiply(i, sums);
#pragma unroll
    for (int j = 0; j < 2 * config.pairs; ++j)
      if (columns.has(j))
        finish.store(p, c, part.row + i, columns.first + columns.at(j), sums[j], p.conj_b);
  }
}

// --- the rows of the registry

std::int64_t rank_one_blocks(const ComplexRankOneConfig& config, const Cgemm& p) {
  return ceil_div<std::int64_t>(p.m, config.block_rows()) *
         ceil_div<std::int64_t>(p.n, config.block_columns());
}

double predict_rank_one_us(const ComplexRankOne& rank_one, const Cgemm& p, const Device& device) {
  const ComplexRankOneTimes& t = rank_one.times;
  const double sms = std::max(device.sm_count, 1);
  const double of_sm =
      std::ceil(static_cast<double>(rank_one_blocks(rank_one.config, p) * p.batch) / sms);
  return t.first +
         std::max(of_sm * t.block, t.memory * memory_us(complex_operand_bytes(p), device));
}

template <int index>
std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  constexpr ComplexRankOneConfig config = complex_rank_ones[index].config;
  if (p.k > 1 || rank_one_blocks(config, p) > most_launch_blocks) return std::nullopt;
  Plan<Cgemm> plan;
  plan.time_us = plan.cost = predict_rank_one_us(complex_rank_ones[index], p, device);
  return plan;
}

template <int index>
Status launch_plan(const Cgemm& p, const Device&, const Plan<Cgemm>&, Workspace, Stream stream) {
  constexpr ComplexRankOneConfig config = complex_rank_ones[index].config;
  return launch_entries(p, rank_one_blocks(config, p), [&](const Cgemm& part, unsigned blocks) {
    return gpu::launch(
        complex_rank_one<index>,
        {.grid = dim3(blocks), .block = dim3(config.threads()), .stream = stream, .overlap = true},
        part);
  });
}

template <int row>
Kernel<Cgemm> kernel() {
  return {.name = complex_rank_ones[row].name,
          .parent = nullptr,
          .idea = "complex products with a k of one, in which stores follow each other",
          .role = Role::production,
          .math = Math::fp32,
          .make_plan = make_plan<row>,
          .launch_plan = launch_plan<row>};
}

}  // namespace

KernelList<Cgemm> cgemm_rank_one_rows() {
  return kernels_of<complex_rank_ones>([](auto row) { return kernel<row>(); });
}

}  // namespace KW_TARGET
