// What threads do with a chunk in the order of order.hpp: walk over its packs, merge as a tree.
//
// A block of 256 threads walks a chunk as it lies in memory: thread t takes every 256th pack from
// pack t on. In the order's terms each thread has a set of lanes.
//
// Off a 16-byte boundary, element 0 lies at position `skip` of a pack. Position p of a thread's
// packs then always belongs to lane p - skip of the order, which for p < skip is a lane of the
// thread before: elements are added where they lie, in the order's sums and in its order, and the
// sums move by `skip` lanes once, when the walk is over.
#pragma once

#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "reduce/numbers/accumulate.hpp"
#include "reduce/numbers/byte_packs.hpp"
#include "reduce/walk/order.hpp"
#include "reduce/walk/packs.hpp"

namespace KW_TARGET {

constexpr int order_warps = order_threads / warp_lanes;

// Numbers of 128 bits by halves: as words of an array (device/warp.hpp) nvcc 13.0 sends each one
// through memory.
template <class Exchange>
__device__ __forceinline__ Int128 exchange_halves(const Int128& value, const Exchange& exchange) {
  const auto low = exchange(static_cast<std::uint64_t>(value));
  const auto high = exchange(static_cast<std::uint64_t>(value >> 64));
  return static_cast<Int128>(static_cast<unsigned __int128>(high) << 64 | low);
}
__device__ __forceinline__ Int128 from_lane_above(const Int128& value, int delta,
                                                  int width = warp_lanes) {
  return exchange_halves(value, [=](std::uint64_t half) {
    return from_lane_above<std::uint64_t>(half, delta, width);
  });
}
__device__ __forceinline__ Int128 from_lane(const Int128& value, int lane) {
  return exchange_halves(value,
                         [=](std::uint64_t half) { return from_lane<std::uint64_t>(half, lane); });
}

// One set of lanes.
template <class A, class T>
struct Lanes {
  static constexpr int width = order_width<T>;
  // Where order cannot show, one stands for all; where places are compared, four at most, since
  // elements that change nothing must not come before others of their lane (neutral.hpp).
  static constexpr bool has_places = requires { A::nowhere; };
  static constexpr int count = !A::any_order ? width : !has_places ? 1 : width < 4 ? width : 4;

  typename A::Lane lane[count];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < count; ++j) lane[j] = A::empty_lane();
  }
  // A pack whose position 0 is element `at` of the chunk.
  __device__ __forceinline__ void add_pack(const Pack<T>& pack, int at, Value<T> first) {
    if constexpr (BytePacks<A>::value) {
      BytePacks<A>::add(lane, pack, first);
    } else if constexpr (requires(Value<T> x) { A::add_four(lane[0], x, x, x, x); }) {
      A::add_four(lane[0], pack.value(0), pack.value(1), pack.value(2), pack.value(3));
    } else if constexpr (requires(Value<T> x) { A::is_middle(x); }) {
      bool are_middle = true;
#pragma unroll
      for (int j = 0; j < width; ++j) are_middle &= A::is_middle(pack.value(j));
      if (are_middle) {
#pragma unroll
        for (int j = 0; j < width; ++j) A::add_middle(lane[j % count], pack.value(j));
        return;
      }
#pragma unroll
      for (int j = 0; j < width; ++j) A::add(lane[j % count], pack.value(j), at + j, first);
    } else {
#pragma unroll
      for (int j = 0; j < width; ++j) A::add(lane[j % count], pack.value(j), at + j, first);
    }
  }
  // The same where only elements 0 to `elements` of the chunk are there.
  __device__ __forceinline__ void add_part(const Pack<T>& pack, int at, int elements,
                                           Value<T> first) {
#pragma unroll
    for (int j = 0; j < width; ++j) {
      if (static_cast<unsigned>(at + j) >= static_cast<unsigned>(elements)) continue;  // or < 0
      A::add(lane[j % count], pack.value(j), at + j, first);
    }
  }
};

constexpr int prefetched_bytes = 16384;

// Asks for the beginning of a chunk before its walk begins, by one thread.
template <class T>
__device__ __forceinline__ void prefetch_chunk(const Packs<T>& packs) {
  const int bytes = min((packs.whole_end - packs.whole_begin) * 16, prefetched_bytes);
  if (bytes <= 0) return;
  prefetch_to_l2(packs.boundary + packs.whole_begin * packs.width, static_cast<unsigned>(bytes));
}

// The walk of one thread of a block over one chunk after the other. Two batches of packs take
// turns, the next one on its way while this one is added; those of the next chunk may be asked for
// as soon as this one's are added.
template <class A, class T, int in_flight = 4>
class Walk {
 public:
  Lanes<A, T> lanes;

  // Asks for the first packs of a chunk, and for its last one where that is not whole.
  __device__ __forceinline__ void start(const Packs<T>& packs, int member) {
    has_head_ = packs.has_head() && member == 0;
    has_tail_ = packs.has_tail() && member == packs.whole_end % order_threads;
    from_ = packs.boundary + member * Packs<T>::width;
    left_ = packs.whole_end - member;
    if (has_tail_) tail_ = packs.load_part(packs.whole_end);
    load(batches_[0], 0, has_head_);
    if (has_head_) batches_[0].packs[0] = packs.load_part(0);
    load(batches_[1], 1);
  }
  // Adds all of the chunk that was started.
  __device__ __forceinline__ void finish(const Packs<T>& packs, int member, Value<T> first) {
    lanes.clear();
    int at = packs.first_of(member);
    if (has_head_) lanes.add_part(batches_[0].packs[0], at, packs.count, first);
#pragma unroll 1
    while (left_ > 0) {
      add<0>(at, first, has_head_);
      has_head_ = false;
      load(batches_[0], 2);
      if (left_ <= batch_packs) break;
      add<1>(at, first);
      load(batches_[1], 3);
      from_ += 2 * batch_packs * Packs<T>::width;
      left_ -= 2 * batch_packs;
      at += 2 * batch_packs * Packs<T>::width;
    }
    if (has_tail_) {
      lanes.add_part(tail_, packs.first_of(packs.whole_end), packs.count, first);
    }
  }

 private:
  static constexpr int batch_packs = in_flight * order_threads;

  struct Batch {
    Pack<T> packs[in_flight];
  };

  // The batch that begins so many batches after `from_`, as far as its packs are whole.
  __device__ __forceinline__ void load(Batch& batch, int number, bool but_first = false) {
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int pack = number * batch_packs + i * order_threads;
      if (pack >= left_ || (i == 0 && but_first)) continue;
      batch.packs[i] = load_pack(from_ + pack * Packs<T>::width);
    }
  }
  template <int number>
  __device__ __forceinline__ void add(int at, Value<T> first, bool but_first = false) {
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int pack = number * batch_packs + i * order_threads;
      if (pack >= left_ || (i == 0 && but_first)) continue;
      lanes.add_pack(batches_[number].packs[i], at + pack * Packs<T>::width, first);
    }
  }

  Batch batches_[2];
  Pack<T> tail_;
  const T* from_;  // the thread's next pack
  int left_;       // packs from there to the last whole one
  bool has_head_, has_tail_;
};

// Moves a warp's lanes down by `skip` of them, to the thread before, and round to the last thread.
template <class A, class T>
__device__ __forceinline__ void move_lanes(Lanes<A, T>& own, int skip, int thread) {
  constexpr int width = Lanes<A, T>::width;
#pragma unroll
  for (int step = 1; step < width; step *= 2) {
    if ((skip & step) == 0) continue;
    typename A::Lane taken[width];
#pragma unroll
    for (int j = 0; j < step; ++j) taken[j] = from_lane(own.lane[j], (thread + 1) % warp_lanes);
#pragma unroll
    for (int j = 0; j < width; ++j) {
      own.lane[j] = j + step < width ? own.lane[(j + step) % width] : taken[j + step - width];
    }
  }
}

// Neighbours in `values`, then pairs of them, up to one.
template <class A, int count, class P>
__device__ __forceinline__ P tree_of_array(P (&values)[count]) {
#pragma unroll
  for (int step = 1; step < count; step *= 2) {
#pragma unroll
    for (int i = 0; i < count; i += 2 * step) A::merge(values[i], values[i + step]);
  }
  return values[0];
}

template <class A, class T>
__device__ __forceinline__ typename A::Partial tree_of_lanes(const Lanes<A, T>& lanes) {
  constexpr int count = Lanes<A, T>::count;
  typename A::Partial partials[count];
#pragma unroll
  for (int j = 0; j < count; ++j) partials[j] = A::close(lanes.lane[j]);
  return tree_of_array<A>(partials);
}

// Neighbouring threads, then pairs of them, up to groups of `width`: each group's first thread has
// its result. All threads of the warp call it.
template <class A, int width, class P>
__device__ __forceinline__ P tree_of_warp(P value) {
#pragma unroll
  for (int step = 1; step < width; step *= 2) A::merge(value, from_lane_above(value, step, width));
  return value;
}

// The norm's squares, by what makes one of their sums; lanes that say so have one. Mostly there is
// the middle sum alone. All lanes of the warp call it.
template <class MakeSum>
__device__ __forceinline__ ScaledSquares squares_by_ranges(bool has_sum, const MakeSum& make_sum) {
  const double middle = make_sum.template operator()<MiddleSquares>();
  if (!any_of_warp(has_sum && is_nan(middle))) return {0, middle, 0};
  return {make_sum.template operator()<SquaresOfRange<&ScaledSquares::big>>(),
          make_sum.template operator()<SquaresOfRange<&ScaledSquares::middle>>(),
          make_sum.template operator()<SquaresOfRange<&ScaledSquares::small>>()};
}

// Over 256 threads; thread 0 has the result. `warps` is shared memory for order_warps values that
// nobody uses until the next barrier.
template <class A, class P>
__device__ __forceinline__ P tree_of_block(P value, P* warps, int thread) {
  value = tree_of_warp<A, warp_lanes>(value);
  if (thread % warp_lanes == 0) warps[thread / warp_lanes] = value;
  __syncthreads();
  if (thread < warp_lanes) value = tree_of_warp<A, order_warps>(warps[thread % order_warps]);
  return value;
}

// The first lanes of each warp, for the thread before it.
template <class A, class T>
using FirstLanes = Lanes<A, T>[A::any_order ? 1 : order_warps];

// After a walk off a boundary: moves the lanes down by `skip` of them in the whole block. Nobody
// uses `first` until the barrier after the next.
template <class A, class T>
__device__ __forceinline__ void move_lanes_of_block(Lanes<A, T>& lanes, int skip,
                                                    FirstLanes<A, T>& first, int thread) {
  if constexpr (!A::any_order) {
    if (skip == 0) return;
    const int lane = thread % warp_lanes, warp = thread / warp_lanes;
    if (lane == 0) first[warp] = lanes;
    __syncthreads();
    const Lanes<A, T>& after = first[(warp + 1) % order_warps];
#pragma unroll
    for (int j = 0; j + 1 < order_width<T>; ++j) {
      if (lane == 0 && j < skip) lanes.lane[j] = after.lane[j];
    }
    move_lanes(lanes, skip, lane);
  }
}

// Which of the order's threads a thread stands for in a walk. A warp's accesses begin at a line of
// memory: where a chunk begins `turn` packs past one, thread `turn` is the first. Otherwise each
// access of a warp would have parts of sectors that its neighbour's has as well.
template <class T>
__device__ __forceinline__ int turn_of(const Packs<T>& packs) {
  return past_line(packs.boundary) / 16;
}
__device__ __forceinline__ int member_of(int thread, int turn) {
  return (thread - turn) & (order_threads - 1);
}

// What a block needs of shared memory to walk a chunk.
template <class A, class T>
struct BlockMemory {
  typename A::Partial warps[order_warps];
  FirstLanes<A, T> first_lanes;
  typename A::Partial turned[A::any_order ? 1 : order_threads];
};

// The total of a chunk that a block has walked, in thread 0. Nobody uses `memory` until the next
// barrier.
template <class A, class T>
__device__ __forceinline__ typename A::Total total_of_block(Lanes<A, T>& lanes, int skip, int turn,
                                                            const Chunk<T>& chunk,
                                                            BlockMemory<A, T>& memory, int thread) {
  move_lanes_of_block<A>(lanes, skip, memory.first_lanes, thread);
  typename A::Partial own = tree_of_lanes(lanes);
  if constexpr (!A::any_order) {
    if (turn > 0) {
      memory.turned[member_of(thread, turn)] = own;
      __syncthreads();
      own = memory.turned[thread];
    }
  }
  return A::total(tree_of_block<A>(own, memory.warps, thread), chunk);
}

}  // namespace KW_TARGET
