// Classes, depths, seeds, kernels, and the tables of what came out.
#include "commands/accuracy_suite.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <optional>

#include "bench/problems.hpp"
#include "bench/room.hpp"
#include "bench/table.hpp"
#include "check/accuracy/trial.hpp"
#include "choice.hpp"
#include "commands/accuracy_dump.hpp"
#include "commands/session.hpp"
#include "kernels.hpp"
#include "shapes.hpp"

namespace kw {
namespace {

using Classes = std::vector<check::AccuracyClass>;

struct Contestant {
  Kernel<Sgemm> kernel;
  bool is_measure = false;  // what the others are compared with
  std::optional<check::AccuracyLimits> limits;
};
using Contestants = std::vector<Contestant>;

Classes select_classes(const std::string& globs) {
  Classes chosen;
  const auto matches = [](const std::string& glob, const check::AccuracyClass& c) {
    return fnmatch(glob.c_str(), c.name, 0) == 0;
  };
  const std::vector<std::string> parts = split(globs, ',');
  const auto& all = check::accuracy_classes();
  for (const std::string& glob : parts) {
    if (std::any_of(all.begin(), all.end(), [&](const auto& c) { return matches(glob, c); }))
      continue;
    throw UsageError(fmt::format("--classes: no class of data matches \"{}\"; there are:\n{}", glob,
                                 accuracy_class_names()));
  }
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const auto& c) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const std::string& glob) { return matches(glob, c); });
  });
  return chosen;
}

// Those asked for, or all of production; in the asked arithmetic; without peers.
KernelList<Sgemm> asked_kernels(const KernelList<Sgemm>& all, const std::string& globs,
                                const std::string& math) {
  KernelList<Sgemm> asked = select_kernels(all, globs);
  std::erase_if(asked, [&](const auto& kernel) {
    const bool is_one = globs.empty() ? kernel.role == Role::production : kernel.role != Role::peer;
    return !is_one || (!math.empty() && math != to_string(kernel.math));
  });
  if (asked.empty() && math.empty()) {
    throw UsageError(fmt::format(
        "--kernel: \"{}\" names only peers, which are shown beside whatever else is named", globs));
  }
  if (asked.empty()) {
    throw UsageError(fmt::format(
        "--math: none of the kernels computes in {}; `kernelwright list sgemm` shows them", math));
  }
  return asked;
}

// The vendor's product; where there is none, on a device that works in host memory, the CPU's loop,
// to look at: no rule is made of it.
KernelList<Sgemm> measures(const KernelList<Sgemm>& all, const Device& device) {
  KernelList<Sgemm> peers;
  std::copy_if(all.begin(), all.end(), std::back_inserter(peers),
               [](const auto& kernel) { return kernel.role == Role::peer; });
  const Backend* cpu = find_backend(DeviceKind::cpu);
  if (peers.empty() && !device.is_gpu() && cpu != nullptr) peers.push_back(cpu->sgemm().back());
  return peers;
}

// The asked kernels, the library's own choices, the measures; the rule is for the production
// kernels that were asked for.
Contestants contestants(const CommonOptions& options, const std::string& math,
                        const Device& device) {
  const KernelList<Sgemm> all = all_kernels<Sgemm>(device.kind);
  Contestants found;
  for (const auto& kernel : asked_kernels(all, options.kernel, math)) {
    std::optional<check::AccuracyLimits> limits;
    if (kernel.role == Role::production) limits = check::accuracy_limits(kernel.math);
    found.push_back({kernel, false, limits});
  }
  const auto is_there = [&](const Kernel<Sgemm>& kernel) {
    return std::any_of(found.begin(), found.end(), [&](const Contestant& other) {
      return std::string_view(other.kernel.name) == kernel.name;
    });
  };
  for (const auto& kernel : all) {
    if (is_choice(kernel.name) && !is_there(kernel)) {
      found.push_back({kernel, false, std::nullopt});
    }
  }
  for (const auto& kernel : measures(all, device)) {
    if (!is_there(kernel)) found.push_back({kernel, true, std::nullopt});
    if (kernel.role == Role::peer) continue;
    for (Contestant& contestant : found) contestant.limits.reset();
  }
  return found;
}

// One class at one depth: every contestant's errors over all seeds.
class Cell {
 public:
  Cell(const check::AccuracyClass& of, const Contestants& contestants)
      : class_(of), contestants_(contestants), runs_(contestants.size()) {}

  void add(check::AccuracyTrial& trial, const check::SgemmCase& c) {
    case_ = c;
    problem_ = trial.problem();
    ++seeds_;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      merge(runs_[i], trial.run(contestants_[i].kernel));
    }
  }

  void add_rows(std::vector<bench::Row>& rows) const {
    const check::ErrorSummary* peer = nullptr;
    std::string measure;
    std::vector<check::ErrorSummary> errors;
    errors.reserve(runs_.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      errors.push_back(summary_of(runs_[i], case_.k, class_.demand));
      const bool is_good = runs_[i].outcome == check::Outcome::verified;
      if (!contestants_[i].is_measure || !is_good || peer != nullptr) continue;
      peer = &errors[i];
      measure = contestants_[i].kernel.name;
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i].outcome == check::Outcome::unsupported) continue;
      rows.push_back(row(i, errors[i], contestants_[i].is_measure ? nullptr : peer));
      if (rows.back().suite->rms_vs_peer) rows.back().peer = measure;
    }
  }

 private:
  bench::Row row(std::size_t i, const check::ErrorSummary& error,
                 const check::ErrorSummary* peer) const {
    const check::AccuracyRun& run = runs_[i];
    const check::AccuracyVerdict verdict =
        judge_accuracy(run, error, class_.demand, peer, contestants_[i].limits);
    check::VerifyResult result;
    result.outcome = verdict.passes ? check::Outcome::verified : check::Outcome::failed;
    result.message = verdict.message;
    result.error = error;
    result.launch = run.launch;
    result.path = run.path;
    result.c_first = run.c_first;
    result.c_last = run.c_last;
    bench::Row row = bench::make_row(contestants_[i].kernel, problem_, case_, result);
    row.input = class_.name;
    row.suite = {seeds_, verdict.rms_vs_peer, verdict.max_vs_peer, run.same_bits};
    return row;
  }

  const check::AccuracyClass& class_;
  const Contestants& contestants_;
  std::vector<check::AccuracyRun> runs_;
  check::SgemmCase case_;
  Sgemm problem_;
  int seeds_ = 0;
};

struct Statistic {
  const char* name;
  double check::ErrorSummary::*value;
};
constexpr Statistic statistics[] = {{"rms", &check::ErrorSummary::rms},
                                    {"max", &check::ErrorSummary::max},
                                    {"mean", &check::ErrorSummary::mean_signed}};

// Three lines a kernel, k across; what failed is marked, what a kernel refused is a dash.
void print_class(const check::AccuracyClass& of, const std::vector<bench::Row>& rows,
                 const Contestants& contestants) {
  std::vector<std::int64_t> depths;
  for (const bench::Row& row : rows) {
    if (depths.empty() || depths.back() != *row.k) depths.push_back(*row.k);
  }
  std::vector<std::vector<std::string>> cells = {{"k", ""}};
  for (const std::int64_t k : depths) cells[0].push_back(fmt::format("{}", k));
  for (const Contestant& contestant : contestants) {
    const bool is_there = std::any_of(rows.begin(), rows.end(), [&](const bench::Row& row) {
      return row.kernel == contestant.kernel.name;
    });
    if (!is_there) continue;
    for (const Statistic& statistic : statistics) {
      std::vector<std::string> line = {contestant.kernel.name, statistic.name};
      for (const std::int64_t k : depths) {
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const bench::Row& r) {
          return r.kernel == contestant.kernel.name && *r.k == k;
        });
        line.push_back(row == rows.end() ? "-"
                                         : fmt::format("{:.3g}{}", row->error.*statistic.value,
                                                       row->verified ? "" : "!"));
      }
      cells.push_back(line);
    }
  }
  fmt::print("{}: {}\n{}", of.name, of.about, bench::align(cells, 2));
  for (const bench::Row& row : rows) {
    if (!row.verified) fmt::print("{} k={}: {}\n", row.kernel, *row.k, row.message);
  }
  fmt::print("\n");
}

struct SuitePlan {
  check::Workbench& bench;
  std::int64_t size, deepest;
  int seeds;
  std::uint64_t seed;
};

std::vector<std::int64_t> depths_of(const check::AccuracyClass& of, std::int64_t deepest) {
  std::vector<std::int64_t> depths;
  for (const std::int64_t k : accuracy_depths) {
    if (k <= deepest && (depths.empty() || !of.empty_k)) depths.push_back(k);
  }
  return depths;
}

// A class at one depth.
std::vector<Estimate::Part> parts_of(const Classes& classes, const SuitePlan& plan) {
  constexpr double least_work = 1e6;
  std::vector<Estimate::Part> parts;
  for (const check::AccuracyClass& of : classes) {
    for (const std::int64_t k : depths_of(of, plan.deepest)) {
      parts.push_back({0, least_work + bench::work(check::accuracy_case(of, plan.size, k, 1))});
    }
  }
  return parts;
}

// Every contestant's rows of one class.
std::vector<bench::Row> rows_of(const check::AccuracyClass& of, const Contestants& contestants,
                                const SuitePlan& plan, AccuracyDump* dump, Session& session) {
  std::vector<bench::Row> rows;
  Progress& progress = session.progress();
  for (const std::int64_t k : depths_of(of, plan.deepest)) {
    Cell cell(of, contestants);
    for (int i = 0; i < plan.seeds; ++i) {
      progress.show(fmt::format("{} k={} seed {} of {}", of.name, k, i + 1, plan.seeds));
      const check::SgemmCase c =
          check::accuracy_case(of, plan.size, k, plan.seed + static_cast<std::uint64_t>(i));
      check::AccuracyTrial trial(plan.bench, of, c);
      cell.add(trial, c);
      if (dump != nullptr && i == 0) dump->add(of, c, trial);
    }
    std::vector<bench::Row> found;
    cell.add_rows(found);
    session.add(found);
    progress.next();
    rows.insert(rows.end(), found.begin(), found.end());
  }
  return rows;
}

// Whether a row that the exit code answers for failed: the measures are shown, not judged.
bool fails(const bench::Row& row, const Contestants& contestants) {
  return !row.verified &&
         std::none_of(contestants.begin(), contestants.end(), [&](const Contestant& c) {
           return c.is_measure && row.kernel == c.kernel.name;
         });
}

}  // namespace

std::string accuracy_class_names() {
  std::string text;
  for (const auto& c : check::accuracy_classes())
    text += fmt::format("  {:21}{}\n", c.name, c.about);
  return text;
}

int run_accuracy_suite(const CommonOptions& options, const SuiteOptions& suite,
                       const std::string& command) {
  const Classes classes = select_classes(suite.classes);
  const std::unique_ptr<Runtime> runtime = open_device(options.device);
  const Device& device = runtime->device();
  const bool slow = device.kind == DeviceKind::host_simt;
  const Contestants all = contestants(options, suite.math, device);
  Session session(options.json);
  check::Workbench workbench(*runtime);
  const SuitePlan plan = {workbench,
                          suite.size != 0   ? suite.size
                          : device.is_gpu() ? 512
                          : slow            ? 32
                                            : 128,
                          suite.deepest != 0 ? suite.deepest
                          : slow             ? 1024
                                             : 65536,
                          suite.seeds, options.seed};
  for (const check::AccuracyClass& of : classes) {
    const check::SgemmCase largest =
        check::accuracy_case(of, plan.size, depths_of(of, plan.deepest).back(), 1);
    bench::require_room<check::SgemmTrial>("--size", std::vector{largest}, device);
  }
  std::optional<AccuracyDump> dump;
  if (!suite.dump.empty()) dump.emplace(suite.dump);

  if (!options.quiet()) {
    fmt::print("{} ({}), m = n = {}, against float64, in u (|alpha| |A| |B| + |beta| |C|)\n\n",
               device.name, to_string(device.kind), plan.size);
  }
  std::size_t failed = 0, count = 0;
  const auto work = [&] {
    session.begin(command, device, {});
    session.progress().plan(parts_of(classes, plan));
    for (const check::AccuracyClass& of : classes) {
      const auto rows = rows_of(of, all, plan, dump ? &*dump : nullptr, session);
      if (!options.quiet()) print_class(of, rows, all);
      flush_output();
      count += rows.size();
      failed += static_cast<std::size_t>(std::count_if(
          rows.begin(), rows.end(), [&](const auto& row) { return fails(row, all); }));
    }
  };
  const int code = session.run(work, [&] { return failed == 0 ? exit_fine : exit_not_verified; });
  if (!options.quiet()) fmt::print("{} of {} rows failed\n", failed, count);
  if (dump) dump->write_index(command, device, plan.size);
  return code;
}

}  // namespace kw
