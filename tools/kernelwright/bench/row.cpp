// Rows from problems, ratios between rows, rows as JSON.
#include "bench/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

namespace kw::bench {
namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

// JSON has no infinity and no NaN.
ordered_json number_or_null(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json finite_or_null(const std::optional<double>& value) {
  return value ? number_or_null(*value) : ordered_json(nullptr);
}

// The shortest decimal that reads back as the same float.
ordered_json float_or_null(float value) {
  return std::isfinite(value) ? ordered_json(std::stod(fmt::format("{}", value)))
                              : ordered_json(nullptr);
}

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

ordered_json launch_json(const gpu::LaunchShape& launch) {
  if (launch.launches == 0) return nullptr;
  return {{"grid", launch.grid}, {"block", launch.block}, {"shared_bytes", launch.shared_bytes}};
}

ordered_json time_json(const std::optional<TimeStatistics>& time) {
  if (!time) return nullptr;
  return {{"min", time->min}, {"median", time->median}, {"mean", time->mean},
          {"max", time->max}, {"iqr", time->iqr},       {"repeats", time->repeats}};
}

ordered_json error_json(const check::ErrorSummary& error) {
  return {{"max", number_or_null(error.max)},
          {"rms", number_or_null(error.rms)},
          {"mean_signed", number_or_null(error.mean_signed)},
          {"bound", number_or_null(error.bound)}};
}

// What describes the problem of sgemm, cgemm, level 3, ctrsm and scale_add.
ordered_json product_json(const Row& row) {
  ordered_json json = {{"m", row.m},
                       {"n", row.n},
                       {"k", or_null(row.k)},
                       {"op_a", or_null(row.op_a)},
                       {"op_b", or_null(row.op_b)},
                       {"lda", row.lda},
                       {"ldb", or_null(row.ldb)},
                       {"ldc", or_null(row.ldc)},
                       {"alpha", float_or_null(row.alpha)},
                       {"beta", float_or_null(row.beta)},
                       {"batch", row.batch},
                       {"layout", "row_major"}};
  if (row.alpha_im)
    json.update({{"alpha_im", float_or_null(*row.alpha_im)},
                 {"beta_im", float_or_null(row.beta_im.value_or(0))}});
  return json;
}

ordered_json reduction_json(const Row& row) {
  const ReductionRow& r = *row.reduction;
  return {{"n", row.n},
          {"dtype", r.dtype},
          {"reduce_op", r.reduce_op},
          {"shape", r.shape},
          {"rows", or_null(r.rows)},
          {"cols", or_null(r.cols)},
          {"ld", or_null(r.ld)},
          {"segments", or_null(r.segments)},
          {"lengths", or_null(r.lengths)},
          {"misalign", r.misalign},
          {"correction", or_null(r.correction)}};
}

ordered_json rowwise_json(const Row& row) {
  const RowwiseRow& r = *row.rowwise;
  return {
      {"n", row.n}, {"dtype", r.dtype},       {"rows", r.rows},         {"cols", r.cols},
      {"ld", r.ld}, {"misalign", r.misalign}, {"in_place", r.in_place}, {"residual", r.residual}};
}

ordered_json attention_json(const Row& row) {
  const AttentionRow& r = *row.attention;
  return {{"batch", row.batch},   {"heads", r.heads}, {"kv_heads", r.kv_heads},
          {"queries", r.queries}, {"keys", r.keys},   {"dim", r.dim},
          {"causal", r.causal}};
}

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

ordered_json sustained_json(const SustainedRow& row) {
  return {{"sustained_s", row.seconds},
          {"calls", row.calls},
          {"rested_gflops", or_null(row.rested_gflops)},
          {"joules_per_call", or_null(row.joules_per_call)},
          {"gflop_per_joule", or_null(row.gflop_per_joule)},
          {"energy_from", row.energy_from.empty() ? ordered_json() : ordered_json(row.energy_from)},
          {"hottest_c", or_null(row.hottest_c)},
          {"power_limit_w", or_null(row.power_limit_w)},
          {"limited_by", or_null(row.limited_by)},
          {"of_fp16_third", or_null(row.of_fp16_third)}};
}

ordered_json distributed_json(const DistributedRow& row) {
  ordered_json json = {{"gpus", row.gpus},
                       {"grid", row.grid},
                       {"panel_k", row.panel_k},
                       {"one_gpu_us", row.one_gpu_us},
                       {"one_gpu_us_each", row.one_gpu_us_each},
                       {"speedup", row.speedup},
                       {"products_us", row.products_us},
                       {"transfers_us", row.transfers_us},
                       {"overlap", or_null(row.overlap)},
                       {"predicted_us", or_null(row.predicted_us)},
                       {"predicted_speedup", or_null(row.predicted_speedup)},
                       {"peer_bytes", row.peer_bytes},
                       {"memory_bytes", row.memory_bytes}};
  for (const TimelineSpan& span : row.timeline) {
    json["timeline"].push_back({{"rank", span.rank},
                                {"what", span.what},
                                {"step", span.step},
                                {"begin_us", span.begin_us},
                                {"end_us", span.end_us}});
  }
  return json;
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

ordered_json to_json(const Row& row) {
  ordered_json json = {{"op", row.op}, {"kernel", row.kernel}, {"role", row.role}};
  json.update(row.reduction   ? reduction_json(row)
              : row.rowwise   ? rowwise_json(row)
              : row.attention ? attention_json(row)
                              : product_json(row));
  if (row.level3) {
    const Level3Row& form = *row.level3;
    json.update({{"uplo", form.uplo},
                 {"side", form.side.empty() ? ordered_json() : ordered_json(form.side)},
                 {"unit_diagonal", form.unit_diagonal}});
  }
  json.update({{"math", row.math},
               {"path", row.path},
               {"input", row.input},
               {"l2", or_null(row.l2)},
               {"timing", or_null(row.timing)},
               {"launch", launch_json(row.launch)},
               {"time_us", time_json(row.time_us)},
               {"gflops", or_null(row.gflops)},
               {"gbs", or_null(row.gbs)},
               {"of_peak", or_null(row.of_peak)},
               {"peer", or_null(row.peer)},
               {"vs_peer", or_null(row.vs_peer)},
               {"vs_previous", or_null(row.vs_previous)},
               {"sm_clock_mhz", or_null(row.sm_clock_mhz)},
               {"power_w", or_null(row.power_w)},
               {"error", error_json(row.error)},
               {"c_first", float_or_null(row.c_first)},
               {"c_last", float_or_null(row.c_last)},
               {"verified", row.verified}});
  if (row.suite) {
    json.update({{"seeds", row.suite->seeds},
                 {"rms_vs_peer", finite_or_null(row.suite->rms_vs_peer)},
                 {"max_vs_peer", finite_or_null(row.suite->max_vs_peer)},
                 {"same_bits", or_null(row.suite->same_bits)}});
  }
  if (row.fuzz) {
    json.update({{"draw", row.fuzz->draw},
                 {"seed", row.fuzz->seed},
                 {"data", row.fuzz->data},
                 {"products", row.fuzz->products},
                 {"outputs", row.fuzz->outputs},
                 {"one_sum_rms", number_or_null(row.fuzz->one_sum_rms)},
                 {"rms_vs_one_sum", number_or_null(row.fuzz->rms_vs_one_sum)},
                 {"excess", number_or_null(row.fuzz->excess)}});
  }
  if (row.sweep) {
    json.update({{"sweep", row.sweep->sweep},
                 {"seed", or_null(row.sweep->seed)},
                 {"number", row.sweep->number},
                 {"program", or_null(row.sweep->program)},
                 {"third", row.sweep->third},
                 {"roofline_us", or_null(row.sweep->roofline_us)}});
  }
  if (row.plan) {
    json.update({{"predicted_us", number_or_null(row.plan->predicted_us)},
                 {"workspace_bytes", row.plan->workspace_bytes}});
  }
  if (row.sustained) json.update(sustained_json(*row.sustained));
  if (row.distributed) json.update(distributed_json(*row.distributed));
  if (row.out_of_core) {
    json.update({{"device_bytes", row.out_of_core->device_bytes},
                 {"in_memory_us", row.out_of_core->in_memory_us},
                 {"of_in_memory", row.out_of_core->of_in_memory},
                 {"bytes_in", row.out_of_core->bytes_in},
                 {"bytes_out", row.out_of_core->bytes_out},
                 {"tiles", row.out_of_core->tiles}});
  }
  return json;
}

}  // namespace kw::bench
