// One launch of a kernel under observation: refusals, workspace canaries, tickets, launch shape,
// path, time.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include "check/verify.hpp"

namespace kw::check {

// The result's outcome is `verified` where the launch itself went well; the output is not yet
// judged.
template <class Problem>
VerifyResult run_kernel(Workbench& bench, const Kernel<Problem>& kernel, const Problem& problem,
                        std::int64_t guard) {
  VerifyResult result;
  const std::optional<Plan<Problem>> plan = plan_for(kernel, problem, bench.device());
  if (!plan) {
    result.outcome = Outcome::unsupported;
    result.message =
        fmt::format("{} does not support this problem on {}", kernel.name, bench.device().name);
    return result;
  }
  const std::size_t bytes = plan->workspace_bytes;
  const auto words = static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float));
  GuardedMatrix scratch(bench, 1, words, words, guard, 0);
  scratch.fill({}, false);

  gpu::launch_recorder = &result.launch;
  const Status status = bench.runtime().time_us(
      [&](Stream stream) {
        return launch_planned(kernel, problem, bench.device(), *plan,
                              {bytes > 0 ? scratch.data() : nullptr, bytes, bench.tickets()},
                              stream);
      },
      bench.stream(), &result.first_call_us);
  gpu::launch_recorder = nullptr;
  if (!status.ok()) {
    result.message = fmt::format("{}: {}", kernel.name, status.message);
    static_cast<void>(bench.clear_tickets());  // that the device is lost, the message says
    return result;
  }
  bench.synchronize();
  if (kernel.path_taken != nullptr) {
    PathWords path{};
    if (bytes >= sizeof(path))
      path = bench.read(reinterpret_cast<const PathWords*>(scratch.data()));
    result.path = kernel.path_taken(problem, bench.device(), *plan, path);
  }
  result.message = scratch.find_change("the workspace", true);
  if (const std::string left = bench.find_left_ticket(); !left.empty()) {
    result.message += (result.message.empty() ? "" : "; ") + left;
  }
  result.outcome = result.message.empty() ? Outcome::verified : Outcome::failed;
  return result;
}

// The same, judged where the launch went well: judge(how it ran) makes the result, which keeps
// that.
template <class Problem, class Judge>
VerifyResult run_and_judge(Workbench& bench, const Kernel<Problem>& kernel, const Problem& problem,
                           std::int64_t guard, const Judge& judge) {
  VerifyResult run = run_kernel(bench, kernel, problem, guard);
  if (!run.ok()) return run;
  VerifyResult result = judge(run);
  result.first_call_us = run.first_call_us;
  result.path = run.path;
  result.launch = run.launch;
  return result;
}

// What a peer answers to a call that its library does not have.
inline VerifyResult not_had_by(const char* kernel) {
  VerifyResult result;
  result.outcome = Outcome::unsupported;
  result.message = fmt::format("{} does not have this call", kernel);
  return result;
}

// What else is wrong; nothing where it is empty.
inline void add_failure(const std::string& what, VerifyResult& result) {
  if (what.empty()) return;
  result.outcome = Outcome::failed;
  result.message += (result.message.empty() ? "" : "; ") + what;
}

// Failures of a check's own machinery end up in the result as well.
template <class Body>
VerifyResult guarded(const Body& body) {
  gpu::launch_recorder = nullptr;
  try {
    return body();
  } catch (const Error& error) {
    gpu::launch_recorder = nullptr;
    VerifyResult result;
    result.message = error.what();
    return result;
  }
}

// The part of a result that is the same for every operation.
void summarise(const Partial& found, double bound, std::int64_t cols, VerifyResult& into);

}  // namespace kw::check
