// Choices for generated cases.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "check/input.hpp"

namespace kw::check {

// Draws choices one after the other, the same ones for the same case number.
class Draw {
 public:
  explicit Draw(std::size_t number) : state_(mix(number + 1)) {}

  template <class T, std::size_t N>
  T from(const std::array<T, N>& choices) {
    state_ = mix(state_ + golden_gamma);
    return choices[(state_ >> 32) % N];
  }

 private:
  std::uint64_t state_;
};

}  // namespace kw::check
