// CUDA's functions that need no scheduler: atomics, cached loads, bit casts and counts, min and
// max.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "host_simt/execution.hpp"

namespace kw::host_simt {

template <class T>
concept FourOrEightBytes = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
concept LaneMask = std::same_as<T, unsigned> || std::same_as<T, unsigned long long>;

// The lanes that an exchange names. 32 ones are how a kernel says "my whole warp", however many
// lanes that is; among 64 bits they are the lower half of a wavefront.
struct LaneSet {
  std::uint64_t bits;

  template <std::integral Mask>
  LaneSet(Mask mask) : bits(static_cast<std::make_unsigned_t<Mask>>(mask)) {  // NOLINT: as in CUDA
    if (sizeof(Mask) == 4 && bits == 0xFFFFFFFFu) bits = ~std::uint64_t{0};
  }
};

template <FourOrEightBytes T>
T shuffle_value(const char* function, Shuffle kind, LaneSet mask, T value, int argument, int width,
                Site site) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = shuffle(function, kind, mask.bits, bits, argument, width, site);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// *address = change(*address) in one step, also against other workers; returns what was there.
template <class T, class Change>
T atomic_change(T* address, Change change) {
  const std::atomic_ref<T> target(*address);
  T old = target.load();
  while (!target.compare_exchange_weak(old, change(old))) {
  }
  return old;
}

}  // namespace kw::host_simt

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's.

template <kw::host_simt::FourOrEightBytes T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_add(value);
}
template <std::integral T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return kw::host_simt::atomic_change(address, [=](T old) { return std::max(old, value); });
}
template <std::integral T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return kw::host_simt::atomic_change(address, [=](T old) { return std::min(old, value); });
}
template <kw::host_simt::FourOrEightBytes T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).exchange(value);
}
template <std::integral T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  std::atomic_ref<T>(*address).compare_exchange_strong(expected, value);
  return expected;
}

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { __threadfence(); }

template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
void __stcs(T* address, std::type_identity_t<T> value) {
  *address = value;
}

inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
// As CUDA has it: 0 where y is beyond 2^126.
inline float __fdividef(float x, float y) { return std::fabs(y) > 0x1p126f ? x * 0.0f : x / y; }

constexpr int __float_as_int(float x) { return std::bit_cast<int>(x); }
constexpr unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
constexpr float __int_as_float(int x) { return std::bit_cast<float>(x); }
constexpr float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
constexpr long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
constexpr double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

// The lower half of high:low shifted right by shift mod 32.
constexpr unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift % 32));
}
constexpr int __popc(unsigned x) { return std::popcount(x); }
constexpr int __popcll(unsigned long long x) { return std::popcount(x); }
constexpr int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
constexpr int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
constexpr int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
constexpr int __ffsll(long long x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1;
}

// As in CUDA, a NaN loses against a number.
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmin(static_cast<T>(a), static_cast<T>(b));
  } else {
    return std::min(static_cast<T>(a), static_cast<T>(b));
  }
}
template <class A, class B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmax(static_cast<T>(a), static_cast<T>(b));
  } else {
    return std::max(static_cast<T>(a), static_cast<T>(b));
  }
}

// NOLINTEND(bugprone-reserved-identifier)
