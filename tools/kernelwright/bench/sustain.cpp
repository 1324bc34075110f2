// The loop, and rows of it.
#include "bench/sustain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "bench/problems.hpp"
#include "bench/room.hpp"
#include "bench/table.hpp"

namespace kw::bench {
namespace {

// Calls under this go many at a time into a graph, so that the host never keeps the device waiting.
constexpr double longest_in_graph_us = 5000;
constexpr std::int64_t most_calls_a_graph = 1000;
// What is timed at once. Between two windows the device waits for the host, 20 us or so.
constexpr double window_us = 100e3;
constexpr int rested_spells = 3;
constexpr double products_of_a_split = 3;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Calls as they are enqueued: singly, or so many as a graph has.
class Spell {
 public:
  Spell(check::Workbench& bench, const std::function<Status(Stream)>& call)
      : bench_(bench), call_(call) {
    double call_us = time(1);
    for (int i = 0; i < 2; ++i) call_us = std::min(call_us, time(1));
    if (bench.runtime().supports_graphs() && call_us < longest_in_graph_us) {
      calls_ = std::clamp(static_cast<std::int64_t>(std::ceil(longest_in_graph_us / call_us)),
                          std::int64_t{1}, most_calls_a_graph);
      check::require(bench.runtime().capture([this](Stream stream) { return repeat(stream); },
                                             bench.stream(), &graph_));
      call_us = time(1) / static_cast<double>(calls_);
    }
    const double spell_us = call_us * static_cast<double>(calls_);
    spells_a_window_ = std::max<std::int64_t>(std::llround(window_us / spell_us), 1);
  }

  std::int64_t calls() const { return calls_; }
  std::int64_t spells_a_window() const { return spells_a_window_; }
  // Device time of so many spells one behind the other.
  double time(std::int64_t spells) {
    double us = 0;
    check::require(bench_.runtime().time_us(
        [&](Stream stream) {
          Status status;
          for (std::int64_t i = 0; i < spells && status.ok(); ++i)
            status = graph_ ? graph_->replay(stream) : repeat(stream);
          return status;
        },
        bench_.stream(), &us));
    return us;
  }

 private:
  Status repeat(Stream stream) const {
    Status status;
    for (std::int64_t i = 0; i < calls_ && status.ok(); ++i) status = call_(stream);
    return status;
  }

  check::Workbench& bench_;
  const std::function<Status(Stream)>& call_;
  std::unique_ptr<Runtime::Graph> graph_;
  std::int64_t calls_ = 1, spells_a_window_ = 1;
};

// Median of short spells, a rest before each.
double time_rested(Spell& spell, double rest_s) {
  std::vector<double> samples;
  for (int i = 0; i < rested_spells; ++i) {
    std::this_thread::sleep_for(std::chrono::duration<double>(rest_s));
    samples.push_back(spell.time(1) / static_cast<double>(spell.calls()));
  }
  return quantile(samples, 0.5);
}

}  // namespace

Sustain::Sustain(check::Workbench& workbench, const SustainOptions& options,
                 const Ceilings& ceilings, std::unique_ptr<Sensors> sensors,
                 std::function<void(const std::string&)> say,
                 std::function<void(const std::string&)> progress)
    : workbench_(workbench),
      options_(options),
      ceilings_(ceilings),
      sensors_(std::move(sensors)),
      say_(std::move(say)),
      progress_(std::move(progress)) {}

std::string Sustain::not_measured() const {
  if (sensors_ == nullptr) {
    return fmt::format(
        "{} has no sensors that this program reads: power, clock and energy are not measured, the "
        "rates are",
        workbench_.device().name);
  }
  std::vector<std::string> missing;
  if (!sensors_->power_w() && !sensors_->energy_j()) missing.emplace_back("power and energy");
  if (!sensors_->sm_clock_mhz()) missing.emplace_back("clock");
  if (!sensors_->clock_limits()) missing.emplace_back("what limits the clock");
  if (missing.empty()) return {};
  std::string names = missing[0];
  for (std::size_t i = 1; i < missing.size(); ++i) names += ", " + missing[i];
  return fmt::format("NVML does not state these of {}, so they are not measured: {}",
                     workbench_.device().name, names);
}

SustainedTimes Sustain::back_to_back(const std::function<Status(Stream)>& call,
                                     const std::string& name) {
  SustainedTimes times;
  progress_(fmt::format("{}: resting", name));
  Spell spell(workbench_, call);
  times.rested_us = time_rested(spell, options_.rest_s);
  const auto window = [&](const Stopwatch& since, double of_s) {
    progress_(fmt::format("{}: {:.0f} of {:.0f} s", name, since.seconds(), of_s));
    return spell.time(spell.spells_a_window());
  };
  for (const Stopwatch lead; lead.seconds() < options_.lead_s;) window(lead, options_.lead_s);
  const std::int64_t calls_a_window = spell.spells_a_window() * spell.calls();
  BoardRecord record(sensors_.get());
  const Stopwatch measured;
  do {
    const double us = window(measured, options_.seconds);
    times.windows_us.push_back(us / static_cast<double>(calls_a_window));
    times.total_us += us;
    times.calls += calls_a_window;
  } while (measured.seconds() < options_.seconds);
  times.board = record.stop();
  return times;
}

// A kernel or an anchor, and the call that is repeated.
struct Sustain::Subject {
  const Kernel<Sgemm>* kernel;
  const peers::Anchor* anchor = nullptr;  // null of a kernel
};

Row Sustain::row_of(const Subject& subject, check::SgemmTrial& trial, const check::SgemmCase& c) {
  const Kernel<Sgemm>& kernel = *subject.kernel;
  const Sgemm& problem = trial.problem();
  const std::string name = fmt::format("{}: {}", size_text(c), kernel.name);
  progress_(name + ": verifying");
  const check::VerifyResult result = trial.verify(kernel);
  Row row = make_row(kernel, problem, c, result);
  if (subject.anchor != nullptr) row.math = subject.anchor->type;
  if (!result.ok()) return row;
  const Device& device = workbench_.device();
  const auto plan = plan_for(kernel, problem, device);
  const check::DeviceBuffer memory(workbench_.runtime(), plan->workspace_bytes);
  const Workspace workspace{memory.bytes() > 0 ? memory.data() : nullptr, memory.bytes(),
                            workbench_.tickets()};
  const auto whole = [&](Stream stream) {
    return launch_planned(kernel, problem, device, *plan, workspace, stream);
  };
  // An anchor's operands come into the workspace once.
  if (subject.anchor != nullptr) check::require(whole(workbench_.stream()));
  const auto call = [&](Stream stream) {
    return subject.anchor != nullptr ? subject.anchor->product(problem, device, workspace, stream)
                                     : whole(stream);
  };
  fill(row, back_to_back(call, name), problem);
  return row;
}

void Sustain::fill(Row& row, const SustainedTimes& times, const Sgemm& problem) const {
  row.l2 = to_string(L2::hot);
  row.timing = "sustained";
  row.time_us = summarise_times(times.windows_us);
  fill_rates(row, problem, ceilings_);
  row.sm_clock_mhz = times.board.sm_clock_mhz;
  row.power_w = times.board.power_w;
  SustainedRow& sustained = row.sustained.emplace();
  sustained.seconds = times.total_us * 1e-6;
  sustained.calls = times.calls;
  sustained.rested_gflops = problem.flops() * 1e-3 / times.rested_us;
  if (row.power_w) {
    const double call_s = times.total_us * 1e-6 / static_cast<double>(times.calls);
    sustained.joules_per_call = *row.power_w * call_s;
    sustained.gflop_per_joule = problem.flops() * 1e-9 / *sustained.joules_per_call;
    sustained.energy_from = times.board.energy_from;
  }
  sustained.hottest_c = times.board.hottest_c;
  sustained.limited_by = times.board.limited_by;
  if (sensors_ != nullptr) sustained.power_limit_w = sensors_->power_limit_w();
}

std::vector<Row> Sustain::run(const KernelList<Sgemm>& kernels,
                              const std::vector<peers::Anchor>& anchors,
                              const check::SgemmCase& c) {
  const double bytes = check::SgemmTrial::bytes(c, workbench_.device());
  if (const std::string lack = lack_of_room(bytes, workbench_.device()); !lack.empty()) {
    say_(fmt::format("{} is left out: it takes {}", size_text(c), lack));
    return {};
  }
  progress_(fmt::format("{}: float64 reference", size_text(c)));
  check::SgemmTrial trial(workbench_, c);
  std::vector<Subject> subjects;
  for (const Kernel<Sgemm>& kernel : kernels) subjects.push_back({&kernel});
  for (const peers::Anchor& anchor : anchors) subjects.push_back({&anchor.kernel, &anchor});
  std::vector<Row> rows;
  for (const Subject& subject : subjects) {
    if (supports(*subject.kernel, trial.problem(), workbench_.device())) {
      rows.push_back(row_of(subject, trial, c));
    } else {
      say_(fmt::format("{} is not supported by {}", size_text(c), subject.kernel->name));
    }
  }
  fill_ratios(rows);
  fill_shares_of_fp16(rows);
  return rows;
}

void fill_shares_of_fp16(std::vector<Row>& rows) {
  const auto anchor = std::find_if(rows.begin(), rows.end(),
                                   [](const Row& row) { return row.math == "fp16" && row.gflops; });
  if (anchor == rows.end()) return;
  for (Row& row : rows) {
    if (row.math != to_string(Math::fp32_split) || !row.gflops || !row.sustained) continue;
    row.sustained->of_fp16_third = *row.gflops / (*anchor->gflops / products_of_a_split);
  }
}

std::string sustained_table(const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  const auto tera = [](const std::optional<double>& giga) {
    return giga ? fmt::format("{:.4g}", *giga * 1e-3) : std::string("-");
  };
  const auto number = [](const std::optional<double>& value, int decimals) {
    return value ? fmt::format("{:.{}f}", *value, decimals) : std::string("-");
  };
  std::vector<std::vector<std::string>> cells = {{"kernel", "math", "TFLOP/s", "rested", "W", "MHz",
                                                  "J a call", "GFLOP/J", "of FP16 / 3",
                                                  "clock held down by", "verified"}};
  for (const Row& row : rows) {
    const SustainedRow none, &s = row.sustained ? *row.sustained : none;
    std::string limits;
    for (const auto& [name, share] : s.limited_by.value_or(std::map<std::string, double>{})) {
      limits += fmt::format("{}{} {:.0f} %", limits.empty() ? "" : ", ", name, 100 * share);
    }
    cells.push_back(
        {row.kernel, row.math, tera(row.gflops), tera(s.rested_gflops), number(row.power_w, 0),
         number(row.sm_clock_mhz, 0), number(s.joules_per_call, 3), number(s.gflop_per_joule, 1),
         number(s.of_fp16_third, 3), limits.empty() ? (s.limited_by ? "nothing" : "-") : limits,
         row.verified ? "yes" : "NO"});
  }
  std::string text = fmt::format("sgemm {}, sustained\n{}", rows.front().shape(), align(cells, 2));
  for (const Row& row : rows) {
    if (!row.verified) text += fmt::format("  {}: {}\n", row.kernel, row.message);
  }
  return text;
}

}  // namespace kw::bench
