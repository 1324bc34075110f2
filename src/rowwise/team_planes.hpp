// Gamma and beta of a norm's rows that several teams of a block have (planes.hpp): rows and vectors
// may begin anywhere past a boundary.
//
// Filling     A pack of a vector off a boundary is put together from the two packs that it lies in.
//             Few are on their way at once, as registers are few.
// Scaling     Where the places of a pack are found once for all packs of a thread's row, a column
//             of 16-bit types is one load from shared memory, with nothing to compute for it.
#pragma once

#include "device/overlap.hpp"
#include "rowwise/planes.hpp"

namespace KW_TARGET::rowwise {

// Packs of a vector on their way to a thread.
template <class T>
struct TeamPacks {
  static constexpr int count = 2;
  uint4 low[count], high[count];
  unsigned past;

  // From a column on, of each `threads`-th pack, of which there are those below `left`.
  __device__ __forceinline__ void load(const void* vector, float absent, int column, int threads,
                                       int left) {
    float all[a_pack_of<T>];
#pragma unroll
    for (float& each : all) each = absent;
    past = past_boundary(vector);
    const auto* const from = reinterpret_cast<const uint4*>(
        reinterpret_cast<const char*>(static_cast<const T*>(vector) + column) - past);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      low[k] = packed_as<T>(all);
      if (vector == nullptr || k * threads >= left) continue;
      low[k] = from[k * threads];
      if (past != 0) high[k] = from[k * threads + 1];
    }
  }
  __device__ __forceinline__ void values(int k, float (&v)[a_pack_of<T>]) const {
    unpack(past == 0 ? low[k] : shifted<T>(low[k], high[k], past), T{}, v);
  }
};

template <class T>
using TeamPair = std::conditional_t<sizeof(T) == 2, NarrowPair<T>, WidePair<T>>;

template <class T>
struct TeamPlanes : Planes<T, TeamPair<T>> {
  using Base = Planes<T, TeamPair<T>>;
  using Base::a_pack, Base::pair_bytes, Base::pitch, Base::wrap, Base::first;
  using Base::pair, Base::set_pack, Base::first_plane, Base::set_edges;

  __device__ __forceinline__ TeamPlanes(int begin_, int packs, int first_)
      : Base(begin_, packs, first_) {}

  // Of so many packs from the first column on, by so many threads.
  __device__ __forceinline__ void ask(const Rowwise& p, int packs, int thread, int threads) const {
    constexpr int at_once = TeamPacks<T>::count;
    const auto cols = static_cast<int>(p.cols);
    const int begin_whole = max(first_whole(p.gamma), first_whole(p.beta));
    const int end_whole = max(
        min(packs + 1, min(whole_packs(p.gamma, cols), whole_packs(p.beta, cols))), begin_whole);
#pragma unroll 1
    for (int i = begin_whole + thread; i < end_whole; i += at_once * threads) {
      TeamPacks<T> of_gamma, of_beta;
      of_gamma.load(p.gamma, 1, first + i * a_pack, threads, end_whole - i);
      of_beta.load(p.beta, 0, first + i * a_pack, threads, end_whole - i);
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (k * threads >= end_whole - i) break;
        float gamma[a_pack], beta[a_pack];
        of_gamma.values(k, gamma);
        of_beta.values(k, beta);
        set_pack(i + k * threads, gamma, beta);
      }
    }
    if (thread < begin_whole) fill_pack(p, thread, cols);
#pragma unroll 1
    for (int i = end_whole + thread; i <= packs; i += threads) {
      if (first + i * a_pack >= cols) break;
      fill_pack(p, i, cols);
    }
    set_edges(p, thread, cols);
  }

  // Where a row's pack has its columns: those of pack `index`, of which the first is `head`
  // elements past a multiple of a pack.
  struct Places {
    int at[a_pack];
  };
  __device__ __forceinline__ Places places(int head, int index) const {
    Places places;
#pragma unroll
    for (int w = 0; w < a_pack; ++w) {
      places.at[w] =
          first_plane() + index * pair_bytes + (head + w) * pitch + (head + w >= a_pack ? wrap : 0);
      compute_now(places.at[w]);
    }
    return places;
  }
  // Scales a pack that lies so many behind that one.
  __device__ __forceinline__ void scale_pack(const Places& places, int behind, float* v) const {
#pragma unroll
    for (int w = 0; w < a_pack; ++w) v[w] = pair(places.at[w] + behind * pair_bytes).scaled(v[w]);
  }

 private:
  // Packs from the first column on that two at boundaries hold, or one, the vector's as a whole.
  __device__ __forceinline__ int first_whole(const void* vector) const {
    return first == 0 && past_boundary(vector) != 0 ? 1 : 0;
  }
  __device__ __forceinline__ int whole_packs(const void* vector, int cols) const {
    const auto past = static_cast<int>(past_boundary(vector) / sizeof(T));
    return (cols - first + past) / a_pack - (past == 0 ? 0 : 1);
  }
  __device__ __forceinline__ void fill_pack(const Rowwise& p, int i, int cols) const {
    const int column = first + i * a_pack;
    float gamma[a_pack], beta[a_pack];
#pragma unroll
    for (int w = 0; w < a_pack; ++w) {
      const bool exists = column + w < cols;
      gamma[w] = exists ? vector_value<T>(p.gamma, column + w, 1.0f) : 1.0f;
      beta[w] = exists ? vector_value<T>(p.beta, column + w, 0.0f) : 0.0f;
    }
    set_pack(i, gamma, beta);
  }
};
// Host: their bytes.
template <class T>
constexpr std::size_t team_planes_bytes(int packs) {
  return planes_bytes<T, TeamPair<T>>(packs);
}

}  // namespace KW_TARGET::rowwise
