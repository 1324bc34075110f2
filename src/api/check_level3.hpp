// The checks of a level-3 call's arguments, before anything is written.
#pragma once

#include "api/calls.hpp"

namespace kw::detail {

// Whether A, and B where there is one, may be read.
bool may_read_inputs(const Level3Call& call);

Status check_level3(const Level3Call& call);

}  // namespace kw::detail
