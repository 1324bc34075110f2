// Gamma and beta of a block's columns in its shared memory, for norms of plain rows.
//
// Planes      Column c is in plane c mod a pack, so that lanes with neighbouring packs, wherever a
//             row begins, read neighbours.
// Alike       Where a block's rows all begin alike past a boundary, several columns of a pack are
//             one access: units of them are the planes, and nobody looks where a row begins.
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
  template <bool = true>
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

// The same for rows that all begin alike past a boundary: packs of gamma as the rows have them, and
// behind them those of beta, of their own type. Before them are those of the edges.
template <class T>
struct AlikePlanes {
  static constexpr bool is_alike = true;
  static constexpr int a_pack = a_pack_of<T>;
  static constexpr int edges_bytes = 2 * a_pack * static_cast<int>(sizeof(float2));
  int begin;   // within the block's dynamic shared memory, in bytes as the pitch
  int pitch;   // from gamma's packs to beta's
  int first;   // column, counted from the row's first pack on; a multiple of a pack
  RowCut cut;  // of each row

  __device__ __forceinline__ AlikePlanes(int begin_, int packs, int first_, const RowCut& cut_)
      : begin(begin_), pitch(packs * pack_bytes), first(first_), cut(cut_) {}

  static constexpr KW_HOST_DEVICE std::size_t bytes(int packs) {
    return static_cast<std::size_t>(packs) * 2 * pack_bytes + edges_bytes;
  }

  // Of so many packs, by so many threads; `many`: of each thread.
  template <bool many>
  __device__ __forceinline__ void fill(const Rowwise& p, int packs, int thread, int threads) const {
    const int own = min(packs, cut.packs - first / a_pack);
    const int to = begin + edges_bytes;
    fill_one<many>(p.gamma, 1, to, own, thread, threads);
    fill_one<many>(p.beta, 0, to + pitch, own, thread, threads);
    async_commit();
    if (thread < cut.edges) {
      const int column = cut.template edge<T>(thread);
      at<float2>(begin + thread * static_cast<int>(sizeof(float2))) = {
          vector_value<T>(p.gamma, column, 1), vector_value<T>(p.beta, column, 0)};
    }
    async_wait<0>();
  }

  // As TeamPlanes have it.
  struct Places {
    int index;
  };
  __device__ __forceinline__ Places places(int, int index) const { return {index}; }
  __device__ __forceinline__ void scale_pack(const Places& places, int behind, float* v) const {
    scale<1, 1>(
        0, places.index + behind, [](int) { return true; }, v);
  }
  // As above; `index` is from the first column on.
  template <int packs, int apart, class Has>
  __device__ __forceinline__ void scale(int, int index, const Has& has, float* v) const {
    const int from = begin + edges_bytes + index * pack_bytes;
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      if (!has(k)) continue;
      float gamma[a_pack], beta[a_pack];
      unpack(at<const uint4>(from + k * apart * pack_bytes), T{}, gamma);
      unpack(at<const uint4>(from + k * apart * pack_bytes + pitch), T{}, beta);
#pragma unroll
      for (int w = 0; w < a_pack; ++w) v[k * a_pack + w] = v[k * a_pack + w] * gamma[w] + beta[w];
    }
  }
  __device__ __forceinline__ void scale_edge(const RowCut&, int i, float* v) const {
    const auto both = at<const float2>(begin + i * static_cast<int>(sizeof(float2)));
    *v = *v * both.x + both.y;
  }

 private:
  template <class V>
  static __device__ __forceinline__ V& at(int offset) {
    return *reinterpret_cast<V*>(gpu::dynamic_shared<char>() + offset);
  }
  // The vector need not lie as the rows do. Copies of words take longer than packs that are put
  // together, but no registers.
  template <bool many>
  __device__ __forceinline__ void fill_one(const void* vector, float absent, int to, int packs,
                                           int thread, int threads) const {
    const auto* const from = static_cast<const T*>(vector) + (cut.head + first);
    const unsigned past = past_boundary(from);
    if (vector == nullptr) {
      float all[a_pack];
#pragma unroll
      for (float& each : all) each = absent;
#pragma unroll 1
      for (int i = thread; i < packs; i += threads)
        at<uint4>(to + i * pack_bytes) = packed_as<T>(all);
    } else if (past == 0) {
      copy<pack_bytes>(from, to, packs, thread, threads);
    } else if (sizeof(T) == word_bytes || (!many && past % word_bytes == 0)) {
      copy<word_bytes>(from, to, packs * words, thread, threads);
    } else if constexpr (many && sizeof(T) == 2) {
      fill_past(vector, from, past, to, packs, thread, threads);
    } else if constexpr (sizeof(T) == 2) {
      const T* const end = static_cast<const T*>(vector) + (cut.packs * a_pack + cut.edges);
#pragma unroll 4
      for (int i = thread; i < packs; i += threads)
        at<uint4>(to + i * pack_bytes) = pack_past(from + i * a_pack, past, vector, end);
    }
  }
  // Of 16-bit types, as all below: some at a time, as above. A pack at either end of the vector may
  // lie in one that is not the vector's as a whole.
  __device__ __forceinline__ void fill_past(const void* vector, const T* from, unsigned past,
                                            int to, int packs, int thread, int threads) const {
    const T* const end = static_cast<const T*>(vector) + (cut.packs * a_pack + cut.edges);
    const auto* const both =
        reinterpret_cast<const uint4*>(reinterpret_cast<const char*>(from) - past);
    const int least = static_cast<const void*>(both) < vector ? 1 : 0;
    const auto most = static_cast<int>(min(
        static_cast<std::int64_t>(packs),
        (reinterpret_cast<const char*>(end) - reinterpret_cast<const char*>(both)) / pack_bytes -
            1));
#pragma unroll 1
    for (int i = thread; i < packs; i += fill_at_once * threads) {
      uint4 low[fill_at_once], high[fill_at_once];
#pragma unroll
      for (int k = 0; k < fill_at_once; ++k) {
        const int own = i + k * threads;
        if (own < least || own >= most) continue;
        low[k] = both[own];
        high[k] = both[own + 1];
      }
#pragma unroll
      for (int k = 0; k < fill_at_once; ++k) {
        const int own = i + k * threads;
        if (own >= packs) break;
        at<uint4>(to + own * pack_bytes) = own < least || own >= most
                                               ? pack_of(from + own * a_pack)
                                               : shifted<T>(low[k], high[k], past);
      }
    }
  }
  // By the two packs at boundaries that it lies in, where both are the vector's, which ends at
  // `end`.
  static __device__ __forceinline__ uint4 pack_past(const T* from, unsigned past,
                                                    const void* vector, const T* end) {
    const auto* const both =
        reinterpret_cast<const uint4*>(reinterpret_cast<const char*>(from) - past);
    if (static_cast<const void*>(both) < vector || static_cast<const void*>(both + 2) > end)
      return pack_of(from);
    return shifted<T>(both[0], both[1], past);
  }
  // Element by element.
  static __device__ __forceinline__ uint4 pack_of(const T* from) {
    std::uint32_t word[4];
#pragma unroll
    for (int w = 0; w < 4; ++w)
      word[w] = bits_of_element(from + 2 * w) | bits_of_element(from + 2 * w + 1) << 16;
    return make_uint4(word[0], word[1], word[2], word[3]);
  }
  static constexpr int word_bytes = 4, words = pack_bytes / word_bytes;
  template <int bytes>
  static __device__ __forceinline__ void copy(const T* from, int to, int count, int thread,
                                              int threads) {
    const auto* const source = reinterpret_cast<const float*>(from);
#pragma unroll 1
    for (int i = thread; i < count; i += threads)
      async_copy<bytes, false>(&at<float>(to + i * bytes), source + i * (bytes / word_bytes),
                               bytes);
  }
};

}  // namespace KW_TARGET::rowwise
