// Who brings runs into a warp's stages and waits for them. Where a device has a copy engine
// (device/bulk_copy.hpp), one instruction asks for a whole run and a barrier a stage counts its
// bytes: no lane computes the address of a pack. Elsewhere each lane copies packs of its own
// (stage.hpp).
#pragma once

#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "reduce/walk/stage.hpp"

namespace KW_TARGET {

constexpr bool has_copy_engine = has_clusters;  // both from sm_90 on

// As bulk_copy, of what nobody reads again: L2 gives its lines up before all others.
__device__ __forceinline__ void bulk_copy_once(unsigned char* to, const void* from, unsigned bytes,
                                               Mbarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1], %2, [%3], %4;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(bytes), "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))),
      "l"(evict_first())
      : "memory");
#else
  bulk_copy(to, from, bytes, barrier);
#endif
}

// Where a run begins in its stage, which begins with a line: as far past the beginning of a line as
// in memory, so that the engine moves whole lines.
template <class T>
__device__ __forceinline__ int place_in_stage(const T* begin) {
  return past_line(begin) / 16 * 16;
}

// The copies into one warp's stages. Its lanes call all of it together.
class WarpCopies {
 public:
  // `full`: a barrier a stage in shared memory, this warp's own. The block meets before their use.
  __device__ __forceinline__ WarpCopies(Mbarrier* full, int stages, int lane)
      : full_(full), stages_(stages) {
    if constexpr (has_copy_engine) {
      if (lane < stages) mbarrier_init(&full[lane], 1);
      mbarrier_init_is_done();
    }
  }

  // Asks for all packs of a run, which may be none; they lie from place_in_stage of it on. Nobody
  // reads the stage any more.
  template <class T>
  __device__ __forceinline__ void ask(int stage, unsigned char* to, const Packs<T>& packs,
                                      int lane) {
    to += place_in_stage(packs.boundary);
    if constexpr (has_copy_engine) {
      const auto bytes = static_cast<unsigned>(packs.count_of_packs()) * 16;
      if (packs.inside()) {
        ask_inside(stage, to, packs.boundary, bytes);
        return;
      }
      ask_for_middle(stage, to, packs, lane);
    } else {
      ask_for_run(to, packs, lane);
      async_commit();
    }
  }
  // The same of whole packs within the array, to where they are to lie.
  __device__ __forceinline__ void ask_inside(int stage, unsigned char* to, const void* from,
                                             unsigned bytes) {
    if (elect_one()) {
      mbarrier_arrive_expecting(&full_[stage], bytes);
      if (bytes > 0) bulk_copy_once(to, from, bytes, &full_[stage]);
    }
  }
  // The stage has what the lanes wrote to it themselves.
  __device__ __forceinline__ void ask_for_none([[maybe_unused]] int stage) {
    if constexpr (has_copy_engine) {
      __syncwarp(whole_warp());
      if (elect_one()) mbarrier_arrive(&full_[stage]);
    } else {
      async_commit();
    }
  }

  // Waits for the stage that was asked for first, all others of which were since then; then all
  // lanes see it.
  __device__ __forceinline__ void wait(int stage) { wait(stage, stages_ - 1); }
  // The same where so many were asked for since then.
  __device__ __forceinline__ void wait(int stage, [[maybe_unused]] int since) {
    if constexpr (has_copy_engine) {
      mbarrier_wait(&full_[stage], rounds_ >> stage & 1u);
      rounds_ ^= 1u << stage;
    } else {
      wait_for_copies(since);
    }
    __syncwarp(whole_warp());
  }

  // The same of a copy engine, for the number-th time of a stage, by one who counts them.
  __device__ __forceinline__ void wait_for_phase(int stage, int number) {
    mbarrier_wait(&full_[stage], static_cast<unsigned>(number) & 1u);
    __syncwarp(whole_warp());
  }

 private:
  // At an end of the array, where the first or the last pack reaches beyond it: lanes bring these.
  template <class T>
  __device__ __forceinline__ void ask_for_middle(int stage, unsigned char* to,
                                                 const Packs<T>& packs, int lane) {
    const int last = packs.count_of_packs() - 1;
    if (lane <= min(last, 1)) {
      const int pack = lane == 0 ? 0 : last;
      store_pack(to + pack * 16, packs.load_part(pack));
    }
    shared_writes_before_copies();  // of the stage's next run
    __syncwarp(whole_warp());
    if (elect_one()) {
      const auto bytes = static_cast<unsigned>(max(last - 1, 0)) * 16;
      mbarrier_arrive_expecting(&full_[stage], bytes);
      if (bytes > 0) bulk_copy_once(to + 16, packs.boundary + order_width<T>, bytes, &full_[stage]);
    }
  }

  Mbarrier* full_;
  int stages_;
  unsigned rounds_ = 0;  // a bit a stage: the parity of the phase that is waited for next
};

}  // namespace KW_TARGET
