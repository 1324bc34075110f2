// Reductions of strided arrays along some of their dimensions, by calls of the C interface.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/pool.hpp"
#include "core/strided.hpp"

namespace kw::python {

struct Reduction {
  kwReduceOp_t op = KW_REDUCE_SUM;
  kwDataType_t type = KW_FLOAT32;
  std::int64_t correction = 0;  // of variances
  // Those that stay, in the result's order; then those that go, in the order in which argmin and
  // argmax count them.
  Strided kept;
  Strided reduced;
  void* out = nullptr;  // dense
};

std::size_t bytes_of(kwDataType_t type);

// How many elements a sequence has: min_max leaves two, all others one.
std::int64_t results_each(kwReduceOp_t op);

// Whether the library can walk this array as it lies in memory.
bool is_walkable(const Reduction& reduction);

// Computes what is walkable.
void reduce(Context& context, const Reduction& reduction);

}  // namespace kw::python
