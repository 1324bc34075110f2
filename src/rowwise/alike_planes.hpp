// Gamma and beta of norms whose rows all begin alike past a boundary (planes.hpp): packs of gamma
// as the rows have them, and behind them those of beta, of their own type. Before them are those of
// the rows' edges.
//
// Reading     Several columns are one access, and nobody looks where a row begins.
// Filling     By asynchronous copies, at once or in two steps. In two steps packs of 16-bit types
//             that lie otherwise come as they lie in memory, and move within shared memory: a block
//             that stays asks for them before its first row and has them when that is there, and
//             no register waits for them.
#pragma once

#include "rowwise/planes.hpp"

namespace KW_TARGET::rowwise {

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
      : begin(begin_), pitch(pitch_of(packs)), first(first_), cut(cut_) {}

  // One more, of a vector that lies otherwise.
  static constexpr KW_HOST_DEVICE int pitch_of(int packs) { return (packs + 1) * pack_bytes; }
  static constexpr KW_HOST_DEVICE std::size_t bytes(int packs) {
    return static_cast<std::size_t>(pitch_of(packs)) * 2 + edges_bytes;
  }

  // Of so many packs, by so many threads.
  __device__ __forceinline__ void fill(const Rowwise& p, int packs, int thread, int threads) const {
    const int own = own_of(packs), to = begin + edges_bytes;
    fill_one(p.gamma, 1, to, own, thread, threads);
    fill_one(p.beta, 0, to + pitch, own, thread, threads);
    async_commit();
    set_edges(p, thread);
    async_wait<0>();
  }

  // The same in two steps: copies that are on their way, and the rest when these are there.
  __device__ __forceinline__ void ask(const Rowwise& p, int packs, int thread, int threads) const {
    const int own = own_of(packs), to = begin + edges_bytes;
    ask_one(p.gamma, 1, to, own, thread, threads);
    ask_one(p.beta, 0, to + pitch, own, thread, threads);
    async_commit();
  }
  __device__ __forceinline__ void finish(const Rowwise& p, int packs, int thread,
                                         int threads) const {
    set_edges(p, thread);
    async_wait<0>();
    if constexpr (sizeof(T) == 2) {
      const unsigned of_gamma = past_of(p.gamma), of_beta = past_of(p.beta);
      if ((of_gamma | of_beta) != 0) move(of_gamma, of_beta, own_of(packs), thread, threads);
    }
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
  static __device__ __forceinline__ uint4& pack(int offset, int i) {
    return at<uint4>(offset + i * pack_bytes);
  }
  __device__ __forceinline__ int own_of(int packs) const {
    return min(packs, cut.packs - first / a_pack);
  }
  __device__ __forceinline__ const T* first_of(const void* vector) const {
    return static_cast<const T*>(vector) + (cut.head + first);
  }
  __device__ __forceinline__ unsigned past_of(const void* vector) const {
    return vector == nullptr ? 0 : past_boundary(first_of(vector));
  }
  __device__ __forceinline__ void set_edges(const Rowwise& p, int thread) const {
    if (thread >= cut.edges) return;
    const int column = cut.template edge<T>(thread);
    at<float2>(begin + thread * static_cast<int>(sizeof(float2))) = {
        vector_value<T>(p.gamma, column, 1), vector_value<T>(p.beta, column, 0)};
  }
  __device__ __forceinline__ void ask_one(const void* vector, float absent, int to, int packs,
                                          int thread, int threads) const {
    if (sizeof(T) == word_bytes || past_of(vector) == 0)
      fill_one(vector, absent, to, packs, thread, threads);
    else if constexpr (sizeof(T) == 2)
      ask_past(vector, to, packs, thread, threads);
  }
  // The vector need not lie as the rows do. Copies of words take longer than packs that are put
  // together, but no registers.
  __device__ __forceinline__ void fill_one(const void* vector, float absent, int to, int packs,
                                           int thread, int threads) const {
    const T* const from = first_of(vector);
    const unsigned past = past_boundary(from);
    if (vector == nullptr) {
      float all[a_pack];
#pragma unroll
      for (float& each : all) each = absent;
#pragma unroll 1
      for (int i = thread; i < packs; i += threads) pack(to, i) = packed_as<T>(all);
    } else if (past == 0) {
      copy<pack_bytes>(from, to, packs, thread, threads);
    } else if (sizeof(T) == word_bytes || past % word_bytes == 0) {
      copy<word_bytes>(from, to, packs * words, thread, threads);
    } else if constexpr (sizeof(T) == 2) {
      const T* const end = static_cast<const T*>(vector) + (cut.packs * a_pack + cut.edges);
#pragma unroll 4
      for (int i = thread; i < packs; i += threads)
        pack(to, i) = pack_past(from + i * a_pack, past, vector, end);
    }
  }
  // Of 16-bit types, a vector off a boundary: packs as they lie in memory, one more than there
  // are. The first one may begin before the vector, the last one ends with it.
  __device__ __forceinline__ void ask_past(const void* vector, int to, int packs, int thread,
                                           int threads) const {
    if (packs <= 0) return;
    const auto* const begin_of = static_cast<const char*>(vector);
    const auto* const from = reinterpret_cast<const char*>(first_of(vector)) - past_of(vector);
    const char* const end = begin_of + (cut.packs * a_pack + cut.edges) * int{sizeof(T)};
#pragma unroll 1
    for (int i = thread; i <= packs; i += threads) {
      const char* const own = from + i * pack_bytes;
      if (own < begin_of) {
#pragma unroll 1
        for (int w = static_cast<int>(begin_of - own); w < pack_bytes; w += int{sizeof(T)})
          at<std::uint16_t>(to + i * pack_bytes + w) =
              *reinterpret_cast<const std::uint16_t*>(own + w);
      } else if (own < end) {
        const std::int64_t left = end - own;
        async_copy<pack_bytes, false>(&at<float>(to + i * pack_bytes),
                                      reinterpret_cast<const float*>(own),
                                      left < pack_bytes ? static_cast<int>(left) : pack_bytes);
      }
    }
  }
  // Packs as memory has them become those of the rows. By all threads of the block.
  __device__ __forceinline__ void move(unsigned of_gamma, unsigned of_beta, int packs, int thread,
                                       int threads) const {
    const int to = begin + edges_bytes;
    __syncthreads();
#pragma unroll 1
    for (int i = thread; i - thread < packs; i += threads) {
      uint4 gamma = {}, beta = {};
      if (i < packs) {
        gamma = shifted<T>(pack(to, i), pack(to, i + 1), of_gamma);
        beta = shifted<T>(pack(to + pitch, i), pack(to + pitch, i + 1), of_beta);
      }
      __syncthreads();  // each has read what a neighbour writes to
      if (i >= packs) continue;
      if (of_gamma != 0) pack(to, i) = gamma;
      if (of_beta != 0) pack(to + pitch, i) = beta;
    }
  }
  // Of 16-bit types: by the two packs at boundaries that it lies in, where both are the vector's,
  // which ends at `end`.
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
