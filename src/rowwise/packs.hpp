// Plain rows, and how they lie: packs of 16 bytes at memory's own boundaries, and edges.
//
// Plain       Elements side by side, of x and of y alike past a boundary of 16 bytes; nothing is
//             added and nothing gathered. What else there is, row_memory.hpp has.
// Edges       The few elements before a row's first boundary and behind its last one: a thread of
//             the team has one of them each, beside its packs. So a row may begin anywhere, and no
//             pack is looked at element by element.
#pragma once

#include <bit>
#include <cstdint>

#include "gpu/gpu.hpp"
#include "reduce/element.hpp"
#include "rowwise/row_memory.hpp"

namespace KW_TARGET::rowwise {

constexpr int pack_bytes = 16;

template <class T>
constexpr int a_pack_of = pack_bytes / static_cast<int>(sizeof(T));
template <class T>
constexpr int most_edges_of = 2 * (a_pack_of<T> - 1);

// Where a row's packs and edges are.
struct RowCut {
  int head;   // elements before the first pack
  int packs;  // whole ones
  int edges;  // elements outside of packs

  // Edge i, as an element of the row.
  template <class T>
  __device__ __forceinline__ int edge(int i) const {
    return i < head ? i : i + packs * a_pack_of<T>;
  }
};

template <class T>
__device__ __forceinline__ RowCut cut_row(const void* row, int cols) {
  constexpr int a_pack = a_pack_of<T>;
  const auto past = static_cast<int>(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row)) /
                                     sizeof(T) % a_pack);
  int head = past == 0 ? 0 : a_pack - past;
  if (head > cols) head = cols;
  const int packs = static_cast<int>(static_cast<unsigned>(cols - head) / a_pack);
  return {head, packs, cols - packs * a_pack};
}

__device__ __forceinline__ void unpack(const uint4& raw, float, float* v) {
  v[0] = std::bit_cast<float>(raw.x);
  v[1] = std::bit_cast<float>(raw.y);
  v[2] = std::bit_cast<float>(raw.z);
  v[3] = std::bit_cast<float>(raw.w);
}
__device__ __forceinline__ void unpack(const uint4& raw, bfloat16, float* v) {
  const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v[2 * i] = std::bit_cast<float>(words[i] << 16);
    v[2 * i + 1] = std::bit_cast<float>(words[i] & 0xFFFF0000u);
  }
}
__device__ __forceinline__ void unpack(const uint4& raw, float16, float* v) {
  const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    v[2 * i] = to_value(float16{static_cast<std::uint16_t>(words[i])});
    v[2 * i + 1] = to_value(float16{static_cast<std::uint16_t>(words[i] >> 16)});
  }
}

template <class T>
__device__ __forceinline__ uint4 packed_as(const float* v) {
  if constexpr (sizeof(T) == 4) {
    return make_uint4(std::bit_cast<std::uint32_t>(v[0]), std::bit_cast<std::uint32_t>(v[1]),
                      std::bit_cast<std::uint32_t>(v[2]), std::bit_cast<std::uint32_t>(v[3]));
  } else {
    return make_uint4(two_of(v[0], v[1], T{}), two_of(v[2], v[3], T{}), two_of(v[4], v[5], T{}),
                      two_of(v[6], v[7], T{}));
  }
}

// A pack of a vector that may begin anywhere: the two of memory's own that hold it.
template <class T>
struct PackAnywhere {
  static constexpr int a_pack = a_pack_of<T>;
  std::uint32_t words[8] = {};
  unsigned past = 0;  // bytes

  // Elements first to first + a_pack of `cols`. `copied` is null, or has memory's packs from the
  // one on that holds element `first`, but for such as are not the vector's as a whole.
  __device__ __forceinline__ void load(const void* vector, int first, int cols,
                                       const uint4* copied = nullptr) {
    const auto* const from = static_cast<const T*>(vector) + first;
    past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % pack_bytes);
    const int begin = first - static_cast<int>(past / sizeof(T));
    if (begin < 0 || begin + (past == 0 ? 1 : 2) * a_pack > cols) {
      load_elements(from);
      return;
    }
    if (copied == nullptr)
      copied = reinterpret_cast<const uint4*>(static_cast<const T*>(vector) + begin);
    set(0, copied[0]);
    if (past != 0) set(4, copied[1]);
  }
  __device__ __forceinline__ void values(float* v) const {
    std::uint32_t w[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) w[i] = words[i];
    if (past != 0) {
      move_if<2>(w, (past & 8u) != 0);
      move_if<1>(w, (past & 4u) != 0);
      if (sizeof(T) == 2 && (past & 2u) != 0) {
#pragma unroll
        for (int i = 0; i < 4; ++i) w[i] = w[i] >> 16 | w[i + 1] << 16;
      }
    }
    unpack(make_uint4(w[0], w[1], w[2], w[3]), T{}, v);
  }

 private:
  __device__ __forceinline__ void set(int at, const uint4& raw) {
    words[at] = raw.x, words[at + 1] = raw.y, words[at + 2] = raw.z, words[at + 3] = raw.w;
  }
  // Near the vector's ends.
  __device__ __forceinline__ void load_elements(const T* from) {
    past = 0;
    if constexpr (sizeof(T) == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) words[i] = std::bit_cast<std::uint32_t>(from[i]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        words[i] = std::uint32_t{from[2 * i].bits} | std::uint32_t{from[2 * i + 1].bits} << 16;
    }
  }
  template <int by>
  static __device__ __forceinline__ void move_if(std::uint32_t (&w)[8], bool moves) {
#pragma unroll
    for (int i = 0; i + by < 8; ++i) w[i] = moves ? w[i + by] : w[i];
  }
};

// Host: whether a problem's rows are plain.
inline bool is_plain(const Rowwise& p) {
  const auto past = [&](const void* data, std::int64_t ld) {
    const auto bytes = static_cast<std::uintptr_t>(size_of(p.type));
    return std::pair(reinterpret_cast<std::uintptr_t>(data) % pack_bytes,
                     p.rows > 1 ? static_cast<std::uintptr_t>(ld) * bytes % pack_bytes : 0);
  };
  return p.op != RowwiseOp::map && p.step_x == 1 && p.step_y == 1 && p.index == nullptr &&
         p.bias == nullptr && p.residual == nullptr && p.sum == nullptr &&
         past(p.x, p.ldx) == past(p.y, p.ldy);
}

}  // namespace KW_TARGET::rowwise
