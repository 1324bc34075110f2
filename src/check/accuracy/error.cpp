// Errors of the accuracy suite and what is made of them.
#include "check/accuracy/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/elementwise.hpp"

namespace kw::check {
namespace {

bool same_kind(float one, float other) {
  if (std::isfinite(one) || std::isfinite(other)) return std::isfinite(one) == std::isfinite(other);
  return std::isnan(one) ? std::isnan(other) : one == other;
}

// 0 / 0 is a tie.
double ratio(double error, double of_peer) { return error == of_peer ? 1.0 : error / of_peer; }

}  // namespace

void add_element(float got, const AccuracyWant& want, std::int64_t index, Partial& into) {
  const auto rounded = static_cast<float>(want.value);
  if (!same_kind(got, rounded)) return add_failure(into, index);
  if (!std::isfinite(rounded)) return;
  const double error = static_cast<double>(got) - want.value;
  if (std::fabs(error) <= smallest_subnormal) return add_error(into, 0);
  add_error(into, want.unit > 0 ? error / want.unit : std::numeric_limits<double>::infinity());
}

void merge(AccuracyRun& into, const AccuracyRun& from) {
  merge(into.found, from.found);
  into.same_bits = into.same_bits && from.same_bits;
  into.path = from.path;
  into.launch = from.launch;
  into.c_first = from.c_first;
  into.c_last = from.c_last;
  if (into.outcome != Outcome::verified) return;
  into.outcome = from.outcome;
  into.message = from.message;
}

ErrorSummary summary_of(const AccuracyRun& run, std::int64_t k, Demand demand) {
  const auto count = static_cast<double>(std::max<std::int64_t>(run.found.count, 1));
  const double worst = static_cast<double>(k) + 3;
  return {run.found.max, std::sqrt(run.found.sum_square / count), run.found.sum / count,
          demand == Demand::exact ? 0 : worst};
}

AccuracyLimits accuracy_limits(Math math) {
  // A kernel of FP32 multiply-adds differs from another by its order of sums alone.
  if (math == Math::fp32) return {1.02, 1.25};
  return {1.0, 1.5};
}

AccuracyVerdict judge_accuracy(const AccuracyRun& run, const ErrorSummary& error, Demand demand,
                               const ErrorSummary* peer,
                               const std::optional<AccuracyLimits>& limits) {
  AccuracyVerdict verdict;
  const auto fail = [&](const std::string& why) {
    verdict.message += (verdict.message.empty() ? "" : "; ") + why;
  };
  if (run.outcome != Outcome::verified) {
    fail(run.message);
    return verdict;
  }
  if (run.found.failures > 0) {
    fail(fmt::format("{} elements are NaN, infinite or finite where float64 is not, first {}",
                     run.found.failures, run.found.first_failure));
  }
  if (!run.same_bits) fail("two calls gave different bits");
  if (!(error.max <= error.bound)) {
    fail(fmt::format("largest error {:.3g} u, bound {:.3g} u", error.max, error.bound));
  }
  if (peer != nullptr && demand == Demand::no_worse) {
    verdict.rms_vs_peer = ratio(error.rms, peer->rms);
    verdict.max_vs_peer = ratio(error.max, peer->max);
    if (limits && !(*verdict.rms_vs_peer <= limits->rms)) {
      fail(fmt::format(
          "root mean square {:.3g} u, the peer's {:.3g} u: {:.3f} times, want at most {}",
          error.rms, peer->rms, *verdict.rms_vs_peer, limits->rms));
    }
    if (limits && !(*verdict.max_vs_peer <= limits->max)) {
      fail(fmt::format("largest error {:.3g} u, the peer's {:.3g} u: {:.3f} times, want at most {}",
                       error.max, peer->max, *verdict.max_vs_peer, limits->max));
    }
  }
  verdict.passes = verdict.message.empty();
  return verdict;
}

}  // namespace kw::check
