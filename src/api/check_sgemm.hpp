// The checks of a matrix product's arguments, before anything is written.
#pragma once

#include "api/calls.hpp"

namespace kw::detail {

// Whether the call may read A and B: not where k is 0, or alpha is known on the host and 0.
bool may_read_inputs(const SgemmCall& call);

// `element_bytes`: 8 where the call stands for one of complex matrices (as_floats, cgemm.cpp).
Status check_sgemm(const SgemmCall& call, int element_bytes = sizeof(float));
// A number in place of an enumerator, as only C or a cast can pass it.
Status check_math(Math math, const char* argument);

}  // namespace kw::detail
