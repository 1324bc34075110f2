// Gamma and beta of a block's columns in its shared memory, for norms of plain rows.
//
// Planes      Column c is in plane c mod a pack, so that lanes with neighbouring packs, wherever a
//             row begins, read neighbours.
// Alike       Where a block's rows all begin alike past a boundary, two columns of a pack are one
//             access: units of them are the planes, and nobody looks where a row begins.
// Edges       Before the planes are those of the row's elements outside of packs, or of its first
//             and its last columns, a pack of each.
#pragma once

#include "rowwise/packs.hpp"

namespace KW_TARGET::rowwise {

// Of a plane for so many packs of a row, which may begin anywhere; in pairs, as all below.
KW_HOST_DEVICE constexpr int plane_pitch(int packs) { return packs + 2; }
template <class T, class Pair>
constexpr std::size_t planes_bytes(int packs) {
  return static_cast<std::size_t>((plane_pitch(packs) + 2) * a_pack_of<T>) * sizeof(Pair);
}

// Gamma and beta of a column in float, or as they are in 16-bit types: half the room, and two
// instructions more where they are used.
template <class T>
struct WidePair {
  float2 both;

  __device__ __forceinline__ void set(float gamma, float beta) { both = {gamma, beta}; }
  __device__ __forceinline__ float scaled(float v) const { return v * both.x + both.y; }
};
template <class T>
struct NarrowPair {
  std::uint32_t both;

  __device__ __forceinline__ void set(float gamma, float beta) { both = two_of(gamma, beta, T{}); }
  __device__ __forceinline__ float scaled(float v) const {
    const float gamma = to_value(T{static_cast<std::uint16_t>(both)});
    return v * gamma + to_value(T{static_cast<std::uint16_t>(both >> 16)});
  }
};

// Element `column` of gamma or beta, or what stands for it.
template <class T>
__device__ __forceinline__ float vector_value(const void* from, int column, float absent) {
  return from != nullptr ? to_value(static_cast<const T*>(from)[column]) : absent;
}
// A pack of them, of which those past the last column are absent.
template <class T>
__device__ __forceinline__ void load_vector(const void* from, int column, int cols, float absent,
                                            float (&v)[a_pack_of<T>]) {
  constexpr int a_pack = a_pack_of<T>;
  if (from != nullptr && column + a_pack <= cols &&
      reinterpret_cast<std::uintptr_t>(from) % pack_bytes == 0) {
    unpack(*reinterpret_cast<const uint4*>(static_cast<const T*>(from) + column), T{}, v);
  } else {
#pragma unroll
    for (int w = 0; w < a_pack; ++w)
      v[w] = column + w < cols ? vector_value<T>(from, column + w, absent) : absent;
  }
}

template <class T, class Pair>
struct Planes {
  static constexpr bool is_alike = false;
  static constexpr int a_pack = a_pack_of<T>;
  static constexpr int pair_bytes = sizeof(Pair);
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
  static __device__ __forceinline__ Pair& pair(int at) {
    return *reinterpret_cast<Pair*>(gpu::dynamic_shared<char>() + at);
  }
  __device__ __forceinline__ int first_plane() const { return begin + 2 * a_pack * pair_bytes; }

  // Of so many packs from the first column on, by so many threads, a pack at a time.
  __device__ __forceinline__ void fill(const Rowwise& p, int packs, int thread, int threads) const {
    const auto cols = static_cast<int>(p.cols);
#pragma unroll 2
    for (int i = thread; i <= packs; i += threads) {
      const int column = first + i * a_pack;
      if (column >= cols) break;
      float gamma[a_pack], beta[a_pack];
      load_vector<T>(p.gamma, column, cols, 1.0f, gamma);
      load_vector<T>(p.beta, column, cols, 0.0f, beta);
#pragma unroll
      for (int w = 0; w < a_pack; ++w)
        pair(first_plane() + w * pitch + i * pair_bytes).set(gamma[w], beta[w]);
    }
    if (thread >= 2 * a_pack) return;
    const int column = thread < a_pack ? thread : cols - 2 * a_pack + thread;
    if (column >= 0 && column < cols)
      pair(begin + thread * pair_bytes)
          .set(vector_value<T>(p.gamma, column, 1), vector_value<T>(p.beta, column, 0));
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
        v[k * a_pack + w] = pair(at + k * apart * pair_bytes).scaled(v[k * a_pack + w]);
      }
      at += pitch;
    }
  }
  // Scales edge i of a row.
  __device__ __forceinline__ void scale_edge(const RowCut& cut, int i, float* v) const {
    *v = pair(begin + (i < cut.head ? i : 2 * a_pack - cut.edges + i) * pair_bytes).scaled(*v);
  }
};

// The same for rows that all begin alike past a boundary, as a thread's packs lie: two columns'
// pairs are an access. Before them are those of the edges.
template <class T>
struct AlikePlanes {
  static constexpr bool is_alike = true;
  static constexpr int a_pack = a_pack_of<T>, units = a_pack / 2;
  int begin;   // within the block's dynamic shared memory, in bytes as the pitch
  int pitch;   // of a unit of each pack
  int first;   // column, counted from the row's first pack on; a multiple of a pack
  RowCut cut;  // of each row

  __device__ __forceinline__ AlikePlanes(int begin_, int packs, int first_, const RowCut& cut_)
      : begin(begin_), pitch(packs * pack_bytes), first(first_), cut(cut_) {}

  static constexpr KW_HOST_DEVICE std::size_t bytes(int packs) {
    return static_cast<std::size_t>(packs) * a_pack * sizeof(float2) + edges_bytes;
  }

  // Of so many packs, by so many threads.
  __device__ __forceinline__ void fill(const Rowwise& p, int packs, int thread, int threads) const {
    const int own = min(packs, cut.packs - first / a_pack);
    if constexpr (sizeof(T) == 4)
      fill_by_rows(p, own, thread, threads);
    else
      fill_by_vectors(p, own, thread, threads);
    if (thread >= cut.edges) return;
    const int column = cut.template edge<T>(thread);
    at<float2>(begin + thread * static_cast<int>(sizeof(float2))) = {
        vector_value<T>(p.gamma, column, 1), vector_value<T>(p.beta, column, 0)};
  }

  // As above; `index` is from the first column on.
  template <int packs, int apart, class Has>
  __device__ __forceinline__ void scale(int, int index, const Has& has, float* v) const {
    const int from = begin + edges_bytes + index * pack_bytes;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      if (!has(k)) continue;
#pragma unroll
      for (int u = 0; u < units; ++u) {
        const auto both = at<const float4>(from + u * pitch + k * apart * pack_bytes);
        float* const two = v + k * a_pack + 2 * u;
        two[0] = two[0] * both.x + both.y;
        two[1] = two[1] * both.z + both.w;
      }
    }
  }
  __device__ __forceinline__ void scale_edge(const RowCut&, int i, float* v) const {
    const auto both = at<const float2>(begin + i * static_cast<int>(sizeof(float2)));
    *v = *v * both.x + both.y;
  }

 private:
  static constexpr int edges_bytes = 2 * a_pack * static_cast<int>(sizeof(float2));

  template <class V>
  static __device__ __forceinline__ V& at(int offset) {
    return *reinterpret_cast<V*>(gpu::dynamic_shared<char>() + offset);
  }
  // Packs as rows have them, which gamma and beta need not have so.
  __device__ __forceinline__ void fill_by_rows(const Rowwise& p, int packs, int thread,
                                               int threads) const {
#pragma unroll 1
    for (int i = thread; i < packs; i += threads) {
      const int column = cut.head + first + i * a_pack;
      float gamma[a_pack], beta[a_pack];
#pragma unroll
      for (int w = 0; w < a_pack; ++w) {
        gamma[w] = vector_value<T>(p.gamma, column + w, 1);
        beta[w] = vector_value<T>(p.beta, column + w, 0);
      }
#pragma unroll
      for (int u = 0; u < units; ++u) {
        at<float4>(begin + edges_bytes + u * pitch + i * pack_bytes) =
            make_float4(gamma[2 * u], beta[2 * u], gamma[2 * u + 1], beta[2 * u + 1]);
      }
    }
  }
  // Packs as gamma and beta have them, which rows need not have so: of 16-bit types fewer loads.
  __device__ __forceinline__ void fill_by_vectors(const Rowwise& p, int packs, int thread,
                                                  int threads) const {
    const int from = cut.head + first, columns = packs * a_pack;
#pragma unroll 2
    for (int i = from / a_pack + thread; i * a_pack < from + columns; i += threads) {
      float gamma[a_pack], beta[a_pack];
      load_vector<T>(p.gamma, i * a_pack, static_cast<int>(p.cols), 1.0f, gamma);
      load_vector<T>(p.beta, i * a_pack, static_cast<int>(p.cols), 0.0f, beta);
#pragma unroll
      for (int w = 0; w < a_pack; ++w) {
        const int column = i * a_pack + w - from;
        if (column >= 0 && column < columns)
          at<float2>(place_of(column)) = make_float2(gamma[w], beta[w]);
      }
    }
  }
  // Of the block's columns.
  __device__ __forceinline__ int place_of(int column) const {
    const unsigned place = static_cast<unsigned>(column), w = place % a_pack;
    return begin + edges_bytes + static_cast<int>(w / 2) * pitch +
           static_cast<int>(place / a_pack * pack_bytes + w % 2 * sizeof(float2));
  }
};

}  // namespace KW_TARGET::rowwise
