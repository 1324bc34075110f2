// Two result files against each other: the rows that are in both, and what became of their times.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace kw::bench {

enum class Verdict { same, faster, slower, broken, only_before, only_after, untimed };

const char* to_string(Verdict verdict);

struct Timing {
  double us = 0;      // median
  double iqr_us = 0;  // inter-quartile range
};

struct Pair {
  std::string op, kernel, role, problem;
  std::optional<Timing> before, after;
  Verdict verdict = Verdict::untimed;

  // How many times as fast as before: the time before over the time after.
  std::optional<double> ratio() const;
};

// Of some pairs with both times.
struct Summary {
  int same = 0, faster = 0, slower = 0;
  double mean = 1;  // geometric, of the ratios
  const Pair* best = nullptr;
  const Pair* worst = nullptr;

  int compared() const { return same + faster + slower; }
};

struct Comparison {
  std::vector<Pair> pairs;         // in the order of the file before, then what only the other has
  std::vector<std::string> notes;  // what else differs between the runs, and may be the reason

  int count(Verdict verdict) const;
  // Of one kernel, or of all where the name is empty.
  Summary summary(const std::string& kernel = {}) const;
  std::vector<std::string> kernels() const;
};

// Rows belong together where all that describes the problem, the kernel and how it was called is
// the same; those that occur several times in a file, in order. A change is one where the medians
// are further apart than either inter-quartile range and than `threshold` of the time before.
// Throws UsageError where a file is none of results; `before_name` and `after_name` are for it.
Comparison compare(const nlohmann::ordered_json& before, const std::string& before_name,
                   const nlohmann::ordered_json& after, const std::string& after_name,
                   double threshold);

}  // namespace kw::bench
