// Rows as JSON; report/kernelwright_report/schema.py says what each member may be.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/row.hpp"

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

ordered_json level3_json(const Level3Row& row) {
  return {{"uplo", row.uplo},
          {"side", row.side.empty() ? ordered_json() : ordered_json(row.side)},
          {"unit_diagonal", row.unit_diagonal}};
}

// What every kernel's row says of how it went.
ordered_json outcome_json(const Row& row) {
  return {{"math", row.math},
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
          {"verified", row.verified}};
}

ordered_json suite_json(const SuiteRow& row) {
  return {{"seeds", row.seeds},
          {"rms_vs_peer", finite_or_null(row.rms_vs_peer)},
          {"max_vs_peer", finite_or_null(row.max_vs_peer)},
          {"same_bits", or_null(row.same_bits)}};
}

ordered_json fuzz_json(const FuzzRow& row) {
  return {{"draw", row.draw},
          {"seed", row.seed},
          {"data", row.data},
          {"products", row.products},
          {"outputs", row.outputs},
          {"one_sum_rms", number_or_null(row.one_sum_rms)},
          {"rms_vs_one_sum", number_or_null(row.rms_vs_one_sum)},
          {"excess", number_or_null(row.excess)}};
}

ordered_json sweep_json(const SweepRow& row) {
  return {{"sweep", row.sweep},   {"seed", or_null(row.seed)},
          {"number", row.number}, {"program", or_null(row.program)},
          {"third", row.third},   {"roofline_us", or_null(row.roofline_us)}};
}

ordered_json plan_json(const PlanRow& row) {
  return {{"predicted_us", number_or_null(row.predicted_us)},
          {"workspace_bytes", row.workspace_bytes}};
}

ordered_json out_of_core_json(const OutOfCoreRow& row) {
  return {{"device_bytes", row.device_bytes}, {"in_memory_us", row.in_memory_us},
          {"of_in_memory", row.of_in_memory}, {"bytes_in", row.bytes_in},
          {"bytes_out", row.bytes_out},       {"tiles", row.tiles}};
}

}  // namespace

ordered_json to_json(const Row& row) {
  ordered_json json = {{"op", row.op}, {"kernel", row.kernel}, {"role", row.role}};
  json.update(row.reduction   ? reduction_json(row)
              : row.rowwise   ? rowwise_json(row)
              : row.attention ? attention_json(row)
                              : product_json(row));
  if (row.level3) json.update(level3_json(*row.level3));
  json.update(outcome_json(row));
  if (row.suite) json.update(suite_json(*row.suite));
  if (row.fuzz) json.update(fuzz_json(*row.fuzz));
  if (row.sweep) json.update(sweep_json(*row.sweep));
  if (row.plan) json.update(plan_json(*row.plan));
  if (row.sustained) json.update(sustained_json(*row.sustained));
  if (row.distributed) json.update(distributed_json(*row.distributed));
  if (row.out_of_core) json.update(out_of_core_json(*row.out_of_core));
  return json;
}

}  // namespace kw::bench
