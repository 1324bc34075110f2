// Reductions at random, for `bench reduce --sweep random`. The same seed gives the same list on
// every machine and with every standard library, and a longer list begins with the shorter one.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/roofline.hpp"
#include "check/reduce/case.hpp"

namespace kw {

constexpr std::int64_t fewest_elements = 1000, most_elements = 1'000'000'000;
constexpr int aspect_octaves = 12;  // rows over columns: 2^-12 to 2^12

// Reduction i is of third i % 3 by third_of. Operation, element type and shape are drawn alike;
// elements are log-uniform within the third. Rows, columns and segments of one length have a
// log-uniform aspect. Every second problem lies past a 256-byte boundary, every second matrix has
// rows further apart than they must be.
std::vector<check::ReduceCase> random_reductions(std::uint64_t seed, std::int64_t count);

// By the bytes of the elements at the reference roofline's bandwidth: under 4 us, 4 to 50, over 50.
bench::Third third_of(const check::ReduceCase& c);

// Elements of a case, about so many where its segments have lengths of their own at random.
std::int64_t expected_elements(const check::ReduceCase& c);

}  // namespace kw
