// Stream-K's fixup: the last block to arrive at a tile that several blocks share adds up their
// parts.
#pragma once

#include "device/arrival.hpp"
#include "sgemm/stream/outputs.hpp"
#include "sgemm/stream/scheduler.hpp"

namespace KW_TARGET::stream_tile {

// Parts lie in the workspace as [slot][vector][thread]. What a thread stores in 16 bytes comes from
// an aligned quad of registers, and ptxas keeps the accumulators in these quads throughout. The
// threads therefore swap neighbours: accumulator (i, j) then lies in the other register bank than
// b[j], which comes by a 16-byte load and lies in the bank of j (see outer_product in
// consumer.hpp).
template <StreamTileConfig config>
class Fixup {
  using S = Shape<config>;

 public:
  // Stores this block's part of a tile. True in the block that arrives last: `out` is then the sum
  // of all parts, in ascending order of k within groups of stream_fan, then of groups.
  __device__ static __forceinline__ bool add_parts(Shared<config>& shared,
                                                   const Workspace& workspace,
                                                   const Scheduler<config>& scheduler,
                                                   const StreamWork& work,
                                                   float (&out)[S::outputs]) {
    // In this order: read after the parts, the index takes other instructions.
    const int tid = OwnOutputs<config>().tid;
    const StreamParts parts = scheduler.parts(work);
    int mine = parts.mine, count = parts.count, stride = 1;
    for (int level = 0; count > 1; ++level) {
      store(workspace, parts.slot(mine * stride), tid, out);
      const int first = mine / stream_fan * stream_fan;
      const int size = count - first < stream_fan ? count - first : stream_fan;
      const bool is_last = arrives_last(
          shared.is_last, static_cast<unsigned>(size), tid == 0, [] { sync_consumers<config>(); },
          [&] { return workspace.tickets + scheduler.ticket(level, parts.slot(first * stride)); });
      if (!is_last) return false;
#pragma unroll
      for (int e = 0; e < S::outputs; ++e) out[e] = 0;
      for (int j = 0; j < size; ++j) add(workspace, parts.slot((first + j) * stride), tid, out);
      mine /= stream_fan, count = ceil_div(count, stream_fan), stride *= stream_fan;
    }
    return true;
  }

 private:
  static constexpr int vectors = S::outputs / 4;

  __device__ static float4* at(const Workspace& workspace, int slot, int tid) {
    return static_cast<float4*>(workspace.data) + slot * std::int64_t{S::BM * S::BN / 4} + tid;
  }
  __device__ static void store(const Workspace& workspace, int slot, int tid,
                               const float (&out)[S::outputs]) {
    float4* to = at(workspace, slot, tid);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const float* o = &out[4 * v];
      to[v * S::consumers] = make_float4(o[1], o[0], o[3], o[2]);
    }
  }
  __device__ static void add(const Workspace& workspace, int slot, int tid,
                             float (&out)[S::outputs]) {
    const float4* from = at(workspace, slot, tid);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const float4 part = __ldcg(from + v * S::consumers);
      float* o = &out[4 * v];
      o[1] += part.x, o[0] += part.y, o[3] += part.z, o[2] += part.w;
    }
  }
};

}  // namespace KW_TARGET::stream_tile
