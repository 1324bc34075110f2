// The checks of what a product is asked to do with its elements (kernelwright/epilogue.hpp).
#pragma once

#include "api/calls.hpp"
#include "api/check.hpp"

namespace kw::detail {

// Whether the call asks for anything beyond alpha * op(A) * op(B) + beta * C.
bool has_epilogue(const SgemmCall& call);
// Whether beta multiplies another matrix than C itself.
bool reads_other_source(const SgemmCall& call);
// All that needs no address; `c` is the call's C.
Status check_epilogue_numbers(const SgemmCall& call, const Operand& c);
// Where bias and source lie.
Status check_epilogue_places(const SgemmCall& call, const Operand& c);

}  // namespace kw::detail
