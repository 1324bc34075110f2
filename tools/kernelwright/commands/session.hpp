// What commands that work for long share: progress, Ctrl-C, a result file that grows.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/result_file.hpp"
#include "interrupt.hpp"
#include "terminal.hpp"

namespace kw {

class Session {
 public:
  // `json` as --json takes it: opened now, before any work.
  explicit Session(const std::string& json) : json_(json), file_(json) {}

  Progress& progress() { return progress_; }
  // Before the first row.
  void begin(const std::string& command, const Device& device, const bench::Ceilings& ceilings);
  void add(const std::vector<bench::Row>& rows);

  // Does the work, which adds rows, until it is done or Ctrl-C stops it; then finishes the result
  // file. The exit code is `verdict()` where all was done, else exit_interrupted. Throws UsageError
  // where all was done and there is no row.
  int run(const std::function<void()>& work, const std::function<int()>& verdict);

 private:
  InterruptWatch watch_;
  std::string json_;
  bench::ResultFile file_;
  Progress progress_;
  std::size_t rows_ = 0;
};

// Says on standard error where KERNELWRIGHT_TUNE_CACHE names a file that cannot be used here.
void mention_broken_tune_cache(const Device& device);

}  // namespace kw
