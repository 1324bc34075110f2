// The rungs that this program has with their accesses recorded, and one run of one of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shapes.hpp"
#include "trace/counts.hpp"

namespace kw {

struct TracedRung {
  std::string op, name, idea;
  std::string page;  // its file in the source tree
};

struct TraceRequest {
  Shape product{256, 256, 256};                 // of attention: queries, keys, head size
  std::int64_t length = std::int64_t{1} << 20;  // of a reduction
  std::uint64_t blocks = 0;                     // of each launch that are recorded; 0: all
  int multiprocessors = 132;                    // of the GPU that is pretended
};

struct RungTrace {
  TracedRung rung;
  std::string problem;  // "256 x 256 x 256"
  double flops = 0;
  bool refused = false;
  std::string failure;  // empty: the result was right
  double max_error = 0;
  double seconds = 0;
  std::vector<trace::LaunchCounts> launches;
  std::map<std::uintptr_t, std::string> operands;  // of a product: where A, B and C begin

  bool has_race() const;
};

// In ladder order.
std::vector<TracedRung> traced_rungs();
// Those that `words` name: a rung's name or a glob of names; "r07", a name up to its first "_", of
// the sgemm ladder, or "reduce/r07", "attention/r03" of another. Throws UsageError that lists names
// like it.
std::vector<TracedRung> find_rungs(const std::string& words);

// Runs the rung through host SIMT and records it.
RungTrace trace_rung(const TracedRung& rung, const TraceRequest& request);

}  // namespace kw
