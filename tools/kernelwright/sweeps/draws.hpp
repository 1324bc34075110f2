// Numbers at random that are the same on every machine: the engine and whole numbers only, since
// what std::uniform_int_distribution and std::pow give is not the same everywhere.
#pragma once

#include <cstdint>
#include <random>

namespace kw {

// Uniform in 0 … n - 1, for n up to 2^32.
inline std::int64_t below(std::mt19937_64& engine, std::int64_t n) {
  return static_cast<std::int64_t>(((engine() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
}

// From 2^first to below 2^last, x with a probability as 1 / x: the octaves are equally probable;
// within one, x is kept with probability low / x.
inline std::int64_t log_uniform(std::mt19937_64& engine, int first, int last) {
  const std::int64_t low = std::int64_t{1} << (first + below(engine, last - first));
  for (;;) {
    const std::int64_t x = low + below(engine, low);
    if (below(engine, x) < low) return x;
  }
}

}  // namespace kw
