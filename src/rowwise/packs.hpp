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
#include "reduce/numbers/element.hpp"
#include "rowwise/row_memory.hpp"

namespace KW_TARGET::rowwise {

constexpr int pack_bytes = 16;

template <class T>
constexpr int a_pack_of = pack_bytes / static_cast<int>(sizeof(T));
template <class T>
constexpr int most_edges_of = 2 * (a_pack_of<T> - 1);

template <class T>
__device__ __forceinline__ std::uint32_t bits_of_element(const T* x) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(*x);
  else
    return x->bits;
}

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
__device__ __forceinline__ void unpack_pair(std::uint32_t word, bfloat16, float* v) {
  v[0] = std::bit_cast<float>(word << 16);
  v[1] = std::bit_cast<float>(word & 0xFFFF0000u);
}
__device__ __forceinline__ void unpack_pair(std::uint32_t word, float16, float* v) {
  v[0] = to_value(float16{static_cast<std::uint16_t>(word)});
  v[1] = to_value(float16{static_cast<std::uint16_t>(word >> 16)});
}
template <class T>
__device__ __forceinline__ void unpack(const uint4& raw, T, float* v) {
  unpack_pair(raw.x, T{}, v);
  unpack_pair(raw.y, T{}, v + 2);
  unpack_pair(raw.z, T{}, v + 4);
  unpack_pair(raw.w, T{}, v + 6);
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
