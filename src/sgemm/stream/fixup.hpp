// Stream-K's fixup: the last block to arrive at a tile that several blocks share adds up their
// parts. cgemm's stream tiles have it, too.
#pragma once

#include "arithmetic.hpp"
#include "device/arrival.hpp"
#include "sgemm/stream/schedule.hpp"
#include "sgemm/stream/tile_sums.hpp"

namespace KW_TARGET::stream_tile {

// Stores this block's part of a tile. True in the block that arrives last: `out` is then the sum of
// all parts, in ascending order of k within groups of stream_fan, then of groups. Called by each of
// the consumers, of which `tid` is one's number and `sync` the barrier; `is_last` is in shared
// memory. `one_by_one`: the loop over parts is not unrolled.
template <int consumers, bool one_by_one, int outputs, class Sync>
__device__ __forceinline__ bool add_parts(const Workspace& workspace,
                                          const StreamSchedule& schedule, const StreamParts& parts,
                                          int tid, bool& is_last, const Sync& sync,
                                          float (&out)[outputs]) {
  using Sums = TileSums<consumers, outputs>;
  int mine = parts.mine, count = parts.count, stride = 1;
  for (int level = 0; count > 1; ++level) {
    Sums(workspace, parts.slot(mine * stride), tid).store(out);
    const int first = mine / stream_fan * stream_fan;
    const int size = count - first < stream_fan ? count - first : stream_fan;
    const bool arrived = arrives_last(is_last, static_cast<unsigned>(size), tid == 0, sync, [&] {
      return workspace.tickets + schedule.ticket(level, parts.slot(first * stride));
    });
    if (!arrived) return false;
#pragma unroll
    for (int e = 0; e < outputs; ++e) out[e] = 0;
    const auto add = [&](int j) {
      Sums(workspace, parts.slot((first + j) * stride), tid).add_to(out);
    };
    if constexpr (one_by_one) {
#pragma unroll 1
      for (int j = 0; j < size; ++j) add(j);
    } else {
      for (int j = 0; j < size; ++j) add(j);
    }
    mine /= stream_fan, count = ceil_div(count, stream_fan), stride *= stream_fan;
  }
  return true;
}

}  // namespace KW_TARGET::stream_tile
