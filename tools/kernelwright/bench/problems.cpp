// The operations, as measuring sees them.
#include "bench/problems.hpp"

#include <algorithm>

namespace kw::bench {

using check::Operand;

std::vector<OperandShape> operand_shapes(const Sgemm& p, const check::SgemmCase& c) {
  const bool a_plain = p.op_a == Op::none;
  const bool b_plain = p.op_b == Op::none;
  return {{a_plain ? p.m : p.k, a_plain ? p.k : p.m, p.lda, {c.input, c.seed, Operand::a}},
          {b_plain ? p.k : p.n, b_plain ? p.n : p.k, p.ldb, {c.input, c.seed, Operand::b}},
          {p.m, p.n, p.ldc, {c.input, c.seed, Operand::c}}};
}

std::vector<OperandShape> operand_shapes(const ScaleAdd& p, const check::ScaleAddCase& c) {
  const check::InputStream values{c.input, c.seed, Operand::a};
  return {{p.rows, p.cols, p.lda, values}, {p.rows, p.cols, p.ldb, values}};
}

Sgemm on_set(Sgemm problem, const OperandSets& sets, std::int64_t set) {
  problem.a = sets.data(set, 0);
  problem.b = sets.data(set, 1);
  problem.c = sets.data(set, 2);
  return problem;
}

ScaleAdd on_set(ScaleAdd problem, const OperandSets& sets, std::int64_t set) {
  problem.a = sets.data(set, 0);
  problem.b = sets.data(set, 1);
  return problem;
}

double work(const check::SgemmCase& c) {
  return 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
}

double work(const check::ScaleAddCase& c) {
  return 8.0 * static_cast<double>(c.rows) * static_cast<double>(c.cols);
}

check::SgemmCase probe(check::SgemmCase c) {
  constexpr std::int64_t edge = 160;
  c.m = std::min(c.m, edge);
  c.n = std::min(c.n, edge);
  c.k = std::min(c.k, edge);
  return c;
}

check::ScaleAddCase probe(check::ScaleAddCase c) {
  constexpr std::int64_t edge = 512;
  c.rows = std::min(c.rows, edge);
  c.cols = std::min(c.cols, edge);
  return c;
}

void fill_rates(Row& row, const Sgemm& p, const Ceilings& ceilings) {
  const double seconds = row.time_us->median * 1e-6;
  const double c_passes = p.beta == 0 ? 1 : 2;
  const double words = static_cast<double>(p.m) * static_cast<double>(p.loop_k()) +
                       static_cast<double>(p.loop_k()) * static_cast<double>(p.n) +
                       c_passes * static_cast<double>(p.m) * static_cast<double>(p.n);
  row.gflops = p.flops() * 1e-9 / seconds;
  row.gbs = 4.0 * words * 1e-9 / seconds;
  if (ceilings.fp32_tflops) row.of_peak = *row.gflops * 1e-3 / *ceilings.fp32_tflops;
}

void fill_rates(Row& row, const ScaleAdd& p, const Ceilings& ceilings) {
  const double seconds = row.time_us->median * 1e-6;
  row.gflops = 2.0 * static_cast<double>(p.rows) * static_cast<double>(p.cols) * 1e-9 / seconds;
  row.gbs = p.bytes() * 1e-9 / seconds;
  if (ceilings.read_gbs) row.of_peak = *row.gbs / *ceilings.read_gbs;
}

}  // namespace kw::bench
