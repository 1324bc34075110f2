// What the calls of complex products and updates have in common: canonical form, choice, plans.
#pragma once

#include <cstddef>

#include "api/calls.hpp"
#include "api/cgemm_plans.hpp"
#include "api/check.hpp"

namespace kw::detail {

// A view as the checks know it, in complex elements.
template <class View>
Operand complex_operand(char letter, const View& of) {
  Operand operand{
      letter, {reinterpret_cast<const float*>(of.data), of.rows, of.cols, of.ld, of.layout, of.op}};
  operand.element_bytes = sizeof(Complex);
  return operand;
}

// What the checks ask of a scalar: whether it is 0 or 1, and its address.
inline Scalar complex_as_real(const ComplexScalar& scalar) {
  if (scalar.is_on_device()) return Scalar::at(reinterpret_cast<const float*>(scalar.address()));
  return scalar.value() == 0.0f ? 0.0f : scalar.value() == 1.0f ? 1.0f : 2.0f;
}

// As canonical() of sgemm.cpp; a conjugate stays one, transposed or not.
Cgemm canonical_cgemm(const CgemmCall& call);

Status choose_cgemm(const ContextState& state, const Cgemm& problem, Math math, std::size_t limit,
                    Choice<Cgemm>* choice);
// The plan of the call: the one kept for its key, else a new one, which is then kept.
Status plan_of_cgemm(ContextState& state, const Cgemm& problem, Math math,
                     const PlannedCgemm** found);

}  // namespace kw::detail
