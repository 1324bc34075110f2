// The blocks that share a tile each leave their part of it in the workspace. The one that arrives
// last adds up all parts; no block waits for another.
#pragma once

#include "device/ticket.hpp"

namespace KW_TARGET {

// Whether this block is the last of `count` to arrive at a ticket. All threads of the block that
// have written its part call this: `sync` is their barrier, one of them is the `leader`, and
// `is_last`, in shared memory, tells the others. `ticket_address` is called by the leader alone.
// Where the answer is yes, all parts are visible and the ticket is zero again for the next launch.
// The split kernels (hopper/split_k.hpp) have these steps in a text of their own, in an order that
// gives them other instructions.
template <class Sync, class TicketAddress>
__device__ __forceinline__ bool arrives_last(bool& is_last, unsigned count, bool leader,
                                             const Sync& sync,
                                             const TicketAddress& ticket_address) {
  sync();  // the whole part is written
  if (leader) {
    unsigned* const ticket = ticket_address();
    is_last = take_ticket(ticket) + 1 == count;
    if (is_last) *ticket = 0;
  }
  sync();
  return is_last;
}

}  // namespace KW_TARGET
