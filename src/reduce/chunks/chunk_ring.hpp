// How a block brings chunks into shared memory: a ring of stages, of which each holds a piece of a
// chunk, all packs of the order's lanes through smallest_chunk_rounds rounds. Every thread asks for
// the packs that it will add up itself, by copies that pass no register (device/async_copy.hpp), so
// no barrier is needed between a copy and its use.
#pragma once

#include "device/async_copy.hpp"
#include "reduce/numbers/neutral.hpp"
#include "reduce/walk/stage.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

constexpr int most_chunk_stages = 4;

// Where a chunk lies, in packs of memory: what Packs finds, kept in shared memory.
struct alignas(16) ChunkPlace {
  const char* begin;  // where pack 0 lies
  int packs, whole_end;
  int skip, count;
  int pieces, turn;  // turn_of
  bool inside, has_tail;
};

// Whether a block's threads begin at lines of memory (turn_of); where all registers are taken, they
// do not.
template <class A, class T>
constexpr bool turns_chunks =
    !(sizeof(T) == 2 && std::is_same_v<A, Sum<ReduceKind::sum_square, T>>);

template <class T, bool turns>
class ChunkRing {
 public:
  static constexpr int rounds = static_cast<int>(smallest_chunk_rounds);
  static constexpr int piece_packs = rounds * order_threads;
  // One pack more, of any of the threads that may be the first (turn_of): a chunk that begins off a
  // boundary ends in it, and has no piece of its own for it.
  static constexpr int stage_bytes = piece_packs * 16 + line_bytes;
  static_assert(stage_bytes % stage_alignment == 0);

  __device__ __forceinline__ static ChunkPlace place_of(const Packs<T>& packs) {
    const int all = packs.count_of_packs();
    return {reinterpret_cast<const char*>(packs.boundary),
            all,
            packs.whole_end,
            packs.skip,
            packs.count,
            max(1, (all + piece_packs - 2) / piece_packs),
            turns ? turn_of(packs) : 0,
            packs.inside(),
            packs.has_tail()};
  }

  __device__ __forceinline__ ChunkRing(unsigned char* memory, int stages)
      : memory_(memory), stages_(stages) {}

  // Which of the order's threads a thread stands for.
  __device__ __forceinline__ static int member_in(const ChunkPlace& place, int thread) {
    return turns ? member_of(thread, place.turn) : thread;
  }

  // The stage that is used next.
  __device__ __forceinline__ void advance() { at_ = at_ + 1 == stages_ ? 0 : at_ + 1; }

  // Asks for this thread's packs of a piece, those of the order's thread that it stands for. Packs
  // that reach beyond the array are read element by element.
  __device__ __forceinline__ void ask(const ChunkPlace& place, int piece, const Extent& array,
                                      int thread) const {
    unsigned char* own = stage() + thread * 16;  // no other thread's place, whatever the turn
    const CopyPlace to = copy_place(own);
    const int member = member_in(place, thread);
    const int begin = piece * piece_packs, left = place.packs - begin - member;
    const char* from = place.begin + (begin + member) * std::int64_t{16};
    const bool has_one_more = member == 0 && left == piece_packs + 1;
    if (place.inside) {
      compute_now(from);  // once, not for each copy
#pragma unroll
      for (int r = 0; r < rounds; ++r) {
        if (r * order_threads < left) copy_pack(to + r * round_bytes, from + r * round_bytes);
      }
      if (has_one_more) copy_pack(to + rounds * round_bytes, from + rounds * round_bytes);
      return;
    }
    const Packs<T> packs(reinterpret_cast<const T*>(place.begin) + place.skip, place.count, array);
#pragma unroll 1
    for (int r = 0; r < rounds + (has_one_more ? 1 : 0) && r * order_threads < left; ++r) {
      const int pack = begin + member + r * order_threads;
      if (packs.is_inside(pack)) {
        copy_pack(to + r * round_bytes, from + r * round_bytes);
      } else {
        store_pack(own + r * round_bytes, packs.load_part(pack));
      }
    }
  }

  // Waits for this thread's packs of the oldest piece.
  __device__ __forceinline__ void wait() const { wait_for_copies(stages_ - 1); }

  // Adds them up.
  template <class A>
  __device__ __forceinline__ void add(Lanes<A, T>& lanes, const ChunkPlace& place, int piece,
                                      Value<T> first, int thread) const {
    constexpr int width = order_width<T>, step = order_threads * width;
    const unsigned char* from = stage() + thread * 16;
    const int member = member_in(place, thread);
    const int begin = piece * piece_packs, own = begin + member;
    const int at = own * width - place.skip;
    const bool has_head = place.skip > 0 && place.whole_end > 0 && piece == 0;
    const auto tail = static_cast<unsigned>(place.whole_end - begin);
    Pack<T> loaded[rounds];
#pragma unroll
    for (int r = 0; r < rounds; ++r) loaded[r] = read_pack<T>(from + r * round_bytes);
    const bool is_head = has_head && member == 0;
    if (is_head) {
      if constexpr (fills_heads<A, T>) {
        fill_before<A>(loaded[0], place.skip, first);
      } else {
        lanes.add_part(loaded[0], at, place.count, first);
      }
    }
    const int but = !fills_heads<A, T> && is_head ? 1 : 0;
    if ((fills_heads<A, T> || !has_head) && begin + piece_packs <= place.whole_end) {
#pragma unroll
      for (int r = 0; r < rounds; ++r) lanes.add_pack(loaded[r], at + r * step, first);
    } else {
#pragma unroll
      for (int r = 0; r < rounds; ++r) {
        if (r >= but && own + r * order_threads < place.whole_end)
          lanes.add_pack(loaded[r], at + r * step, first);
      }
    }
    // The last pack, where it has elements of this chunk in part, or is one more than a stage's.
    if (tail > piece_packs + 1 || tail % order_threads != static_cast<unsigned>(member)) {
      if (member == 0 && tail == piece_packs + 1 && place.packs == begin + piece_packs + 1)
        lanes.add_pack(read_pack<T>(from + rounds * round_bytes), at + rounds * step, first);
    } else if (tail <= piece_packs && place.has_tail) {
      const auto before = static_cast<int>(tail) - member;
      lanes.add_part(read_pack<T>(from + before * 16), at + before * width, place.count, first);
    }
  }

 private:
  __device__ __forceinline__ unsigned char* stage() const { return memory_ + at_ * stage_bytes; }

  unsigned char* memory_;
  int stages_, at_ = 0;
};

}  // namespace KW_TARGET
