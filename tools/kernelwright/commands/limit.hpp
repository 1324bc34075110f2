// --limit: ends the process where a device does not answer; what was measured is in the result file
// by then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "commands/commands.hpp"
#include "commands/validators.hpp"

namespace kw {

inline void add_limit(CLI::App& command, double* seconds) {
  command
      .add_option("--limit", *seconds, "End after so many seconds, with what is measured by then")
      ->check(number_from_zero(false))
      ->capture_default_str();
}

class Limit {
 public:
  explicit Limit(double seconds)
      : watcher_([this, seconds] {
          std::unique_lock<std::mutex> lock(mutex_);
          const auto limit = std::chrono::duration<double>(seconds);
          if (is_over_.wait_for(lock, limit, [this] { return done_; })) return;
          std::fprintf(stderr, "kernelwright: the limit of %g s is over (--limit)\n", seconds);
          std::fflush(nullptr);
          std::_Exit(exit_failed);
        }) {}
  ~Limit() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    is_over_.notify_all();
    watcher_.join();
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable is_over_;
  bool done_ = false;
  std::thread watcher_;
};

}  // namespace kw
