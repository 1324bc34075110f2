// The accuracy suite's measure of an error and its rule: no worse than a plain FP32 product, from
// the same process. docs/accuracy.md says why they are what they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check/accuracy/inputs.hpp"
#include "check/partial.hpp"
#include "check/verify.hpp"
#include "kernel.hpp"

namespace kw::check {

// Float64's result of an element, and u (|alpha| |A| |B| + |beta| |C0|): the unit of its error.
struct AccuracyWant {
  double value, unit;
};

// Errors in units, where float64 is finite after rounding to float; a wrong kind of number (NaN,
// either infinity, finite) counts as a failure. An error up to the smallest subnormal is none; a
// larger one where the unit is 0 is infinite.
void add_element(float got, const AccuracyWant& want, std::int64_t index, Partial& into);

// One kernel at one class and k, pooled over seeds.
struct AccuracyRun {
  Outcome outcome = Outcome::verified;
  std::string message;  // where a launch went wrong
  Partial found = empty_partial();
  bool same_bits = true;       // of two calls, each time
  const char* path = nullptr;  // VerifyResult's, of the last call
  gpu::LaunchShape launch;
  float c_first = 0, c_last = 0;
};
void merge(AccuracyRun& into, const AccuracyRun& from);

// Root mean square, maximum, signed mean; as bound what any order of k sums and a rounded split of
// the factors can reach at worst.
ErrorSummary summary_of(const AccuracyRun& run, std::int64_t k, Demand demand);

// How many times the peer's root mean square and largest error a kernel's may be.
struct AccuracyLimits {
  double rms, max;
};
AccuracyLimits accuracy_limits(Math math);

struct AccuracyVerdict {
  bool passes = false;
  std::string message;  // why not
  std::optional<double> rms_vs_peer, max_vs_peer;
};

// `peer` is null where there is none, `limits` empty for a kernel that the rule is not for: what is
// left then is the bound of `error`, the kinds of numbers and the same bits in two calls.
AccuracyVerdict judge_accuracy(const AccuracyRun& run, const ErrorSummary& error, Demand demand,
                               const ErrorSummary* peer,
                               const std::optional<AccuracyLimits>& limits);

}  // namespace kw::check
