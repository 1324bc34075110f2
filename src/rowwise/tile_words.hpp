// Short plain rows of 16-bit types in tiles: in shared memory a row is words of two elements.
//
// Idea        As tile_rows.hpp, but a lane takes two elements at once: four lanes have the words
//             that lie within a row by turns, and its first and its last element where these are
//             half a word. Nobody keeps a row in registers, it is read from shared memory again
//             where it is used: so a row may have any number of words, and a lane has few
//             registers.
// Groups      Four words of each lane: eight values, as compute_packed takes them. Those that all
//             rows have are read without asking whether they exist.
// Turned      A warp's eight rows take a group's words in orders that the host chose, so that few
//             of them are in the same bank.
// In place    x becomes y. Of a word that two rows share each writes its own element alone.
#pragma once

#include "device/blocks_per_sm.hpp"
#include "rowwise/packed_rows.hpp"
#include "rowwise/planes.hpp"
#include "rowwise/tile_rows.hpp"

namespace KW_TARGET::rowwise {

constexpr int word_bytes = 4, group_words = 4;
constexpr int all_group_words = group_words * tile_word_lanes;
constexpr int group_bytes = all_group_words * word_bytes;
constexpr int quad_bytes = tile_word_lanes * word_bytes;

// Gamma's words, each beside beta's, at the beginning of shared memory: for rows that begin with a
// word, and behind them for those that begin within one.
struct WordPlanes {
  static constexpr int pair_bytes = 2 * word_bytes;

  // From one form to the other, `apart` quads of words beyond a multiple of all banks.
  static int pitch_of(int cols, int apart) {
    return ((cols / 2 / all_group_words + 1) * all_group_words + apart * tile_word_lanes) *
           pair_bytes;
  }

  template <class T>
  static __device__ __forceinline__ void fill(const Rowwise& p, const TileLaunch& launch, int begin,
                                              int thread, int threads) {
    const int cols = launch.cols, words = launch.plane_pitch / pair_bytes;
#pragma unroll 1
    for (int i = thread; i < 2 * words; i += threads) {
      const int column = i < words ? 2 * i : 2 * (i - words) + 1;
      shared_at<uint2>(begin + i * pair_bytes) = make_uint2(word_of<T>(p.gamma, 1.0f, column, cols),
                                                            word_of<T>(p.beta, 0.0f, column, cols));
    }
  }

 private:
  template <class T>
  static __device__ __forceinline__ std::uint32_t word_of(const void* vector, float absent,
                                                          int column, int cols) {
    const auto value = [&](int c) {
      return c < cols ? vector_value<T>(vector, c, absent) : absent;
    };
    return two_of(value(column), value(column + 1), T{});
  }
};

// A lane's words of a row, and its edge: the row's first element, or its last one.
template <bool softmax, class T>
struct TileWords {
  using Element = T;
  static constexpr int a_pack = 2 * group_words, lanes = tile_word_lanes, first = 0;
  static constexpr int tail = -1;  // the group of which some words are not the row's
  static constexpr std::uint32_t nothing = PlainLoads<softmax, T, lanes, 1>::nothing;
  struct Cut {
    int head;
  };
  Cut cut = {0};
  int cols, full;        // groups of all rows
  int at[group_words];   // in shared memory, of this lane's words of the first group
  int end;               // of the row's words
  int to_planes;         // from twice a word's place to that of its gamma and beta
  int edge_at, edge_to;  // of the edge, and of its gamma
  bool exists, is_edge;

  // Of a row from `from` on in shared memory.
  __device__ __forceinline__ TileWords(const TileLaunch& launch, int begin, int from, unsigned turn,
                                       int lane, int edge_to_, bool exists_)
      : cols(launch.cols), full(launch.full_groups), edge_to(edge_to_), exists(exists_) {
    static_assert(sizeof(T) == 2);
    const int row_end = from + launch.row_bytes, odd = from & 2;
    const int first_word = from + odd;
#pragma unroll
    for (int w = 0; w < group_words; ++w)
      at[w] = first_word + lane * word_bytes +
              static_cast<int>((turn + static_cast<unsigned>(w)) % group_words) * quad_bytes;
    end = row_end & -word_bytes;
    to_planes = begin + (odd != 0 ? launch.plane_pitch : 0) - 2 * first_word;
    const bool is_first = lane == 0;
    is_edge = exists && (is_first ? odd != 0 : lane == 1 && (row_end & 2) != 0);
    edge_at = is_first ? from : end;
  }

  __device__ __forceinline__ int pack_of(int k) const { return k == tail ? full : k; }
  // body(k, values) of each group; what is not the row's is `absent`.
  template <class Body>
  __device__ __forceinline__ void each_pack(const Body& body, float absent = 0) const {
#pragma unroll 2
    for (int k = 0; k < full; ++k) {
      float v[a_pack];
#pragma unroll
      for (int w = 0; w < group_words; ++w)
        unpack_pair(word(at[w] + k * group_bytes), T{}, v + 2 * w);
      body(k, v);
    }
    float v[a_pack];
#pragma unroll
    for (int w = 0; w < group_words; ++w) {
      unpack_pair(tail_word(w), T{}, v + 2 * w);
      if (!softmax && absent != 0 && !has(w)) v[2 * w] = v[2 * w + 1] = absent;
    }
    body(tail, v);
  }
  template <class Body>
  __device__ __forceinline__ void each_edge(const Body& body) const {
    if (is_edge) body(0, to_value(T{load_shared_half(edge_at)}));
  }
  template <class Planes>
  __device__ __forceinline__ void scale_edge(const Planes&, int, float* v) const {
    const float gamma = to_value(T{load_shared_half(edge_to)});
    *v = *v * gamma + to_value(T{load_shared_half(edge_to + word_bytes)});
  }

  __device__ __forceinline__ float largest() const {
    std::uint32_t pairs[2] = {nothing, nothing};
#pragma unroll 2
    for (int k = 0; k < full; ++k) {
#pragma unroll
      for (int w = 0; w < group_words; ++w)
        pairs[w % 2] = larger_pair<T>(pairs[w % 2], word(at[w] + k * group_bytes));
    }
#pragma unroll
    for (int w = 0; w < group_words; ++w) pairs[w % 2] = larger_pair<T>(pairs[w % 2], tail_word(w));
    float both[2];
    unpack_pair(larger_pair<T>(pairs[0], pairs[1]), T{}, both);
    float largest = fmaxf(fmaxf(-FLT_MAX, both[0]), both[1]);
    each_edge([&](int, float v) { largest = fmaxf(largest, v); });
    return largest;
  }
  template <bool with_rest>
  __device__ __forceinline__ RestAndSquares<float> sums() const {
    TensorSums<T> sums;
    std::uint32_t edge = 0;
    if (is_edge) edge = load_shared_half(edge_at);
#pragma unroll 2
    for (int k = 0; k < full; ++k) {
#pragma unroll
      for (int w = 0; w < group_words; w += 2)
        sums.template add<with_rest>(word(at[w] + k * group_bytes),
                                     word(at[w + 1] + k * group_bytes));
    }
#pragma unroll
    for (int w = 0; w < group_words; w += 2)
      sums.template add<with_rest>(tail_word(w), tail_word(w + 1));
    sums.template add<with_rest>(edge, 0u);
    return sums.template total<lanes>();
  }
  __device__ __forceinline__ int count() const { return cols; }

  // y.
  __device__ __forceinline__ void store(int k, const float* v) const {
#pragma unroll
    for (int w = 0; w < group_words; ++w) {
      if (k == tail ? exists && has(w) : exists)
        store_shared_word(at[w] + pack_of(k) * group_bytes, two_of(v[2 * w], v[2 * w + 1], T{}));
    }
  }
  __device__ __forceinline__ void store_edge(float v) const {
    store_shared_half(edge_at, static_cast<std::uint16_t>(two_of(v, 0.0f, T{})));
  }

 private:
  static __device__ __forceinline__ std::uint32_t word(int at) { return load_shared_word(at); }
  __device__ __forceinline__ bool has(int w) const { return at[w] + full * group_bytes < end; }
  __device__ __forceinline__ std::uint32_t tail_word(int w) const {
    return has(w) ? word(at[w] + full * group_bytes) : nothing;
  }
};

// Gamma and beta of a lane's words, as compute_packed has them.
template <class Row>
struct RowWords {
  static constexpr int first = 0;
  const Row& row;

  __device__ __forceinline__ int places(int, int) const { return 0; }
  __device__ __forceinline__ void scale_pack(int, int k, float* v) const {
#pragma unroll
    for (int w = 0; w < group_words; ++w) {
      const uint2 both = load_shared_words(2 * (row.at[w] + k * group_bytes) + row.to_planes);
      float gamma[2], beta[2];
      unpack_pair(both.x, typename Row::Element{}, gamma);
      unpack_pair(both.y, typename Row::Element{}, beta);
      v[2 * w] = v[2 * w] * gamma[0] + beta[0];
      v[2 * w + 1] = v[2 * w + 1] * gamma[1] + beta[1];
    }
  }
};

// Where compute_packed leaves y: in place of x.
template <class Row>
struct TileOutput {
  __device__ __forceinline__ static void store(const Row& row, int k, const float* v) {
    row.store(k, v);
  }
  __device__ __forceinline__ static void store_edge(const Row& row, int, float v) {
    row.store_edge(v);
  }
};

// Rows behind a tile's last one lie in its room as well: what is found of them nobody wants.
template <bool softmax, class T, TileGaps gaps>
__device__ __forceinline__ void compute_tile_words(const Rowwise& p, const TileLaunch& launch,
                                                   int rows, int at, int begin) {
  using Row = TileWords<softmax, T>;
  constexpr int lanes = Row::lanes;
  const int lane = static_cast<int>(threadIdx.x % warp_lanes);
  const unsigned turn = launch.turned >> lane / lanes * 2 & 3;
  const int last = launch.cols - 1;
  const int edge_to =
      begin + (lane % lanes == 0 ? 0 : (last >> 1) * WordPlanes::pair_bytes + (last & 1) * 2);
  AloneTeam team;
#pragma unroll 1
  for (int row = lane / lanes; row - lane / lanes < rows; row += warp_lanes / lanes) {
    const Row of_row(launch, begin, at + row * launch.step<gaps>(), turn, lane % lanes, edge_to,
                     row < rows);
    compute_packed<softmax, lanes>(p, TileOutput<Row>{}, of_row, RowWords<Row>{of_row},
                                   launch.pairs_bytes > 0, launch.count_inverse, team);
  }
}

template <bool softmax, class T, TileGaps gaps>
__global__ void __launch_bounds__(tile_word_threads,
                                  blocks_per_sm_within(tile_word_threads,
                                                       tile_word_sm_threads / tile_word_threads))
    tile_words_of_rows([[maybe_unused]] const __grid_constant__ Rowwise p,
                       [[maybe_unused]] const __grid_constant__ TileLaunch launch) {
  if constexpr (has_copy_engine) {
    each_tile<T, tile_word_threads, TileAddresses, gaps>(
        p, launch,
        [&](int begin) {
          WordPlanes::fill<T>(p, launch, begin, static_cast<int>(threadIdx.x), tile_word_threads);
        },
        [&](int rows, int at, int begin) {
          compute_tile_words<softmax, T, gaps>(p, launch, rows, at, begin);
        });
  }
}

}  // namespace KW_TARGET::rowwise
