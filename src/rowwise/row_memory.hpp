// A thread's share of a row, between memory and registers.
//
// Places      A thread has `values` elements in packs of four. In vectors a pack is four
// neighbours,
//             one access; else its elements are `lanes` apart, so that neighbouring threads read
//             neighbouring elements.
// Formats     Which type and which of the two is known at launch only: each kernel has the loads
// and
//             stores of all six in its text, around one arithmetic in float.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "device/overlap.hpp"
#include "gpu/gpu.hpp"
#include "reduce/element.hpp"
#include "rowwise/problem.hpp"

namespace KW_TARGET::rowwise {

constexpr int pack = 4;

enum class Format : std::int32_t { vectors, elements };

// The places of a thread's values among `count` elements of a row, from `first` on.
struct Places {
  Format format;
  int lane, lanes;
  int count;
  std::int64_t first;
  int own;  // packs, or elements, that there are for this thread

  __device__ __forceinline__ Places(Format format_, int lane_, int lanes_, int count_,
                                    std::int64_t first_)
      : format(format_), lane(lane_), lanes(lanes_), count(count_), first(first_) {
    const int units = format == Format::vectors ? count / pack : count;
    own = static_cast<int>(static_cast<unsigned>(units - lane + lanes - 1) /
                           static_cast<unsigned>(lanes));
  }

  // Whether value i is an element of the row.
  __device__ __forceinline__ bool has(int i) const {
    return (format == Format::vectors ? i / pack : i) < own;
  }
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

// Keeps the compiler from computing many addresses ahead, each in registers of its own. It then
// does not see any more that they are of global memory, which the accesses below say.
template <class T>
__device__ __forceinline__ void stop_here(T*& address) {
  auto bits = reinterpret_cast<std::uintptr_t>(address);
  compute_now(bits);
  address = reinterpret_cast<T*>(bits);
}
template <class V>
__device__ __forceinline__ V load_global(const V* from) {
#if defined(__CUDA_ARCH__)
  return __ldca(from);
#else
  return *from;
#endif
}
template <class V>
__device__ __forceinline__ void store_global(V* to, V value) {
#if defined(__CUDA_ARCH__)
  __stwb(to, value);
#else
  *to = value;
#endif
}
__device__ __forceinline__ float load_one(const float* from) { return load_global(from); }
template <class T>
__device__ __forceinline__ float load_one(const T* from) {
  return to_value(T{load_global(&from->bits)});
}
__device__ __forceinline__ void store_one(float* to, float from) { store_global(to, from); }
template <class T>
__device__ __forceinline__ void store_one(T* to, float from) {
  store_global(&to->bits, static_cast<std::uint16_t>(two_of(from, 0.0f, T{})));
}

enum class Read { set, add, multiply };
template <Read read>
__device__ __forceinline__ float combined(float old, float x) {
  return read == Read::set ? x : read == Read::add ? old + x : old * x;
}

// What is there with what is read. `from` is the row's first element.
template <Read read, class T, int values>
__device__ __forceinline__ void read_row(const T* from, std::int64_t step, const Places& places,
                                         float (&to)[values]) {
  if (places.format == Format::vectors) {
    from += places.first + std::int64_t{places.lane} * pack;
#pragma unroll
    for (int k = 0; k < values / pack; ++k, from += places.lanes * pack) {
      if (k >= places.own) continue;
      float x[pack];
      load_pack(from, x);
#pragma unroll
      for (int w = 0; w < pack; ++w) to[k * pack + w] = combined<read>(to[k * pack + w], x[w]);
    }
  } else {
    from += (places.first + places.lane) * step;
    step *= places.lanes;
#pragma unroll
    for (int i = 0; i < values; ++i, from += step) {
      if (i < places.own) to[i] = combined<read>(to[i], load_one(from));
      if (i % pack == pack - 1) stop_here(from);
    }
  }
}
template <class T, int values>
__device__ __forceinline__ void write_row(T* to, std::int64_t step, const Places& places,
                                          const float (&from)[values]) {
  if (places.format == Format::vectors) {
    to += places.first + std::int64_t{places.lane} * pack;
#pragma unroll
    for (int k = 0; k < values / pack; ++k, to += places.lanes * pack) {
      if (k < places.own) store_pack(to, from + k * pack);
    }
  } else {
    to += (places.first + places.lane) * step;
    step *= places.lanes;
#pragma unroll
    for (int i = 0; i < values; ++i, to += step) {
      if (i < places.own) store_one(to, from[i]);
      if (i % pack == pack - 1) stop_here(to);
    }
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

// Host: whether rows may be read and written in vectors from every multiple of four elements on.
inline Format format_of(const Rowwise& p) {
  const std::size_t bytes = pack * size_of(p.type);
  const auto fits = [&](const void* data, std::int64_t ld, std::int64_t rows) {
    return data == nullptr ||
           (reinterpret_cast<std::uintptr_t>(data) % bytes == 0 && (rows == 1 || ld % pack == 0));
  };
  const bool all = p.step_x == 1 && p.step_y == 1 && p.cols % pack == 0 &&
                   fits(p.x, p.ldx, p.index != nullptr ? p.x_rows : p.rows) &&
                   fits(p.y, p.ldy, p.rows) && fits(p.sum, p.ld_sum, p.rows) &&
                   fits(p.residual, p.ld_residual, p.residual_rows) && fits(p.gamma, 0, 1) &&
                   fits(p.beta, 0, 1) && fits(p.bias, 0, 1);
  return all ? Format::vectors : Format::elements;
}

}  // namespace KW_TARGET::rowwise
