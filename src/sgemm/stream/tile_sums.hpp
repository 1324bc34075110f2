// Sums of a tile's outputs in the workspace, each thread's apart: a part that other blocks add to
// theirs (fixup.hpp), or what it has summed up of its own so far (pieces.hpp).
#pragma once

#include "device/quad.hpp"
#include "kernel.hpp"

namespace KW_TARGET::stream_tile {

// They lie as [slot][quad][consumer]. `outputs`: of a thread.
template <int consumers, int outputs>
class TileSums {
 public:
  // Those of consumer `tid`.
  __device__ __forceinline__ TileSums(const Workspace& workspace, int slot, int tid)
      : at_(static_cast<float4*>(workspace.data) + slot * std::int64_t{consumers * quads} + tid) {}

  __device__ __forceinline__ void store(const float (&out)[outputs]) const {
#pragma unroll
    for (int v = 0; v < quads; ++v) at_[v * consumers] = quad_of(&out[4 * v]);
  }
  __device__ __forceinline__ void add_to(float (&out)[outputs]) const {
#pragma unroll
    for (int v = 0; v < quads; ++v) add_quad(__ldcg(at_ + v * consumers), &out[4 * v]);
  }

 private:
  static constexpr int quads = outputs / 4;
  float4* at_;
};

}  // namespace KW_TARGET::stream_tile
