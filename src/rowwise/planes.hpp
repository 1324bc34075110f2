// Gamma and beta of a block's columns in its shared memory, for norms of plain rows.
//
// Planes      Column c is in plane c mod a pack, so that lanes with neighbouring packs, wherever a
//             row begins, read neighbours.
// Edges       Before the planes are those of the row's elements outside of packs, or of its first
//             and its last columns, a pack of each.
#pragma once

#include "device/async_copy.hpp"
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

// Where there is no beta.
template <class T>
struct WideGamma {
  float gamma;

  __device__ __forceinline__ void set(float gamma_, float) { gamma = gamma_; }
  __device__ __forceinline__ float scaled(float v) const { return v * gamma; }
};
template <class T>
struct NarrowGamma {
  std::uint16_t gamma;

  __device__ __forceinline__ void set(float gamma_, float) {
    gamma = static_cast<std::uint16_t>(two_of(gamma_, 0.0f, T{}));
  }
  __device__ __forceinline__ float scaled(float v) const { return v * to_value(T{gamma}); }
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

// The 16 bytes from `past` on, a multiple of an element.
template <class T>
__device__ __forceinline__ uint4 shifted(const uint4& low, const uint4& high, unsigned past) {
  std::uint32_t word[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int w = 0; w < 6; ++w) word[w] = (past & 8) != 0 ? word[w + 2] : word[w];
#pragma unroll
  for (int w = 0; w < 5; ++w) word[w] = (past & 4) != 0 ? word[w + 1] : word[w];
  if (sizeof(T) == 2 && (past & 2) != 0) {
#pragma unroll
    for (int w = 0; w < 4; ++w) word[w] = word[w] >> 16 | word[w + 1] << 16;
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

// Packs of both vectors on their way to a thread.
constexpr int fill_at_once = 4;
__device__ __forceinline__ unsigned past_boundary(const void* vector) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(vector) % pack_bytes);
}
__device__ __forceinline__ bool is_at_boundary(const void* vector) {
  return past_boundary(vector) == 0;
}
template <class T>
struct FillPacks {
  uint4 gamma[fill_at_once], beta[fill_at_once];

  // From a column on, of each `threads`-th pack, of which there are those below `left`.
  __device__ __forceinline__ void load(const Rowwise& p, int column, int threads, int left) {
    float ones[a_pack_of<T>];
#pragma unroll
    for (float& each : ones) each = 1;
    const auto* const from_gamma =
        reinterpret_cast<const uint4*>(static_cast<const T*>(p.gamma) + column);
    const auto* const from_beta =
        reinterpret_cast<const uint4*>(static_cast<const T*>(p.beta) + column);
#pragma unroll
    for (int k = 0; k < fill_at_once; ++k) {
      gamma[k] = packed_as<T>(ones);
      beta[k] = make_uint4(0, 0, 0, 0);
      if (p.gamma != nullptr && k * threads < left) gamma[k] = from_gamma[k * threads];
      if (p.beta != nullptr && k * threads < left) beta[k] = from_beta[k * threads];
    }
  }
};

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
  __device__ __forceinline__ void set_pack(int i, const float (&gamma)[a_pack],
                                           const float (&beta)[a_pack]) const {
#pragma unroll
    for (int w = 0; w < a_pack; ++w)
      pair(first_plane() + w * pitch + i * pair_bytes).set(gamma[w], beta[w]);
  }
  __device__ __forceinline__ int first_plane() const { return begin + 2 * a_pack * pair_bytes; }

  // Of so many packs from the first column on, by so many threads. Whole packs of vectors at
  // boundaries come some at a time: each round trip is as long as a row's.
  __device__ __forceinline__ void fill(const Rowwise& p, int packs, int thread, int threads) const {
    const auto cols = static_cast<int>(p.cols);
    const bool wide = is_at_boundary(p.gamma) && is_at_boundary(p.beta);
    const int whole = wide ? min(packs + 1, (cols - first) / a_pack) : 0;
#pragma unroll 1
    for (int i = thread; i < whole; i += fill_at_once * threads) {
      FillPacks<T> own;
      own.load(p, first + i * a_pack, threads, whole - i);
#pragma unroll
      for (int k = 0; k < fill_at_once; ++k) {
        if (k * threads >= whole - i) break;
        float gamma[a_pack], beta[a_pack];
        unpack(own.gamma[k], T{}, gamma);
        unpack(own.beta[k], T{}, beta);
        set_pack(i + k * threads, gamma, beta);
      }
    }
#pragma unroll 1
    for (int i = max(whole, 0) + thread; i <= packs; i += threads) {
      const int column = first + i * a_pack;
      if (column >= cols) break;
      float gamma[a_pack], beta[a_pack];
      load_vector<T>(p.gamma, column, cols, 1.0f, gamma);
      load_vector<T>(p.beta, column, cols, 0.0f, beta);
      set_pack(i, gamma, beta);
    }
    set_edges(p, thread, cols);
  }
  // What AlikePlanes need behind it.
  __device__ __forceinline__ void finish(const Rowwise&, int, int, int) const {}
  // A column of those that a row's edges may have, at either end, a thread.
  __device__ __forceinline__ void set_edges(const Rowwise& p, int thread, int cols) const {
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

}  // namespace KW_TARGET::rowwise
