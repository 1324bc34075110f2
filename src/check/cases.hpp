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
// One shape with several paddings and scalars; one input where a seed and an input are asked for.
std::vector<SgemmCase> sgemm_cases_of_shape(std::int64_t m, std::int64_t n, std::int64_t k,
                                            Input input, std::uint64_t seed);

std::vector<ScaleAddCase> scale_add_edge_cases(std::uint64_t seed = 1);
std::vector<ScaleAddCase> scale_add_cases_of_shape(std::int64_t rows, std::int64_t cols,
                                                   Input input, std::uint64_t seed);

// A teaching rung keeps to plain operands; nothing else may be refused.
template <class Case>
bool may_refuse(Role, const Case&) {
  return false;
}
inline bool may_refuse(Role role, const SgemmCase& c) {
  return role == Role::rung && (c.op_a != Op::none || c.op_b != Op::none);
}

}  // namespace kw::check
