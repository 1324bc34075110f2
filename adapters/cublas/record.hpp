// What happened, for the summary, the log of calls and the files that `kernelwright run` reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "call.hpp"
#include "policy.hpp"
#include "words.hpp"

namespace kw::cublas {

// How calls of one kind, of one shape, went.
struct Tally {
  Symbol symbol{};
  Reason reason{};  // none: taken
  bool pedantic = false;
  char op_a = 'n', op_b = 'n';
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::string epilogue;  // "bias+gelu"; empty: none
  Outlook outlook;
  std::atomic<std::uint64_t> calls{0}, captured{0}, host_ns{0}, verified{0};
  // The largest errors seen, in 2^-24 |alpha| |op(A)| |op(B)|, in thousandths.
  std::atomic<std::uint64_t> worst{0}, vendor_worst{0};
};

class Record {
 public:
  explicit Record(const Policy& policy) : policy_(policy) {}

  // The tally of such calls. Past so many shapes those of a symbol and reason share one.
  static constexpr std::size_t most_shapes = 4096;
  Tally& tally(const Call& call, Reason reason, const Outlook& outlook = {});

  // One line, wherever the log goes.
  void line(LogLevel level, const std::string& text);
  // The same, once for each `topic`.
  void warn_once(const std::string& topic, const std::string& text);
  void call_line(const Call& call, Reason reason, const Outlook& outlook, bool captured,
                 double host_us);

  // The file for `kernelwright run`, at most every two seconds unless `now`; and, at the end, the
  // summary.
  void write_file(bool now);
  void write_summary();
  void set_device(const std::string& name);

 private:
  using Key = Words<6>;
  static Key key_of(const Call& call, Reason reason, bool shared);
  std::string json();

  const Policy& policy_;
  std::mutex mutex_;
  std::unordered_map<Key, Tally*, MixedWords> by_key_;
  std::deque<Tally> tallies_;
  std::unordered_map<std::string, bool> warned_;
  std::string device_;
  std::atomic<std::int64_t> written_ns_{0};
};

// Nanoseconds of a clock that never goes back.
std::int64_t now_ns();

}  // namespace kw::cublas
