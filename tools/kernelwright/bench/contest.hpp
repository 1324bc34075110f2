// The timing core: several ways to do one piece of work, timed in turn (A B C A B C ...), so that
// drifting clocks and temperatures meet all of them alike.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/statistics.hpp"
#include "bench/telemetry.hpp"
#include "check/workbench.hpp"

namespace kw::bench {

// What is timed of a call. By length: short calls many at a time in a graph, others by events.
// Alone: each by itself on an idle device, launch latency included. Enqueue: what the host takes
// for it, on a stream with a few calls in it.
enum class TimingMethod { by_length, alone, enqueue };

struct ContestOptions {
  double budget_ms = 200;  // a contestant's share of measuring, once it has `min_repeats` samples
  int min_repeats = 3;
  int max_repeats = 1000;
  std::int64_t buffer_sets = 1;  // calls rotate over so many sets of operands
  // Whether a graph may come to a set a second time: with cold caches only where a round over all
  // sets is long enough for that.
  bool many_rounds = true;
  // Makes the caches cold, before and outside of each timed interval; nothing where they may be
  // hot, or where going over the sets does it.
  std::function<Status(Stream)> flush;
  TimingMethod timing = TimingMethod::by_length;
};

struct Contestant {
  std::string name;
  // One call on the operand set of that number; asynchronous where the device is.
  std::function<Status(std::int64_t set, Stream)> call;
  double first_call_us = 0;  // known from the verification, which also was a warm-up

  // Filled by the contest.
  std::string timing;  // "events", "graph", "alone", "enqueue" or "clock"
  std::vector<double> samples_us;
  Telemetry::Reading telemetry;
};

// Throws kw::Error where a launch fails. `on_sample` is told how far things are, 0 to 1, before the
// first sample and after each one; it may throw to end the contest.
void run_contest(check::Workbench& bench, std::vector<Contestant>& contestants,
                 const ContestOptions& options, Telemetry& telemetry,
                 const std::function<void(double)>& on_sample);

}  // namespace kw::bench
