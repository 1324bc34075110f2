// A block's work on a tile, summed up in pieces along k: no accumulator adds up more than a piece,
// so that errors do not grow with k. The pieces' sums are added up where the accumulators leave
// room: in shared memory where warps share a tile along k and gather their sums there anyway, else
// in the workspace.
#pragma once

#include "sgemm/stream/consumer.hpp"
#include "sgemm/stream/scheduler.hpp"
#include "sgemm/stream/tile_sums.hpp"

namespace KW_TARGET::stream_tile {

// Hides from the compiler that a value is the one from before: what follows from it is computed
// anew, and not kept in registers meanwhile.
__device__ __forceinline__ void forget([[maybe_unused]] int& value) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(value));
#endif
}

template <StreamTileConfig config, class Scheduler>
class Pieces {
  using S = Shape<config>;

 public:
  __device__ __forceinline__ Pieces(Shared<config>& shared, const Scheduler& scheduler,
                                    const Workspace& workspace)
      : shared_(shared), consumer_(shared), scheduler_(scheduler), workspace_(workspace) {}

  // out = the sums of the block's work on a tile. A product has `k` along k; where it reads nothing
  // of A and B, they are 0.
  __device__ __forceinline__ void multiply(const StreamWork& work, bool reads, std::int64_t k,
                                           float (&out)[S::outputs]) {
    int at = work.begin;
#pragma unroll 1
    for (;;) {
      float acc[S::TM][S::TN];
      const StreamWork piece = scheduler_.piece(work, at);
      consumer_.multiply(reads ? piece.end - at : 0, scheduler_.last_k(piece, k), acc);
      gather(work, at == work.begin, acc, out);
      forget(at);
      at = scheduler_.piece(work, at).end;
      if (at >= work.end) break;
      if constexpr (S::warps_k == 1) totals(work).store(out);
    }
    if constexpr (S::warps_k > 1) add_warps<config>(shared_, out);
  }

  // The same where all of a work is one piece.
  __device__ __forceinline__ void multiply_uncut(const StreamWork& work, bool reads, std::int64_t k,
                                                 float (&out)[S::outputs]) {
    float acc[S::TM][S::TN];
    consumer_.multiply(reads ? work.end - work.begin : 0, scheduler_.last_k(work, k), acc);
    gather(work, true, acc, out);
    if constexpr (S::warps_k > 1) add_warps<config>(shared_, out);
  }

 private:
  // Adds to a piece's sums those before it.
  __device__ __forceinline__ void gather(const StreamWork& work, bool is_first,
                                         const float (&acc)[S::TM][S::TN],
                                         float (&out)[S::outputs]) {
    if constexpr (S::warps_k > 1) {
      gather_warps<config>(shared_, is_first, acc);
    } else {
#pragma unroll
      for (int i = 0; i < S::TM; ++i)
#pragma unroll
        for (int j = 0; j < S::TN; ++j) out[i * S::TN + j] = acc[i][j];
      if (!is_first) totals(work).add_to(out);
    }
  }
  __device__ __forceinline__ TileSums<S::consumers, S::outputs> totals(
      const StreamWork& work) const {
    return {workspace_, scheduler_.totals_slot(work), OwnOutputs<config>().tid};
  }

  Shared<config>& shared_;
  Consumer<config> consumer_;
  const Scheduler& scheduler_;
  const Workspace& workspace_;
};

}  // namespace KW_TARGET::stream_tile
