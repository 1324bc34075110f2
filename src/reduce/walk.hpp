// What threads do with a chunk in the order of order.hpp: walk over its packs, merge as a tree.
//
// A team of 256 threads, a block, or of 32, a warp, walks a chunk as it lies in memory: thread t
// takes every team-th pack from pack t on. In the order's terms each of 256 threads has a set of
// lanes; in a warp each thread stands for eight of them, one in each part of 32.
//
// Off a 16-byte boundary, element 0 lies at position `skip` of a pack. Position p of a thread's
// packs then always belongs to lane p - skip of the order, which for p < skip is a lane of the
// thread before: elements are added where they lie, in the order's sums and in its order, and the
// sums move by `skip` lanes once, when the walk is over.
#pragma once

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "reduce/accumulate.hpp"
#include "reduce/order.hpp"
#include "reduce/packs.hpp"

namespace KW_TARGET {

constexpr int order_warps = order_threads / warp_lanes;

// One set of lanes.
template <class A, class T>
struct Lanes {
  static constexpr int width = order_width<T>;
  // Where order cannot show, four stand for all: fewer registers.
  static constexpr int count = A::any_order && width > 4 ? 4 : width;

  typename A::Lane lane[count];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < count; ++j) lane[j] = A::empty_lane();
  }
  // A pack whose position 0 is element `at` of the chunk.
  __device__ __forceinline__ void add_pack(const Pack<T>& pack, int at, Value<T> first) {
#pragma unroll
    for (int j = 0; j < width; ++j) A::add(lane[j % count], pack.value(j), at + j, first);
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

// The walk of one thread of a team over one chunk after the other. Two batches of packs take turns,
// the next one on its way while this one is added; those of the next chunk may be asked for as soon
// as this one's are added.
template <class A, class T, int team>
class Walk {
 public:
  static constexpr int set_count = A::any_order ? 1 : order_threads / team;

  Lanes<A, T> sets[set_count];

  // Asks for the first packs of a chunk, and for its last one where that is not whole.
  __device__ __forceinline__ void start(const Packs<T>& packs, int member) {
    has_head_ = packs.has_head() && member == 0;
    has_tail_ = packs.has_tail() && member == packs.whole_end % team;
    from_ = packs.boundary + member * Packs<T>::width;
    left_ = packs.whole_end - member;
    if (has_tail_) tail_ = packs.load_part(packs.whole_end);
    load(batches_[0], 0, has_head_);
    if (has_head_) batches_[0].packs[0] = packs.load_part(0);
    load(batches_[1], 1);
  }
  // Adds all of the chunk that was started.
  __device__ __forceinline__ void finish(const Packs<T>& packs, int member, Value<T> first) {
#pragma unroll
    for (int s = 0; s < set_count; ++s) sets[s].clear();
    int at = packs.first_of(member);
    if (has_head_) sets[0].add_part(batches_[0].packs[0], at, packs.count, first);
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
    if (has_tail_) add_tail(packs, first);
  }

 private:
  static constexpr int in_flight = 4;
  static constexpr int batch_packs = in_flight * team;

  struct Batch {
    Pack<T> packs[in_flight];
  };

  // The batch that begins so many batches after `from_`, as far as its packs are whole.
  __device__ __forceinline__ void load(Batch& batch, int number, bool but_first = false) {
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int pack = number * batch_packs + i * team;
      if (pack >= left_ || (i == 0 && but_first)) continue;
      batch.packs[i] = load_pack(from_ + pack * Packs<T>::width);
    }
  }
  // Set i mod set_count gets the i-th pack of the two batches.
  template <int number>
  __device__ __forceinline__ void add(int at, Value<T> first, bool but_first = false) {
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int pack = number * batch_packs + i * team;
      if (pack >= left_ || (i == 0 && but_first)) continue;
      sets[(number * in_flight + i) % set_count].add_pack(batches_[number].packs[i],
                                                          at + pack * Packs<T>::width, first);
    }
  }
  __device__ __forceinline__ void add_tail(const Packs<T>& packs, Value<T> first) {
    const int set = packs.whole_end / team % set_count;
#pragma unroll
    for (int s = 0; s < set_count; ++s) {
      if (s != set) continue;
      sets[s].add_part(tail_, packs.first_of(packs.whole_end), packs.count, first);
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

// Over 32 threads that have a value in each of `count` parts: what tree_of_warp gives for each part
// and tree_of_array for all; the first thread has the result. The lowest levels give half of the
// parts away and take half of the neighbour's, so that each merge is done once.
template <class A, int count, class P>
__device__ __forceinline__ P tree_of_parts(P (&parts)[count], int thread) {
#pragma unroll
  for (int step = 1, kept = count / 2; kept > 0; step *= 2, kept /= 2) {
    const bool upper = (thread & step) != 0;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      const P low = parts[i], high = parts[i + kept];
      P given = high;
      if (upper) given = low;
      parts[i] = low;
      if (upper) parts[i] = high;
      A::merge(parts[i], from_lane(given, thread ^ step));  // a sum, either way round
    }
  }
#pragma unroll
  for (int step = count; step < warp_lanes; step *= 2) {
    A::merge(parts[0], from_lane_above(parts[0], step));
  }
#pragma unroll
  for (int step = count / 2; step > 0; step /= 2) {
    A::merge(parts[0], from_lane_above(parts[0], step));
  }
  return parts[0];
}

// The total of a chunk that a warp has walked, in its first thread.
template <class A, class T>
__device__ __forceinline__ typename A::Total total_of_warp(Walk<A, T, warp_lanes>& walk, int skip,
                                                           const Chunk<T>& chunk, int thread) {
  constexpr int count = Walk<A, T, warp_lanes>::set_count;
  if constexpr (A::any_order) {
    return A::total(tree_of_warp<A, warp_lanes>(tree_of_lanes(walk.sets[0])), chunk);
  } else {
    // What the last thread gets from the first lies in the set after its own.
#pragma unroll
    for (int j = 0; j + 1 < order_width<T>; ++j) {
      if (j >= skip || thread != 0) continue;
      const typename A::Lane last = walk.sets[0].lane[j];
#pragma unroll
      for (int s = 0; s + 1 < count; ++s) walk.sets[s].lane[j] = walk.sets[s + 1].lane[j];
      walk.sets[count - 1].lane[j] = last;
    }
    typename A::Partial parts[count];
#pragma unroll
    for (int s = 0; s < count; ++s) {
      move_lanes(walk.sets[s], skip, thread);
      parts[s] = tree_of_lanes(walk.sets[s]);
    }
    return A::total(tree_of_parts<A>(parts, thread), chunk);
  }
}

// What a block needs of shared memory to walk a chunk.
template <class A, class T>
struct BlockMemory {
  typename A::Partial warps[order_warps];
  Lanes<A, T> first_lanes[A::any_order ? 1 : order_warps];  // of each warp
};

// The total of a chunk that a block has walked, in thread 0. Nobody uses `memory` until the next
// barrier.
template <class A, class T>
__device__ __forceinline__ typename A::Total total_of_block(Lanes<A, T>& lanes, int skip,
                                                            const Chunk<T>& chunk,
                                                            BlockMemory<A, T>& memory, int thread) {
  if constexpr (!A::any_order) {
    if (skip > 0) {
      const int lane = thread % warp_lanes, warp = thread / warp_lanes;
      if (lane == 0) memory.first_lanes[warp] = lanes;
      __syncthreads();
      const Lanes<A, T>& after = memory.first_lanes[(warp + 1) % order_warps];
#pragma unroll
      for (int j = 0; j + 1 < order_width<T>; ++j) {
        if (lane == 0 && j < skip) lanes.lane[j] = after.lane[j];
      }
      move_lanes(lanes, skip, lane);
    }
  }
  return A::total(tree_of_block<A>(tree_of_lanes(lanes), memory.warps, thread), chunk);
}

}  // namespace KW_TARGET
