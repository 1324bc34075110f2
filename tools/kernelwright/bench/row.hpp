// One result: a kernel, a problem, what was found. The JSON file and the terminal show the same
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/statistics.hpp"
#include "check/reduce/case.hpp"
#include "check/rowwise/case.hpp"
#include "check/verify.hpp"
#include "check/verify_attention.hpp"
#include "check/verify_cgemm.hpp"
#include "check/verify_ctrsm.hpp"
#include "check/verify_level3.hpp"
#include "kernel.hpp"

namespace kw::bench {

// What describes a reduction in place of m, n and k. Row::n holds its elements.
struct ReductionRow {
  std::string label;  // its size, for tables
  std::string dtype, reduce_op, shape;
  std::optional<std::int64_t> rows, cols, ld;  // of rows and columns
  std::optional<std::int64_t> segments;
  std::optional<std::string> lengths;      // of segments
  std::int64_t misalign = 0;               // elements past a 256-byte boundary
  std::optional<std::int64_t> correction;  // of variance
};

// What describes a row-wise operation in place of m, n and k. Row::n holds its elements.
struct RowwiseRow {
  std::string dtype;
  std::int64_t rows = 0, cols = 0, ld = 0;  // of x
  std::int64_t misalign = 0;                // elements past a 256-byte boundary
  bool in_place = false, residual = false;
};

// What describes attention in place of m, n and k. Row::batch holds its entries.
struct AttentionRow {
  std::int64_t heads = 0, kv_heads = 0, queries = 0, keys = 0, dim = 0;
  std::string causal;  // none, from_start, from_end
};

// What level 3 and ctrsm add.
struct Level3Row {
  std::string uplo, side;  // side is empty where there is none
  bool unit_diagonal = false;
};

// What the accuracy suite adds: errors are pooled over several seeds, and beside the peer's.
struct SuiteRow {
  int seeds = 0;
  std::optional<double> rms_vs_peer, max_vs_peer;
  std::optional<bool> same_bits = {};  // of two calls; empty where there was one
};

// What the accuracy fuzzer adds: errors are pooled over products of data drawn from one
// distribution, beside those of one FP32 sum an element.
struct FuzzRow {
  std::int64_t draw;
  std::uint64_t seed;  // of the data
  std::string data;    // the distribution, as --data takes it
  int products;
  std::int64_t outputs;  // of all products
  double one_sum_rms;
  double rms_vs_one_sum;
  double excess;  // of the mean square over that of one sum, in standard errors
};

// What a sweep of named or random products adds.
struct SweepRow {
  std::string sweep;                   // random, programs
  std::optional<std::uint64_t> seed;   // of random
  std::int64_t number = 0;             // of the product in the sweep, from 0
  std::optional<std::string> program;  // of programs: what computes it
  std::string third;                   // short, middle, long, as roofline.hpp tells them apart
  std::optional<double> roofline_us;   // on this device; empty where its limits are not known
};

// What a kernel planned, of runs that compare predictions with times.
struct PlanRow {
  double predicted_us;  // infinite: it predicts none
  std::size_t workspace_bytes;
};

// What a sustained run adds: one kernel back to back, none beside it.
struct SustainedRow {
  double seconds = 0;  // of all calls together
  std::int64_t calls = 0;
  std::optional<double> rested_gflops;  // of a short spell after a rest
  std::optional<double> joules_per_call, gflop_per_joule;
  std::string energy_from;  // as BoardSummary has it
  std::optional<double> hottest_c, power_limit_w;
  std::optional<std::map<std::string, double>> limited_by;
  std::optional<double> of_fp16_third;  // of a split product: its rate by a third of FP16's
};

// A product or the copies of a panel, of one rank in one call.
struct TimelineSpan {
  int rank = 0;
  std::string what;  // product or copy
  int step = 0;
  double begin_us = 0, end_us = 0;
};

// What a product over several devices adds.
struct DistributedRow {
  int gpus = 1;
  std::string grid;  // "2x1"
  std::int64_t panel_k = 0;
  double one_gpu_us = 0;                // the library's own call, the mean of all devices
  std::vector<double> one_gpu_us_each;  // of each
  double speedup = 0;
  double products_us = 0, transfers_us = 0;  // each without the other, of the slowest rank
  std::optional<double> overlap;             // the part of the transfers' time that is hidden
  std::optional<double> predicted_us, predicted_speedup;
  double peer_bytes = 0, memory_bytes = 0;  // of a rank, at most
  std::vector<TimelineSpan> timeline;       // of --timeline alone
};

// What a product of matrices in host memory adds.
struct OutOfCoreRow {
  double device_bytes = 0;  // allowed
  double in_memory_us = 0;  // the library's own call on the same matrices in the device's memory
  double of_in_memory = 0;  // its time by this one's
  double bytes_in = 0, bytes_out = 0;
  std::string tiles;  // "16384x32768x16384"
};

// Empty optionals are null in JSON: not measured, or without meaning for the operation.
struct Row {
  std::string op, kernel, role, parent;
  std::string path;                           // the kernel that really computes
  std::optional<ReductionRow> reduction;      // of reduce alone
  std::optional<RowwiseRow> rowwise;          // of row-wise operations alone
  std::optional<AttentionRow> attention;      // of attention alone
  std::optional<Level3Row> level3;            // of level 3 and ctrsm
  std::optional<SuiteRow> suite;              // of the accuracy suite alone
  std::optional<FuzzRow> fuzz;                // of accuracy --fuzz alone
  std::optional<SweepRow> sweep;              // of --sweep random and programs alone
  std::optional<PlanRow> plan;                // of --within alone
  std::optional<SustainedRow> sustained;      // of --sustain alone
  std::optional<DistributedRow> distributed;  // of bench distributed alone
  std::optional<OutOfCoreRow> out_of_core;    // of bench out_of_core alone
  std::int64_t m = 0, n = 0;
  std::optional<std::int64_t> k, ldb, ldc;
  std::optional<std::string> op_a, op_b;
  std::int64_t lda = 0, batch = 1;
  float alpha = 1, beta = 0;               // of scale_add: scale and shift; of cgemm: real parts
  std::optional<float> alpha_im, beta_im;  // of cgemm and ctrsm
  std::string math, input;
  std::optional<std::string> l2, timing;
  gpu::LaunchShape launch;
  std::optional<TimeStatistics> time_us;
  std::optional<double> gflops, gbs, of_peak;
  std::optional<std::string> peer;
  std::optional<double> vs_peer, vs_previous;
  std::optional<double> sm_clock_mhz, power_w;
  check::ErrorSummary error;
  float c_first = 0, c_last = 0;
  bool verified = false;
  std::string message;  // for the terminal, where it was not verified

  // "4096" for a cube, else "129x65x33"; "32 (batch 4096)"; of a reduction its length or shape, as
  // size_text has it.
  std::string shape() const;
};

// A problem's size in few characters: "129x65x33", "100x200"; a reduction's as "2^20", "1000+1"
// (misaligned by one element), "64x4096 rows", "4000000 one_to_32 segments".
std::string size_text(const check::SgemmCase& c);
std::string size_text(const check::Level3Case& c);
std::string size_text(const check::CtrsmCase& c);
std::string size_text(const check::ScaleAddCase& c);
std::string size_text(const check::ReduceCase& c);
std::string size_text(const check::RowwiseCase& c);
std::string size_text(const check::AttentionCase& c);

// The fields that come from a problem and its verification.
Row make_row(const Kernel<Sgemm>& kernel, const Sgemm& problem, const check::SgemmCase& c,
             const check::VerifyResult& result);
Row make_row(const Kernel<Level3>& kernel, const Level3& problem, const check::Level3Case& c,
             const check::VerifyResult& result);
Row make_row(const Kernel<ScaleAdd>& kernel, const ScaleAdd& problem, const check::ScaleAddCase& c,
             const check::VerifyResult& result);
Row make_row(const Kernel<Cgemm>& kernel, const Cgemm& problem, const check::CgemmCase& c,
             const check::VerifyResult& result);
Row make_row(const Kernel<Ctrsm>& kernel, const Ctrsm& problem, const check::CtrsmCase& c,
             const check::VerifyResult& result);
Row make_row(const Kernel<Reduce>& kernel, const Reduce& problem, const check::ReduceCase& c,
             const check::VerifyResult& result);

Row make_row(const Kernel<Rowwise>& kernel, const Rowwise& problem, const check::RowwiseCase& c,
             const check::VerifyResult& result);
Row make_row(const Kernel<Attention>& kernel, const Attention& problem,
             const check::AttentionCase& c, const check::VerifyResult& result);

// Ratios within rows of one problem: to the first peer, to each row's parent.
void fill_ratios(std::vector<Row>& rows);

nlohmann::ordered_json to_json(const Row& row);

}  // namespace kw::bench
