// What `kernelwright run` makes of the records that the adapter left: one a process.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kw {

// Calls of one symbol and shape that went one way, of all processes together.
struct RunRow {
  std::string symbol, op_a, op_b, epilogue, math, kernel, reason;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool taken = false, pedantic = false;
  std::int64_t calls = 0, captured = 0, verified = 0;
  double host_us = 0;                                // of all calls
  double predicted_us = 0, vendor_predicted_us = 0;  // a call; 0: not predicted
  double error = 0, vendor_error = 0;                // the largest seen, in units of verified_text

  double gained_us() const;
};

struct RunSummary {
  std::vector<RunRow> rows;  // what was gained most by first, then what was called most
  std::vector<std::string> devices;
  int processes = 0;

  std::int64_t calls(bool taken) const;
  double gained_us() const;
};

// The records in a folder. A file that is none is left out.
RunSummary read_records(const std::string& folder);

// The summary as text, at most so many shapes of each kind.
std::string run_text(const RunSummary& summary, std::size_t most_shapes);
nlohmann::ordered_json run_json(const RunSummary& summary);

}  // namespace kw
