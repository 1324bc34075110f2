// The checks that attention makes of its arguments before anything is written.
#pragma once

#include "api/calls.hpp"

namespace kw::detail {

// All that needs no address but whether there is one.
Status check_attention_shape(const AttentionCall& call);
// All.
Status check_attention(const AttentionCall& call);

}  // namespace kw::detail
