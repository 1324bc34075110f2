// How far a result may lie from float64, in u = 2^-24 times |alpha| |op(A)| |op(B)|.
// docs/accuracy.md explains both bounds.
#pragma once

#include <cstdint>

#include "check/input.hpp"

namespace kw::check {

// k + 2 holds for any order of summation and any data. Where the data's distribution is known a
// tighter bound holds with room to spare: 4 sqrt(k) + 4 for values of one sign, 32 for centred
// ones.
double product_tolerance(Input input, std::int64_t k);

// Whether every partial sum of such a product is a float, so that the result must be exact.
bool is_exact(Input input, std::int64_t k, float alpha, float beta);

}  // namespace kw::check
