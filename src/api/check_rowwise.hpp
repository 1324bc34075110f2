// The checks that a row-wise operation makes of its arguments before anything is written.
#pragma once

#include "api/calls.hpp"
#include "status.hpp"

namespace kw::detail {

// The call with what was left at 0 filled in.
RowwiseCall with_defaults(const RowwiseCall& call);
// What needs no address: enumerators, sizes, steps, options, and that every byte offset fits 64
// bits. The call has its defaults.
Status check_rowwise_shape(const RowwiseCall& call);
// All of it, in the order: shape, pointers, overlap.
Status check_rowwise(const RowwiseCall& call);

}  // namespace kw::detail
