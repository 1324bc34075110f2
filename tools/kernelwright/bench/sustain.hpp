// Sustained rates: one kernel back to back for some seconds, while the board's energy is counted.
// Kernels that take turns give a kernel that is limited by power the rest that it would not have
// (docs/measuring.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "anchors.hpp"
#include "bench/board_record.hpp"
#include "bench/ceilings.hpp"
#include "bench/row.hpp"
#include "check/workbench.hpp"

namespace kw::bench {

struct SustainOptions {
  double seconds = 5;   // measured, at least one call
  double lead_s = 1;    // before: the board comes to the clock that it can keep
  double rest_s = 0.2;  // before each of a few short spells, for the rate of a board that rests
};

// What the loop found of one call.
struct SustainedTimes {
  std::vector<double> windows_us;  // a call's time in each window of about 100 ms
  double rested_us = 0;            // a call's time in a short spell after a rest
  double total_us = 0;             // of all calls
  std::int64_t calls = 0;
  BoardSummary board;
};

// Verifies each kernel, then runs one after the other for as long as the options say.
class Sustain {
 public:
  // `sensors` may be null. `say` and `progress` as Bench takes them.
  Sustain(check::Workbench& workbench, const SustainOptions& options, const Ceilings& ceilings,
          std::unique_ptr<Sensors> sensors, std::function<void(const std::string&)> say,
          std::function<void(const std::string&)> progress);

  // A row a kernel, the anchors last. Rows of kernels that fail have no time.
  std::vector<Row> run(const KernelList<Sgemm>& kernels, const std::vector<peers::Anchor>& anchors,
                       const check::SgemmCase& c);

  // What of a row stays empty on this device, as a sentence; empty where nothing does.
  std::string not_measured() const;

  // The loop itself. `name` is for the progress.
  SustainedTimes back_to_back(const std::function<Status(Stream)>& call, const std::string& name);

 private:
  struct Subject;
  Row row_of(const Subject& subject, check::SgemmTrial& trial, const check::SgemmCase& c);
  void fill(Row& row, const SustainedTimes& times, const Sgemm& problem) const;

  check::Workbench& workbench_;
  SustainOptions options_;
  Ceilings ceilings_;
  std::unique_ptr<Sensors> sensors_;
  std::function<void(const std::string&)> say_;
  std::function<void(const std::string&)> progress_;
};

// Of each split row the rate by a third of the FP16 anchor's: a split product takes three.
void fill_shares_of_fp16(std::vector<Row>& rows);

// A line a row: sustained and rested rate, power, clock, energy.
std::string sustained_table(const std::vector<Row>& rows);

}  // namespace kw::bench
