// What the calls of complex products and updates have in common: canonical form, choice, plans.
#pragma once

#include <cstddef>

#include "api/calls.hpp"
#include "api/cgemm_plans.hpp"

namespace kw::detail {

// As canonical() of sgemm.cpp; a conjugate stays one, transposed or not.
Cgemm canonical_cgemm(const CgemmCall& call);

Status choose_cgemm(const ContextState& state, const Cgemm& problem, Math math, std::size_t limit,
                    Choice<Cgemm>* choice);
// The plan of the call: the one kept for its key, else a new one, which is then kept.
Status plan_of_cgemm(ContextState& state, const Cgemm& problem, Math math,
                     const PlannedCgemm** found);

}  // namespace kw::detail
