// Plain rows in the registers of lanes, of warps, or of a cluster's warps: read once, written once.
//
// Idea        Whoever has a row reads 16 bytes a load, whatever the row's boundary. Blocks have a
//             row for each of their teams, or a few one after the other, and end: the device starts
//             the next ones in order, so that what is under way lies close together, which memory
//             likes better by a tenth than blocks that stay and drift apart. Of several rows a
//             thread's part of the next one is on its way while it computes one. The warps of a
//             row meet once for each row, and a block's teams meet apart.
// Clusters    Stay, and draw rows. Each warp sends what it found to all blocks of the cluster, or
//             of sixteen blocks one of each does, and all wait for what all found: one meeting too.
// Norms       Gamma and beta are in shared memory (planes.hpp), for all rows of a block: of rows
//             that lie anyhow every eighth or fourth one, so that all of them begin alike past a
//             boundary.
// Launches    Blocks start while the launch before ends, and ask for their first rows (early.hpp).
//             Clusters let the next launch start when they are at their last row: before, its
//             clusters would settle unevenly on the multiprocessors that come free.
// Limits      A row has at most the packs of a block's threads, or those of a cluster's.
#pragma once

#include "device/overlap.hpp"
#include "rowwise/alike_planes.hpp"
#include "rowwise/early.hpp"
#include "rowwise/packed_rows.hpp"
#include "rowwise/plain_totals.hpp"
#include "rowwise/plain_values.hpp"
#include "rowwise/team_planes.hpp"
#include "rowwise/warp_teams.hpp"

namespace KW_TARGET::rowwise {

template <bool logs, class T, int lanes, int packs, class Team>
__device__ __forceinline__ void softmax_plain(PlainValues<true, T, lanes, packs>& row, Team& team) {
  using Row = PlainValues<true, T, lanes, packs>;
  using Unit = SoftmaxUnit<false>;
  const Unit unit = {combine_lanes(row.largest(), lanes, Larger{})};
  RowSum<T> sum = 0;
  const auto exponential = [&](float& v) {
    const float e = exp_of(v - unit.largest, true);
    if (!logs) v = e;
    return e;
  };
#pragma unroll
  for (int k = 0; k < Row::packs; ++k) {
    if (!row.any_has(k)) continue;
    sum += static_cast<RowSum<T>>(
        tree_of<Row::a_pack>([&](int w) { return exponential(row.v[k * Row::a_pack + w]); }));
  }
#pragma unroll
  for (float& each : row.edge) sum += static_cast<RowSum<T>>(exponential(each));
  sum = combine_lanes(sum, lanes, TotalSum{});

  RowTotal total;
  if constexpr (Team::is_alone)
    total = {unit.largest, softmax_by(logs, static_cast<double>(sum)), 0, 0};
  else
    total = team.meet(WarpFound{unit.largest, static_cast<float>(sum), 0, 0},
                      SoftmaxMeeting<RowSum<T>, false, logs>{});
  if constexpr (logs) {
    row.each([&](float& v) { v = (v - total.x) - total.y; });
  } else {
    float by = total.y;
    if constexpr (!Team::is_alone) by *= unit.in(Unit{total.x});
    row.each([&](float& v) { v *= by; });
  }
}

// v becomes what gamma multiplies; `count_inverse` is 1 / p.cols.
template <bool centers, class T, int lanes, int packs, class Team>
__device__ __forceinline__ void normalise_plain(PlainValues<false, T, lanes, packs>& row,
                                                float count_inverse, float epsilon, Team& team) {
  using Row = PlainValues<false, T, lanes, packs>;
  using Total = RowSum<T>;
  constexpr int a_pack = Row::a_pack;
  float near = 0;
  if constexpr (centers) {
    const int count = row.count_of_first();
    near = combine_lanes(row.sum_of_first(), lanes, TotalSum{}) *
           about_reciprocal(static_cast<float>(count > 0 ? count : 1));
  }
  // Sums in float of a pack, or of all packs of 16-bit types: chains of a few.
  float rests[4] = {}, squares[4] = {};
  Total wide = 0;
#pragma unroll
  for (int k = 0; k < Row::packs; ++k) {
    if (!row.any_has(k)) continue;
    float* const v = row.v + k * a_pack;
    const float from = centers && row.has(k) ? near : 0.0f;
#pragma unroll
    for (int w = 0; w < a_pack; ++w) {
      if constexpr (centers) {
        v[w] -= from;
        rests[w % 4] += v[w];
      }
      squares[w % 4] = fmaf(v[w], v[w], squares[w % 4]);
    }
    if (sizeof(Total) == sizeof(double) && (k % 2 == 1 || k + 1 == Row::packs)) {
      wide += static_cast<Total>(sum_of_four(squares));
#pragma unroll
      for (float& each : squares) each = 0;
    }
  }
#pragma unroll
  for (int k = 0; k < Row::edges; ++k) {
    if constexpr (centers) {
      row.edge[k] -= row.has_edge(k) ? near : 0.0f;
      rests[k % 4] += row.edge[k];
    }
    squares[k % 4] = fmaf(row.edge[k], row.edge[k], squares[k % 4]);
  }
  wide += static_cast<Total>(sum_of_four(squares));
  RestAndSquares<Total> sums = {sum_of_four(rests), wide};
  if constexpr (centers) {
    sums = combine_lanes(sums, lanes, SumOfRestAndSquares{});
  } else {
    sums = {0, combine_lanes(wide, lanes, TotalSum{})};
  }

  const NormMeeting<Total, centers, Team::stays> meeting = {count_inverse, epsilon};
  RowTotal total;
  if constexpr (Team::is_alone)
    total = meeting.of({near, sums.rest, sums.squares()});
  else
    total = team.meet(WarpFound{near, sums.rest, static_cast<float>(sums.squares()),
                                static_cast<float>(row.count())},
                      meeting);
  const float by = total.y, shift = fmaf(near - total.x, by, total.z);
  row.each([&](float& v) { v = fmaf(v, by, shift); });
}

// What is in `values` becomes y.
template <bool softmax, class T, int lanes, int packs, class Planes, class Team>
__device__ __forceinline__ void compute_plain(const Rowwise& p,
                                              PlainValues<softmax, T, lanes, packs>& values,
                                              const Planes& planes, bool scales,
                                              float count_inverse, Team& team) {
  using Values = PlainValues<softmax, T, lanes, packs>;
  if constexpr (softmax) {
    if (p.op == RowwiseOp::log_softmax)
      softmax_plain<true>(values, team);
    else
      softmax_plain<false>(values, team);
  } else {
    if (p.op == RowwiseOp::layer_norm)
      normalise_plain<true>(values, count_inverse, p.epsilon, team);
    else
      normalise_plain<false>(values, count_inverse, p.epsilon, team);
    if (!scales) return;
    const PlainPart& part = values.part;
    planes.template scale<Values::packs, lanes>(
        values.cut.head, part.warp_first + values.place - planes.first / a_pack_of<T>,
        [&](int k) { return values.has(k); }, values.v);
    if (!part.has_edges) return;
#pragma unroll
    for (int k = 0; k < Values::edges; ++k)
      if (values.has_edge(k)) planes.scale_edge(values.cut, part.lane + k * lanes, values.edge + k);
  }
}

// Memory moves sectors. Of one that is written in part, the L2 cache fetches the rest when it gives
// it back, unless it has that by then: short rows with gaps between them ask for it in time, for
// their first sector or their last.
__device__ __forceinline__ void ask_for_end(const Rowwise& p, const PlainLaunch& launch, int row,
                                            bool last) {
  prefetch_line_to_l2(static_cast<const char*>(p.y) +
                      std::uint64_t{static_cast<unsigned>(row)} * launch.ldy +
                      (last ? launch.row_bytes - 1 : 0));
}

// The first row, and gamma and beta: those come on their way before it where a block stays, for all
// such blocks begin at the same time.
template <bool stays, class Planes, class Load>
__device__ __forceinline__ void begin_rows(const Rowwise& p, const PlainLaunch& launch,
                                           const Planes& planes, bool scales, const Load& load) {
  const auto thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  if constexpr (stays)
    if (scales) planes.ask(p, launch.plane_packs, thread, threads);
  load();
  if (!scales) return;
  if constexpr (stays)
    planes.finish(p, launch.plane_packs, thread, threads);
  else
    planes.fill(p, launch.plane_packs, thread, threads);
  __syncthreads();
}

// Rows of one team from `row` on, before `end`: those that it draws, or `turns`, launch.step apart.
// Lanes of a warp go on together, so some of these may have none.
template <bool softmax, class T, int lanes, int packs, class Planes, class Team>
__device__ __forceinline__ void compute_plain_rows(const Rowwise& p, const PlainLaunch& launch,
                                                   int row, int end, int turns,
                                                   const PlainPart& part, const Planes& planes,
                                                   Team& team) {
  const auto cut_of = [&](const T* x) {
    if constexpr (softmax || !Planes::is_alike)
      return cut_row<T>(x, launch.cols);
    else
      return planes.cut;
  };
  PlainLoads<softmax, T, lanes, packs> loads;
  const auto load = [&](int next) {
    if constexpr (Team::is_alone)
      if (launch.gaps && part.lane < 2 && next < end) ask_for_end(p, launch, next, part.lane == 1);
    loads.load(p, launch, part, next, end, cut_of);
  };
  constexpr bool is_lone = Team::is_alone && is_lone_row<softmax, T, lanes, packs>;
  wait_for_previous_kernel();
  if constexpr (!Team::stays) let_next_kernel_start();
  const bool scales = !softmax && launch.scales;
  begin_rows<Team::stays>(p, launch, planes, scales, [&] { load(row); });
  team.begin();
  const float count_inverse = 1.0f / static_cast<float>(launch.cols);
  const auto compute = [&](int next) {
    if constexpr (sizeof(T) == 2) {
      PackedValues<softmax, T, lanes, packs> values(loads, part);
      if constexpr (!is_lone) load(next);
      compute_packed<softmax, lanes>(p, PlainOutput<T, lanes>(p, launch, values, row), values,
                                     planes, scales, count_inverse, team);
    } else {
      PlainValues<softmax, T, lanes, packs> values(loads, part);
      if constexpr (!is_lone) load(next);
      compute_plain(p, values, planes, scales, count_inverse, team);
      if constexpr (Team::stays)
        values.store(p, launch, team.row_met_for());
      else
        values.store(p, launch, row);
    }
  };
  if constexpr (Team::stays) {
#pragma unroll 1
    while ((row = team.row()) < end) {
      const int next = team.next_row();
      if (next >= end) let_next_kernel_start();
      compute(next);
    }
  } else {
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn, row += launch.step) {
      if (is_lone && turn > 0) load(row);
      compute(row + launch.step);
    }
  }
}

template <class T>
__device__ __forceinline__ RowCut cut_of_row(const Rowwise& p, const PlainLaunch& launch, int row) {
  return cut_row<T>(
      static_cast<const char*>(p.x) + std::uint64_t{static_cast<unsigned>(row)} * launch.ldx,
      launch.cols);
}

// A block's rows: every alike-th from the first one on. Of norms all are cut alike.
template <bool softmax, class T>
struct BlockRows {
  int first, end, turns;
  RowCut cut;

  __device__ __forceinline__ BlockRows(const Rowwise& p, const PlainLaunch& launch) {
    auto block = static_cast<int>(blockIdx.x);
    const bool is_long = block < launch.long_blocks;
    turns = is_long ? launch.long_turns : 1;
    const int rows = turns * launch.at_once;
    int before = 0;
    if (!is_long) {
      block -= launch.long_blocks;
      before = launch.long_blocks * launch.long_turns * launch.at_once;
    }
    const int of_group = block & (launch.alike - 1);
    first = before + (block - of_group) * rows + of_group;
    end = min(launch.rows, first + rows * launch.alike);
    cut = cut_of_row<T>(p, launch, first);
  }
  template <int lanes, int packs, class Team>
  __device__ __forceinline__ void compute(const Rowwise& p, const PlainLaunch& launch, int team_row,
                                          const PlainPart& part, Team& team) const {
    compute_plain_rows<softmax, T, lanes, packs>(
        p, launch, first + team_row * launch.alike, end, turns, part,
        AlikePlanes<T>(0, launch.plane_packs, 0, cut), team);
  }
};

// The rows that the first blocks begin with, a thread for each, and gamma and beta.
__device__ __forceinline__ void ask_for_first_rows(const Rowwise& p, const PlainLaunch& launch) {
  if (static_cast<int>(blockIdx.x) >= launch.early) return;
  const auto thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int of_group = block & (launch.alike - 1);
  const int row =
      (block - of_group) * launch.at_once * launch.long_turns + of_group + thread * launch.alike;
  if (thread < launch.at_once && row < launch.rows)
    ask_for(static_cast<const char*>(p.x) + std::uint64_t{static_cast<unsigned>(row)} * launch.ldx,
            launch.row_bytes);
  if (launch.scales && block == 0) ask_for_scales(p, 0, launch.row_bytes, thread);
}

// A row is some lanes' of a warp, or a warp's. Of as many blocks elsewhere than on Hopper registers
// would spill, as of two below.
template <bool softmax, class T, int lanes, int packs>
__global__ void __launch_bounds__(plain_lane_threads,
                                  (plain_lane_blocks<softmax, T>(lanes, packs)) -
                                      (has_copy_engine ? 0 : 1))
    plain_rows_of_lanes([[maybe_unused]] const __grid_constant__ Rowwise p,
                        [[maybe_unused]] const __grid_constant__ PlainLaunch launch) {
  if constexpr (has_copy_engine || !is_lanes_on_hopper<softmax, T, packs>) {
    ask_for_first_rows(p, launch);
    const auto thread = static_cast<int>(threadIdx.x);
    AloneTeam team;
    BlockRows<softmax, T>(p, launch).template compute<lanes, packs>(
        p, launch, thread / lanes,
        {0, lanes * packs, thread % lanes, true, shifts_lanes<softmax, T, lanes, packs>}, team);
  }
}

// A row is some warps' of a block. Of two blocks elsewhere than on Hopper registers would spill.
template <bool softmax, class T>
__global__ void __launch_bounds__(plain_threads<T>, has_copy_engine ? 2 : 1)
    plain_rows_of_warps(const __grid_constant__ Rowwise p,
                        const __grid_constant__ PlainLaunch launch) {
  __shared__ FoundInBlock memory;
  ask_for_first_rows(p, launch);
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const int which = warp / launch.warps, of_row = warp % launch.warps;
  WarpsTeam team = {&memory, &launch, warp - of_row};
  BlockRows<softmax, T>(p, launch).template compute<warp_lanes, plain_block_packs<T>>(
      p, launch, which, {of_row * launch.part_packs, launch.part_packs, lane, of_row == 0}, team);
}

// The same of a block of a cluster: its part of the cluster's first row.
__device__ __forceinline__ void ask_for_first_part(const Rowwise& p, const PlainLaunch& launch,
                                                   int rank, int row, int thread) {
  if (row >= launch.rows) return;
  const unsigned part = static_cast<unsigned>(launch.plane_packs) * pack_bytes;
  const unsigned skip = static_cast<unsigned>(rank) * part;
  if (skip >= launch.row_bytes) return;
  const unsigned bytes = min(part, launch.row_bytes - skip);
  if (thread == 0)
    ask_for(static_cast<const char*>(p.x) + std::uint64_t{static_cast<unsigned>(row)} * launch.ldx +
                skip,
            bytes);
  if (launch.scales && row == 0) ask_for_scales(p, skip, bytes, thread);
}

template <bool large, bool several>
using ClusterTeam = std::conditional_t<large, BlocksTeam<several>, ClusterWarpsTeam<several>>;

// A row is all warps' of a cluster, `large`: one of plain_large_blocks. `several`: a block has some
// teams, each with a row, which share gamma and beta. `alike`: rows of one cluster begin alike past
// a boundary, which holds of no more clusters than a multiple of the ways in which rows begin.
enum class ClusterForm { one_row, alike, several };
template <bool softmax, class T, ClusterForm form, bool large>
__global__ void __launch_bounds__(
    (plain_cluster_threads<softmax, T, form == ClusterForm::several, large>),
    large&& form != ClusterForm::several ? 2 : 1)
    plain_rows_of_clusters([[maybe_unused]] const __grid_constant__ Rowwise p,
                           [[maybe_unused]] const __grid_constant__ PlainLaunch launch) {
  if constexpr (has_copy_engine) {
    constexpr bool several = form == ClusterForm::several;
    using Team = ClusterTeam<large, several>;
    auto* const memory = gpu::dynamic_shared<typename Team::Memory>();
    const int teams = several ? launch.at_once : 1;
    const int first_row = cluster_index() * teams;
    if (threadIdx.x == 0)
      for (int i = 0; i < teams; ++i) memory[i].init(first_row + i, first_row + i + launch.step);
    __syncthreads();
    arrive_at_cluster();
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    int which = 0, warp = static_cast<int>(threadIdx.x) / warp_lanes;
    if constexpr (several) {
      warp = from_lane(warp, 0);  // the compiler knows then that all lanes have the same
      which = warp / launch.warps;
      warp -= which * launch.warps;
    }
    const int rank = rank_in_cluster();
    const int place = rank * launch.warps + warp, row = first_row + which;
    if (warp == 0) ask_for_first_part(p, launch, rank, row, lane);
    Team team(&launch, which, warp);
    const auto compute = [&](const auto& planes) {
      compute_plain_rows<softmax, T, warp_lanes, plain_most_packs<T>>(
          p, launch, row, launch.rows, 0,
          {place * launch.part_packs, launch.part_packs, lane, place == 0}, planes, team);
    };
    const int begin = teams * static_cast<int>(sizeof(typename Team::Memory));
    const int first = rank * launch.plane_packs * a_pack_of<T>;
    if constexpr (form == ClusterForm::alike)
      compute(AlikePlanes<T>(begin, launch.plane_packs, first, cut_of_row<T>(p, launch, row)));
    else
      compute(TeamPlanes<T>(begin, launch.plane_packs, first));
  }
}

}  // namespace KW_TARGET::rowwise
