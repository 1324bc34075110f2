// The checks of a distributed call, made by every rank of what all ranks passed, before anything is
// copied. All ranks come to the same answer.
#pragma once

#include <vector>

#include "distributed/group_state.hpp"

namespace kw::distributed {

// The failure of the lowest rank that has one; its message names the rank.
Status check_calls(const Grid& grid, const std::vector<detail::CallMessage>& calls);
// Of one rank: all but what lies in memory and what other ranks pass.
Status check_numbers(const Grid& grid, const detail::DistributedCall& call);

}  // namespace kw::distributed
