// cgemm_few: complex products with a few columns and a short k, which write C and do little else.
//
// Idea        Neighbouring threads have neighbouring elements of C, whatever its columns are: with
//             9 columns a block's threads lie on 28 rows, and on 28 more, and a warp's stores meet
//             in memory. Each loads all that it needs at once, its column of B and its rows' of A,
//             which its neighbours load as well; so there is one wait for memory.
// Prediction  C at the speed of the L2 cache where it fits: 15000 x 9 with a k of 1 in 1.9 us.
// Limits      Up to k = 8 and 256 columns, of which 64 are chosen; an element of A is loaded by as
//             many threads as there are columns.
// Order       k ascending: the same bits for the same call.
#include <algorithm>
#include <cmath>
#include <optional>

#include "cgemm/few_tuning.hpp"
#include "cgemm/finish.hpp"
#include "cgemm/line_columns.hpp"
#include "cgemm/production.hpp"
#include "cgemm/tile_plan.hpp"
#include "device/overlap.hpp"
#include "divider.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

struct FewParams {
  Cgemm problem;
  Divider by_columns;
  unsigned blocks;  // of an entry
  int apart;        // a thread's rows are so many apart: those that a block's threads lie on
};

// This thread's part of C.
template <ComplexFewConfig config>
struct FewPart {
  std::int64_t row;  // the first one
  int column, rows;  // and how many there are

  __device__ __forceinline__ FewPart(const FewParams& params, unsigned block) {
    const Cgemm& p = params.problem;
    const auto thread = static_cast<unsigned>(threadIdx.x);
    const auto down = static_cast<int>(params.by_columns.quotient(thread));
    column = static_cast<int>(thread) - down * static_cast<int>(p.n);
    row = block * std::int64_t{config.rows * params.apart} + down;
    const std::int64_t left = down < params.apart ? p.m - row : 0;
    rows = 0;
#pragma unroll
    for (int i = 0; i < config.rows; ++i) rows += i * params.apart < left ? 1 : 0;
  }
};

// What the thread multiplies: all of it is loaded before any is used.
template <ComplexFewConfig config>
struct FewValues {
  float2 x[config.rows][config.k], y[config.k];

  __device__ __forceinline__ FewValues(const FewParams& params, std::int64_t entry,
                                       const FewPart<config>& part, bool reads) {
    const Cgemm& p = params.problem;
    const std::int64_t a_row = p.op_a == Op::none ? p.lda : 1, a_k = p.op_a == Op::none ? 1 : p.lda;
    const std::int64_t b_col = p.op_b == Op::none ? 1 : p.ldb, b_k = p.op_b == Op::none ? p.ldb : 1;
    const Complex* a = a_of(p, entry) + part.row * a_row;
    const Complex* const b = b_of(p, entry) + part.column * b_col;
    const int k = reads ? static_cast<int>(p.k) : 0;
#pragma unroll
    for (int i = 0; i < config.rows; ++i, a += params.apart * a_row)
#pragma unroll
      for (int kk = 0; kk < config.k; ++kk)
        x[i][kk] = element_of(a + kk * a_k, kk < k && i < part.rows);
#pragma unroll
    for (int kk = 0; kk < config.k; ++kk) {
      y[kk] = element_of(b + kk * b_k, kk < k && part.rows > 0);
      y[kk].y = p.conj_a == p.conj_b ? y[kk].y : -y[kk].y;
    }
  }
  // The sum of row i, of the conjugate where conj_a says so.
  __device__ __forceinline__ float2 sum(int i) const {
    float2 sum = make_float2(0, 0);
#pragma unroll
    for (int kk = 0; kk < config.k; ++kk) {
      sum.x = fmaf(x[i][kk].x, y[kk].x, sum.x);
      sum.y = fmaf(x[i][kk].x, y[kk].y, sum.y);
      sum.x = fmaf(-x[i][kk].y, y[kk].y, sum.x);
      sum.y = fmaf(x[i][kk].y, y[kk].x, sum.y);
    }
    return sum;
  }
};

template <int index>
__global__ void __launch_bounds__(ComplexFewConfig::threads)
    complex_few(__grid_constant__ const FewParams params) {
  constexpr ComplexFewConfig config = complex_fews[index].config;
  const Cgemm& p = params.problem;
  const unsigned entry = p.batch == 1 ? 0 : blockIdx.x / params.blocks;
  FewPart<config> part(params, blockIdx.x - entry * params.blocks);
  compute_now(part.row), compute_now(part.column), compute_now(part.rows);
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Finish finish(p);
  const FewValues<config> values(params, entry, part, finish.has_sum);
  Complex* c = c_of(p, entry);
  if (finish.is_plain(p)) {
    const float re = finish.alpha.re, im = p.conj_a ? -re : re;
    c += part.row * p.ldc + part.column;
#pragma unroll
    for (int i = 0; i < config.rows; ++i, c += params.apart * p.ldc) {
      const float2 sum = values.sum(i);
      if (i < part.rows) *c = {re * sum.x, im * sum.y};
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < config.rows; ++i)
    if (i < part.rows)
      finish.store(p, c, part.row + i * std::int64_t{params.apart}, part.column, values.sum(i),
                   p.conj_a);
}

// --- the rows of the registry

int few_apart(const Cgemm& p) {
  return ComplexFewConfig::threads / static_cast<int>(std::max<std::int64_t>(p.n, 1));
}

std::int64_t few_blocks(const ComplexFewConfig& config, const Cgemm& p) {
  return ceil_div<std::int64_t>(p.m, config.rows * std::int64_t{few_apart(p)});
}

double predict_few_us(const ComplexFew& few, const Cgemm& p, const Device& device) {
  const ComplexFewTimes& t = few.times;
  const double sms = std::max(device.sm_count, 1);
  const double of_sm = std::ceil(static_cast<double>(few_blocks(few.config, p) * p.batch) / sms);
  const auto lines = static_cast<double>(p.op_b == Op::none ? 0 : std::min<std::int64_t>(p.n, 32));
  const double block = t.block + t.along_k * static_cast<double>(p.loop_k()) * lines / 32;
  return t.first + std::max(of_sm * block, memory_us(complex_operand_bytes(p), device));
}

template <int index>
std::optional<Plan<Cgemm>> make_plan(const Cgemm& p, const Device& device) {
  constexpr ComplexFewConfig config = complex_fews[index].config;
  if (p.k > config.k || p.n > config.threads || few_blocks(config, p) > most_launch_blocks)
    return std::nullopt;
  Plan<Cgemm> plan;
  // Elsewhere there is a quicker one.
  const bool is_predicted =
      p.n <= complex_few_most_columns && (p.k > config.k / 2 || config.k == 1);
  if (is_predicted) plan.time_us = plan.cost = predict_few_us(complex_fews[index], p, device);
  return plan;
}

template <int index>
Status launch_plan(const Cgemm& p, const Device&, const Plan<Cgemm>&, Workspace, Stream stream) {
  constexpr ComplexFewConfig config = complex_fews[index].config;
  const std::int64_t an_entry = few_blocks(config, p);
  if (p.m == 0 || p.n == 0) return Status::success();
  return launch_entries(p, an_entry, [&](const Cgemm& part, unsigned blocks) {
    return gpu::launch(
        complex_few<index>,
        {.grid = dim3(blocks), .block = dim3(config.threads), .stream = stream, .overlap = true},
        FewParams{part, Divider(p.n), static_cast<unsigned>(an_entry), few_apart(p)});
  });
}

template <int row>
Kernel<Cgemm> kernel() {
  return {.name = complex_fews[row].name,
          .parent = nullptr,
          .idea = "complex products with few columns and a short k, whose stores meet in memory",
          .role = Role::production,
          .math = Math::fp32,
          .make_plan = make_plan<row>,
          .launch_plan = launch_plan<row>};
}

}  // namespace

KernelList<Cgemm> cgemm_few_rows() {
  return kernels_of<complex_fews>([](auto row) { return kernel<row>(); });
}

}  // namespace KW_TARGET
