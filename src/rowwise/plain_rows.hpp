// A plain row in the registers of a team of threads, read once and written once.
//
// Idea        All loads of a thread are under way before the first is used, 16 bytes each, whatever
//             the row's boundary; what is converted is converted afterwards. Few threads have many
//             elements each rather than many threads few, so that little is exchanged for each.
// Limits      A row has at most 12288 elements of four bytes, 16384 of two.
#pragma once

#include "rowwise/cluster_team.hpp"
#include "rowwise/pack_steps.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

template <class T>
constexpr int edge_values(bool is_block) {
  return sizeof(T) == 4 || is_block ? 1 : 2;  // eight lanes have up to fourteen edges
}

// A thread's values of a row: its packs, then its edges.
template <bool softmax, class T, int packs, int edges>
struct PlainValues {
  static constexpr int a_pack = a_pack_of<T>, packed = packs * a_pack, count = packed + edges;
  RowCut cut;
  int begin, own_packs, own_edges;  // of the team: all of the row's, or a slice
  int lane, lanes;
  float v[count];

  __device__ __forceinline__ bool has(int i) const {
    return i < packed ? i / a_pack * lanes + lane < own_packs
                      : (i - packed) * lanes + lane < own_edges;
  }
  // Of value i, the first of a pack.
  __device__ __forceinline__ int element(int i) const {
    return i < packed ? cut.head + (begin + i / a_pack * lanes + lane) * a_pack
                      : cut.template edge<T>((i - packed) * lanes + lane);
  }

  __device__ __forceinline__ void load(const T* x) {
    const std::uint32_t nothing = softmax && sizeof(T) == 4 ? 0xFF800000u : 0u;  // -infinity, or 0
    const auto* const from = reinterpret_cast<const uint4*>(x + cut.head) + begin + lane;
    uint4 raw[packs];
    T edge[edges];
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      raw[k] = make_uint4(nothing, nothing, nothing, nothing);
      if (has(k * a_pack)) raw[k] = from[k * lanes];
    }
#pragma unroll
    for (int k = 0; k < edges; ++k) {
      edge[k] = T{};
      if (has(packed + k)) edge[k] = x[element(packed + k)];
    }
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      unpack(raw[k], T{}, v + k * a_pack);
      if (softmax && sizeof(T) == 2 && !has(k * a_pack)) {
#pragma unroll
        for (int w = 0; w < a_pack; ++w) v[k * a_pack + w] = -INFINITY;
      }
    }
#pragma unroll
    for (int k = 0; k < edges; ++k) {
      v[packed + k] = to_value(edge[k]);
      if (softmax && !has(packed + k)) v[packed + k] = -INFINITY;
    }
  }
  __device__ __forceinline__ void scale(const Rowwise& p, const Planes<T>& planes) {
    if (planes.exist) {
      const RowPlanes<T> row(planes, planes.first + cut.head);
#pragma unroll
      for (int k = 0; k < packs; ++k)
        if (has(k * a_pack)) row.scale(k * lanes + lane, v + k * a_pack);
#pragma unroll
      for (int i = packed; i < count; ++i) {
        if (has(i)) scale_one<T>(p, element(i), &v[i]);
      }
    } else {
#pragma unroll
      for (int k = 0; k < packs; ++k)
        if (has(k * a_pack)) scale_pack<T>(p, element(k * a_pack), v + k * a_pack);
#pragma unroll
      for (int i = packed; i < count; ++i)
        if (has(i)) scale_one<T>(p, element(i), &v[i]);
    }
  }
  __device__ __forceinline__ void store(T* y) const {
    auto* const to = reinterpret_cast<uint4*>(y + cut.head) + begin + lane;
#pragma unroll
    for (int k = 0; k < packs; ++k)
      if (has(k * a_pack)) to[k * lanes] = packed_as<T>(v + k * a_pack);
#pragma unroll
    for (int i = packed; i < count; ++i)
      if (has(i)) store_one(y + element(i), v[i]);
  }
};

// A team's part of the rows: which threads it has, and which packs of a row.
struct PlainPart {
  int lane, lanes;
  float count_inverse;  // 1 / a row's elements
  int begin = 0, most_packs = 0x7FFFFFFF;
  bool has_edges = true;
};

template <bool softmax, class T, int packs, int edges, class Team>
__device__ __forceinline__ void compute_plain_row(const Rowwise& p, std::int64_t row,
                                                  const PlainPart& part, const Planes<T>& planes,
                                                  Team& team) {
  const bool exists = row < p.rows;
  const auto* const x = static_cast<const T*>(p.x) + (exists ? row * p.ldx : 0);
  const auto cols = static_cast<int>(p.cols);
  PlainValues<softmax, T, packs, edges> values;
  values.cut = cut_row<T>(x, cols);
  values.begin = part.begin;
  values.own_packs = exists ? min(values.cut.packs - part.begin, part.most_packs) : 0;
  values.own_edges = exists && part.has_edges ? values.cut.edges : 0;
  values.lane = part.lane;
  values.lanes = part.lanes;
  values.load(x);
  if constexpr (softmax) {
    const bool logs = p.op == RowwiseOp::log_softmax;
    finish_values(values.v, softmax_of_team<RowSum<T>>(values.v, logs, team), logs);
  } else {
    normalise_by_team<RowSum<T>>(
        values.v, [&](int i) { return values.has(i); }, part.count_inverse,
        p.op == RowwiseOp::layer_norm, p.epsilon, team);
    values.scale(p, planes);
  }
  if (exists) values.store(static_cast<T*>(p.y) + row * p.ldy);
}

// Gamma and beta of a block's columns, from `first` on, in its shared memory, `begin` pairs behind
// where that begins.
template <class T>
__device__ __forceinline__ Planes<T> planes_of_block(const Rowwise& p, bool keeps, int begin,
                                                     int first, int packs) {
  if (!keeps) return {false, 0, 0, 0};
  const std::int64_t wanted = std::int64_t{first} + (std::int64_t{packs} + 1) * a_pack_of<T>;
  const Planes<T> planes = {true, begin, plane_pitch(packs), first};
  planes.fill(p, static_cast<int>(min(p.cols, wanted)), static_cast<int>(threadIdx.x),
              static_cast<int>(blockDim.x));
  __syncthreads();
  return planes;
}

// Threads of a block at most, two of which share a multiprocessor.
template <int values>
constexpr int plain_most_threads = values > 24 ? 384 : plain_block_threads;
constexpr int plain_cluster_threads = 384;
template <int values>
constexpr int plain_warp_blocks = values > 16 ? 3 : 4;  // a multiprocessor

// Teams of `lanes` lanes, of a warp.
template <bool softmax, class T, int packs>
__global__ void __launch_bounds__(plain_warp_threads, plain_warp_blocks<packs * a_pack_of<T>>)
    plain_rows_of_lanes(const __grid_constant__ Rowwise p, int lanes, bool keeps) {
  const auto thread = static_cast<int>(threadIdx.x);
  const PlainPart part = {thread % lanes, lanes, 1.0f / static_cast<float>(p.cols)};
  LaneTeam team = {lanes};
  Planes<T> planes = {false, 0, 0, 0};
  if constexpr (!softmax)
    planes = planes_of_block<T>(p, keeps, 0, 0, static_cast<int>(p.cols) / a_pack_of<T>);
  const int rows_at_once = plain_warp_threads / lanes;
  for (std::int64_t first = std::int64_t{blockIdx.x} * rows_at_once; first < p.rows;
       first += std::int64_t{gridDim.x} * rows_at_once) {
    compute_plain_row<softmax, T, packs, edge_values<T>(false)>(p, first + thread / lanes, part,
                                                                planes, team);
  }
}

// A block a row.
template <bool softmax, class T, int packs>
__global__ void __launch_bounds__(plain_most_threads<packs * a_pack_of<T>>, 2)
    plain_rows_of_blocks(const __grid_constant__ Rowwise p, bool keeps) {
  __shared__ TeamMemory memory;
  const auto threads = static_cast<int>(blockDim.x);
  const PlainPart part = {static_cast<int>(threadIdx.x), threads,
                          1.0f / static_cast<float>(p.cols)};
  BlockTeam team = {&memory, threads / warp_lanes, power_from(threads / warp_lanes)};
  Planes<T> planes = {false, 0, 0, 0};
  if constexpr (!softmax)
    planes = planes_of_block<T>(p, keeps, 0, 0, static_cast<int>(p.cols) / a_pack_of<T>);
  for (std::int64_t row = blockIdx.x; row < p.rows; row += gridDim.x)
    compute_plain_row<softmax, T, packs, edge_values<T>(true)>(p, row, part, planes, team);
}

// A cluster a row, a block a slice of it.
template <bool softmax, class T, int packs>
__global__ void __launch_bounds__(plain_cluster_threads, 2)
    plain_rows_of_clusters([[maybe_unused]] const __grid_constant__ Rowwise p,
                           [[maybe_unused]] int blocks, [[maybe_unused]] int slice_packs,
                           [[maybe_unused]] bool keeps) {
  if constexpr (has_cluster_rows) {
    auto& exchanged = *gpu::dynamic_shared<ClusterMemory>();
    if (threadIdx.x == 0) {
      exchanged.exchange.init();
      mbarrier_init_is_done();
    }
    arrive_at_cluster();
    const auto threads = static_cast<int>(blockDim.x);
    const int rank = rank_in_cluster();
    const PlainPart part = {static_cast<int>(threadIdx.x),
                            threads,
                            1.0f / static_cast<float>(p.cols),
                            rank * slice_packs,
                            slice_packs,
                            rank == 0};
    ClusterTeam team = {{&exchanged.team, threads / warp_lanes, power_from(threads / warp_lanes)},
                        &exchanged,
                        blocks,
                        rank};
    Planes<T> planes = {false, 0, 0, 0};
    if constexpr (!softmax) {
      planes = planes_of_block<T>(p, keeps, sizeof(ClusterMemory) / sizeof(float2),
                                  part.begin * a_pack_of<T>, slice_packs);
    }
    wait_for_cluster();
    const std::int64_t clusters = gridDim.x / static_cast<unsigned>(blocks);
    for (std::int64_t row = cluster_index(); row < p.rows; row += clusters)
      compute_plain_row<softmax, T, packs, edge_values<T>(true)>(p, row, part, planes, team);
  }
}

}  // namespace KW_TARGET::rowwise
