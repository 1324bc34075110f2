// Verify, time, tabulate: the same for every operation.
#include "bench/bench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "bench/problems.hpp"
#include "bench/room.hpp"
#include "choice.hpp"

namespace kw::bench {
namespace {

// A problem's name in messages.
std::string name_of(const check::SgemmCase& c) { return size_text(c); }
std::string name_of(const check::Level3Case& c) { return size_text(c); }
std::string name_of(const check::CtrsmCase& c) { return size_text(c); }
std::string name_of(const check::ScaleAddCase& c) { return size_text(c); }
std::string name_of(const check::RowwiseCase& c) {
  return fmt::format("{} {} {}", to_string(c.op), to_string(c.type), size_text(c));
}
std::string name_of(const check::AttentionCase& c) { return "attention " + size_text(c); }
std::string name_of(const check::ReduceCase& c) {
  return fmt::format("{} {} {}", to_string(c.op), to_string(c.type), size_text(c));
}

}  // namespace

template <class Problem>
struct Bench::Entry {
  const Kernel<Problem>* kernel;
  std::size_t row;
  double first_call_us;
  // Made once, as the library keeps the plans of recent calls; operand sets lie alike, so it is
  // that of each.
  Plan<Problem> plan;
  check::DeviceBuffer workspace;

  Status launch(const Problem& problem, check::Workbench& bench, Stream stream) const {
    void* scratch = workspace.bytes() > 0 ? workspace.data() : nullptr;
    const Workspace own{scratch, workspace.bytes(), bench.tickets()};
    return launch_planned(*kernel, problem, bench.device(), plan, own, stream);
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

// Whether one call is expected to exceed the limit, judged by the largest problem that the kernel
// was timed on; a small one is tried where there is none yet.
template <class Problem, class Trial, class Case>
bool Bench::is_too_slow(const Kernel<Problem>& kernel, const Case& c, double case_work) {
  if (options_.max_call_ms <= 0) return false;
  auto known = largest_.find(kernel.name);
  if (known == largest_.end()) {
    const Case small = probe(c);
    const double small_work = work(small);
    if (small_work >= case_work || small_work == 0) return false;
    const check::VerifyResult result = Trial(workbench_, small).verify(kernel);
    if (!result.ok()) return false;
    known = largest_.emplace(kernel.name, Seen{small_work, result.first_call_us}).first;
  }
  const double expected_ms = known->second.us * case_work / known->second.work * 1e-3;
  if (expected_ms <= options_.max_call_ms) return false;
  say_(fmt::format("{} is left out at {}: a call would take about {:.1f} s (--max-call-ms {:.0f})",
                   kernel.name, name_of(c), expected_ms * 1e-3, options_.max_call_ms));
  return true;
}

// Without those kernels whose predicted time is not within so many times the least. What predicts
// nothing stays.
template <class Problem>
KernelList<Problem> Bench::promising(const KernelList<Problem>& kernels,
                                     const Problem& problem) const {
  std::vector<double> predicted;
  for (const Kernel<Problem>& kernel : kernels) {
    const auto plan = candidate_plan(kernel, problem, workbench_.device());
    const bool predicts = plan && kernel.make_plan != nullptr;
    predicted.push_back(predicts ? plan->time_us : 0);
  }
  double least = std::numeric_limits<double>::infinity();
  for (const double us : predicted) {
    if (us > 0) least = std::min(least, us);
  }
  KernelList<Problem> kept;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!(predicted[i] > options_.within * least)) kept.push_back(kernels[i]);
  }
  return kept;
}

bool Bench::fits(const std::string& what, double bytes) {
  const std::string lack = lack_of_room(bytes, workbench_.device());
  if (lack.empty()) return true;
  say_(fmt::format("{} is left out: it takes {}", what, lack));
  return false;
}

// Whether a whole call of the library is timed in the kernel's place, through a context.
template <class Problem>
bool Bench::is_library_call(const Kernel<Problem>& kernel) {
  if (options_.timing != TimingMethod::enqueue || !is_choice(kernel.name)) return false;
  if (!library_) library_.emplace(workbench_);
  return true;
}

// A whole call of the library is verified as well, once as it is planned and once as it is kept.
template <class Problem, class Trial>
check::VerifyResult Bench::verify_one(const Kernel<Problem>& kernel, Trial& trial) {
  check::VerifyResult result = trial.verify(kernel);
  if constexpr (std::is_same_v<Problem, Sgemm>) {
    if (!is_library_call(kernel)) return result;
    for (int call = 0; call < 2 && result.ok(); ++call) {
      check::VerifyResult of_call = trial.verify(library_->row(kernel.math));
      of_call.path = result.path;
      of_call.launch = result.launch;
      result = std::move(of_call);
    }
  }
  return result;
}

// Adds a row for each kernel that takes the problem; those that are right go on to be timed.
template <class Problem, class Trial, class Case>
std::vector<Bench::Entry<Problem>> Bench::verify(const KernelList<Problem>& kernels, Trial& trial,
                                                 const Case& c, std::vector<Row>& rows) {
  std::vector<Entry<Problem>> entries;
  std::vector<const Kernel<Problem>*> refused;
  for (const Kernel<Problem>& kernel : kernels) {
    progress_(fmt::format("{}: verifying {}", name_of(c), kernel.name));
    const check::VerifyResult result = verify_one(kernel, trial);
    if (result.outcome == check::Outcome::unsupported) {
      refused.push_back(&kernel);
      continue;
    }
    rows.push_back(make_row(kernel, trial.problem(), c, result));
    auto plan = plan_for(kernel, trial.problem(), workbench_.device());
    const std::size_t bytes = plan->workspace_bytes;
    if (options_.within > 0) rows.back().plan = {plan->time_us, bytes};
    if (!result.ok()) continue;
    entries.push_back({&kernel,
                       rows.size() - 1,
                       result.first_call_us,
                       std::move(*plan),
                       {workbench_.runtime(), bytes}});
  }
  // The library has kernels for different shapes: that one of them takes the problem is enough.
  const bool is_taken = std::any_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.role == to_string(Role::production);
  });
  std::vector<std::string_view> names;
  for (const Kernel<Problem>* kernel : refused) {
    if (kernel->role != Role::production || !is_taken) names.emplace_back(kernel->name);
  }
  if (!names.empty()) {
    say_(fmt::format("{} is not supported by {}", name_of(c), fmt::join(names, ", ")));
  }
  return entries;
}

// Whether enough of the operands may stay in the caches from one call to the next that a share of
// memory's bandwidth says nothing.
template <class Problem>
bool Bench::caches_hold(const Problem& problem) const {
  return OperandSets::bytes(operands(problem), 1) < cold_factor * workbench_.device().l2_bytes;
}

// What is timed. Of the library's own choice the host's time is that of a whole call, through a
// context.
template <class Problem>
std::function<Status(std::int64_t, Stream)> Bench::call_of(const Entry<Problem>& entry,
                                                           const std::vector<Problem>& problems) {
  const auto problem_of = [&problems](std::int64_t set) -> const Problem& {
    return problems[static_cast<std::size_t>(set)];
  };
  if constexpr (std::is_same_v<Problem, Sgemm>) {
    if (is_library_call(*entry.kernel)) {
      return [this, problem_of, math = entry.kernel->math](std::int64_t set, Stream) {
        return library_->sgemm(problem_of(set), math);
      };
    }
  }
  return [this, problem_of, &entry](std::int64_t set, Stream stream) {
    return entry.launch(problem_of(set), workbench_, stream);
  };
}

// `problems` are the same one on each of the operand sets that calls rotate over.
template <class Problem>
void Bench::time(const std::vector<Entry<Problem>>& entries, const std::vector<Problem>& problems,
                 const ContestOptions& contest, const std::string& name, double case_work,
                 std::vector<Row>& rows) {
  std::vector<Contestant> contestants;
  for (const Entry<Problem>& entry : entries) {
    Contestant contestant;
    contestant.name = entry.kernel->name;
    contestant.first_call_us = entry.first_call_us;
    contestant.call = call_of(entry, problems);
    contestants.push_back(std::move(contestant));
  }
  run_contest(workbench_, contestants, contest, telemetry_, [&](double done) {
    progress_(fmt::format("{}: timing {} kernels, {:.0f} %", name, contestants.size(), 100 * done));
  });
  Ceilings ceilings = ceilings_;
  if (options_.l2 == L2::hot && caches_hold(problems.front())) ceilings.read_gbs.reset();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Row& row = rows[entries[i].row];
    row.l2 = to_string(options_.l2);
    row.timing = contestants[i].timing;
    row.time_us = summarise_times(contestants[i].samples_us);
    row.sm_clock_mhz = contestants[i].telemetry.sm_clock_mhz;
    row.power_w = contestants[i].telemetry.power_w;
    // The host's time says nothing of a rate.
    if (options_.timing != TimingMethod::enqueue) fill_rates(row, problems.front(), ceilings);
    Seen& seen = largest_[row.kernel];
    if (case_work >= seen.work) seen = {case_work, row.time_us->median};
  }
}

// With cold caches calls go over several sets. On a GPU a flush goes before them in any case: while
// it runs, what is timed queues up behind it, and its launch latency stays out of the time.
template <class Problem>
std::unique_ptr<OperandSets> Bench::make_cold(const Problem& problem, const std::string& name,
                                              double present, ContestOptions& contest) {
  const Device& device = workbench_.device();
  const std::vector<Operand> shared = operands(problem);
  const std::int64_t count = cold_set_count(device.l2_bytes, shared);
  const std::size_t bytes = OperandSets::bytes(shared, count);
  if (!fits(name + " with cold caches", present + static_cast<double>(bytes))) return nullptr;
  if (!flush_) flush_.emplace(workbench_);
  contest.buffer_sets = count;
  contest.many_rounds = bytes > cold_factor * device.l2_bytes;
  if (device.is_gpu() || !contest.many_rounds) {
    contest.flush = [this](Stream stream) { return flush_->run(stream); };
  }
  return std::make_unique<OperandSets>(workbench_, shared, count);
}

template <class Problem, class Trial, class Case>
std::vector<Row> Bench::run_any(const KernelList<Problem>& kernels, const Case& c) {
  const std::string name = name_of(c);
  const double bytes = Trial::bytes(c, workbench_.device());
  if (!fits(name, bytes)) return {};
  const double case_work = work(c);
  KernelList<Problem> chosen;
  for (const Kernel<Problem>& kernel : kernels) {
    if (!is_too_slow<Problem, Trial>(kernel, c, case_work)) chosen.push_back(kernel);
  }
  if (chosen.empty()) return {};

  progress_(fmt::format("{}: float64 reference", name));
  Trial trial(workbench_, c);
  std::vector<Row> rows;
  if (options_.within > 0) chosen = promising(chosen, trial.problem());
  const std::vector<Entry<Problem>> entries = verify<Problem>(chosen, trial, c, rows);
  if (entries.empty()) return rows;

  const Problem& problem = trial.problem();
  std::vector<Problem> problems = {problem};
  ContestOptions contest;
  contest.budget_ms = options_.budget_ms;
  contest.timing = options_.timing;
  std::unique_ptr<OperandSets> sets;
  if (options_.l2 == L2::cold) {
    sets = make_cold(problem, name, bytes, contest);
    if (!sets) return {};
    problems.clear();
    for (std::int64_t set = 0; set < sets->count(); ++set) {
      problems.push_back(on_set(problem, *sets, set));
    }
  }
  time(entries, problems, contest, name, case_work, rows);
  fill_ratios(rows);
  return rows;
}

std::vector<Row> Bench::run(const KernelList<Sgemm>& kernels, const check::SgemmCase& c) {
  return run_any<Sgemm, check::SgemmTrial>(kernels, c);
}

std::vector<Row> Bench::run(const KernelList<Level3>& kernels, const check::Level3Case& c) {
  return run_any<Level3, check::Level3Trial>(kernels, c);
}

std::vector<Row> Bench::run(const KernelList<ScaleAdd>& kernels, const check::ScaleAddCase& c) {
  return run_any<ScaleAdd, check::ScaleAddTrial>(kernels, c);
}

std::vector<Row> Bench::run(const KernelList<Reduce>& kernels, const check::ReduceCase& c) {
  return run_any<Reduce, check::ReduceTrial>(kernels, c);
}

std::vector<Row> Bench::run(const KernelList<Cgemm>& kernels, const check::CgemmCase& c) {
  return run_any<Cgemm, check::CgemmTrial>(kernels, c);
}

std::vector<Row> Bench::run(const KernelList<Ctrsm>& kernels, const check::CtrsmCase& c) {
  return run_any<Ctrsm, check::CtrsmTrial>(kernels, c);
}

std::vector<Row> Bench::run(const KernelList<Rowwise>& kernels, const check::RowwiseCase& c) {
  return run_any<Rowwise, check::RowwiseTrial>(kernels, c);
}

std::vector<Row> Bench::run(const KernelList<Attention>& kernels, const check::AttentionCase& c) {
  return run_any<Attention, check::AttentionTrial>(kernels, c);
}

}  // namespace kw::bench
