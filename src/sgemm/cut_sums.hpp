// The sums of tiles that are cut along k (tile_cut.hpp).
#pragma once

#include "device/arrival.hpp"
#include "kernel.hpp"
#include "sgemm/stream/tile_sums.hpp"
#include "sgemm/tile_cut.hpp"

namespace KW_TARGET {

// Leaves a part's sums in the workspace, where one has room for `room` floats. True in the block
// that comes last: its sums are then those of all parts, added up from the first to the last.
template <int threads, int room, int outputs>
__device__ __forceinline__ bool add_cut_sums(float (&sums)[outputs], const TileCut& cut,
                                             const CutWork& work, const Workspace& workspace) {
  static_assert(outputs * threads <= room);
  using Sums = stream_tile::TileSums<threads, outputs>;
  __shared__ bool is_last;
  const int thread = static_cast<int>(threadIdx.x);
  Workspace own = workspace;
  own.data =
      static_cast<float*>(own.data) + work.cut_tile * std::int64_t{cut.parts} * std::int64_t{room};
  Sums(own, work.part, thread).store(sums);
  const auto sync = [] { __syncthreads(); };
  const auto ticket = [&] { return own.tickets + work.cut_tile; };
  if (!arrives_last(is_last, static_cast<unsigned>(cut.parts), thread == 0, sync, ticket))
    return false;
#pragma unroll
  for (int e = 0; e < outputs; ++e) sums[e] = 0;
#pragma unroll 1
  for (int part = 0; part < cut.parts; ++part) Sums(own, part, thread).add_to(sums);
  return true;
}

}  // namespace KW_TARGET
