// What a product on the CPU does beyond alpha * op(A) * op(B) + beta * C: passes over C before and
// after it, so that a CBLAS may compute the product.
#pragma once

#include "sgemm/problem.hpp"

namespace kw::cpu {

// Puts the source, where there is one, into C, so that beta multiplies it there.
void copy_source(const Sgemm& one);
// Adds the bias to C and applies the activation.
void finish_elements(const Sgemm& one);

}  // namespace kw::cpu
