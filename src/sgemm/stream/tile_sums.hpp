// Sums of a tile's outputs in the workspace, each thread's apart: a part that other blocks add to
// theirs (fixup.hpp), or what it has summed up of its own so far (pieces.hpp).
#pragma once

#include "sgemm/stream/outputs.hpp"

namespace KW_TARGET::stream_tile {

// They lie as [slot][vector][thread]. What a thread stores in 16 bytes comes from an aligned quad
// of registers, and ptxas keeps the accumulators in these quads throughout. The threads therefore
// swap neighbours: accumulator (i, j) then lies in the other register bank than b[j], which comes
// by a 16-byte load and lies in the bank of j (see outer_product in consumer.hpp).
template <StreamTileConfig config>
class TileSums {
  using S = Shape<config>;

 public:
  // Those of consumer `tid`.
  __device__ __forceinline__ TileSums(const Workspace& workspace, int slot, int tid)
      : at_(static_cast<float4*>(workspace.data) + slot * std::int64_t{S::BM * S::BN / 4} + tid) {}

  __device__ __forceinline__ void store(const float (&out)[S::outputs]) const {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const float* o = &out[4 * v];
      at_[v * S::consumers] = make_float4(o[1], o[0], o[3], o[2]);
    }
  }
  __device__ __forceinline__ void add_to(float (&out)[S::outputs]) const {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const float4 sums = __ldcg(at_ + v * S::consumers);
      float* o = &out[4 * v];
      o[1] += sums.x, o[0] += sums.y, o[3] += sums.z, o[2] += sums.w;
    }
  }

 private:
  static constexpr int vectors = S::outputs / 4;
  float4* at_;
};

}  // namespace KW_TARGET::stream_tile
