// Rows from problems, and ratios between rows.
#include "bench/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace kw::bench {
namespace {

template <class Problem>
Row common_row(const Kernel<Problem>& kernel, check::Input input,
               const check::VerifyResult& result) {
  Row row;
  row.kernel = kernel.name;
  row.path = result.path != nullptr ? result.path : kernel.name;
  row.role = to_string(kernel.role);
  row.parent = kernel.parent != nullptr ? kernel.parent : "";
  row.math = to_string(kernel.math);
  row.input = to_string(input);
  row.launch = result.launch;
  row.error = result.error;
  row.c_first = result.c_first;
  row.c_last = result.c_last;
  row.verified = result.ok();
  row.message = result.message;
  return row;
}

std::string letter(Op op) { return {op == Op::none ? 'N' : 'T'}; }

const char* causal_name(Causal causal) {
  switch (causal) {
    case Causal::none: return "none";
    case Causal::from_start: return "from_start";
    case Causal::from_end: return "from_end";
  }
  return "unknown";
}

// "2x16x4096x4096x128", "1x32/8x2048x2048x128 from_end".
std::string attention_text(std::int64_t batch, const AttentionRow& r) {
  return fmt::format("{}x{}{}x{}x{}x{}{}", batch, r.heads,
                     r.kv_heads != r.heads ? fmt::format("/{}", r.kv_heads) : "", r.queries, r.keys,
                     r.dim, r.causal != "none" ? " " + r.causal : "");
}

std::string batch_text(std::int64_t batch) {
  return batch == 1 ? std::string() : fmt::format(" (batch {})", batch);
}

// What tells a call of level 3 from others of its size: " ssyrk lower N".
std::string form_text(const Row& row) {
  const Level3Row& form = *row.level3;
  return fmt::format(" {} {}{}{} {}{}", row.op, form.side, form.side.empty() ? "" : " ", form.uplo,
                     row.op_a.value_or("N"), form.unit_diagonal ? "U" : "");
}

// "2^20" for a power of two that is long to read.
std::string length_text(std::int64_t n) {
  const auto length = static_cast<std::uint64_t>(n);
  if (n < 1024 || !std::has_single_bit(length)) return fmt::format("{}", n);
  return fmt::format("2^{}", std::countr_zero(length));
}

}  // namespace

std::string size_text(const check::SgemmCase& c) {
  return fmt::format("{}x{}x{}{}", c.m, c.n, c.k, batch_text(c.batch));
}
std::string size_text(const check::Level3Case& c) {
  return fmt::format("{} {}x{}x{}{}", to_string(c.routine), c.m, c.n, c.k, batch_text(c.batch));
}
std::string size_text(const check::CtrsmCase& c) {
  return fmt::format("ctrsm {}x{}{}", c.m, c.n, batch_text(c.batch));
}
std::string size_text(const check::ScaleAddCase& c) { return fmt::format("{}x{}", c.rows, c.cols); }

std::string size_text(const check::ReduceCase& c) {
  std::string text;
  if (c.shape == ReduceShape::segments) {
    text = fmt::format("{} {} segments", c.segments, to_string(c.lengths));
  } else if (c.shape != ReduceShape::whole) {
    text = fmt::format("{}x{} {}", c.rows, c.cols, to_string(c.shape));
  } else {
    text = length_text(c.cols);
  }
  return c.misalign == 0 ? text : fmt::format("{}+{}", text, c.misalign);
}

std::string size_text(const check::RowwiseCase& c) {
  const std::string text = fmt::format("{}x{}", c.rows, c.cols);
  return c.misalign == 0 ? text : fmt::format("{}+{}", text, c.misalign);
}

std::string size_text(const check::AttentionCase& c) {
  return attention_text(c.batch,
                        {c.heads, c.kv_heads, c.queries, c.keys, c.dim, causal_name(c.causal)});
}

std::string Row::shape() const {
  if (attention) return attention_text(batch, *attention);
  if (rowwise) {
    const RowwiseRow& r = *rowwise;
    return fmt::format(
        "{}x{}{}{}{}", r.rows, r.cols, r.ld != r.cols ? fmt::format(" ld {}", r.ld) : "",
        r.misalign != 0 ? fmt::format(" at {}", r.misalign) : "", r.in_place ? " in place" : "");
  }
  if (reduction) return reduction->label;
  if (!k) return m == n ? fmt::format("{}", m) : fmt::format("{}x{}", m, n);
  const std::string size =
      m == n && n == *k ? fmt::format("{}", m) : fmt::format("{}x{}x{}", m, n, *k);
  return size + batch_text(batch) + (level3 ? form_text(*this) : std::string());
}

namespace {

// What all products have.
template <class Problem, class Case>
Row product_row(const char* op, const Kernel<Problem>& kernel, const Problem& problem,
                const Case& c, const check::VerifyResult& result) {
  Row row = common_row(kernel, c.input, result);
  row.op = op;
  row.m = problem.m;
  row.n = problem.n;
  row.k = problem.k;
  row.lda = problem.lda;
  row.ldc = problem.ldc;
  row.batch = problem.batch;
  row.alpha = c.alpha;
  row.beta = c.beta;
  return row;
}

}  // namespace

Row make_row(const Kernel<Sgemm>& kernel, const Sgemm& problem, const check::SgemmCase& c,
             const check::VerifyResult& result) {
  Row row = product_row("sgemm", kernel, problem, c, result);
  row.op_a = letter(problem.op_a);
  row.op_b = letter(problem.op_b);
  row.ldb = problem.ldb;
  return row;
}

Row make_row(const Kernel<Level3>& kernel, const Level3& problem, const check::Level3Case& c,
             const check::VerifyResult& result) {
  Row row = product_row(to_string(problem.routine), kernel, problem, c, result);
  if (!problem.factors()) row.op_a = letter(problem.op_a);
  if (problem.reads_b()) row.op_b = letter(problem.op_b);
  if (problem.reads_b()) row.ldb = problem.ldb;
  row.level3 = {problem.triangle == Triangle::lower ? "lower" : "upper",
                problem.updates_triangle() || problem.factors() ? ""
                : problem.on_left                               ? "left"
                                                                : "right",
                problem.unit_diagonal};
  return row;
}

Row make_row(const Kernel<Cgemm>& kernel, const Cgemm& problem, const check::CgemmCase& c,
             const check::VerifyResult& result) {
  Row row = product_row("cgemm", kernel, problem, c, result);
  row.op_a = std::string(1, check::op_letter(problem.op_a, problem.conj_a));
  row.op_b = std::string(1, check::op_letter(problem.op_b, problem.conj_b));
  row.ldb = problem.ldb;
  row.alpha_im = c.alpha_im;
  row.beta_im = c.beta_im;
  return row;
}

Row make_row(const Kernel<Ctrsm>& kernel, const Ctrsm& problem, const check::CtrsmCase& c,
             const check::VerifyResult& result) {
  Row row = common_row(kernel, c.input, result);
  row.op = "ctrsm";
  row.m = problem.m;
  row.n = problem.n;
  row.k = problem.k();
  row.op_a = std::string(1, check::op_letter(problem.op_a, problem.conj_a));
  row.lda = problem.lda;
  row.ldc = problem.ldc;
  row.batch = problem.batch;
  row.alpha = c.alpha;
  row.beta = 0;
  row.alpha_im = c.alpha_im;
  row.level3 = {problem.triangle == Triangle::lower ? "lower" : "upper",
                problem.on_left ? "left" : "right", problem.unit_diagonal};
  return row;
}

Row make_row(const Kernel<ScaleAdd>& kernel, const ScaleAdd& problem, const check::ScaleAddCase& c,
             const check::VerifyResult& result) {
  Row row = common_row(kernel, c.input, result);
  row.op = "scale_add";
  row.m = problem.rows;
  row.n = problem.cols;
  row.lda = problem.lda;
  row.ldb = problem.ldb;
  row.alpha = problem.scale;
  row.beta = problem.shift;
  return row;
}

Row make_row(const Kernel<Reduce>& kernel, const Reduce& problem, const check::ReduceCase& c,
             const check::VerifyResult& result) {
  Row row = common_row(kernel, c.input, result);
  row.op = "reduce";
  row.n = problem.elements();
  ReductionRow& reduction = row.reduction.emplace();
  reduction.label = size_text(c);
  reduction.dtype = to_string(problem.type);
  reduction.reduce_op = to_string(problem.op);
  reduction.shape = to_string(problem.shape);
  if (problem.shape == ReduceShape::rows || problem.shape == ReduceShape::columns) {
    reduction.rows = problem.rows;
    reduction.cols = problem.cols;
    reduction.ld = problem.ld;
  }
  if (problem.shape == ReduceShape::segments) {
    reduction.segments = problem.segments;
    reduction.lengths = to_string(c.lengths);
  }
  reduction.misalign = c.misalign;
  if (problem.op == ReduceOp::variance) reduction.correction = problem.correction;
  return row;
}

Row make_row(const Kernel<Rowwise>& kernel, const Rowwise& problem, const check::RowwiseCase& c,
             const check::VerifyResult& result) {
  Row row = common_row(kernel, c.input, result);
  row.op = to_string(problem.op);
  row.n = problem.rows * problem.cols;
  row.rowwise = {
      to_string(problem.type),    problem.rows, problem.cols, problem.ldx, c.misalign, c.in_place,
      problem.residual != nullptr};
  return row;
}

Row make_row(const Kernel<Attention>& kernel, const Attention& problem,
             const check::AttentionCase& c, const check::VerifyResult& result) {
  Row row = common_row(kernel, check::Input::uniform, result);
  row.input = check::to_string(c.data);
  row.op = "attention";
  row.batch = problem.batch;
  row.attention = {problem.heads, problem.kv_heads, problem.queries,
                   problem.keys,  problem.dim,      causal_name(problem.causal)};
  return row;
}

void fill_ratios(std::vector<Row>& rows) {
  const auto timed = [&](const auto& wanted) {
    return std::find_if(rows.begin(), rows.end(),
                        [&](const Row& row) { return row.time_us && wanted(row); });
  };
  const auto peer = timed([](const Row& row) { return row.role == to_string(Role::peer); });
  for (Row& row : rows) {
    if (!row.time_us) continue;
    if (peer != rows.end()) {
      row.peer = peer->kernel;
      row.vs_peer = peer->time_us->median / row.time_us->median;
    }
    const auto parent = timed([&](const Row& other) { return other.kernel == row.parent; });
    if (parent != rows.end()) row.vs_previous = parent->time_us->median / row.time_us->median;
  }
}

}  // namespace kw::bench
