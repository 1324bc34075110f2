// Runs the work, closes the file.
#include "commands/session.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "bench/results.hpp"
#include "program.hpp"
#include "tune_cache.hpp"

namespace kw {

void Session::begin(const std::string& command, const Device& device,
                    const bench::Ceilings& ceilings) {
  file_.begin(bench::head_json(command, device, ceilings));
}

void Session::add(const std::vector<bench::Row>& rows) {
  progress_.clear();
  file_.add(rows);
  rows_ += rows.size();
}

int Session::run(const std::function<void()>& work, const std::function<int()>& verdict) {
  try {
    work();
  } catch (const Interrupted&) {
    progress_.clear();
    flush_output();
    if (rows_ > 0) file_.finish(true);
    const bool is_kept = rows_ > 0 && !json_.empty();
    progress_.say(fmt::format("interrupted after {} rows{}", rows_,
                              is_kept ? ", which are in " + json_ : std::string()));
    return exit_interrupted;
  }
  progress_.clear();
  flush_output();
  if (rows_ == 0) {
    throw UsageError(
        "nothing was measured: every kernel was left out or refused, as said above; take other "
        "kernels with --kernel or other sizes with --shape");
  }
  file_.finish(false);
  return verdict();
}

void mention_broken_tune_cache(const Device& device) {
  const char* const path = std::getenv("KERNELWRIGHT_TUNE_CACHE");
  if (path == nullptr || *path == '\0') return;
  TuneCache cache;
  const Status status = TuneCache::read(path, device, &cache);
  if (!status.ok()) {
    fmt::print(stderr, "kernelwright: KERNELWRIGHT_TUNE_CACHE: {}\n", status.message);
  }
}

}  // namespace kw
