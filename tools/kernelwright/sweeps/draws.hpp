// Numbers at random that are the same on every machine: the engine and whole numbers only, since
// what std::uniform_int_distribution and std::pow give is not the same everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace kw {

// Uniform in 0 … n - 1, for n up to 2^32.
inline std::int64_t below(std::mt19937_64& engine, std::int64_t n) {
  return static_cast<std::int64_t>(((engine() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
}

template <class T, std::size_t count>
T one_of(std::mt19937_64& engine, const std::array<T, count>& values) {
  return values[static_cast<std::size_t>(below(engine, static_cast<std::int64_t>(count)))];
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

// Two extents of about `elements` in all, whose ratio is log-uniform up to 2^octaves as far as
// `elements` allows; any of them may be the larger one.
inline std::array<std::int64_t, 2> extents_of(std::mt19937_64& engine, std::int64_t elements,
                                              int octaves) {
  const std::int64_t ratio = log_uniform(engine, 0, octaves);
  std::int64_t least = 1;  // of both: the root of elements over ratio
  while (least * least * ratio < elements) ++least;
  const std::int64_t other = elements / least < 1 ? 1 : elements / least;
  if (below(engine, 2) == 0) return {least, other};
  return {other, least};
}

// `count` cases: draw(engine), again and again, and of what that gives each one that takes(case,
// how many there are before it).
template <class Draw, class Takes>
auto drawn_cases(std::uint64_t seed, std::int64_t count, const Draw& draw, const Takes& takes) {
  std::mt19937_64 engine(seed);
  std::vector<decltype(draw(engine))> cases;
  while (static_cast<std::int64_t>(cases.size()) < count) {
    const auto drawn = draw(engine);
    if (takes(drawn, cases.size())) cases.push_back(drawn);
  }
  return cases;
}

}  // namespace kw
