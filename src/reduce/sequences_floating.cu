// Rows and segments of floating types.
#include "reduce/sequences.hpp"

namespace KW_TARGET {

Status reduce_floating_sequences(const Reduce& problem, const Device& device, Workspace workspace,
                                 Stream stream) {
  return dispatch_floating(problem.op, problem.type,
                           LaunchSequences{problem, device, workspace, stream});
}
std::size_t floating_sequences_workspace(const Reduce& problem, const Device& device) {
  return dispatch_floating(problem.op, problem.type, WorkspaceBytes{problem, device});
}

}  // namespace KW_TARGET
