// The timing core.
#include "bench/contest.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "arithmetic.hpp"

namespace kw::bench {
namespace {

// Calls shorter than this are timed many at a time: between events a single call finds the device
// idle and waits for its launches, 15 to 30 us on an H200.
constexpr double short_call_us = 1000;
// All calls of a contest are timed in the same way, by the shortest of them; but not this long ones
// many at a time, where an event's own cost and the launch latency hardly count.
constexpr double longest_in_graph_us = 5000;
// By the quickest of so many calls: on a busy host a single one may take ten times as long, and a
// contestant would be timed in another way than its rivals.
constexpr int calls_to_judge = 8;
constexpr std::int64_t fewest_calls_a_graph = 20;
constexpr std::int64_t most_calls_a_graph = 1000;
constexpr double shortest_graph_us = 500;
// A call this long needs no further warm-up than the verification's.
constexpr double long_call_us = 500e3;
// Calls that the host enqueues one after the other: as many of every product, so that times can be
// compared. A stream takes about a thousand launches before the host waits, a call has five at
// most.
constexpr std::int64_t calls_enqueued = 8;

class Lane {
 public:
  Lane(check::Workbench& bench, Contestant& contestant, const ContestOptions& options)
      : bench_(bench), contestant_(contestant), options_(options) {}

  void warm_up(std::int64_t& next_set) {
    call_us_ = contestant_.first_call_us;
    if (call_us_ < long_call_us) {
      call_us_ = time_call(next_set);
      for (int i = 1; i < calls_to_judge && call_us_ >= short_call_us; ++i)
        call_us_ = std::min(call_us_, time_call(next_set));
    }
    switch (options_.timing) {
      case TimingMethod::alone: contestant_.timing = "alone"; return;
      case TimingMethod::enqueue:
        contestant_.timing = "enqueue";
        calls_ = calls_enqueued;
        time_enqueue(next_set);
        return;
      case TimingMethod::by_length:
        contestant_.timing = bench_.device().is_gpu() ? "events" : "clock";
        return;
    }
  }
  double call_us() const { return call_us_; }

  // `shortest_us`: the shortest call of all contestants.
  void choose_by_length(double shortest_us) {
    if (options_.timing != TimingMethod::by_length || !bench_.runtime().supports_graphs()) return;
    if (shortest_us >= short_call_us || call_us_ >= longest_in_graph_us) return;
    capture();
    time_graph();
  }

  bool done() const {
    const auto repeats = static_cast<int>(contestant_.samples_us.size());
    if (repeats < options_.min_repeats) return false;
    return spent_ms_ >= options_.budget_ms || repeats >= options_.max_repeats;
  }

  void sample(std::int64_t& next_set) {
    const auto start = std::chrono::steady_clock::now();
    contestant_.samples_us.push_back(take(next_set));
    spent_ms_ +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  double progress() const {
    if (done()) return 1;
    const double by_time = spent_ms_ / options_.budget_ms;
    const double by_count =
        static_cast<double>(contestant_.samples_us.size()) / options_.min_repeats;
    return std::min({1.0, by_time, by_count});
  }

 private:
  double take(std::int64_t& next_set) {
    if (options_.timing == TimingMethod::enqueue) return time_enqueue(next_set);
    return graph_ ? time_graph() : time_call(next_set);
  }

  double time(const std::function<Status(Stream)>& work) {
    if (options_.flush) check::require(options_.flush(bench_.stream()));
    if (options_.timing == TimingMethod::alone) bench_.synchronize();
    double us = 0;
    check::require(bench_.runtime().time_us(work, bench_.stream(), &us));
    return us;
  }

  double time_call(std::int64_t& next_set) {
    const std::int64_t set = next_set++ % options_.buffer_sets;
    return time([&](Stream stream) { return contestant_.call(set, stream); });
  }

  // The host's time for a call, by its own clock. The device has ended before the first call and is
  // waited for after the last. The first one is not timed: it finds the processor's caches full of
  // what another contestant, or the wait for the device, has left there.
  double time_enqueue(std::int64_t& next_set) {
    bench_.synchronize();
    const auto call = [&] {
      return contestant_.call(next_set++ % options_.buffer_sets, bench_.stream());
    };
    Status status = call();
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < calls_ && status.ok(); ++i) status = call();
    const auto end = std::chrono::steady_clock::now();
    check::require(status);
    bench_.synchronize();
    return std::chrono::duration<double, std::micro>(end - begin).count() /
           static_cast<double>(calls_);
  }

  // Whole rounds over the operand sets, so that a replay begins with the set used longest ago.
  void capture() {
    const auto wanted =
        std::clamp(static_cast<std::int64_t>(std::ceil(shortest_graph_us / call_us_)),
                   fewest_calls_a_graph, most_calls_a_graph);
    const std::int64_t rounds = options_.many_rounds ? ceil_div(wanted, options_.buffer_sets) : 1;
    calls_ = rounds * options_.buffer_sets;
    check::require(bench_.runtime().capture(
        [&](Stream stream) {
          Status status;
          for (std::int64_t i = 0; i < calls_ && status.ok(); ++i) {
            status = contestant_.call(i % options_.buffer_sets, stream);
          }
          return status;
        },
        bench_.stream(), &graph_));
    contestant_.timing = "graph";
  }

  double time_graph() {
    return time([&](Stream stream) { return graph_->replay(stream); }) /
           static_cast<double>(calls_);
  }

  check::Workbench& bench_;
  Contestant& contestant_;
  const ContestOptions& options_;
  std::unique_ptr<Runtime::Graph> graph_;
  std::int64_t calls_ = 1;
  double call_us_ = 0;  // the shortest of the warm-up's
  double spent_ms_ = 0;
};

}  // namespace

void run_contest(check::Workbench& bench, std::vector<Contestant>& contestants,
                 const ContestOptions& options, Telemetry& telemetry,
                 const std::function<void(double)>& on_sample) {
  std::vector<Lane> lanes;
  lanes.reserve(contestants.size());
  std::int64_t next_set = 0;  // shared: two contestants in a row must not meet the same operands
  for (Contestant& contestant : contestants) {
    on_sample(0);
    lanes.emplace_back(bench, contestant, options).warm_up(next_set);
  }
  double shortest_us = std::numeric_limits<double>::infinity();
  for (const Lane& lane : lanes) shortest_us = std::min(shortest_us, lane.call_us());
  for (Lane& lane : lanes) lane.choose_by_length(shortest_us);
  telemetry.reset(static_cast<int>(lanes.size()));
  const auto all_done = [&] {
    return std::all_of(lanes.begin(), lanes.end(), [](const Lane& lane) { return lane.done(); });
  };
  const auto progress = [&] {
    double sum = 0;
    for (const Lane& lane : lanes) sum += lane.progress();
    return sum / static_cast<double>(lanes.size());
  };
  while (!all_done()) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (lanes[i].done()) continue;
      telemetry.begin(static_cast<int>(i));
      lanes[i].sample(next_set);
      telemetry.end();
      on_sample(progress());
    }
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    contestants[i].telemetry = telemetry.reading(static_cast<int>(i));
  }
}

}  // namespace kw::bench
