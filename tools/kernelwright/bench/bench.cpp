// Verify, time, tabulate: the same for every operation.
#include "bench/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/contest.hpp"
#include "bench/problems.hpp"

namespace kw::bench {
namespace {

std::string size_text(const check::SgemmCase& c) { return fmt::format("{}x{}x{}", c.m, c.n, c.k); }
std::string size_text(const check::ScaleAddCase& c) { return fmt::format("{}x{}", c.rows, c.cols); }

}  // namespace

template <class Problem>
struct Bench::Entry {
  const Kernel<Problem>* kernel;
  std::size_t row;
  double first_call_us;
  check::DeviceBuffer workspace;

  Status launch(const Problem& problem, const Device& device, Stream stream) const {
    void* scratch = workspace.bytes() > 0 ? workspace.data() : nullptr;
    return kernel->launch(problem, device, {scratch, workspace.bytes()}, stream);
  }
};

Bench::Bench(check::Workbench& workbench, const Options& options, const Ceilings& ceilings,
             std::function<void(const std::string&)> say,
             std::function<void(const std::string&)> progress)
    : workbench_(workbench),
      options_(options),
      ceilings_(ceilings),
      say_(std::move(say)),
      progress_(std::move(progress)),
      telemetry_(workbench.device()) {}

// Whether one call is expected to exceed the limit, judged by the slowest rate that the kernel has
// shown; a small problem gives one where there is none yet.
template <class Problem, class Trial, class Case>
bool Bench::is_too_slow(const Kernel<Problem>& kernel, const Case& c) {
  if (options_.max_call_ms <= 0) return false;
  auto known = us_a_work_.find(kernel.name);
  if (known == us_a_work_.end()) {
    const Case small = probe(c);
    if (work(small) >= work(c) || work(small) == 0) return false;
    const check::VerifyResult result = Trial(workbench_, small).verify(kernel);
    if (!result.ok()) return false;
    known = us_a_work_.emplace(kernel.name, result.first_call_us / work(small)).first;
  }
  const double expected_ms = known->second * work(c) * 1e-3;
  if (expected_ms <= options_.max_call_ms) return false;
  say_(fmt::format("{} is left out at {}: a call would take about {:.1f} s (--max-call-ms {:.0f})",
                   kernel.name, size_text(c), expected_ms * 1e-3, options_.max_call_ms));
  return true;
}

bool Bench::fits(const std::string& what, std::size_t bytes) {
  const std::size_t present = workbench_.device().memory_bytes;
  if (bytes <= present / 10 * 9) return true;
  say_(fmt::format(
      "{} is left out: operands and float64 check take {:.1f} GB, the device has {:.1f} GB", what,
      static_cast<double>(bytes) * 1e-9, static_cast<double>(present) * 1e-9));
  return false;
}

// Adds a row for each kernel that takes the problem; those that are right go on to be timed.
template <class Problem, class Trial, class Case>
std::vector<Bench::Entry<Problem>> Bench::verify(const KernelList<Problem>& kernels, Trial& trial,
                                                 const Case& c, std::vector<Row>& rows) {
  std::vector<Entry<Problem>> entries;
  for (const Kernel<Problem>& kernel : kernels) {
    progress_(fmt::format("{}: verifying {}", size_text(c), kernel.name));
    const check::VerifyResult result = trial.verify(kernel);
    if (result.outcome == check::Outcome::unsupported) {
      say_(fmt::format("{} is left out at {}: {}", kernel.name, size_text(c), result.message));
      continue;
    }
    rows.push_back(make_row(kernel, trial.problem(), c.input, result));
    if (!result.ok()) continue;
    const std::size_t bytes = kernel.workspace_bytes(trial.problem(), workbench_.device());
    entries.push_back(
        {&kernel, rows.size() - 1, result.first_call_us, {workbench_.runtime(), bytes}});
  }
  return entries;
}

// `problems` are the same one on each of the operand sets that calls rotate over.
template <class Problem, class Case>
void Bench::time(const std::vector<Entry<Problem>>& entries, const std::vector<Problem>& problems,
                 const Case& c, std::vector<Row>& rows) {
  std::vector<Contestant> contestants;
  for (const Entry<Problem>& entry : entries) {
    Contestant contestant;
    contestant.name = entry.kernel->name;
    contestant.first_call_us = entry.first_call_us;
    contestant.call = [this, &entry, &problems](std::int64_t set, Stream stream) {
      return entry.launch(problems[static_cast<std::size_t>(set)], workbench_.device(), stream);
    };
    contestants.push_back(std::move(contestant));
  }
  ContestOptions contest;
  contest.budget_ms = options_.budget_ms;
  contest.buffer_sets = static_cast<std::int64_t>(problems.size());
  run_contest(workbench_, contestants, contest, telemetry_, [&](double done) {
    progress_(fmt::format("{}: timing {} kernels, {:.0f} %", size_text(c), contestants.size(),
                          100 * done));
  });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Row& row = rows[entries[i].row];
    row.l2 = to_string(options_.l2);
    row.timing = contestants[i].timing;
    row.time_us = summarise_times(contestants[i].samples_us);
    row.sm_clock_mhz = contestants[i].telemetry.sm_clock_mhz;
    row.power_w = contestants[i].telemetry.power_w;
    fill_rates(row, problems.front(), ceilings_);
    double& slowest = us_a_work_[row.kernel];
    slowest = std::max(slowest, row.time_us->median / work(c));
  }
}

template <class Problem, class Trial, class Case>
std::vector<Row> Bench::run_any(const KernelList<Problem>& kernels, const Case& c) {
  if (!fits(size_text(c), Trial::bytes(c))) return {};
  KernelList<Problem> chosen;
  for (const Kernel<Problem>& kernel : kernels) {
    if (!is_too_slow<Problem, Trial>(kernel, c)) chosen.push_back(kernel);
  }
  if (chosen.empty()) return {};

  progress_(fmt::format("{}: float64 reference", size_text(c)));
  Trial trial(workbench_, c);
  const Problem& problem = trial.problem();
  std::vector<Problem> problems = {problem};
  std::unique_ptr<OperandSets> sets;
  if (options_.l2 == L2::cold) {
    const std::vector<OperandShape> shapes = operand_shapes(problem, c);
    const std::int64_t count = cold_set_count(workbench_.device().l2_bytes, shapes);
    const std::size_t bytes = Trial::bytes(c) + OperandSets::bytes(shapes, count);
    if (!fits(size_text(c) + " with a cold L2", bytes)) return {};
    sets = std::make_unique<OperandSets>(workbench_, shapes, count);
    problems.clear();
    for (std::int64_t set = 0; set < count; ++set) problems.push_back(on_set(problem, *sets, set));
  }

  std::vector<Row> rows;
  const std::vector<Entry<Problem>> entries = verify<Problem>(chosen, trial, c, rows);
  time(entries, problems, c, rows);
  fill_ratios(rows);
  return rows;
}

std::vector<Row> Bench::run(const KernelList<Sgemm>& kernels, const check::SgemmCase& c) {
  return run_any<Sgemm, check::SgemmTrial>(kernels, c);
}

std::vector<Row> Bench::run(const KernelList<ScaleAdd>& kernels, const check::ScaleAddCase& c) {
  return run_any<ScaleAdd, check::ScaleAddTrial>(kernels, c);
}

}  // namespace kw::bench
