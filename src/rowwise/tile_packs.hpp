// Short plain rows of 16-bit types in tiles: in shared memory a row is packs of 16 bytes.
//
// Idea        As tile_rows.hpp, but a lane takes eight elements at once. Packs between a row's
//             boundaries are whole; the one that it begins in and the one that it ends in have
//             elements of its neighbours too: lanes 0 and 1 have those, with what is not the
//             row's left out. So nothing is read by itself, and all of memory goes by whole lines.
// In place    x becomes y. Of a pack that two rows share each writes its own elements alone.
#pragma once

#include "rowwise/packed_rows.hpp"
#include "rowwise/planes.hpp"
#include "rowwise/tile_rows.hpp"

namespace KW_TARGET::rowwise {

// All bits from `bit` on, of a word that begins at bit 0.
__device__ __forceinline__ std::uint32_t bits_from(int bit) {
  return bit <= 0 ? ~0u : bit >= 32 ? 0u : ~0u << bit;
}

// Gamma's packs and beta's, at the beginning of shared memory, for each place past a boundary of 16
// bytes as a row that begins there has them.
template <class T>
struct PlacedPlanes {
  static constexpr int a_pack = a_pack_of<T>, first = 0;
  int pitch;  // packs of a place

  static constexpr KW_HOST_DEVICE int bytes(int packs) { return 2 * a_pack * packs * pack_bytes; }
  // Rows of neighbouring places are four packs apart among the banks, or twelve.
  static constexpr KW_HOST_DEVICE int pitch_of(int cols) {
    return ((cols + 2 * (a_pack - 1)) / a_pack + 3) / 8 * 8 + 4;
  }

  __device__ __forceinline__ void fill(const Rowwise& p, int cols, int thread, int threads) const {
#pragma unroll 1
    for (int i = thread; i < a_pack * pitch; i += threads) {
      const int past = i / pitch, column = (i - past * pitch) * a_pack - past;
      tile_shared<uint4>(i * pack_bytes) = pack_at(p.gamma, 1.0f, column, cols);
      tile_shared<uint4>((a_pack * pitch + i) * pack_bytes) = pack_at(p.beta, 0.0f, column, cols);
    }
  }
  // As Planes have it.
  struct Places {
    int head, index;
  };
  __device__ __forceinline__ Places places(int head, int index) const { return {head, index}; }
  __device__ __forceinline__ void scale_pack(const Places& places, int behind, float* v) const {
    const int head = places.head, index = places.index + behind;
    const int past = head == 0 ? 0 : a_pack - head;
    const int at = (past * pitch + (head == 0 ? 0 : 1) + index) * pack_bytes;
    float gamma[a_pack], beta[a_pack];
    unpack(tile_shared<const uint4>(at), T{}, gamma);
    unpack(tile_shared<const uint4>(at + a_pack * pitch * pack_bytes), T{}, beta);
#pragma unroll
    for (int w = 0; w < a_pack; ++w) v[w] = v[w] * gamma[w] + beta[w];
  }

 private:
  static __device__ __forceinline__ uint4 pack_at(const void* vector, float absent, int column,
                                                  int cols) {
    float v[a_pack];
#pragma unroll
    for (int w = 0; w < a_pack; ++w) {
      const bool exists = column + w >= 0 && column + w < cols;
      v[w] = exists ? vector_value<T>(vector, column + w, absent) : absent;
    }
    return packed_as<T>(v);
  }
};

// A lane's packs of a row.
template <bool softmax, class T>
struct TilePacks {
  static constexpr int a_pack = a_pack_of<T>, lanes = tile_pack_lanes, edge = tile_packs;
  static constexpr std::uint32_t nothing = PlainLoads<softmax, T, lanes, 1>::nothing;
  struct Cut {
    int head;
  };
  Cut cut;  // of planes
  int cols;
  int lane;
  int whole;  // packs of the row
  int first;  // in shared memory: of this lane's first whole pack, and of its other one
  int edge_at;
  int boundary;  // of elements of the other one: those from there on are the row's, or those before
  bool before;
  uint4 raw[tile_packs + 1];

  __device__ __forceinline__ TilePacks(int at, int cols_, int lane_, bool exists)
      : cols(cols_), lane(lane_) {
    const int past = at % pack_bytes / static_cast<int>(sizeof(T));
    cut.head = past == 0 ? 0 : a_pack - past;
    whole = exists ? (cols - cut.head) / a_pack : 0;
    const int end = at + (cut.head + whole * a_pack) * static_cast<int>(sizeof(T));
    first = at + cut.head * static_cast<int>(sizeof(T)) + lane * pack_bytes;
    edge_at = lane == 0 ? at / pack_bytes * pack_bytes : end;
    before = lane == 1;
    boundary = lane == 0 && past > 0 ? past : a_pack;
    if (before) boundary = cols - cut.head - whole * a_pack;
    if (!exists) boundary = before ? 0 : a_pack;
    load();
  }

  __device__ __forceinline__ bool has(int k) const { return lane + k * lanes < whole; }
  __device__ __forceinline__ bool has_edge() const { return boundary != (before ? 0 : a_pack); }
  // Of the row's packs, counted from the first whole one on.
  __device__ __forceinline__ int pack_of(int k) const {
    return k < edge ? lane + k * lanes : lane == 0 ? -1 : whole;
  }
  // body(k, values); what is not the row's is `absent`.
  template <class Body>
  __device__ __forceinline__ void each_pack(const Body& body, float absent = 0) const {
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      if (!has(k)) break;
      float v[a_pack];
      unpack(raw[k], T{}, v);
      body(k, v);
    }
    if (!has_edge()) return;
    float v[a_pack];
    unpack(raw[edge], T{}, v);
    if (!softmax && absent != 0) {
#pragma unroll
      for (int w = 0; w < a_pack; ++w) v[w] = is_own(w) ? v[w] : absent;
    }
    body(edge, v);
  }
  template <class Body>
  __device__ __forceinline__ void each_edge(const Body&) const {}
  template <class Planes>
  __device__ __forceinline__ void scale_edge(const Planes&, int, float*) const {}

  __device__ __forceinline__ float largest() const {
    return fmaxf(-FLT_MAX, largest_of_packs<T>(raw, nothing));
  }
  template <bool with_rest>
  __device__ __forceinline__ RestAndSquares<float> sums() const {
    TensorSums<T> sums;
#pragma unroll
    for (const uint4& one : raw) {
      sums.template add<with_rest>(one.x, one.y);
      sums.template add<with_rest>(one.z, one.w);
    }
    return sums.template total<lanes>();
  }
  __device__ __forceinline__ int count() const { return cols; }

  // y.
  __device__ __forceinline__ void store(int k, const float* v) const {
    const uint4 all = packed_as<T>(v);
    if (k < edge) {
      tile_shared<uint4>(first + k * lanes * pack_bytes) = all;
      return;
    }
    const std::uint32_t word[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
    for (int w = 0; w < a_pack; ++w)
      if (is_own(w))
        tile_shared<std::uint16_t>(edge_at + w * static_cast<int>(sizeof(T))) =
            static_cast<std::uint16_t>(word[w / 2] >> w % 2 * 16);
  }

 private:
  __device__ __forceinline__ bool is_own(int w) const { return (w >= boundary) != before; }
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int k = 0; k < tile_packs; ++k) {
      raw[k] = make_uint4(nothing, nothing, nothing, nothing);
      if (has(k)) raw[k] = tile_shared<const uint4>(first + k * lanes * pack_bytes);
    }
    raw[edge] = make_uint4(nothing, nothing, nothing, nothing);
    if (!has_edge()) return;
    const uint4 all = tile_shared<const uint4>(edge_at);
    const int bit = boundary * 8 * static_cast<int>(sizeof(T));
    const std::uint32_t other = before ? ~0u : 0u;
    raw[edge] = make_uint4(
        own(all.x, bits_from(bit) ^ other), own(all.y, bits_from(bit - 32) ^ other),
        own(all.z, bits_from(bit - 64) ^ other), own(all.w, bits_from(bit - 96) ^ other));
  }
  static __device__ __forceinline__ std::uint32_t own(std::uint32_t word, std::uint32_t bits) {
    return (word & bits) | (nothing & ~bits);
  }
};

// Where compute_packed leaves y: in place of x.
template <class Row>
struct TileOutput {
  __device__ __forceinline__ static void store(const Row& row, int k, const float* v) {
    row.store(k, v);
  }
  __device__ __forceinline__ static void store_edge(const Row&, int, float) {}
};

template <bool softmax, class T>
__device__ __forceinline__ void compute_tile_packs(const Rowwise& p, const TileLaunch& launch,
                                                   int rows, int at) {
  using Row = TilePacks<softmax, T>;
  constexpr int lanes = Row::lanes;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const PlacedPlanes<T> planes = {launch.plane_packs};
  AloneTeam team;
  const float count_inverse = 1.0f / static_cast<float>(launch.cols);
#pragma unroll 1
  for (int row = lane / lanes; row - lane / lanes < rows; row += warp_lanes / lanes) {
    const bool exists = row < rows;
    Row of_row(at + (exists ? row * launch.row_bytes : 0), launch.cols, lane % lanes, exists);
    __syncwarp();  // a pack of two rows is read before either writes to it
    compute_packed<softmax, lanes>(p, TileOutput<Row>{}, of_row, planes, launch.pairs_bytes > 0,
                                   count_inverse, team);
    __syncwarp();
  }
}

template <bool softmax, class T>
__global__ void __launch_bounds__(tile_pack_threads<softmax>,
                                  tile_sm_threads / tile_pack_threads<softmax>)
    tile_packs_of_rows([[maybe_unused]] const __grid_constant__ Rowwise p,
                       [[maybe_unused]] const __grid_constant__ TileLaunch launch) {
  if constexpr (has_copy_engine) {
    each_tile<T, tile_pack_threads<softmax>>(
        p, launch,
        [&] {
          PlacedPlanes<T>{launch.plane_packs}.fill(p, launch.cols, static_cast<int>(threadIdx.x),
                                                   tile_pack_threads<softmax>);
        },
        [&](int rows, int at) { compute_tile_packs<softmax, T>(p, launch, rows, at); });
  }
}

}  // namespace KW_TARGET::rowwise
