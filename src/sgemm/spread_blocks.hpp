// Blocks that keep apart: how a launch of few of them lies evenly over the SMs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "gpu/device.hpp"

namespace kw {

// The dynamic shared memory to ask for, `needed` or more, so that an SM takes no more blocks than
// it needs to have. Blocks of launches that overlap otherwise come to lie many on one SM and few on
// another, and then do so launch after launch, at down to half the speed. No more than `needed`
// where blocks are at most half as many as SMs: those find SMs without any.
inline std::size_t shared_bytes_that_spread(std::int64_t blocks, std::size_t needed,
                                            const Device& device) {
  if (2 * blocks <= device.sm_count) return needed;
  const auto one_more =
      static_cast<std::size_t>(ceil_div(blocks, std::int64_t{device.sm_count}) + 1);
  return std::max(
      needed, std::min(device.shared_bytes_per_sm / one_more, device.shared_bytes_per_block_optin));
}

}  // namespace kw
