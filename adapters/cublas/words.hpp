// Keys of hashed maps that are some words each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kw::cublas {

template <std::size_t count>
using Words = std::array<std::int64_t, count>;

// Every bit of every word moves the hash.
struct MixedWords {
  template <std::size_t count>
  std::size_t operator()(const Words<count>& words) const {
    std::uint64_t mixed = 0;
    for (const std::int64_t word : words) {
      mixed = (mixed ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15u;
      mixed ^= mixed >> 32;
    }
    return static_cast<std::size_t>(mixed);
  }
};

}  // namespace kw::cublas
