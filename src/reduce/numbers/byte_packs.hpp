// Packs of 16 int8, added up whole: products of four bytes at once for sums, two bytes in 16 bits
// each for extremes. All of it is exact, so the bits are those of one element after the other.
#pragma once

#include <algorithm>
#include <type_traits>

#include "gpu/gpu.hpp"
#include "reduce/numbers/accumulate.hpp"
#include "reduce/walk/packs.hpp"

namespace KW_TARGET {

// sum + the products of four signed bytes.
__device__ __forceinline__ std::int32_t add_products(std::uint32_t a, std::uint32_t b,
                                                     std::int32_t sum) {
#if defined(__CUDA_ARCH__)
  return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
#else
  for (int byte = 0; byte < 4; ++byte) {
    sum += static_cast<std::int8_t>(a >> 8 * byte) * static_cast<std::int8_t>(b >> 8 * byte);
  }
  return sum;
#endif
}

// Of two pairs of signed 16 bits the smaller or larger ones.
template <bool larger>
__device__ __forceinline__ std::uint32_t extreme_pair(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return larger ? __vmaxs2(a, b) : __vmins2(a, b);
#else
  std::uint32_t pair = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    const auto x = static_cast<std::int16_t>(a >> shift), y = static_cast<std::int16_t>(b >> shift);
    const std::int16_t chosen = larger ? std::max(x, y) : std::min(x, y);
    pair |= static_cast<std::uint32_t>(static_cast<std::uint16_t>(chosen)) << shift;
  }
  return pair;
#endif
}

// The extreme of a pack's elements.
template <bool larger>
__device__ __forceinline__ std::int32_t extreme_of(const Pack<std::int8_t>& pack) {
  constexpr std::uint32_t upper = 0xFF00FF00u;  // a byte is the upper half of 16 bits
  std::uint32_t pair = pack.words[0] & upper;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i > 0) pair = extreme_pair<larger>(pair, pack.words[i] & upper);
    pair = extreme_pair<larger>(pair, pack.words[i] << 8 & upper);
  }
  pair = extreme_pair<larger>(pair, pair << 16);
  return static_cast<std::int32_t>(pair) >> 24;
}

constexpr std::uint32_t byte_ones = 0x01010101u;

template <class A>
struct BytePacks : std::false_type {};

template <ReduceKind kind>
struct BytePacks<Sum<kind, std::int8_t>> : std::true_type {
  using Lane = typename Sum<kind, std::int8_t>::Lane;
  template <int count>
  __device__ __forceinline__ static void add(Lane (&lanes)[count], const Pack<std::int8_t>& pack,
                                             std::int32_t) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t word = pack.words[i];
      std::uint32_t by = byte_ones;
      if constexpr (kind == ReduceKind::sum_abs) by |= (word >> 7 & byte_ones) * 0xFEu;  // signs
      if constexpr (Sum<kind, std::int8_t>::square) by = word;
      lanes[i % count] += add_products(word, by, 0);
    }
  }
};

template <ReduceKind kind>
struct BytePacks<Extreme<kind, std::int8_t>> : std::true_type {
  template <int count>
  __device__ __forceinline__ static void add(std::int32_t (&lanes)[count],
                                             const Pack<std::int8_t>& pack, std::int32_t first) {
    Extreme<kind, std::int8_t>::add(lanes[0], extreme_of<kind == ReduceKind::max>(pack), 0, first);
  }
};

template <>
struct BytePacks<MinMax<std::int8_t>> : std::true_type {
  template <int count>
  __device__ __forceinline__ static void add(Range<std::int32_t> (&lanes)[count],
                                             const Pack<std::int8_t>& pack, std::int32_t) {
    MinMax<std::int8_t>::merge(lanes[0], {extreme_of<false>(pack), extreme_of<true>(pack)});
  }
};

template <>
struct BytePacks<Variance<std::int8_t>> : std::true_type {
  // Of 16 differences d = x - first: sum x - 16 first, and sum x^2 - 2 first sum x + 16 first^2.
  template <int count>
  __device__ __forceinline__ static void add(ShiftedSums (&lanes)[count],
                                             const Pack<std::int8_t>& pack, std::int32_t first) {
    std::int32_t sum = 0, square = 0;
#pragma unroll  // NOLINTNEXTLINE(modernize-loop-convert)
    for (int i = 0; i < 4; ++i) {
      sum = add_products(pack.words[i], byte_ones, sum);
      square = add_products(pack.words[i], pack.words[i], square);
    }
    lanes[0].sum += static_cast<double>(sum - 16 * first);
    lanes[0].square += static_cast<double>(square + first * (16 * first - 2 * sum));
  }
};

}  // namespace KW_TARGET
