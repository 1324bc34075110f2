// What a board did over some seconds, from samples of its sensors: mean clock and power, how warm
// it became, what held its clock down.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/sensors.hpp"

namespace kw::bench {

struct BoardSample {
  double at_s = 0;
  std::optional<double> sm_clock_mhz = {}, power_w = {}, energy_j = {}, temperature_c = {};
  std::optional<unsigned long long> clock_limits = {};
};

struct BoardSummary {
  std::optional<double> sm_clock_mhz, power_w, hottest_c;
  // Where the power comes from: "counter", the board's count of energy, or "power", samples of its
  // power; empty where it has neither.
  std::string energy_from;
  // Name of each limit that held the clock down, and in which share of the samples; empty optional
  // where the board does not say.
  std::optional<std::map<std::string, double>> limited_by;
};

// The mean power is the counter's growth between the first and the last time that it was seen to
// grow, for it grows in steps. Where it begins anew, the step across is left out with its time. A
// counter that was seen to grow fewer than three times says nothing, and the samples of power
// count, each weighed by the time up to the next.
BoardSummary summarise_board(const std::vector<BoardSample>& samples);

// Samples from construction to `stop`, every 10 ms, on a thread of its own.
class BoardRecord {
 public:
  // `sensors` may be null: then there are no samples.
  explicit BoardRecord(Sensors* sensors);
  ~BoardRecord();
  BoardRecord(const BoardRecord&) = delete;
  BoardRecord& operator=(const BoardRecord&) = delete;

  BoardSummary stop();

 private:
  void sample();

  Sensors* sensors_;
  std::chrono::steady_clock::time_point begin_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<BoardSample> samples_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace kw::bench
