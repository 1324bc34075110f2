// Divisions that the host prepares for a kernel.
#pragma once

#include <cstdint>

#include "host_device.hpp"

namespace kw {

// Divides numbers below 2^31 by one that the host knows, with a multiplication.
struct Divider {
  std::uint32_t factor = 0, shift = 0;

  Divider() = default;
  explicit Divider(std::int64_t by) {
    while ((std::int64_t{1} << shift) < by) ++shift;
    // At most `by` too large over 2^(31 + shift), and by <= 2^shift: the quotient's error times a
    // number below 2^31 stays below one part in `by`.
    factor = static_cast<std::uint32_t>((std::uint64_t{1} << (31 + shift)) /
                                        static_cast<std::uint64_t>(by)) +
             1;
  }
  KW_HOST_DEVICE std::uint32_t quotient(std::uint32_t x) const {
    return static_cast<std::uint32_t>((std::uint64_t{x} * factor) >> (31 + shift));
  }
};

}  // namespace kw
