// cgemm_outer: complex products with a short k, which are little more than writing C.
//
// Idea        A warp has some rows of 32 to 128 columns of C. A lane reads its elements of B, and
//             all lanes read the same ones of A, straight from memory, for the first of which there
//             is one wait: no shared memory, no barrier. C, where it is read, is read two rows at a
//             time before these are written.
// Prediction  C at the speed of memory while 4 k FFMAs an element of it take less.
// Limits      Up to k = 16; a B that lies along k comes a sector per element.
// Order       k ascending: the same bits for the same call.
#include <algorithm>
#include <optional>

#include "cgemm/finish.hpp"
#include "cgemm/line_columns.hpp"
#include "cgemm/outer_tuning.hpp"
#include "cgemm/production.hpp"
#include "cgemm/tile_plan.hpp"
#include "device/blocks_per_sm.hpp"
#include "device/overlap.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

// This thread's part of C: rows that are neighbours, and every 32nd column.
template <ComplexOuterConfig config>
struct OuterPart {
  static constexpr int TM = config.rows, TN = config.columns;
  std::int64_t row, col;
  int rows, columns;  // that are inside

  __device__ __forceinline__ OuterPart(const Cgemm& p, std::int64_t tile_row,
                                       std::int64_t tile_col) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    row = tile_row * config.block_rows() + warp * TM;
    col = tile_col * config.block_columns() + lane;
    const std::int64_t down = p.m - row, along = (p.n - col + 31) / 32;
    rows = down < 0 ? 0 : down < TM ? static_cast<int>(down) : TM;
    columns = along < 0 ? 0 : along < TN ? static_cast<int>(along) : TN;
  }
};

// `whole`: all of the thread's part is inside.
template <ComplexOuterConfig config, bool whole>
__device__ __forceinline__ void add_products(float2 (&acc)[config.rows][config.columns],
                                             const Cgemm& p, std::int64_t entry,
                                             const OuterPart<config>& part) {
  constexpr int TM = config.rows, TN = config.columns;
  const std::int64_t a_row = p.op_a == Op::none ? p.lda : 1, a_k = p.op_a == Op::none ? 1 : p.lda;
  const std::int64_t b_col = p.op_b == Op::none ? 1 : p.ldb, b_k = p.op_b == Op::none ? p.ldb : 1;
  const Complex* a = a_of(p, entry) + part.row * a_row;
  const Complex* b = b_of(p, entry) + part.col * b_col;
  const float sign = p.conj_a == p.conj_b ? -1.0f : 1.0f;
  const int k = static_cast<int>(p.k);
#pragma unroll 2
  for (int kk = 0; kk < k; ++kk, a += a_k, b += b_k) {
    float2 x[TM], y[TN];
    const Complex* from = b;
#pragma unroll
    for (int j = 0; j < TN; ++j, from += 32 * b_col)
      y[j] = element_of(from, whole || j < part.columns);
    from = a;
#pragma unroll
    for (int i = 0; i < TM; ++i, from += a_row) x[i] = element_of(from, whole || i < part.rows);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
      const float turned = sign * x[i].y;
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        float2& sum = acc[i][j];
        sum.x = fmaf(x[i].x, y[j].x, sum.x);
        sum.y = fmaf(x[i].x, y[j].y, sum.y);
        sum.x = fmaf(turned, y[j].y, sum.x);
        sum.y = fmaf(-turned, y[j].x, sum.y);
      }
    }
  }
}

// Of a whole tile where Finish::is_plain: else there are more instructions than the memory leaves
// time for.
template <ComplexOuterConfig config>
__device__ __forceinline__ void store_plain(const float2 (&acc)[config.rows][config.columns],
                                            const Cgemm& p, Complex* c, const Finish& finish) {
  const float re = finish.alpha.re, im = p.conj_b ? -re : re;
#pragma unroll
  for (int i = 0; i < config.rows; ++i, c += p.ldc)
#pragma unroll
    for (int j = 0; j < config.columns; ++j)
      c[32 * j] = Complex{re * acc[i][j].x, im * acc[i][j].y};
}

template <ComplexOuterConfig config>
__device__ __forceinline__ void store(const float2 (&acc)[config.rows][config.columns],
                                      const Cgemm& p, Complex* c, const OuterPart<config>& part,
                                      const Finish& finish) {
  constexpr int TM = config.rows, TN = config.columns;
  constexpr int together = 2;  // rows that are read before any of them is written
  const auto wanted = [&](int i, int j) {
    return i < part.rows && j < part.columns && is_wanted(p, part.row + i, part.col + 32 * j);
  };
#pragma unroll
  for (int first = 0; first < TM; first += together, c += together * p.ldc) {
    Complex before[together][TN];
#pragma unroll
    for (int i = 0; i < together; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j)
        before[i][j] =
            !is_zero(finish.beta) && wanted(first + i, j) ? c[i * p.ldc + 32 * j] : Complex{0, 0};
#pragma unroll
    for (int i = 0; i < together; ++i)
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        if (!wanted(first + i, j)) continue;
        Complex value = finish.element(&before[i][j], acc[first + i][j], p.conj_b);
        if (p.hermitian && part.row + first + i == part.col + 32 * j) value.im = 0;
        c[i * p.ldc + 32 * j] = value;
      }
  }
}

template <int index>
__global__ void __launch_bounds__(ComplexOuterConfig::threads,
                                  blocks_per_sm_within(ComplexOuterConfig::threads,
                                                       complex_outers[index].config.blocks_per_sm))
    complex_outer(__grid_constant__ const Cgemm p) {
  constexpr ComplexOuterConfig config = complex_outers[index].config;
  const auto tiles_n = static_cast<unsigned>(ceil_div(p.n, config.block_columns()));
  const auto tiles = static_cast<unsigned>(ceil_div(p.m, config.block_rows())) * tiles_n;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Finish finish(p);
  const unsigned entry = blockIdx.x / tiles, tile = blockIdx.x - entry * tiles;
  const OuterPart<config> part(p, tile / tiles_n, tile % tiles_n);
  float2 acc[config.rows][config.columns] = {};
  const bool whole = part.rows == config.rows && part.columns == config.columns;
  if (finish.has_sum && whole)
    add_products<config, true>(acc, p, entry, part);
  else if (finish.has_sum)
    add_products<config, false>(acc, p, entry, part);
  Complex* const c = c_of(p, entry) + part.row * p.ldc + part.col;
  if (finish.is_plain(p) && whole)
    store_plain<config>(acc, p, c, finish);
  else
    store<config>(acc, p, c, part, finish);
}

// --- the rows of the registry

std::int64_t tiles_of(const ComplexOuterConfig& config, const Cgemm& p) {
  return ceil_div<std::int64_t>(p.m, config.block_rows()) *
         ceil_div<std::int64_t>(p.n, config.block_columns());
}

double predict_us(const ComplexOuter& outer, const Cgemm& p, const Device& device) {
  const ComplexOuterTimes& t = outer.times;
  const double sms = std::max(device.sm_count, 1);
  const double of_sm = std::ceil(static_cast<double>(tiles_of(outer.config, p) * p.batch) / sms);
  const auto k = static_cast<double>(p.loop_k());
  const double busy = of_sm * (t.tile + t.tile_k * k) +
                      std::ceil(of_sm / outer.config.blocks_per_sm) * t.wait_k * k;
  return t.first + std::max(busy, t.memory * memory_us(complex_operand_bytes(p), device));
}

template <int index>
std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  constexpr ComplexOuterConfig config = complex_outers[index].config;
  if (p.k > complex_outer_most_k || tiles_of(config, p) > most_launch_blocks) return std::nullopt;
  Plan<Cgemm> plan;
  plan.time_us = plan.cost = predict_us(complex_outers[index], p, device);
  return plan;
}

template <int index>
Status launch_plan(const Cgemm& p, const Device&, const Plan<Cgemm>&, Workspace, Stream stream) {
  constexpr ComplexOuterConfig config = complex_outers[index].config;
  return launch_entries(p, tiles_of(config, p), [&](const Cgemm& part, unsigned tiles) {
    return gpu::launch(
        complex_outer<index>,
        {.grid = dim3(tiles), .block = dim3(config.threads), .stream = stream, .overlap = true},
        part);
  });
}

template <int row>
Kernel<Cgemm> kernel() {
  return {.name = complex_outers[row].name,
          .parent = nullptr,
          .idea = "complex products with a short k, straight from memory to C",
          .role = Role::production,
          .math = Math::fp32,
          .make_plan = make_plan<row>,
          .launch_plan = launch_plan<row>};
}

}  // namespace

KernelList<Cgemm> cgemm_outer_rows() {
  return kernels_of<complex_outers>([](auto row) { return kernel<row>(); });
}

}  // namespace KW_TARGET
