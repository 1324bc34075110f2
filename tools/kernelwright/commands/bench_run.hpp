// What the operations of `kernelwright bench` share: options, and a run over problems.
#pragma once

#include <string>

#include "commands/attention_options.hpp"
#include "commands/commands.hpp"
#include "commands/ctrsm_options.hpp"
#include "commands/level3_options.hpp"
#include "commands/product_options.hpp"
#include "commands/reduce_options.hpp"
#include "commands/rowwise_options.hpp"

namespace kw {

struct BenchOptions : CommonOptions {
  std::string l2 = "hot";
  double budget_ms = 0, max_call_ms = -1, within = 0;
  ProductChoice product;               // of sgemm
  float scale = 1.25f, shift = -0.5f;  // of scale_add
  ReduceChoice reduce;                 // of reduce
  Level3Choice level3;                 // of level3
  CtrsmChoice ctrsm;                   // of ctrsm
  RowwiseChoice rowwise;               // of rowwise
  AttentionChoice attention;           // of attention
  std::string timing = "auto";
  bool quick = false, no_peer = false, no_ceilings = false;
  double sustain_s = 0;  // of sgemm

  // Those that made the problems as large as they are.
  const char* size_arguments() const {
    const bool batch = product.batch > 0, pad = !product.pad.empty();
    if (batch && pad) return "--shape, --batch and --pad";
    return batch ? "--shape and --batch" : pad ? "--shape and --pad" : "--shape";
  }
};

// How calls are timed, and on what.
void add_timing_options(CLI::App& to, BenchOptions& options);
// --timing; the second has `enqueue`, too.
void add_timing(CLI::App& to, BenchOptions& options);
void add_timing_with_enqueue(CLI::App& to, BenchOptions& options);

// Measure the kernels and problems of an operation that the options choose; the exit code.
int bench_sgemm(const BenchOptions& options, const std::string& command);
int bench_level3(const BenchOptions& options, const std::string& command);
int bench_cgemm(const BenchOptions& options, const std::string& command);
int bench_ctrsm(const BenchOptions& options, const std::string& command);
int bench_scale_add(const BenchOptions& options, const std::string& command);
int bench_reduce(const BenchOptions& options, const std::string& command);
int bench_rowwise(const BenchOptions& options, const std::string& command);
int bench_attention(const BenchOptions& options, const std::string& command);

}  // namespace kw
