// Products at random, for `--sweep random`. The same seed gives the same list on every machine and
// with every standard library, and a longer list begins with the shorter one.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "check/verify.hpp"

namespace kw {

constexpr std::int64_t longest_extent = 16384;
constexpr double least_operations = 1e5, most_operations = 6e11;  // 2mnk
constexpr std::int64_t largest_operand = 150'000'000;             // elements
constexpr std::array<std::int64_t, 5> leading_paddings = {0, 1, 4, 5, 32};

// Seeds below this one are for tuning; published rows have one of at least this
// (docs/measuring.md).
constexpr std::uint64_t first_published_seed = 1000;

// m, n and k log-uniform from 1 to below 16384 within the bounds above; transposes and paddings of
// the leading dimensions at random. Product i is of third i % 3 by bench::third_of. No two have the
// same extents and transposes.
std::vector<check::SgemmCase> random_products(std::uint64_t seed, std::int64_t count);

// One such extent, before the bounds on the whole product: x with a probability as 1 / x.
std::int64_t random_extent(std::mt19937_64& engine);
// What a leading dimension has beyond the least.
std::int64_t random_padding(std::mt19937_64& engine);

}  // namespace kw
