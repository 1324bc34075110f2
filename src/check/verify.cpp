// What every operation's verification reports in the same way.
#include "check/verify.hpp"

#include <algorithm>
#include <cmath>

#include "check/run_kernel.hpp"

namespace kw::check {

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::verified: return "verified";
    case Outcome::failed: return "FAILED";
    case Outcome::unsupported: return "unsupported";
    case Outcome::error: return "ERROR";
  }
  return "unknown";
}

void summarise(const Partial& found, double bound, std::int64_t cols, VerifyResult& into) {
  const auto count = static_cast<double>(std::max<std::int64_t>(found.count, 1));
  into.error = {found.max, std::sqrt(found.sum_square / count), found.sum / count, bound};
  into.failures = found.failures;
  if (found.failures == 0) return;
  into.outcome = Outcome::failed;
  into.first_row = found.first_failure / cols;
  into.first_col = found.first_failure % cols;
}

}  // namespace kw::check
