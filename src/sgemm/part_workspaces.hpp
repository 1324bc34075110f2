// The workspaces of the parts of a product, for whoever launches several kernels that may run at
// the same time.
#pragma once

#include <cstddef>

#include "kernel.hpp"
#include "sgemm/problem.hpp"
#include "workspace_parts.hpp"

namespace kw {

// Hands them out one behind the other.
class PartWorkspaces {
 public:
  explicit PartWorkspaces(const Workspace& all) : all_(all) {}
  // The next part's, which has the tickets from number `first_ticket` on.
  Workspace next(const Plan<Sgemm>& part, std::size_t first_ticket) {
    const std::size_t bytes = part.workspace_bytes;
    return {static_cast<char*>(all_.data) + take_part(end_, bytes), bytes,
            all_.tickets + first_ticket};
  }

 private:
  Workspace all_;
  std::size_t end_ = 0;
};

// So many bytes do they have together.
inline std::size_t bytes_of_parts(const Plan<Sgemm>& plan) {
  std::size_t bytes = 0;
  for (const Choice<Sgemm>& part : plan.parts) bytes += whole_part(part.plan.workspace_bytes);
  return bytes;
}

}  // namespace kw
