// What threads do with a chunk in the order of order.hpp: load, walk, merge as a tree. A chunk is
// walked by 256 threads, which a block has; or one warp takes the part of each eighth of them in
// turn. Either way every addition is the same.
#pragma once

#include <bit>

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "reduce/accumulate.hpp"
#include "reduce/order.hpp"

namespace KW_TARGET {

// 16 bytes of elements, as words until an element is asked for: bytes apart would take a register
// each.
template <class T>
struct Pack {
  std::uint32_t words[4];

  __device__ __forceinline__ Value<T> value(int i) const {
    if constexpr (sizeof(T) == 8) {
      const std::uint64_t high = words[2 * i + 1];
      return to_value(std::bit_cast<T>(high << 32 | words[2 * i]));
    } else if constexpr (sizeof(T) == 4) {
      return to_value(std::bit_cast<T>(words[i]));
    } else if constexpr (sizeof(T) == 2) {
      return to_value(T{static_cast<std::uint16_t>(words[i / 2] >> (i % 2 * 16))});
    } else {
      return static_cast<std::int32_t>(words[i / 4] << (24 - i % 4 * 8)) >> 24;
    }
  }
};

// Where a caller's array lies: loads stay within it, even where they bring more than is asked for.
struct Extent {
  const char* begin;
  const char* end;
};
template <class T>
__device__ __forceinline__ Extent extent_of(const T* data, std::int64_t elements) {
  return {reinterpret_cast<const char*>(data), reinterpret_cast<const char*>(data + elements)};
}

// A chunk in memory, in packs from its first element on, wherever that lies.
template <class T>
struct Packs {
  static constexpr int width = order_width<T>;
  const T* begin;
  int count;    // elements
  int whole;    // packs that have all their elements
  int between;  // bytes from the 16-byte boundary at or below `begin` to it
  Extent array;

  __device__ __forceinline__ Packs(const T* begin_, std::int64_t count_, const Extent& array_)
      : begin(begin_),
        count(static_cast<int>(count_)),
        whole(static_cast<int>(count_) / width),
        between(static_cast<int>(reinterpret_cast<std::uintptr_t>(begin_) % 16)),
        array(array_) {}

  __device__ __forceinline__ bool aligned() const { return between == 0; }

  __device__ __forceinline__ static uint4 load_16(const void* from) {
    return __ldcs(static_cast<const uint4*>(from));
  }
  __device__ __forceinline__ static Pack<T> as_pack(uint4 words) {
    return {{words.x, words.y, words.z, words.w}};
  }
  __device__ __forceinline__ Pack<T> load_aligned(int pack) const {
    return as_pack(load_16(begin + pack * width));
  }
  // Off a boundary, `from` being where the pack begins: elements of 4 bytes and more one by one, as
  // neighbouring lanes find them in L1; smaller ones in the two aligned 16 bytes that they lie in,
  // shifted together, unless those reach beyond the array. `present` elements are the chunk's.
  __device__ __forceinline__ Pack<T> load_unaligned(const T* from, int present) const {
    if constexpr (sizeof(T) < 4) {
      const char* boundary = reinterpret_cast<const char*>(from) - between;
      if (boundary >= array.begin && boundary + 32 <= array.end) {
        return as_pack(shifted(load_16(boundary), load_16(boundary + 16)));
      }
    }
    T elements[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if (i < present) elements[i] = from[i];
    }
    Pack<T> loaded;
    std::memcpy(loaded.words, elements, sizeof elements);
    return loaded;
  }
  // Any pack that has an element of the chunk.
  __device__ __forceinline__ Pack<T> load_part(int pack) const {
    if (aligned() && pack < whole) return load_aligned(pack);
    return load_unaligned(begin + pack * width, min(count - pack * width, width));
  }
  // 16 bytes of 32, from byte `between` on.
  __device__ __forceinline__ uint4 shifted(uint4 low, uint4 high) const {
    const int bits = between % 4 * 8;
    const bool one = between & 4, two = between & 8;
    const unsigned a0 = two ? low.z : low.x, a1 = two ? low.w : low.y;
    const unsigned a2 = two ? high.x : low.z, a3 = two ? high.y : low.w;
    const unsigned a4 = two ? high.z : high.x, a5 = two ? high.w : high.y;
    const unsigned b0 = one ? a1 : a0, b1 = one ? a2 : a1, b2 = one ? a3 : a2, b3 = one ? a4 : a3,
                   b4 = one ? a5 : a4;
    return make_uint4(__funnelshift_r(b0, b1, bits), __funnelshift_r(b1, b2, bits),
                      __funnelshift_r(b2, b3, bits), __funnelshift_r(b3, b4, bits));
  }
};

// The walk of one of the 256 threads: its lanes are those of every 256th pack from pack `thread`
// on.
template <class A, class T>
struct Walk {
  static constexpr int width = order_width<T>;
  static constexpr int threads = order_threads;
  static constexpr int in_flight = 4;
  // Where order cannot show, four lanes stand for all: fewer registers.
  static constexpr int lane_count = A::any_order && width > 4 ? 4 : width;

  typename A::Lane lanes[lane_count];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < lane_count; ++j) lanes[j] = A::empty_lane();
  }
  __device__ __forceinline__ void add_pack(const Pack<T>& pack, int at, Value<T> first) {
#pragma unroll
    for (int j = 0; j < width; ++j) {
      A::add(lanes[j % lane_count], pack.value(j), at + j, first);
    }
  }
  // A pack of which only the elements before `count` are there.
  __device__ __forceinline__ void add_part(const Pack<T>& pack, int at, int count, Value<T> first) {
#pragma unroll
    for (int j = 0; j < width; ++j) {
      if (at + j < count) A::add(lanes[j % lane_count], pack.value(j), at + j, first);
    }
  }

  // Packs that a thread asks for at once: every 256th from `pack` on, as far as they are whole.
  struct Batch {
    Pack<T> packs[in_flight];
  };
  template <bool aligned>
  __device__ __forceinline__ static void load(Batch& batch, const Packs<T>& packs, int pack) {
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int each = pack + i * threads;
      if (each >= packs.whole) continue;
      batch.packs[i] = aligned ? packs.load_aligned(each)
                               : packs.load_unaligned(packs.begin + each * width, width);
    }
  }
  __device__ __forceinline__ void add(const Batch& batch, const Packs<T>& packs, int pack,
                                      Value<T> first) {
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int each = pack + i * threads;
      if (each < packs.whole) add_pack(batch.packs[i], each * width, first);
    }
  }

  // Two batches take turns, the next one on its way while this one is added.
  template <bool aligned>
  __device__ __forceinline__ void walk_ahead(const Packs<T>& packs, int pack, Value<T> first) {
    constexpr int step = in_flight * threads;
    Batch batches[2];
    load<aligned>(batches[0], packs, pack);
#pragma unroll 1
    while (pack < packs.whole) {
      load<aligned>(batches[1], packs, pack + step);
      add(batches[0], packs, pack, first);
      pack += step;
      if (pack >= packs.whole) break;
      load<aligned>(batches[0], packs, pack + step);
      add(batches[1], packs, pack, first);
      pack += step;
    }
  }
  __device__ __forceinline__ void run(const Packs<T>& packs, int thread, Value<T> first) {
    clear();
    if (packs.aligned()) {
      walk_ahead<true>(packs, thread, first);
    } else if constexpr (sizeof(T) >= 4) {
      walk_ahead<false>(packs, thread, first);
    } else {  // what is shifted together has arrived
#pragma unroll 1
      for (int pack = thread; pack < packs.whole; pack += in_flight * threads) {
        Batch batch;
        load<false>(batch, packs, pack);
        add(batch, packs, pack, first);
      }
    }
    add_end(packs, thread, first);
  }
  __device__ __forceinline__ void add_end(const Packs<T>& packs, int thread, Value<T> first) {
    if (packs.whole % threads == thread && packs.count % width != 0) {
      add_part(packs.load_part(packs.whole), packs.whole * width, packs.count, first);
    }
  }
};

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
__device__ __forceinline__ typename A::Partial tree_of_lanes(const Walk<A, T>& walk) {
  constexpr int lanes = Walk<A, T>::lane_count;
  typename A::Partial partials[lanes];
#pragma unroll
  for (int j = 0; j < lanes; ++j) partials[j] = A::close(walk.lanes[j]);
  return tree_of_array<A>(partials);
}

// Neighbouring lanes, then pairs of them, up to groups of `width`: each group's first lane has its
// result. All lanes of the warp call it.
template <class A, int width, class P>
__device__ __forceinline__ P tree_of_warp(P value) {
#pragma unroll
  for (int step = 1; step < width; step *= 2) A::merge(value, from_lane_above(value, step, width));
  return value;
}

constexpr int order_warps = order_threads / warp_lanes;

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

}  // namespace KW_TARGET
