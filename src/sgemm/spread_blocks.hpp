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

// The same where an SM has room for all blocks that come to it at once, `blocks_per_sm`.
inline std::size_t shared_bytes_where_all_fit(std::int64_t blocks, int blocks_per_sm,
                                              std::size_t needed, const Device& device) {
  const std::int64_t sms = device.sm_count;
  if (sms <= 0 || ceil_div(blocks, sms) > blocks_per_sm) return needed;
  return shared_bytes_that_spread(blocks, needed, device);
}

}  // namespace kw
