// The two inner loops of the CPU's reduction: one chunk of a sequence, and one chunk of a strip of
// columns. Both follow src/reduce/walk/order.hpp, whose lanes are what the compiler turns into
// vectors.
//
// On x86-64 each is compiled twice, once with AVX2 and FMA, and sums of float32 and float64 a third
// time with AVX-512; `flatten` brings the accumulator's functions into that version. Which of them
// runs cannot show in the result: fma rounds once with or without the instruction.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "reduce/numbers/accumulate.hpp"
#include "reduce/walk/order.hpp"

#define KW_FLATTEN __attribute__((flatten))
#define KW_INLINE inline __attribute__((always_inline))

namespace kw::cpu {

// Columns that are walked side by side: their lanes stay in the caches next to the core.
constexpr std::int64_t strip_columns = 256;

// Merges neighbours until one is left. `count` is a power of two.
template <class A, class P>
KW_INLINE P merge_as_tree(P* parts, std::int64_t count) {
  for (count /= 2; count > 0; count /= 2) {
#if !defined(__clang__)
#pragma GCC ivdep  // what is written was read before: 2i >= i
#endif
    for (std::int64_t i = 0; i < count; ++i) {
      P merged = parts[2 * i];
      A::merge(merged, parts[2 * i + 1]);
      parts[i] = merged;
    }
  }
  return parts[0];
}

// Rounds for which a lane is loaded and stored once.
constexpr std::int64_t together = 4;

// Adds `together` rounds from element `at` on to a lane. Written out: of a loop over the rounds g++
// would make the outer one, and load and store the lane for each.
template <ReduceKind kind, class T, class Lane>
KW_INLINE void add_rounds(const T* __restrict data, std::int64_t at, Lane& lane, Value<T> first) {
  using A = Accumulator<kind, T>;
  constexpr std::int64_t width = order_lanes<T>;
  static_assert(together == 4);
  const auto add = [&](std::int64_t j) {
    A::add(lane, to_value(data[j]), static_cast<std::int32_t>(j), first);
  };
  add(at);
  add(at + width);
  add(at + 2 * width);
  add(at + 3 * width);
}

// Elements of a line of the cache.
template <class T>
constexpr std::int64_t line_elements = 64 / static_cast<std::int64_t>(sizeof(T));

// Asks for a line of each of the rounds from `data` on, which may lie past the array: the rounds of
// a walk are pages apart, and the processor looks ahead within a page only.
template <class T>
KW_INLINE void ask_for_rounds(const T* data) {
  for (std::int64_t round = 0; round < together; ++round) {
    __builtin_prefetch(reinterpret_cast<const char*>(data) + round * order_lanes<T> * sizeof(T));
  }
}

// `count` elements to all lanes of a chunk, every lane at its turn. Lanes need not be empty before.
template <ReduceKind kind, class T, class Lane>
KW_INLINE void walk_lanes(const T* __restrict data, std::int64_t count, Lane* __restrict lanes) {
  using A = Accumulator<kind, T>;
  constexpr std::int64_t width = order_lanes<T>;
  const Value<T> first = to_value(data[0]);
  std::int64_t at = 0;
  if (count >= together * width) {
    for (std::int64_t i = 0; i < width; ++i) {
      Lane lane = A::empty_lane();
      add_rounds<kind>(data, i, lane, first);
      lanes[i] = lane;
    }
    at = together * width;
  } else {
    std::fill_n(lanes, width, A::empty_lane());
  }
  for (; at + together * width <= count; at += together * width) {
    for (std::int64_t block = 0; block < width; block += line_elements<T>) {
      ask_for_rounds(data + at + together * width + block);
      for (std::int64_t i = block; i < block + line_elements<T>; ++i) {
        Lane lane = lanes[i];
        add_rounds<kind>(data, at + i, lane, first);
        lanes[i] = lane;
      }
    }
  }
  for (; at < count; at += width) {
    const std::int64_t present = std::min(width, count - at);
    for (std::int64_t i = 0; i < present; ++i) {
      A::add(lanes[i], to_value(data[at + i]), static_cast<std::int32_t>(at + i), first);
    }
  }
}

template <ReduceKind kind, class T>
KW_INLINE typename Accumulator<kind, T>::Partial chunk_body(const T* data, std::int64_t count) {
  using A = Accumulator<kind, T>;
  constexpr std::int64_t width = order_lanes<T>;
  typename A::Partial partials[width];
  if (count > width) {
    if constexpr (std::is_same_v<typename A::Lane, typename A::Partial>) {
      walk_lanes<kind>(data, count, partials);  // which close as they are
    } else {
      typename A::Lane lanes[width];
      walk_lanes<kind>(data, count, lanes);
      for (std::int64_t i = 0; i < width; ++i) partials[i] = A::close(lanes[i]);
    }
    return merge_as_tree<A>(partials, width);
  }
  // An element a lane, or none.
  for (std::int64_t i = 0; i < count; ++i) {
    typename A::Lane lane = A::empty_lane();
    A::add(lane, to_value(data[i]), static_cast<std::int32_t>(i), to_value(data[0]));
    partials[i] = A::close(lane);
  }
  const auto used = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  std::fill_n(partials + count, used - count, A::empty());
  return merge_as_tree<A>(partials, used);
}

// The chunk of `rows` rows from `begin` on, of `cols` <= strip_columns columns: `data` is its first
// row, `totals` where its totals go.
template <ReduceKind kind, class T>
KW_INLINE void columns_body(const T* __restrict data, std::int64_t ld, const Chunk<T>& chunk,
                            std::int64_t cols,
                            typename Accumulator<kind, T>::Total* __restrict totals) {
  using A = Accumulator<kind, T>;
  typename A::Lane lanes[column_lanes][strip_columns];
  Value<T> first[strip_columns] = {};
  for (auto& lane : lanes) std::fill_n(lane, cols, A::empty_lane());
  if (chunk.count > 0) {
    for (std::int64_t j = 0; j < cols; ++j) first[j] = to_value(data[j]);
  }
  for (std::int64_t i = 0; i < chunk.count; ++i) {
    const T* row = data + i * ld;
    auto* lane = lanes[i % column_lanes];
    for (std::int64_t j = 0; j < cols; ++j) {
      A::add(lane[j], to_value(row[j]), static_cast<std::int32_t>(i), first[j]);
    }
  }
  for (std::int64_t j = 0; j < cols; ++j) {
    typename A::Partial partials[column_lanes];
    for (int lane = 0; lane < column_lanes; ++lane) partials[lane] = A::close(lanes[lane][j]);
    totals[j] =
        A::total(merge_as_tree<A>(partials, column_lanes), {chunk.begin, chunk.count, first[j]});
  }
}

template <ReduceKind kind, class T>
KW_FLATTEN typename Accumulator<kind, T>::Partial plain_chunk(const T* data, std::int64_t count) {
  return chunk_body<kind>(data, count);
}
template <ReduceKind kind, class T>
KW_FLATTEN void plain_columns(const T* data, std::int64_t ld, const Chunk<T>& chunk,
                              std::int64_t cols, typename Accumulator<kind, T>::Total* totals) {
  columns_body<kind>(data, ld, chunk, cols, totals);
}

#if defined(__x86_64__)
template <ReduceKind kind, class T>
__attribute__((target("avx2,fma"))) KW_FLATTEN typename Accumulator<kind, T>::Partial fma_chunk(
    const T* data, std::int64_t count) {
  return chunk_body<kind>(data, count);
}
template <ReduceKind kind, class T>
__attribute__((target("avx2,fma"))) KW_FLATTEN void fma_columns(
    const T* data, std::int64_t ld, const Chunk<T>& chunk, std::int64_t cols,
    typename Accumulator<kind, T>::Total* totals) {
  columns_body<kind>(data, ld, chunk, cols, totals);
}

// Of a chunk that lies in the caches, AVX-512 saves a fifth of the time.
#if defined(__clang__)
#define KW_AVX512 "avx512f,avx512vl,avx512dq,fma"
#else
#define KW_AVX512 "avx512f,avx512vl,avx512dq,fma,prefer-vector-width=512"
#endif
template <ReduceKind kind, class T>
constexpr bool has_wide_chunk =
    std::is_floating_point_v<T>&& std::is_same_v<typename Accumulator<kind, T>::Lane, double> &&
    !Accumulator<kind, T>::any_order;
template <ReduceKind kind, class T>
__attribute__((target(KW_AVX512))) KW_FLATTEN typename Accumulator<kind, T>::Partial wide_chunk(
    const T* data, std::int64_t count) {
  return chunk_body<kind>(data, count);
}

inline bool has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
  return has;
}
inline bool has_fma() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
template <ReduceKind kind, class T>
typename Accumulator<kind, T>::Partial reduce_chunk(const T* data, std::int64_t count) {
  if constexpr (has_wide_chunk<kind, T>) {
    if (has_avx512()) return wide_chunk<kind>(data, count);
  }
  return has_fma() ? fma_chunk<kind>(data, count) : plain_chunk<kind>(data, count);
}
template <ReduceKind kind, class T>
void reduce_columns(const T* data, std::int64_t ld, const Chunk<T>& chunk, std::int64_t cols,
                    typename Accumulator<kind, T>::Total* totals) {
  has_fma() ? fma_columns<kind>(data, ld, chunk, cols, totals)
            : plain_columns<kind>(data, ld, chunk, cols, totals);
}
#else
template <ReduceKind kind, class T>
typename Accumulator<kind, T>::Partial reduce_chunk(const T* data, std::int64_t count) {
  return plain_chunk<kind>(data, count);
}
template <ReduceKind kind, class T>
void reduce_columns(const T* data, std::int64_t ld, const Chunk<T>& chunk, std::int64_t cols,
                    typename Accumulator<kind, T>::Total* totals) {
  plain_columns<kind>(data, ld, chunk, cols, totals);
}
#endif

}  // namespace kw::cpu
