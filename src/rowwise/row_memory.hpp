// A thread's share of a row, between memory and registers.
//
// Places      A thread has `values` elements in packs of four. Packs lie at memory's own
// boundaries,
//             wherever the row begins: a whole one is one access, the row's first and last elements
//             are accesses of their own. Rows whose elements are not side by side have their
//             elements `lanes` apart.
// Formats     Which type and which of the two is known at launch only: each kernel has the loads
// and
//             stores of all six in its text, around one arithmetic in float.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "gpu/gpu.hpp"
#include "reduce/numbers/element.hpp"
#include "rowwise/problem.hpp"

namespace KW_TARGET::rowwise {

constexpr int pack = 4;

enum class Format : std::int32_t { packs, elements };

// How far the first element of y's row lies past a boundary of packs.
__device__ __forceinline__ int skip_of(const Rowwise& p, Format format, std::int64_t row) {
  if (format == Format::elements) return 0;
  const auto address =
      reinterpret_cast<std::uintptr_t>(p.y) / (p.type == DataType::float32 ? 4 : 2);
  return static_cast<int>((address + static_cast<std::uintptr_t>(row * p.ldy)) % pack);
}

// The places of a thread's values among `count` elements of a row, from `first` on, which is a
// multiple of four.
struct Places {
  Format format;
  int lane, lanes;
  int count;
  int skip;
  std::int64_t first;

  __device__ __forceinline__ Places(Format format_, int lane_, int lanes_, int count_, int skip_,
                                    std::int64_t first_)
      : format(format_), lane(lane_), lanes(lanes_), count(count_), skip(skip_), first(first_) {}

  // The first element of pack k; a value that is none is below 0 or not below `count`.
  __device__ __forceinline__ int of_pack(int k) const { return (k * lanes + lane) * pack - skip; }
  // Whether value i is an element of the row.
  __device__ __forceinline__ bool has(int i) const {
    const int at = format == Format::packs ? of_pack(i / pack) + i % pack : i * lanes + lane;
    return static_cast<unsigned>(at) < static_cast<unsigned>(count);
  }
  __device__ __forceinline__ bool has_whole(int at) const { return at >= 0 && at + pack <= count; }
};

// Where a row's arrays begin.
struct RowAt {
  std::int64_t row;
  std::int64_t x, residual;  // rows of them; negative: outside of the array
};

__device__ __forceinline__ RowAt row_at(const Rowwise& p, std::int64_t row) {
  RowAt at = {row, row, 0};
  if (p.index != nullptr) {
    at.x = p.index[row];
    if (at.x >= p.x_rows) at.x = -1;
  }
  if (p.residual == nullptr) return at;
  if (p.residual_index != nullptr) {
    at.residual = p.residual_index[row];
    if (at.residual >= p.residual_rows) at.residual = -1;
  } else {
    at.residual = p.residual_rows >= p.rows ? row : row % p.residual_rows;
  }
  return at;
}

// Four neighbours, aligned to their size.
__device__ __forceinline__ void load_pack(const float* from, float (&to)[pack]) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  to[0] = x.x;
  to[1] = x.y;
  to[2] = x.z;
  to[3] = x.w;
}
template <class T>
__device__ __forceinline__ void load_pack(const T* from, float (&to)[pack]) {
  const uint2 x = *reinterpret_cast<const uint2*>(from);
  to[0] = to_value(T{static_cast<std::uint16_t>(x.x)});
  to[1] = to_value(T{static_cast<std::uint16_t>(x.x >> 16)});
  to[2] = to_value(T{static_cast<std::uint16_t>(x.y)});
  to[3] = to_value(T{static_cast<std::uint16_t>(x.y >> 16)});
}

// Two values as 16-bit neighbours, the first in the lower half.
__device__ __forceinline__ std::uint32_t two_of(float first, float second, float16) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
#else
  return static_cast<std::uint32_t>(from_value<float16>(second).bits) << 16 |
         from_value<float16>(first).bits;
#endif
}
__device__ __forceinline__ std::uint32_t two_of(float first, float second, bfloat16) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
#else
  return static_cast<std::uint32_t>(from_value<bfloat16>(second).bits) << 16 |
         from_value<bfloat16>(first).bits;
#endif
}

__device__ __forceinline__ void store_pack(float* to, const float* from) {
  *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}
template <class T>
__device__ __forceinline__ void store_pack(T* to, const float* from) {
  uint2 x;
  x.x = two_of(from[0], from[1], T{});
  x.y = two_of(from[2], from[3], T{});
  *reinterpret_cast<uint2*>(to) = x;
}

__device__ __forceinline__ void store_one(float* to, float from) { *to = from; }
template <class T>
__device__ __forceinline__ void store_one(T* to, float from) {
  *to = T{static_cast<std::uint16_t>(two_of(from, 0.0f, T{}))};
}

enum class Read { set, add, multiply };
template <Read read>
__device__ __forceinline__ float combined(float old, float x) {
  return read == Read::set ? x : read == Read::add ? old + x : old * x;
}

// What is there with what is read. `from` is the row's first element.
template <Read read, class T, int values>
__device__ __forceinline__ void read_packs(const T* from, const Places& places,
                                           float (&to)[values]) {
  from += places.first;
  // Of vectors such as gamma packs may lie otherwise than of the row.
  const bool lies_alike =
      reinterpret_cast<std::uintptr_t>(from - places.skip) % (pack * sizeof(T)) == 0;
#pragma unroll
  for (int k = 0; k < values / pack; ++k) {
    const int at = places.of_pack(k);
    if (at >= places.count) continue;
    if (lies_alike && places.has_whole(at)) {
      float x[pack];
      load_pack(from + at, x);
#pragma unroll
      for (int w = 0; w < pack; ++w) to[k * pack + w] = combined<read>(to[k * pack + w], x[w]);
    } else {
#pragma unroll
      for (int w = 0; w < pack; ++w) {
        if (static_cast<unsigned>(at + w) < static_cast<unsigned>(places.count))
          to[k * pack + w] = combined<read>(to[k * pack + w], to_value(from[at + w]));
      }
    }
  }
}
template <Read read, class T, int values>
__device__ __forceinline__ void read_row(const T* from, std::int64_t step, const Places& places,
                                         float (&to)[values]) {
  if (places.format == Format::packs) return read_packs<read>(from, places, to);
  from += (places.first + places.lane) * step;
  step *= places.lanes;
  int at = places.lane;
#pragma unroll
  for (int i = 0; i < values; ++i, from += step, at += places.lanes) {
    if (at < places.count) to[i] = combined<read>(to[i], to_value(*from));
  }
}

template <class T, int values>
__device__ __forceinline__ void write_packs(T* to, const Places& places,
                                            const float (&from)[values]) {
  to += places.first;
  const bool lies_alike =
      reinterpret_cast<std::uintptr_t>(to - places.skip) % (pack * sizeof(T)) == 0;
#pragma unroll
  for (int k = 0; k < values / pack; ++k) {
    const int at = places.of_pack(k);
    if (at >= places.count) continue;
    if (lies_alike && places.has_whole(at)) {
      store_pack(to + at, from + k * pack);
    } else {
#pragma unroll
      for (int w = 0; w < pack; ++w) {
        if (static_cast<unsigned>(at + w) < static_cast<unsigned>(places.count))
          store_one(to + at + w, from[k * pack + w]);
      }
    }
  }
}
template <class T, int values>
__device__ __forceinline__ void write_row(T* to, std::int64_t step, const Places& places,
                                          const float (&from)[values]) {
  if (places.format == Format::packs) return write_packs(to, places, from);
  to += (places.first + places.lane) * step;
  step *= places.lanes;
  int at = places.lane;
#pragma unroll
  for (int i = 0; i < values; ++i, to += step, at += places.lanes) {
    if (at < places.count) store_one(to, from[i]);
  }
}

// Calls body(a null pointer to the type).
template <class Body>
__device__ __forceinline__ void with_row_type(DataType type, const Body& body) {
  if (type == DataType::float32) {
    body(static_cast<float*>(nullptr));
  } else if (type == DataType::float16) {
    body(static_cast<float16*>(nullptr));
  } else {
    body(static_cast<bfloat16*>(nullptr));
  }
}

// v = x + bias + residual of a row; what the row does not have is `absent`.
template <int values>
__device__ __forceinline__ void load_row(const Rowwise& p, const RowAt& row, const Places& places,
                                         float absent, float (&v)[values]) {
#pragma unroll
  for (int i = 0; i < values; ++i) v[i] = absent;
  if (row.x < 0 || row.residual < 0) {
#pragma unroll
    for (int i = 0; i < values; ++i) v[i] = std::bit_cast<float>(0x7FC00000u);
    return;
  }
  with_row_type(p.type, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    read_row<Read::set>(static_cast<const T*>(p.x) + row.x * p.ldx, p.step_x, places, v);
    if (p.bias != nullptr) read_row<Read::add>(static_cast<const T*>(p.bias), 1, places, v);
    if (p.residual != nullptr) {
      read_row<Read::add>(static_cast<const T*>(p.residual) + row.residual * p.ld_residual, 1,
                          places, v);
    }
  });
}

template <int values>
__device__ __forceinline__ void store_sum(const Rowwise& p, const RowAt& row, const Places& places,
                                          const float (&v)[values]) {
  if (p.sum == nullptr) return;
  with_row_type(p.type, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    write_row(static_cast<T*>(p.sum) + row.row * p.ld_sum, 1, places, v);
  });
}

// y = v, or v * gamma + beta of a norm.
template <bool scales, int values>
__device__ __forceinline__ void store_row(const Rowwise& p, const RowAt& row, const Places& places,
                                          float (&v)[values]) {
  with_row_type(p.type, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (scales) {
      if (p.gamma != nullptr) {
        read_row<Read::multiply>(static_cast<const T*>(p.gamma), 1, places, v);
      }
      if (p.beta != nullptr) read_row<Read::add>(static_cast<const T*>(p.beta), 1, places, v);
    }
    write_row(static_cast<T*>(p.y) + row.row * p.ldy, p.step_y, places, v);
  });
}

// Host: elements that a row may begin past a boundary.
inline int most_skip(const Rowwise& p) {
  const bool never = reinterpret_cast<std::uintptr_t>(p.y) % (pack * size_of(p.type)) == 0 &&
                     (p.rows == 1 || p.ldy % pack == 0);
  return p.step_x == 1 && p.step_y == 1 && !never ? pack - 1 : 0;
}

// Host: packs where elements lie side by side. Arrays that do not lie as y does are read element by
// element.
inline Format format_of(const Rowwise& p) {
  return p.step_x == 1 && p.step_y == 1 ? Format::packs : Format::elements;
}

}  // namespace KW_TARGET::rowwise
