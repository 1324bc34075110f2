// What the warps of a complex stream tile do with their block's share of a launch, for the kernels
// that finish the sums each in their way (stream.cu, parts.cu).
#pragma once

#include "cgemm/finish.hpp"
#include "cgemm/stream/cluster_sums.hpp"
#include "cgemm/stream/producer.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET::complex_stream {

// Whether this compilation's target can run the tiles; elsewhere the kernels are empty, and no plan
// is made for them.
constexpr bool runs_here() {
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__HIP_DEVICE_COMPILE__)
  return false;
#else
  return true;
#endif
}

// Copies what `block` of the schedule multiplies, whose tiles begin `first_row` tiles down.
template <ComplexStreamConfig config>
__device__ __forceinline__ void produce(Shared<config>& shared, const Cgemm& p,
                                        const Operands& operands, const StreamSchedule& schedule,
                                        int block, int first_row = 0) {
  // An earlier kernel may write what this reads; all else waits only before the first copy.
  if (p.alpha_at != nullptr || p.a_array != nullptr) wait_for_previous_kernel();
  if (!Finish(p).has_sum) return;
  const Way way{schedule, block};
  Producer<config> producer(shared);
  for (StreamWork work = way.first(); work.valid(); work = way.next(work)) {
    const StreamTileIndex tile = schedule.place(work.tile);
    producer.copy(p, operands, tile.entry, (first_row + tile.row) * std::int64_t{config.bm},
                  tile.col * std::int64_t{config.bn}, work.begin, work.end);
  }
  let_next_kernel_start();
}

// The sums of a work, by all consumers. They may be stored behind it.
template <ComplexStreamConfig config>
__device__ __forceinline__ void sum_of_work(Shared<config>& shared, Consumer<config>& consumer,
                                            const Cgemm& p, const StreamWork& work, bool reads,
                                            Pairs<config>& out) {
  typename Consumer<config>::Sums acc = {};
  const std::int64_t left = p.k - (work.end - 1) * std::int64_t{config.bk};
  const int stages = work.end - work.begin,
            last_k = left < config.bk ? static_cast<int>(left) : config.bk;
  if (!reads) {
    // The sums are 0.
  } else if (p.conj_a == p.conj_b) {
    consumer.template multiply<false>(stages, last_k, acc);
  } else {
    consumer.template multiply<true>(stages, last_k, acc);
  }
  wait_for_previous_kernel();  // which may use C and the workspace
  gather<config>(shared, acc, out);
}

}  // namespace KW_TARGET::complex_stream
