// The problems that every kernel must get right: edge shapes, paddings, scalars and inputs, mixed
// so that each pair of choices meets, not the full product.
#pragma once

#include <cstdint>
#include <vector>

#include "check/verify.hpp"

namespace kw::check {

// A op(N) times op(N): every kernel takes these.
std::vector<SgemmCase> sgemm_edge_cases(std::uint64_t seed = 1);
// The other three op pairs: production kernels take these too, a rung may refuse.
std::vector<SgemmCase> sgemm_transpose_cases(std::uint64_t seed = 1);
// Batches by strides and by pointers, and scalars on the device, alone and together: production
// kernels take these too, a rung may refuse.
std::vector<SgemmCase> sgemm_batch_cases(std::uint64_t seed = 1);
// Biases, activations and sources, alone and together, at edges of tiles, in batches, with long k
// and none: production kernels take these too, a rung may refuse.
std::vector<SgemmCase> sgemm_epilogue_cases(std::uint64_t seed = 1);
// Products with a side of 1 to 17, short and long, with all pairs of operations; production kernels
// take these too, a rung may refuse.
std::vector<SgemmCase> sgemm_thin_cases(std::uint64_t seed = 1);
// One shape with several paddings and scalars; one input where a seed and an input are asked for.
std::vector<SgemmCase> sgemm_cases_of_shape(std::int64_t m, std::int64_t n, std::int64_t k,
                                            Input input, std::uint64_t seed);

std::vector<ScaleAddCase> scale_add_edge_cases(std::uint64_t seed = 1);
std::vector<ScaleAddCase> scale_add_cases_of_shape(std::int64_t rows, std::int64_t cols,
                                                   Input input, std::uint64_t seed);

// A teaching rung keeps to one product of plain operands, a peer to what its vendor's call has; a
// production kernel of matrix products may leave some to the others of its list, where all together
// must take everything. Nothing else may be refused.
template <class Case>
bool may_refuse(Role, const Case&) {
  return false;
}
inline bool may_refuse(Role role, const SgemmCase& c) {
  const bool plain = c.op_a == Op::none && c.op_b == Op::none && c.plain();
  return role == Role::production || (role == Role::rung && !plain) ||
         (role == Role::peer && c.epilogue.any());
}

}  // namespace kw::check
