// Gamma and beta of a block's columns in its shared memory, for norms of plain rows.
//
// Planes      Column c is in plane c mod a pack, so that lanes with neighbouring packs, wherever a
//             row begins, read neighbours.
// Edges       Before the planes are those of the row's first columns and of its last, a pack of
// each.
#pragma once

#include "rowwise/packs.hpp"

namespace KW_TARGET::rowwise {

// Of a plane for so many packs of a row, which may begin anywhere; in pairs, as all below.
KW_HOST_DEVICE constexpr int plane_pitch(int packs) { return packs + 2; }
template <class T>
constexpr std::size_t planes_bytes(int packs) {
  return static_cast<std::size_t>((plane_pitch(packs) + 2) * a_pack_of<T>) * sizeof(float2);
}

template <class T>
struct Planes {
  static constexpr int a_pack = a_pack_of<T>;
  static constexpr int pair_bytes = sizeof(float2);
  int begin;  // within the block's dynamic shared memory, in bytes as all of these
  int pitch;  // of a plane
  int wrap;   // from behind the last plane to the first one's next column
  int first;  // column, a multiple of a pack

  __device__ __forceinline__ Planes(int begin_, int packs, int first_)
      : begin(begin_),
        pitch(plane_pitch(packs) * pair_bytes),
        wrap(pair_bytes - a_pack * pitch),
        first(first_) {}

  // An offset: by a pointer that might be null the compiler would not know that it is shared
  // memory.
  static __device__ __forceinline__ float2& pair(int at) {
    return *reinterpret_cast<float2*>(gpu::dynamic_shared<char>() + at);
  }
  __device__ __forceinline__ int first_plane() const { return begin + 2 * a_pack * pair_bytes; }

  // Of so many packs from the first column on, by so many threads, a pack at a time.
  __device__ __forceinline__ void fill(const Rowwise& p, int packs, int thread, int threads) const {
    const auto cols = static_cast<int>(p.cols);
#pragma unroll 2
    for (int i = thread; i <= packs; i += threads) {
      const int column = first + i * a_pack;
      if (column >= cols) break;
      float2 both[a_pack];
      load_pack_of(p.gamma, column, cols, 1.0f, [&](int w) -> float& { return both[w].x; });
      load_pack_of(p.beta, column, cols, 0.0f, [&](int w) -> float& { return both[w].y; });
#pragma unroll
      for (int w = 0; w < a_pack; ++w) pair(first_plane() + w * pitch + i * pair_bytes) = both[w];
    }
    if (thread >= 2 * a_pack) return;
    const int column = thread < a_pack ? thread : cols - 2 * a_pack + thread;
    if (column >= 0 && column < cols)
      pair(begin + thread * pair_bytes) =
          make_float2(one_of(p.gamma, column, 1), one_of(p.beta, column, 0));
  }

  // Scales a thread's packs, `apart` from each other, of which the first is `index` packs behind
  // the planes' first column, and begins `head` elements further.
  template <int packs, int apart, class Has>
  __device__ __forceinline__ void scale(int head, int index, const Has& has, float* v) const {
    int at = first_plane() + head * pitch + index * pair_bytes;
#pragma unroll
    for (int w = 0; w < a_pack; ++w) {
      if (w > 0 && w == a_pack - head) at += wrap;
#pragma unroll
      for (int k = 0; k < packs; ++k) {
        if (!has(k)) continue;
        const float2 both = pair(at + k * apart * pair_bytes);
        v[k * a_pack + w] = v[k * a_pack + w] * both.x + both.y;
      }
      at += pitch;
    }
  }
  // Scales edge i of a row.
  __device__ __forceinline__ void scale_edge(const RowCut& cut, int i, float* v) const {
    const float2 both = pair(begin + (i < cut.head ? i : 2 * a_pack - cut.edges + i) * pair_bytes);
    *v = *v * both.x + both.y;
  }

 private:
  static __device__ __forceinline__ float one_of(const void* from, int column, float absent) {
    return from != nullptr ? to_value(static_cast<const T*>(from)[column]) : absent;
  }
  template <class To>
  static __device__ __forceinline__ void load_pack_of(const void* from, int column, int cols,
                                                      float absent, const To& to) {
    if (from != nullptr && column + a_pack <= cols &&
        reinterpret_cast<std::uintptr_t>(from) % pack_bytes == 0) {
      float v[a_pack];
      unpack(*reinterpret_cast<const uint4*>(static_cast<const T*>(from) + column), T{}, v);
#pragma unroll
      for (int w = 0; w < a_pack; ++w) to(w) = v[w];
    } else {
#pragma unroll
      for (int w = 0; w < a_pack; ++w)
        to(w) = column + w < cols ? one_of(from, column + w, absent) : absent;
    }
  }
};

}  // namespace KW_TARGET::rowwise
