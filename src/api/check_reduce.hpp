// The checks that a reduction makes of its arguments before anything is written.
#pragma once

#include <cstdint>

#include "api/calls.hpp"
#include "status.hpp"

namespace kw::detail {

// "op is 12: pass 0 (sum) to 11 (min_max)"
Status check_reduce_types(ReduceOp op, DataType type);
Status check_determinism(Determinism determinism);
// What needs no address: enumerators, sizes, ld, options, and that every byte offset, of elements
// and of results, fits 64 bits. `results` is how many the call writes.
Status check_reduce_shape(const ReduceCall& call, std::int64_t* results);
// All of it, in the order: shape, the output's type and count, pointers, overlap.
Status check_reduce(const ReduceCall& call);

}  // namespace kw::detail
