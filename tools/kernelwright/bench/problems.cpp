// The operations, as measuring sees them.
#include "bench/problems.hpp"

#include <algorithm>
#include <utility>

#include "arithmetic.hpp"
#include "bench/roofline.hpp"

namespace kw::bench {

namespace {

// From the first element of a matrix to its last.
std::size_t matrix_bytes(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::size_t size) {
  if (rows == 0 || cols == 0) return 0;
  return static_cast<std::size_t>((rows - 1) * ld + cols) * size;
}

template <class Element>
Operand matrix(Op op, const Element* data, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  if (op == Op::transpose) std::swap(rows, cols);
  return {data, matrix_bytes(rows, cols, ld, sizeof(Element))};
}

// Of a batch by strides: from the first element of the first entry to the last of the last.
Operand all_entries(Operand first, std::int64_t batch, std::int64_t stride,
                    std::size_t element_bytes = sizeof(float)) {
  if (batch == 0 || first.bytes == 0) return {first.from, 0};
  first.bytes += static_cast<std::size_t>((batch - 1) * stride) * element_bytes;
  return first;
}

double gbs(double bytes, const Row& row) { return bytes * 1e-3 / row.time_us->median; }

}  // namespace

std::vector<Operand> operands(const Sgemm& p) {
  return {all_entries(matrix(p.op_a, p.a, p.m, p.k, p.lda), p.batch, p.stride_a),
          all_entries(matrix(p.op_b, p.b, p.k, p.n, p.ldb), p.batch, p.stride_b),
          all_entries(matrix(Op::none, p.c, p.m, p.n, p.ldc), p.batch, p.stride_c)};
}

std::vector<Operand> operands(const Level3& p) {
  if (p.factors()) return {{p.c, 0}, {p.c, 0}, matrix(Op::none, p.c, p.m, p.n, p.ldc)};
  const bool updates = p.updates_triangle();
  const Operand a = updates
                        ? matrix(p.op_a, p.a, p.m, p.k, p.lda)
                        : all_entries(matrix(Op::none, p.a, p.k, p.k, p.lda), p.batch, p.stride_a);
  const Operand b =
      p.reads_b() ? matrix(p.op_b, p.b, p.m, updates ? p.k : p.n, p.ldb) : Operand{p.c, 0};
  return {a, b, all_entries(matrix(Op::none, p.c, p.m, p.n, p.ldc), p.batch, p.stride_c)};
}

std::vector<Operand> operands(const ScaleAdd& p) {
  return {matrix(Op::none, p.a, p.rows, p.cols, p.lda),
          matrix(Op::none, p.b, p.rows, p.cols, p.ldb)};
}

std::vector<Operand> operands(const Reduce& p) {
  const std::size_t out =
      static_cast<std::size_t>(p.results()) * size_of(result_type(p.op, p.type));
  const std::size_t entries = p.offsets != nullptr ? static_cast<std::size_t>(p.segments + 1) : 0;
  return {{p.data, matrix_bytes(p.rows, p.cols, p.ld, size_of(p.type))},
          {p.offsets, entries * sizeof(std::int64_t)},
          {p.out, out}};
}

std::vector<Operand> operands(const Cgemm& p) {
  constexpr std::size_t bytes = sizeof(Complex);
  return {all_entries(matrix(p.op_a, p.a, p.m, p.k, p.lda), p.batch, p.stride_a, bytes),
          all_entries(matrix(p.op_b, p.b, p.k, p.n, p.ldb), p.batch, p.stride_b, bytes),
          all_entries(matrix(Op::none, p.c, p.m, p.n, p.ldc), p.batch, p.stride_c, bytes)};
}

std::vector<Operand> operands(const Ctrsm& p) {
  constexpr std::size_t bytes = sizeof(Complex);
  return {all_entries(matrix(Op::none, p.a, p.k(), p.k(), p.lda), p.batch, p.stride_a, bytes),
          all_entries(matrix(Op::none, p.c, p.m, p.n, p.ldc), p.batch, p.stride_c, bytes)};
}

// Of the arrays that a sweep's problem has: in place x is y.
std::vector<Operand> operands(const Rowwise& p) {
  const std::size_t size = size_of(p.type);
  const auto rows = [&](const void* data, std::int64_t count, std::int64_t ld) {
    return Operand{data, data == nullptr ? 0 : matrix_bytes(count, p.cols, ld, size)};
  };
  const bool in_place = p.x == p.y;
  return {rows(p.x, p.rows, p.ldx), in_place ? Operand{p.y, 0} : rows(p.y, p.rows, p.ldy),
          rows(p.residual, p.residual_rows, p.ld_residual), rows(p.sum, p.rows, p.ld_sum)};
}

// Dense, as a measured problem is, and without a mask.
std::vector<Operand> operands(const Attention& p) {
  const auto heads = [&](const float* data, std::int64_t count, std::int64_t rows) {
    return Operand{data, static_cast<std::size_t>(p.batch * count * rows * p.dim) * sizeof(float)};
  };
  return {heads(p.q, p.heads, p.queries), heads(p.k, p.kv_heads, p.keys),
          heads(p.v, p.kv_heads, p.keys), heads(p.o, p.heads, p.queries)};
}

Attention on_set(Attention problem, const OperandSets& sets, std::int64_t set) {
  problem.q = sets.data<float>(set, 0);
  problem.k = sets.data<float>(set, 1);
  problem.v = sets.data<float>(set, 2);
  problem.o = sets.data<float>(set, 3);
  return problem;
}

Sgemm on_set(Sgemm problem, const OperandSets& sets, std::int64_t set) {
  problem.a = sets.data<float>(set, 0);
  problem.b = sets.data<float>(set, 1);
  problem.c = sets.data<float>(set, 2);
  return problem;
}

Level3 on_set(Level3 problem, const OperandSets& sets, std::int64_t set) {
  problem.a = sets.data<float>(set, 0);
  problem.b = sets.data<float>(set, 1);
  problem.c = sets.data<float>(set, 2);
  return problem;
}

Cgemm on_set(Cgemm problem, const OperandSets& sets, std::int64_t set) {
  problem.a = sets.data<Complex>(set, 0);
  problem.b = sets.data<Complex>(set, 1);
  problem.c = sets.data<Complex>(set, 2);
  return problem;
}

Ctrsm on_set(Ctrsm problem, const OperandSets& sets, std::int64_t set) {
  problem.a = sets.data<Complex>(set, 0);
  problem.c = sets.data<Complex>(set, 1);
  return problem;
}

ScaleAdd on_set(ScaleAdd problem, const OperandSets& sets, std::int64_t set) {
  problem.a = sets.data<float>(set, 0);
  problem.b = sets.data<float>(set, 1);
  return problem;
}

Reduce on_set(Reduce problem, const OperandSets& sets, std::int64_t set) {
  problem.data = sets.data<void>(set, 0);
  if (problem.offsets != nullptr) problem.offsets = sets.data<std::int64_t>(set, 1);
  problem.out = sets.data<void>(set, 2);
  return problem;
}

Rowwise on_set(Rowwise problem, const OperandSets& sets, std::int64_t set) {
  const bool in_place = problem.x == problem.y;
  problem.x = sets.data<void>(set, 0);
  problem.y = sets.data<void>(set, in_place ? 0 : 1);
  if (problem.residual != nullptr) problem.residual = sets.data<void>(set, 2);
  if (problem.sum != nullptr) problem.sum = sets.data<void>(set, 3);
  return problem;
}

double work(const check::RowwiseCase& c) {
  return 2.0 * static_cast<double>(c.rows) * static_cast<double>(c.cols) *
         static_cast<double>(size_of(c.type));
}

double work(const check::AttentionCase& c) {
  Attention p;
  p.batch = c.batch;
  p.heads = c.heads;
  p.queries = c.queries;
  p.keys = c.keys;
  p.dim = c.dim;
  p.causal = c.causal;
  return p.flops();
}

double work(const check::SgemmCase& c) {
  return 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k) *
         static_cast<double>(c.batch);
}

double work(const check::Level3Case& c) {
  Level3 p;
  p.routine = c.routine;
  p.m = c.m;
  p.n = c.n;
  p.k = c.k;
  p.batch = c.batch;
  return p.flops();
}

double roofline_us(const check::Level3Case& c) {
  const auto elements = [](std::int64_t rows, std::int64_t cols) {
    return static_cast<double>(rows) * static_cast<double>(cols);
  };
  const bool updates = c.routine <= Routine::syr2k;
  const bool factors = c.routine == Routine::potrf;
  const double of_a = updates ? elements(c.m, c.k) : factors ? 0 : 0.5 * elements(c.k, c.k);
  const double of_c = (updates || factors ? 0.5 : 1) * elements(c.m, c.n);
  const double of_b = c.routine == Routine::syrk || factors ? 0
                      : updates                             ? elements(c.m, c.k)
                                                            : elements(c.m, c.n);
  const double bytes = sizeof(float) * (of_a + of_b + of_c);
  const Roofline& r = reference_roofline;
  const double gbs = bytes <= static_cast<double>(r.cache_bytes) ? r.cache_gbs : r.memory_gbs;
  return std::max({work(c) * 1e-6 / r.fp32_tflops, bytes * 1e-3 / gbs, r.launch_us});
}

double roofline_us(const check::CtrsmCase& c) {
  const double of_a = 0.5 * static_cast<double>(c.k()) * static_cast<double>(c.k());
  const double of_c = static_cast<double>(c.m) * static_cast<double>(c.n);
  return reference_roofline.time_us(work(c), sizeof(Complex) * (of_a + of_c));
}

double work(const check::CgemmCase& c) { return 4 * work(static_cast<const check::SgemmCase&>(c)); }

double work(const check::CtrsmCase& c) {
  Ctrsm p;
  p.on_left = c.on_left;
  p.m = c.m;
  p.n = c.n;
  p.batch = c.batch;
  return p.flops();
}

double work(const check::ScaleAddCase& c) {
  return 8.0 * static_cast<double>(c.rows) * static_cast<double>(c.cols);
}

double work(const check::ReduceCase& c) {
  const double elements =
      c.shape == ReduceShape::segments
          ? static_cast<double>(
                check::segment_offsets(c.lengths, c.segments, c.seed, c.cols).back())
          : static_cast<double>(c.rows) * static_cast<double>(c.cols);
  return elements * static_cast<double>(size_of(c.type));
}

check::SgemmCase probe(check::SgemmCase c) {
  constexpr std::int64_t edge = 160;
  c.m = std::min(c.m, edge);
  c.n = std::min(c.n, edge);
  c.k = std::min(c.k, edge);
  // Enough of a batch that starting threads is not most of its time.
  const std::int64_t volume = std::max<std::int64_t>(c.m * c.n * c.k, 1);
  c.batch = std::min(c.batch, ceil_div(edge * edge * edge, volume));
  return c;
}

check::Level3Case probe(check::Level3Case c) {
  constexpr std::int64_t edge = 160;
  c.m = std::min(c.m, edge);
  c.n = std::min(c.n, edge);
  c.k = std::min(c.k, edge);
  return c;
}

check::CgemmCase probe(check::CgemmCase c) {
  static_cast<check::SgemmCase&>(c) = probe(static_cast<const check::SgemmCase&>(c));
  return c;
}

check::CtrsmCase probe(check::CtrsmCase c) {
  constexpr std::int64_t edge = 160;
  c.m = std::min(c.m, edge);
  c.n = std::min(c.n, edge);
  return c;
}

check::ScaleAddCase probe(check::ScaleAddCase c) {
  constexpr std::int64_t edge = 512;
  c.rows = std::min(c.rows, edge);
  c.cols = std::min(c.cols, edge);
  return c;
}

check::RowwiseCase probe(check::RowwiseCase c) {
  c.rows = std::min<std::int64_t>(c.rows, 64);
  c.cols = std::min<std::int64_t>(c.cols, 4096);
  return c;
}

check::AttentionCase probe(check::AttentionCase c) {
  constexpr std::int64_t rows = 128;
  c.batch = std::min<std::int64_t>(c.batch, 2);
  c.queries = std::min(c.queries, rows);
  c.keys = std::min(c.keys, rows);
  return c;
}

check::ReduceCase probe(check::ReduceCase c) {
  constexpr std::int64_t edge = 512;
  const std::int64_t length = c.shape == ReduceShape::whole ? edge * edge : edge;
  c.rows = std::min(c.rows, edge);
  c.cols = std::min(c.cols, length);
  c.segments = std::min(c.segments, edge);
  return c;
}

void fill_rates(Row& row, const Sgemm& p, const Ceilings& ceilings) {
  const double c_passes = p.beta == 0 ? 1 : 2;
  const double words = static_cast<double>(p.m) * static_cast<double>(p.loop_k()) +
                       static_cast<double>(p.loop_k()) * static_cast<double>(p.n) +
                       c_passes * static_cast<double>(p.m) * static_cast<double>(p.n);
  row.gflops = p.flops() * 1e-3 / row.time_us->median;
  row.gbs = gbs(4.0 * words * static_cast<double>(p.batch), row);
  if (ceilings.fp32_tflops) row.of_peak = *row.gflops * 1e-3 / *ceilings.fp32_tflops;
}

namespace {

// By what the operands have in memory, each once.
template <class Problem>
void fill_rates_of_operands(Row& row, const Problem& p, const Ceilings& ceilings) {
  row.gflops = p.flops() * 1e-3 / row.time_us->median;
  double bytes = 0;
  for (const Operand& operand : operands(p)) bytes += static_cast<double>(operand.bytes);
  row.gbs = gbs(bytes, row);
  if (ceilings.fp32_tflops) row.of_peak = *row.gflops * 1e-3 / *ceilings.fp32_tflops;
}

}  // namespace

void fill_rates(Row& row, const Level3& p, const Ceilings& ceilings) {
  fill_rates_of_operands(row, p, ceilings);
}

void fill_rates(Row& row, const Cgemm& p, const Ceilings& ceilings) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.loop_k());
  const double elements = m * k + k * n + (is_zero(p.beta) ? 1 : 2) * m * n;
  row.gflops = p.flops() * 1e-3 / row.time_us->median;
  row.gbs = gbs(8.0 * elements * static_cast<double>(p.batch), row);
  if (ceilings.fp32_tflops) row.of_peak = *row.gflops * 1e-3 / *ceilings.fp32_tflops;
}

void fill_rates(Row& row, const Ctrsm& p, const Ceilings& ceilings) {
  fill_rates_of_operands(row, p, ceilings);
}

void fill_rates(Row& row, const ScaleAdd& p, const Ceilings& ceilings) {
  const double flops = 2.0 * static_cast<double>(p.rows) * static_cast<double>(p.cols);
  row.gflops = flops * 1e-3 / row.time_us->median;
  row.gbs = gbs(p.bytes(), row);
  if (ceilings.read_gbs) row.of_peak = *row.gbs / *ceilings.read_gbs;
}

void fill_rates(Row& row, const Attention& p, const Ceilings& ceilings) {
  row.gflops = p.flops() * 1e-3 / row.time_us->median;
  row.gbs = gbs(p.bytes(), row);
  if (ceilings.fp32_tflops) row.of_peak = *row.gflops * 1e-3 / *ceilings.fp32_tflops;
}

void fill_rates(Row& row, const Rowwise& p, const Ceilings& ceilings) {
  row.gbs = gbs(p.bytes(), row);
  if (ceilings.copy_gbs) row.of_peak = *row.gbs / *ceilings.copy_gbs;
}

void fill_rates(Row& row, const Reduce& p, const Ceilings& ceilings) {
  row.gbs = gbs(p.bytes(), row);
  if (ceilings.read_gbs) row.of_peak = *row.gbs / *ceilings.read_gbs;
}

}  // namespace kw::bench
