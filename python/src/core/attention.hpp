// Attention on views of arrays of (batch, heads, rows, columns), of which the first two dimensions
// may be missing.
#pragma once

#include "core/strided.hpp"
#include "kernelwright/kernelwright.h"

namespace kw::python {

// Whether columns are neighbours and rows do not run into each other.
bool has_dense_columns(const Strided& view);

// The problem, with 1 / sqrt(columns) for a scale. Refuses sizes that do not fit together.
kwAttentionProblem attention_problem(const Strided& q, const Strided& k, const Strided& v,
                                     const Strided& o);

// What is added to the scores, repeated where its sizes are 1.
void add_mask(const Strided& mask, kwAttentionProblem* problem);

}  // namespace kw::python
