// Row-wise operations at random, for `bench rowwise --sweep random`. The same seed gives the same
// list on every machine, and a longer list begins with the shorter one.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/roofline.hpp"
#include "check/rowwise/case.hpp"

namespace kw {

constexpr std::int64_t fewest_row_elements = 1000, most_row_elements = 500'000'000;
constexpr int row_aspect_octaves = 12;  // rows over columns: 2^-12 to 2^12

// Case i is of third i % 3 by third_of; elements are log-uniform within the third. Every second one
// is of float32; every fourth lies past a 256-byte boundary, every fourth has rows further apart
// than they must be, every fourth is in place. Of fewer bytes, read and written, than `least_bytes`
// none is drawn, and thirds without such are left out.
std::vector<check::RowwiseCase> random_rowwise(std::uint64_t seed, std::int64_t count,
                                               double least_bytes);

double rowwise_bytes(const check::RowwiseCase& c);
// By the bytes at the reference roofline's bandwidth: under 4 us, 4 to 50, over 50.
bench::Third third_of(const check::RowwiseCase& c);

}  // namespace kw
