// Stream-K's fixup: the last block to arrive at a tile that several blocks share adds up their
// parts.
#pragma once

#include "device/arrival.hpp"
#include "sgemm/stream/scheduler.hpp"
#include "sgemm/stream/tile_sums.hpp"

namespace KW_TARGET::stream_tile {

template <StreamTileConfig config>
class Fixup {
  using S = Shape<config>;

 public:
  // Stores this block's part of a tile. True in the block that arrives last: `out` is then the sum
  // of all parts, in ascending order of k within groups of stream_fan, then of groups.
  template <class Scheduler>
  __device__ static __forceinline__ bool add_parts(Shared<config>& shared,
                                                   const Workspace& workspace,
                                                   const Scheduler& scheduler,
                                                   const StreamWork& work,
                                                   float (&out)[S::outputs]) {
    // In this order: read after the parts, the index takes other instructions.
    const int tid = OwnOutputs<config>().tid;
    const StreamParts parts = scheduler.parts(work);
    int mine = parts.mine, count = parts.count, stride = 1;
    for (int level = 0; count > 1; ++level) {
      TileSums<config>(workspace, parts.slot(mine * stride), tid).store(out);
      const int first = mine / stream_fan * stream_fan;
      const int size = count - first < stream_fan ? count - first : stream_fan;
      const bool is_last = arrives_last(
          shared.is_last, static_cast<unsigned>(size), tid == 0, [] { sync_consumers<config>(); },
          [&] { return workspace.tickets + scheduler.ticket(level, parts.slot(first * stride)); });
      if (!is_last) return false;
#pragma unroll
      for (int e = 0; e < S::outputs; ++e) out[e] = 0;
      for (int j = 0; j < size; ++j)
        TileSums<config>(workspace, parts.slot((first + j) * stride), tid).add_to(out);
      mine /= stream_fan, count = ceil_div(count, stream_fan), stride *= stream_fan;
    }
    return true;
  }
};

}  // namespace KW_TARGET::stream_tile
