// Rows and segments of integers.
#include "reduce/sequences.hpp"

namespace KW_TARGET {

Status reduce_integral_sequences(const Reduce& problem, const Device& device, Workspace workspace,
                                 Stream stream) {
  return dispatch_integral(problem.op, problem.type,
                           LaunchSequences{problem, device, workspace, stream});
}
std::size_t integral_sequences_workspace(const Reduce& problem, const Device& device) {
  return dispatch_integral(problem.op, problem.type, WorkspaceBytes{problem, device});
}

}  // namespace KW_TARGET
