// How a block brings chunks into shared memory: a ring of stages, of which each holds a piece of a
// chunk, all packs of the order's lanes through smallest_chunk_rounds rounds. Every thread asks for
// the packs that it will add up itself, by copies that pass no register (device/async_copy.hpp), so
// no barrier is needed between a copy and its use.
#pragma once

#include "device/async_copy.hpp"
#include "reduce/stage.hpp"
#include "reduce/walk.hpp"

namespace KW_TARGET {

constexpr int most_chunk_stages = 4;

template <class T>
class ChunkRing {
 public:
  static constexpr int rounds = static_cast<int>(smallest_chunk_rounds);
  static constexpr int piece_packs = rounds * order_threads;
  // One pack more: a chunk that begins off a boundary ends in it, and has no piece of its own for
  // it.
  static constexpr int stage_bytes =
      (piece_packs * 16 + 16 + stage_alignment - 1) / stage_alignment * stage_alignment;

  __device__ __forceinline__ ChunkRing(unsigned char* memory, int stages)
      : memory_(memory), stages_(stages) {}

  __device__ __forceinline__ static int pieces(const Packs<T>& packs) {
    return max(1, (packs.count_of_packs() + piece_packs - 2) / piece_packs);
  }
  // The stage that is used next.
  __device__ __forceinline__ void advance() { at_ = at_ + 1 == stages_ ? 0 : at_ + 1; }

  // Asks for this thread's packs of a piece. Those that reach beyond the array are read element by
  // element.
  __device__ __forceinline__ void ask(const Packs<T>& packs, int piece, int thread) const {
    unsigned char* to = stage() + thread * 16;
    const int all = packs.count_of_packs(), own = piece * piece_packs + thread;
    const T* from = packs.boundary + own * Packs<T>::width;
    const bool has_one_more = thread == 0 && own + piece_packs == all - 1;
    if (packs.inside()) {
#pragma unroll
      for (int r = 0; r < rounds; ++r) {
        if (own + r * order_threads < all)
          copy_pack(to + r * round_bytes, from + r * order_threads * Packs<T>::width);
      }
      if (has_one_more)
        copy_pack(to + rounds * round_bytes, from + piece_packs * Packs<T>::width);
      return;
    }
#pragma unroll 1
    for (int r = 0; r < rounds + (has_one_more ? 1 : 0); ++r) {
      const int pack = own + r * order_threads;
      if (pack >= all) break;
      if (packs.is_inside(pack)) {
        copy_pack(to + r * round_bytes, packs.boundary + pack * Packs<T>::width);
      } else {
        store_pack(to + r * round_bytes, packs.load_part(pack));
      }
    }
  }

  // Waits for this thread's packs of the oldest piece.
  __device__ __forceinline__ void wait() const { wait_for_copies(stages_ - 1); }

  // Adds them up.
  template <class A>
  __device__ __forceinline__ void add(Lanes<A, T>& lanes, const Packs<T>& packs, int piece,
                                      Value<T> first, int thread) const {
    constexpr int step = order_threads * Packs<T>::width;
    const unsigned char* from = stage() + thread * 16;
    const int begin = piece * piece_packs, own = begin + thread;
    const int at = packs.first_of(own);
    Pack<T> loaded[rounds];
    if (begin >= packs.whole_begin && begin + piece_packs <= packs.whole_end) {
#pragma unroll
      for (int r = 0; r < rounds; ++r) loaded[r] = read_pack<T>(from + r * round_bytes);
#pragma unroll
      for (int r = 0; r < rounds; ++r) lanes.add_pack(loaded[r], at + r * step, first);
    } else {
      if (packs.has_head() && own == 0) {
        lanes.add_part(read_pack<T>(from), at, packs.count, first);
      }
#pragma unroll
      for (int r = 0; r < rounds; ++r) loaded[r] = read_pack<T>(from + r * round_bytes);
#pragma unroll
      for (int r = 0; r < rounds; ++r) {
        const int pack = own + r * order_threads;
        if (pack >= packs.whole_begin && pack < packs.whole_end)
          lanes.add_pack(loaded[r], at + r * step, first);
      }
    }
    const int tail = packs.whole_end - begin;
    const bool has_tail = packs.has_tail() && tail % order_threads == thread;
    if (thread == 0 && begin + piece_packs + 1 == packs.count_of_packs() && tail > piece_packs) {
      lanes.add_pack(read_pack<T>(from + rounds * round_bytes), at + rounds * step, first);
    } else if (has_tail && tail >= 0 && tail <= piece_packs) {
      lanes.add_part(read_pack<T>(from + (tail - thread) * 16), packs.first_of(packs.whole_end),
                     packs.count, first);
    }
  }

 private:
  __device__ __forceinline__ unsigned char* stage() const { return memory_ + at_ * stage_bytes; }

  unsigned char* memory_;
  int stages_, at_ = 0;
};

}  // namespace KW_TARGET
