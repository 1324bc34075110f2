// kernelwright verify attention: every kernel on every edge case.
#include "commands/verify_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/table.hpp"
#include "check/verify_attention.hpp"
#include "kernels.hpp"

namespace kw {
namespace {

struct AttentionTally {
  int verified = 0, refused = 0, failed = 0;
  double worst_rms = 0;
  std::string first_failure;

  void count(const check::AttentionCase& c, const check::VerifyResult& result) {
    if (result.outcome == check::Outcome::unsupported) {
      ++refused;
    } else if (result.ok()) {
      ++verified;
      worst_rms = std::max(worst_rms, result.error.rms);
    } else if (failed++ == 0) {
      first_failure = fmt::format("{}: {}", describe(c), result.message);
    }
  }
};

}  // namespace

bool verify_attention_kernels(check::Workbench& workbench, const std::string& globs,
                              std::uint64_t seed, bool quiet) {
  const KernelList<Attention> kernels =
      select_kernels(all_kernels<Attention>(workbench.device().kind), globs);
  std::vector<AttentionTally> tallies(kernels.size());
  for (const check::AttentionCase& c : check::attention_edge_cases(seed)) {
    check::AttentionTrial trial(workbench, c);
    for (std::size_t i = 0; i < kernels.size(); ++i) tallies[i].count(c, trial.verify(kernels[i]));
  }
  std::vector<std::vector<std::string>> cells = {
      {"attention", "verified", "refused", "failed", "largest rms error"}};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const AttentionTally& t = tallies[i];
    cells.push_back({kernels[i].name, fmt::format("{}", t.verified), fmt::format("{}", t.refused),
                     fmt::format("{}", t.failed), fmt::format("{:.2f} u", t.worst_rms)});
  }
  if (!quiet) fmt::print("{}", bench::align(cells));
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (!tallies[i].first_failure.empty() && !quiet)
      fmt::print("  {} {}\n", kernels[i].name, tallies[i].first_failure);
  if (!quiet) fmt::print("\n");
  return std::all_of(tallies.begin(), tallies.end(),
                     [](const AttentionTally& t) { return t.failed == 0; });
}

}  // namespace kw
