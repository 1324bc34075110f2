// From a problem to its launch: the plan of the call, its workspace, and what becomes of both where
// the device has no memory. The same for every operation whose plans a context keeps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "api/calls.hpp"
#include "api/kept_plans.hpp"
#include "select.hpp"

namespace kw::detail {

// The plan of an operation's calls: the one kept, else a new one, which is then kept. And how much
// workspace a context lets its calls have.
template <class Problem>
using PlanOf = Status(ContextState& state, const Problem& problem, Math math,
                      const Planned<Problem>** found);
using WorkspaceLimit = std::size_t (ContextState::*)(Math math) const;

// The kernel that costs least; where even the least of its workspace exceeds the limit, another, at
// last one that needs none. Nothing where there is no kernel.
template <class Problem>
std::optional<Planned<Problem>> plan_within(const Problem& problem, const Device& device,
                                            const KernelList<Problem>& kernels, Math math,
                                            std::size_t limit) {
  auto choice = select_kernel(problem, device, kernels, math);
  if (choice && choice->plan.needed_workspace_bytes() > limit)
    choice = select_kernel(problem, device, kernels, math, limit);
  if (!choice) return std::nullopt;
  Planned<Problem> made{std::move(*choice)};
  const Plan<Problem>& plan = made.choice.plan;
  const std::size_t needed = plan.needed_workspace_bytes();
  made.workspace_bytes = std::clamp(limit, needed, std::max(plan.workspace_bytes, needed));
  return made;
}

// The plan of the call, and its workspace. Where the device has no memory for it, the call is
// planned anew with the memory that there is.
template <class Problem>
Status prepare(ContextState& state, const Problem& problem, Math math, PlanOf<Problem>* plan_of,
               WorkspaceLimit limit, const Planned<Problem>** planned, Workspace* workspace) {
  for (;;) {
    const std::size_t before = (state.*limit)(math);
    Status status = plan_of(state, problem, math, planned);
    if (!status.ok()) return status;
    status = state.workspace((*planned)->workspace_bytes, workspace);
    const bool can_do_with_less =
        status.code == StatusCode::out_of_memory && (state.*limit)(math) < before;
    if (!can_do_with_less) return status;
  }
}

template <class Problem>
Status launch_call(ContextState& state, const Problem& problem, Math math, PlanOf<Problem>* plan_of,
                   WorkspaceLimit limit = &ContextState::workspace_limit) {
  const auto work = [&] {
    const Planned<Problem>* planned = nullptr;
    Workspace workspace;
    Status ready = prepare(state, problem, math, plan_of, limit, &planned, &workspace);
    if (!ready.ok()) return ready;
    // The context's own workspace may have grown in earlier calls. Sub-problems, and with them the
    // bits of the result, must not depend on that.
    workspace.bytes = planned->workspace_bytes;
    const auto launch = [&](Stream stream) {
      return launch_planned(planned->choice, problem, state.device(), workspace, stream);
    };
    return state.runtime().launch_again(std::ref(launch), state.stream(), &planned->launches);
  };
  return state.runtime().with_device(std::ref(work));  // by reference, so that nothing is allocated
}

// The same for an operation whose plans are not kept: the workspace is what the plan asks for.
template <class Problem>
Status launch_choice(ContextState& state, const Choice<Problem>& choice, const Problem& problem) {
  const auto work = [&] {
    Workspace workspace;
    Status ready = state.workspace(choice.plan.workspace_bytes, &workspace);
    if (!ready.ok()) return ready;
    return launch_planned(choice, problem, state.device(), workspace, state.stream());
  };
  return state.runtime().with_device(std::ref(work));
}

// As sgemm_outlook of calls.hpp.
template <class Problem>
Status outlook_of(ContextState& state, const Problem& problem, Math math, PlanOf<Problem>* plan_of,
                  SgemmOutlook* outlook) {
  const Planned<Problem>* planned = nullptr;
  Status status = plan_of(state, problem, math, &planned);
  if (!status.ok()) return status;
  const auto& [kernel, plan] = planned->choice;
  *outlook = {kernel->name, plan.time_us, planned->workspace_bytes};
  return status;
}

}  // namespace kw::detail
