// Contiguous elements as packs of 16 bytes. Memory is read at its own 16-byte boundaries, wherever
// the elements begin: a pack off a boundary would meet two lines of the cache, and element by
// element each line four times. What a pack's position in memory means for the order of additions
// is walk.hpp's.
#pragma once

#include <bit>
#include <cstring>

#include "gpu/gpu.hpp"
#include "reduce/numbers/element.hpp"
#include "reduce/walk/order.hpp"

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

// The 16 bytes at a boundary.
template <class T>
__device__ __forceinline__ Pack<T> load_pack(const T* from) {
  const uint4 words = __ldcs(reinterpret_cast<const uint4*>(from));
  return {{words.x, words.y, words.z, words.w}};
}

// The same, for accesses of which each has a part of a line: L2 is to have the whole line at once.
template <class T>
__device__ __forceinline__ Pack<T> load_pack_of_line(const T* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  Pack<T> pack;
  asm("ld.global.cs.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(pack.words[0]), "=r"(pack.words[1]), "=r"(pack.words[2]), "=r"(pack.words[3])
      : "l"(__cvta_generic_to_global(from)));
  return pack;
#else
  return load_pack(from);
#endif
}

// The pack that begins `skip` elements into `low` and ends in `high`.
template <class T>
__device__ __forceinline__ Pack<T> straddling(const Pack<T>& low, const Pack<T>& high, int skip) {
  const int bytes = skip * static_cast<int>(sizeof(T));
  std::uint32_t words[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    words[i] = low.words[i];
    words[i + 4] = high.words[i];
  }
#pragma unroll
  for (int step = 2; step > 0; step /= 2) {  // words
    if (step * 4 % sizeof(T) != 0) continue;
    const bool move = (bytes & (step * 4)) != 0;
#pragma unroll
    for (int i = 0; i + step < 8; ++i) words[i] = move ? words[i + step] : words[i];
  }
  Pack<T> pack;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    pack.words[i] = words[i];
    if constexpr (sizeof(T) < 4) {
      pack.words[i] = __funnelshift_r(words[i], words[i + 1], static_cast<unsigned>(bytes % 4 * 8));
    }
  }
  return pack;
}

constexpr int line_bytes = 128;

// How far an address lies past the beginning of its line.
__device__ __forceinline__ int past_line(const void* address) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) % line_bytes);
}

// Where a caller's array lies: loads stay within it, even where they bring more than is asked for.
struct Extent {
  const char* begin;
  const char* end;
};
template <class T>
__device__ __forceinline__ Extent extent_of(const T* data, std::int64_t elements) {
  return {reinterpret_cast<const char*>(data), reinterpret_cast<const char*>(data + elements)};
}

// `count` elements from `begin` on, in the packs of memory that hold them: element i is at position
// skip + i of these. The first and the last pack may hold what lies before and after.
template <class T>
struct Packs {
  static constexpr int width = order_width<T>;
  const T* boundary;  // where pack 0 lies
  int count;
  int skip;         // positions of pack 0 before the first element
  int end;          // the position after the last element; 0 without elements
  int whole_begin;  // packs from here to whole_end have all their elements
  int whole_end;
  Extent array;

  __device__ __forceinline__ Packs(const T* begin, std::int64_t count_, const Extent& array_)
      : count(static_cast<int>(count_)), array(array_) {
    const auto between = static_cast<int>(reinterpret_cast<std::uintptr_t>(begin) % 16);
    skip = between / static_cast<int>(sizeof(T));
    boundary = begin - skip;
    end = count > 0 ? skip + count : 0;
    whole_end = end / width;
    whole_begin = skip > 0 && whole_end > 0 ? 1 : 0;
  }

  // Pack 0, where others follow that are whole; pack whole_end. Either may be all there is.
  __device__ __forceinline__ bool has_head() const { return whole_begin > 0; }
  __device__ __forceinline__ bool has_tail() const { return end % width != 0; }
  __device__ __forceinline__ int count_of_packs() const { return (end + width - 1) / width; }
  // The element at a pack's position 0; of a head it would lie before the first.
  __device__ __forceinline__ int first_of(int pack) const { return pack * width - skip; }

  // Whether all packs lie within the array, parts of the first and the last one included.
  __device__ __forceinline__ bool inside() const {
    const char* bytes = reinterpret_cast<const char*>(boundary);
    return bytes >= array.begin && bytes + count_of_packs() * 16 <= array.end;
  }
  // Whether one of them does.
  __device__ __forceinline__ bool is_inside(int pack) const {
    const char* bytes = reinterpret_cast<const char*>(boundary + pack * width);
    return bytes >= array.begin && bytes + 16 <= array.end;
  }

  // Any pack that has an element. One that reaches beyond the array is read element by element.
  __device__ __forceinline__ Pack<T> load_part(int pack) const {
    const T* from = boundary + pack * width;
    const char* bytes = reinterpret_cast<const char*>(from);
    if (bytes >= array.begin && bytes + 16 <= array.end) return load_pack(from);
    T elements[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const int position = pack * width + i;
      if (position >= skip && position < end) elements[i] = from[i];
    }
    Pack<T> loaded;
    memcpy(loaded.words, elements, sizeof elements);
    return loaded;
  }
};

}  // namespace KW_TARGET
