// Elements that change nothing, in place of those that are not there: zero where elements or what
// becomes of them are added up, and for the largest |x|; else the sequence's first element, once
// more. A minimum does not show how often it was there, a place is that of the first one, and
// variances are summed from differences to that element.
#pragma once

#include <type_traits>

#include "gpu/gpu.hpp"
#include "reduce/numbers/accumulate.hpp"
#include "reduce/walk/packs.hpp"

namespace KW_TARGET {

template <class A>
struct AddsUp : std::false_type {};
template <ReduceKind kind, class T>
struct AddsUp<Sum<kind, T>> : std::true_type {};
template <>
struct AddsUp<NormSquare> : std::true_type {};
template <double ScaledSquares::*range>
struct AddsUp<SquaresOfRange<range>> : std::true_type {};
template <>
struct AddsUp<MiddleSquares> : std::true_type {};
template <>
struct AddsUp<MaxAbs> : std::true_type {};
template <class A>
constexpr bool needs_first_element = !AddsUp<A>::value;

// The words of a pack that has one element everywhere: they repeat after two.
template <class T>
__device__ __forceinline__ std::uint32_t fill_words(T element, std::uint32_t* high) {
  if constexpr (sizeof(T) == 8) {
    const auto bits = std::bit_cast<std::uint64_t>(element);
    *high = static_cast<std::uint32_t>(bits >> 32);
    return static_cast<std::uint32_t>(bits);
  } else {
    std::uint32_t word = 0;
    if constexpr (sizeof(T) == 4) word = std::bit_cast<std::uint32_t>(element);
    if constexpr (sizeof(T) == 2) word = std::bit_cast<std::uint16_t>(element) * 0x10001u;
    if constexpr (sizeof(T) == 1) word = std::bit_cast<std::uint8_t>(element) * 0x1010101u;
    return *high = word;
  }
}

// Replaces all but the first `left` elements of a pack, which may be none or all, by those of
// another, whose words are fill(0) to fill(3).
template <class T, class Fill>
__device__ __forceinline__ void fill_words_beyond(Pack<T>& pack, int left, const Fill& fill) {
  constexpr int of_word = 4 / static_cast<int>(sizeof(T) < 4 ? sizeof(T) : 4);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) >= 4) {
      const int element = i * 4 / static_cast<int>(sizeof(T));
      pack.words[i] = element < left ? pack.words[i] : fill(i);
    } else {
      const int bits = min(max(left - i * of_word, 0), of_word) * (32 / of_word);
      const std::uint32_t kept = bits == 32 ? ~0u : (1u << bits) - 1;
      pack.words[i] = (pack.words[i] & kept) | (fill(i) & ~kept);
    }
  }
}
template <class T>
__device__ __forceinline__ void fill_beyond(Pack<T>& pack, int left,
                                            const std::uint32_t (&fill)[4]) {
  fill_words_beyond(pack, left, [&](int i) { return fill[i]; });
}
// By words that repeat after two: of an array of them a compiler may make memory.
template <class T>
__device__ __forceinline__ void fill_beyond(Pack<T>& pack, int left, std::uint32_t low,
                                            std::uint32_t high) {
  fill_words_beyond(pack, left, [&](int i) { return i % 2 == 0 ? low : high; });
}

// Whether an accumulator compares places as well as values.
template <class A>
constexpr bool compares_places = requires {
  A::nowhere;
};

// A place must not come after that of what replaces it: so no element of a pack may share a lane
// with another, as those of narrow types do.
template <class A, class T>
constexpr bool fills_heads = sizeof(T) >= 4 || !compares_places<A>;

// Replaces the first `skip` elements of a pack whose last one is there: by nothing, by that one, or
// of variances, which are summed from differences to it, by the chunk's first element.
template <class A, class T>
__device__ __forceinline__ void fill_before(Pack<T>& pack, int skip,
                                            [[maybe_unused]] Value<T> first) {
  static_assert(fills_heads<A, T>);
  std::uint32_t low = 0, high = 0;
  if constexpr (std::is_same_v<A, Variance<T>>) {
    low = fill_words(from_value<T>(first), &high);
  } else if constexpr (needs_first_element<A>) {
    high = pack.words[3];
    low = sizeof(T) == 8 ? pack.words[2] : high;
    if constexpr (sizeof(T) == 2) low = high = high >> 16 | (high & 0xFFFF0000u);
    if constexpr (sizeof(T) == 1) low = high = (high >> 24) * 0x1010101u;
  }
  Pack<T> filled = {{low, high, low, high}};
  fill_beyond(filled, skip, pack.words);
  pack = filled;
}

// A lane of one element, but for the sign of a zero, which goes as soon as it is merged into
// nothing; and what that closes to.
template <class A, class T>
__device__ __forceinline__ typename A::Lane lane_with(Value<T> value, Value<T> first) {
  if constexpr (requires { A::only(value, first); }) {
    return A::only(value, first);
  } else {
    typename A::Lane lane = A::empty_lane();
    A::add(lane, value, 0, first);
    return lane;
  }
}
template <class A, class T>
__device__ __forceinline__ typename A::Partial lane_of_one(Value<T> value, Value<T> first) {
  return A::close(lane_with<A, T>(value, first));
}

}  // namespace KW_TARGET
