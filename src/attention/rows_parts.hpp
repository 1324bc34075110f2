// The parts of attention_rows: what is in shared memory, copies, both products and the softmax
// between them, and how parts of the keys are merged.
#pragma once

#include "attention/packed_rows.hpp"
#include "attention/part_merge.hpp"
#include "attention/rows_plan.hpp"
#include "device/async_copy.hpp"
#include "device/load_floats.hpp"
#include "device/warp.hpp"

namespace KW_TARGET::attention {

constexpr int rows_threads = 128, rows_warps = rows_threads / warp_lanes;

template <int index>
struct RowsShape {
  static constexpr RowsConfig c = rows_configs[index];
  static constexpr int D = c.dim, rows = c.rows, keys = c.keys, warp_rows = rows / rows_warps;
  // Of scores: lanes along the keys and along the rows, rows and keys a lane.
  static constexpr int key_lanes = c.key_lanes, row_lanes = 32 / key_lanes,
                       TQ = warp_rows / row_lanes, TK = keys / key_lanes;
  // Of a key's weights: so that lanes that have neighbouring keys write to different banks.
  static constexpr int w_pitch = warp_rows % 8 == 0 ? warp_rows + 4 : warp_rows;
  static constexpr int TD = D / 32;                         // columns of O a lane
  static constexpr int blocks = rows == 64 ? 3 : c.blocks;  // for which registers leave room
  static constexpr int pitch = D + 4;  // of rows that lanes read next to each other
  // Of scores a lane first has parts of all its warp's rows, over its share of the head: with that
  // it loads half as much for a product as with its own rows and all of the head. Of 64 rows parts
  // take the registers that loads ahead need; heads of 64 and less gain nothing.
  static constexpr bool splits_head = D > 64 && row_lanes > 1 && rows <= 32;
  static constexpr int head_lanes = splits_head ? row_lanes : 1,
                       first_rows = splits_head ? warp_rows : TQ,
                       row_step = splits_head ? 1 : row_lanes;
  // Whether elements of the next step are loaded while those of one are multiplied: where these are
  // few. Heads of 64 and less have more blocks on a multiprocessor, which hide what loads take.
  static constexpr bool loads_ahead = D > 64, loads_scores_ahead = loads_ahead && first_rows < 8;

  // Which column of a part lies at a place: neighbours are swapped, where a lane has some.
  static constexpr int column_in_part(int place) { return TD > 1 ? place ^ 1 : place; }
  // A part of the keys: as PartSums, but with outputs by rows, as lanes have them.
  struct Part {
    static constexpr int rows = RowsShape::c.rows;
    static constexpr bool is_divided = false;
    alignas(16) float o[c.rows][D];
    float largest[c.rows], sum[c.rows];
  };
  struct Shared {
    alignas(16) float q[rows][pitch];
    // Behind each of these there is room for what is loaded ahead.
    alignas(16) float v[keys][D];
    alignas(16) float k[keys][pitch];
    alignas(16) float weights[rows_warps][keys][w_pitch];
    alignas(16) float factors[rows];  // of what was summed before
    PackedRow row[rows];
    bool comes_last;
  };
  static_assert(most_row_parts * rows <= keys * pitch);
};

// Starts to copy `count` rows of the head's size, zeros where there is none. `row(r)` is where row
// r begins: of the rows of a thread it is asked one after the other, `step` apart.
template <int count, int D, int pitch, class Row>
__device__ __forceinline__ void copy_rows(float* to, int dim, bool aligned, const float* any,
                                          const Row& row) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto copy = [&](auto bytes) {
    constexpr int width = decltype(bytes)::value / 4, across = D / width;
    constexpr int step = rows_threads > across ? rows_threads / across : 1;
#pragma unroll 1
    for (int d = thread % across * width; d < D; d += rows_threads * width) {
#pragma unroll 4
      for (int r0 = 0; r0 < count; r0 += step) {
        const int r = r0 + thread / across % step;
        if (count % step != 0 && r >= count) break;
        const float* const from = row(r);
        const bool there = from != nullptr && d < dim;
        async_copy<width * 4>(to + r * pitch + d, there ? from + d : any, there ? width * 4 : 0);
      }
    }
  };
  if (aligned)
    copy(std::integral_constant<int, 16>());
  else
    copy(std::integral_constant<int, 4>());
}

// What a warp has met so far. Largest scores and sums lie as scores do, sums of this lane's keys.
template <int index>
struct RowsSums {
  using S = RowsShape<index>;
  float largest[S::TQ], sum[S::TQ], o[S::warp_rows][S::TD];
};

// A lane of a warp: of scores it has rows `row_lanes` and keys `key_lanes` apart, of outputs
// all its warp's rows and up to four columns next to each other.
template <int index>
struct RowsPlace {
  using S = RowsShape<index>;
  int warp, lane;
  __device__ __forceinline__ RowsPlace()
      : warp(static_cast<int>(threadIdx.x) / warp_lanes),
        lane(static_cast<int>(threadIdx.x) % warp_lanes) {}
  __device__ __forceinline__ int row_in_warp(int i) const {
    return i * S::row_lanes + lane / S::key_lanes;
  }
  __device__ __forceinline__ int key(int t) const { return t * S::key_lanes + lane % S::key_lanes; }
  static constexpr int together = S::TD < 4 ? S::TD : 4;
  __device__ __forceinline__ int column(int j) const {
    return j / 4 * 128 + lane * together + j % 4;
  }
};

// Adds the products of `count` elements, `step` at a time. Where loads are ahead, up to three steps
// are loaded that are not multiplied, or whose weights are 0: they lie in shared memory too.
template <int step, bool loads_ahead, int unrolled, class Load, class Add>
__device__ __forceinline__ void multiply_steps(int count, const Load& load, const Add& add) {
  if constexpr (loads_ahead) {
    load(0, 0);
#pragma unroll 1
    for (int i = 0; i < count; i += 2 * step) {
      load(1, i + step);
      add(0);
      load(0, i + 2 * step);
      add(1);
    }
  } else {
#pragma unroll unrolled
    for (int i = 0; i < count; i += step) {
      load(0, i);
      add(0);
    }
  }
}

// Products of the first `count` keys of each lane, or of `groups`, where these are fewer.
template <int index, int count>
__device__ __forceinline__ void multiply_some(
    float (&x)[RowsShape<index>::first_rows][RowsShape<index>::TK], const float* q, const float* k,
    int dim, int groups) {
  using S = RowsShape<index>;
  if constexpr (count > 1) {
    if (groups < count) return multiply_some<index, count - 1>(x, q, k, dim, groups);
  }
  float a[2][S::first_rows][4], b[2][count][4];
  const auto load = [&](int which, int d) {
#pragma unroll
    for (int t = 0; t < count; ++t) load_floats(b[which][t], k + t * S::key_lanes * S::pitch + d);
#pragma unroll
    for (int i = 0; i < S::first_rows; ++i)
      load_floats(a[which][i], q + i * S::row_step * S::pitch + d);
  };
  const auto add = [&](int which) {
#pragma unroll
    for (int e = 0; e < 4; ++e)
#pragma unroll
      for (int i = 0; i < S::first_rows; ++i)
#pragma unroll
        for (int t = 0; t < count; ++t) x[i][t] = fmaf(a[which][i][e], b[which][t][e], x[i][t]);
  };
  multiply_steps<4 * S::head_lanes, S::loads_scores_ahead, 2>(dim, load, add);
}

// Of rows `lanes` apart, which two lanes have parts of, each lane keeps one's sum: the second one
// has those whose number has this bit.
template <int index, int lanes, int rows>
__device__ __forceinline__ void add_head_lanes(
    float (&x)[RowsShape<index>::TQ][RowsShape<index>::TK],
    const float (&of_share)[rows][RowsShape<index>::TK], int lane) {
  using S = RowsShape<index>;
  if constexpr (lanes == 0) {
#pragma unroll
    for (int i = 0; i < S::TQ; ++i)
#pragma unroll
      for (int t = 0; t < S::TK; ++t) x[i][t] = of_share[i][t];
  } else {
    const bool is_second = (lane / S::key_lanes & lanes) != 0;
    float sums[rows / 2][S::TK];
#pragma unroll
    for (int i = 0; i < rows / 2; ++i) {
      const int first = i / lanes * 2 * lanes + i % lanes, second = first + lanes;
#pragma unroll
      for (int t = 0; t < S::TK; ++t) {
        const float own = is_second ? of_share[second][t] : of_share[first][t],
                    other = is_second ? of_share[first][t] : of_share[second][t];
        sums[i][t] = own + __shfl_xor_sync(whole_warp(), other, lanes * S::key_lanes);
      }
    }
    add_head_lanes<index, lanes / 2>(x, sums, lane);
  }
}

// Scores of a tile of which so many keys are there: whole groups of lanes that have none are left
// out.
template <int index>
__device__ __forceinline__ void multiply_q_k(float (&x)[RowsShape<index>::TQ][RowsShape<index>::TK],
                                             const typename RowsShape<index>::Shared& shared,
                                             const RowsPlace<index>& own, int dim, int keys) {
  using S = RowsShape<index>;
  const int groups = ceil_div(keys, S::key_lanes);
  const float* const k = shared.k[own.key(0)];
  if constexpr (S::splits_head) {
    float of_share[S::warp_rows][S::TK] = {};
    const int d = own.lane / S::key_lanes * 4;
    multiply_some<index, S::TK>(of_share, shared.q[own.warp * S::warp_rows] + d, k + d, dim,
                                groups);
    add_head_lanes<index, S::head_lanes / 2>(x, of_share, own.lane);
  } else {
#pragma unroll
    for (auto& row : x)
#pragma unroll
      for (float& score : row) score = 0;
    multiply_some<index, S::TK>(x, shared.q[own.warp * S::warp_rows + own.row_in_warp(0)], k, dim,
                                groups);
  }
}

// Scores become weights, in shared memory, and earlier sums are told their factors.
template <int index>
__device__ __forceinline__ void weigh_rows(float (&x)[RowsShape<index>::TQ][RowsShape<index>::TK],
                                           RowsSums<index>& sums,
                                           typename RowsShape<index>::Shared& shared,
                                           const RowsPlace<index>& own, const Attention& p,
                                           std::int64_t first_key, std::int64_t end) {
  using S = RowsShape<index>;
  const bool scales = scales_products(p);
  const float of_scores = score_factor(p);
  float largest[S::TQ];
#pragma unroll
  for (int i = 0; i < S::TQ; ++i) {
    const PackedRow& row = shared.row[own.warp * S::warp_rows + own.row_in_warp(i)];
    const std::int64_t seen = (row.keys < end ? row.keys : end) - first_key;
    const float* const mask = row.mask;
    largest[i] = minus_infinity();
#pragma unroll
    for (int t = 0; t < S::TK; ++t) {
      const int key = own.key(t);
      float& score = x[i][t];
      if (scales) {
        score *= p.scale;
        if (mask != nullptr && key < seen) score += mask[first_key + key];
        score *= log2_e;
      }
      if (key >= seen) score = minus_infinity();
      largest[i] = fmaxf(largest[i], score);
    }
  }
#pragma unroll
  for (int lanes = S::key_lanes / 2; lanes > 0; lanes /= 2)
#pragma unroll
    for (int i = 0; i < S::TQ; ++i)
      largest[i] = fmaxf(largest[i], __shfl_xor_sync(whole_warp(), largest[i], lanes));
#pragma unroll
  for (int i = 0; i < S::TQ; ++i) {
    largest[i] = fmaxf(largest[i], sums.largest[i]);
    const float reference = reference_of(largest[i]),
                factor = rescale(sums.largest[i], reference, of_scores);
    sums.largest[i] = largest[i];
    sums.sum[i] *= factor;
    if (own.lane % S::key_lanes == 0)
      shared.factors[own.warp * S::warp_rows + own.row_in_warp(i)] = factor;
#pragma unroll
    for (int t = 0; t < S::TK; ++t) {
      x[i][t] = power_of_2((x[i][t] - reference) * of_scores);
      sums.sum[i] += x[i][t];
    }
  }
#pragma unroll
  for (int t = 0; t < S::TK; ++t)
#pragma unroll
    for (int i = 0; i < S::TQ; ++i)
      shared.weights[own.warp][own.key(t)][own.row_in_warp(i)] = x[i][t];
}

// O = O * factors + weights * V, of `count` keys.
template <int index>
__device__ __forceinline__ void multiply_w_v(RowsSums<index>& sums,
                                             const typename RowsShape<index>::Shared& shared,
                                             const RowsPlace<index>& own, int count) {
  using S = RowsShape<index>;
  float factors[S::warp_rows];
  load_floats(factors, &shared.factors[own.warp * S::warp_rows]);
#pragma unroll
  for (int r = 0; r < S::warp_rows; ++r)
#pragma unroll
    for (int j = 0; j < S::TD; ++j) sums.o[r][j] *= factors[r];
  constexpr int together = RowsPlace<index>::together;
  const float *const weights = shared.weights[own.warp][0], *const values = shared.v[0];
  float w[2][S::warp_rows], v[2][S::TD];
  const auto load = [&](int which, int key) {
    load_floats(w[which], weights + key * S::w_pitch);
#pragma unroll
    for (int j = 0; j < S::TD; j += together) {
      float some[together];
      load_floats(some, values + key * S::D + own.column(j));
#pragma unroll
      for (int e = 0; e < together; ++e) v[which][j + e] = some[e];
    }
  };
  // Along a row and back along the next, so that an FFMA finds one operand in the reuse cache; sums
  // lie in the other bank of registers than V's elements, as parts are stored with neighbours
  // swapped.
  const auto add = [&](int which) {
#pragma unroll
    for (int r = 0; r < S::warp_rows; ++r)
#pragma unroll
      for (int step = 0; step < S::TD; ++step) {
        const int j = r % 2 == 0 ? step : S::TD - 1 - step;
        sums.o[r][j] = fmaf(w[which][r], v[which][j], sums.o[r][j]);
      }
  };
  multiply_steps<1, S::loads_ahead, 4>(count, load, add);
}

// Elements of a row's output next to each other from column `d` on.
template <int count>
__device__ __forceinline__ void store_outputs(float* to, int d, int dim, const float (&x)[count],
                                              bool o16) {
  if (count == 4 && o16) {
    if (d < dim)
      *reinterpret_cast<float4*>(to + d) =
          make_float4(x[0], x[1 % count], x[2 % count], x[3 % count]);
    return;
  }
#pragma unroll
  for (int e = 0; e < count; ++e)
    if (d + e < dim) to[d + e] = x[e];
}

template <int index>
__device__ __forceinline__ void store_rows(const RowsSums<index>& sums,
                                           typename RowsShape<index>::Shared& shared,
                                           const RowsPlace<index>& own, int dim, bool o16) {
  using S = RowsShape<index>;
  __syncwarp();  // factors were read
  if (own.lane % S::key_lanes == 0) {
#pragma unroll
    for (int i = 0; i < S::TQ; ++i)
      shared.factors[own.warp * S::warp_rows + own.row_in_warp(i)] = divisor(sums.sum[i]);
  }
  __syncwarp();
  constexpr int together = RowsPlace<index>::together;
#pragma unroll
  for (int r = 0; r < S::warp_rows; ++r) {
    float* const to = shared.row[own.warp * S::warp_rows + r].o;
    if (to == nullptr) continue;
    const float by = shared.factors[own.warp * S::warp_rows + r];
#pragma unroll
    for (int j = 0; j < S::TD; j += together) {
      float x[together];
#pragma unroll
      for (int e = 0; e < together; ++e) x[e] = sums.o[r][j + e] * by;
      store_outputs(to, own.column(j), dim, x, o16);
    }
  }
}

template <int index>
__device__ __forceinline__ void store_part_of_rows(typename RowsShape<index>::Part& to,
                                                   const RowsSums<index>& sums,
                                                   const RowsPlace<index>& own) {
  using S = RowsShape<index>;
  if (own.lane % S::key_lanes == 0) {
#pragma unroll
    for (int i = 0; i < S::TQ; ++i) {
      const int row = own.warp * S::warp_rows + own.row_in_warp(i);
      to.largest[row] = sums.largest[i];
      to.sum[row] = sums.sum[i];
    }
  }
  constexpr int together = RowsPlace<index>::together;
#pragma unroll
  for (int r = 0; r < S::warp_rows; ++r)
#pragma unroll
    for (int j = 0; j < S::TD; j += together) {
      float x[together];
#pragma unroll
      for (int e = 0; e < together; ++e) x[e] = sums.o[r][j + S::column_in_part(e)];
      store_outputs(to.o[own.warp * S::warp_rows + r], own.column(j), S::D, x, true);
    }
}

template <int index>
__device__ __forceinline__ void merge_rows(typename RowsShape<index>::Shared& shared,
                                           const typename RowsShape<index>::Part* all, int parts,
                                           float of_scores, int dim, bool o16) {
  using S = RowsShape<index>;
  const int thread = static_cast<int>(threadIdx.x);
  float* const factors = shared.k[0];
  find_factors<rows_threads>(all, parts, of_scores, factors, thread);
  __syncthreads();
  // Four columns of a row a time; loads of some such pieces are under way together.
  constexpr int quads = S::D / 4, pieces = ceil_div(S::rows * quads, rows_threads),
                at_once = pieces < 4 ? pieces : 4;
  static_assert(pieces % at_once == 0);
#pragma unroll 1
  for (int first = thread; first < S::rows * quads; first += at_once * rows_threads) {
    float x[at_once][4] = {};
#pragma unroll 2
    for (int part = 0; part < parts; ++part)
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int piece = first + i * rows_threads, row = piece / quads;
        const float4 own =
            __ldcg(reinterpret_cast<const float4*>(&all[part].o[row][piece % quads * 4]));
        const float by = factors[part * S::rows + row], elements[4] = {own.x, own.y, own.z, own.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& sum = x[i][S::column_in_part(e)];
          sum = fmaf(elements[e], by, sum);
        }
      }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int piece = first + i * rows_threads;
      float* const to = shared.row[piece / quads].o;
      if (to != nullptr) store_outputs(to, piece % quads * 4, dim, x[i], o16);
    }
  }
}

}  // namespace KW_TARGET::attention
