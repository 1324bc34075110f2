// What the C interface calls of this folder.
#pragma once

#include <cstddef>

#include "api/calls.hpp"
#include "api/context_state.hpp"

namespace kw::distributed {

// A call whose alpha and beta lie in host memory.
Status sgemm_out_of_core(detail::ContextState& state, const detail::SgemmCall& call, float alpha,
                         float beta, std::size_t device_bytes);

}  // namespace kw::distributed
