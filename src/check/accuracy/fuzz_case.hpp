// A case of the accuracy fuzzer: a distribution, a shape and a seed. How it is drawn, written as
// text that the command line takes, and made simpler where it fails.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "check/accuracy/distribution.hpp"

namespace kw::check {

struct FuzzCase {
  Distribution data;
  std::int64_t m = 0, n = 0, k = 0;
  std::uint64_t seed = 0;  // of the data
};

// Which shapes are drawn: large ones are for a GPU.
enum class FuzzShapes { small, large };

// Case `number` of a seed: the same on every machine.
FuzzCase draw_case(std::uint64_t seed, std::int64_t number, FuzzShapes shapes);

// "a.body=normal,a.outliers=10000,a.outlier_size=50": what is not 0, or "a.body=uniform".
std::string to_text(const Distribution& data);
// Throws std::invalid_argument, whose text says what is wrong.
Distribution parse_distribution(std::string_view text);
// Every name with its meaning, a line each, for help texts.
std::string distribution_help();

// Cases a step simpler, the greatest steps first: without a feature, with a smaller one, with fewer
// of k, of rows or of columns. None of them is this case.
std::vector<FuzzCase> simpler_cases(const FuzzCase& from);

}  // namespace kw::check
