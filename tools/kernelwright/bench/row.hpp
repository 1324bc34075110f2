// One result: a kernel, a problem, what was found. The JSON file and the terminal show the same
// rows.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/statistics.hpp"
#include "check/verify.hpp"
#include "kernel.hpp"

namespace kw::bench {

// Empty optionals are null in JSON: not measured, or without meaning for the operation.
struct Row {
  std::string op, kernel, role, parent;
  std::int64_t m = 0, n = 0;
  std::optional<std::int64_t> k, ldb, ldc;
  std::optional<std::string> op_a, op_b;
  std::int64_t lda = 0;
  float alpha = 1, beta = 0;  // of scale_add: scale and shift
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

  // "4096" for a cube, else "129x65x33".
  std::string shape() const;
};

// The fields that come from a problem and its verification.
Row make_row(const Kernel<Sgemm>& kernel, const Sgemm& problem, check::Input input,
             const check::VerifyResult& result);
Row make_row(const Kernel<ScaleAdd>& kernel, const ScaleAdd& problem, check::Input input,
             const check::VerifyResult& result);

// Ratios within rows of one problem: to the first peer, to each row's parent.
void fill_ratios(std::vector<Row>& rows);

nlohmann::ordered_json to_json(const Row& row);

}  // namespace kw::bench
