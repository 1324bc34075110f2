// Long plain rows: a row through the shared memory of a team of blocks, read once, written once.
//
// Idea        All blocks of the launch run at once, one on each multiprocessor, in teams. A block
//             has a slice of its team's row, and of every row that the team takes after it. One
//             warp has the copy engine bring pieces of it into a ring, as far ahead as the ring
//             has room, also of the rows to come. Some warps find the totals of a slice as its
//             pieces come; some meet the team's other blocks (ring_meeting.hpp); others, rows
//             behind, write the slices of which the row's totals are there, piece by piece, each
//             of which makes room for the next one. So nobody who writes waits for one who reads,
//             and memory does both all the time.
// Phases      Rows that fill whole rounds of small teams go first; the rest are a larger team's
//             each, so that all multiprocessors have a part of them too.
// Norms       A block's slice is of the same columns in all rows: gamma and beta of these are in
//             shared memory (planes.hpp).
// Edges       A row's elements outside of packs (packs.hpp) are of the first block's threads.
// Order       Totals are merged by each block in the same order.
// Launches    A launch's blocks are placed while those of the launch before end, and ask for their
//             first slices (early.hpp): 80.0 to 81.6 % of the copy bandwidth, 51 problems.
// Limits      A slice, and gamma and beta of it, fit a block's shared memory.
#pragma once

#include "rowwise/early.hpp"
#include "rowwise/planes.hpp"
#include "rowwise/ring_meeting.hpp"
#include "rowwise/ring_totals.hpp"

namespace KW_TARGET::rowwise {

// A ring has room for more rows where gamma and beta take less.
template <class T>
using RingPlanes = Planes<T, std::conditional_t<sizeof(T) == 2, NarrowPair<T>, WidePair<T>>>;
// Host: their bytes.
inline std::size_t ring_plane_bytes(int packs, DataType type) {
  return type == DataType::float32 ? planes_bytes<float, WidePair<float>>(packs)
                                   : planes_bytes<float16, NarrowPair<float16>>(packs);
}

template <bool softmax, class T>
__device__ __forceinline__ void find_ring_totals(const Rowwise& p, const RingPlan& plan,
                                                 RingMemory& shared, int thread) {
  RingPlace place;
  each_ring_turn(
      plan, [](const RingPhase&, const RingSeat&) {},
      [&](const RingTurn& turn) {
        const int rank = turn.seat.rank;
        const RingRow<T, ring_finders> row = {
            plan, shared, slice_of<T>(p, turn.phase, rank, turn.row), place, thread};
        const RingEdge<T> edge(p, row.slice, rank, thread);
        WarpFound own;
        if constexpr (softmax)
          own = softmax_of_slice(row, edge.v, edge.exists);
        else if (p.op == RowwiseOp::layer_norm)
          own = norm_of_slice<true>(row, edge.v, edge.exists);
        else
          own = norm_of_slice<false>(row, edge.v, edge.exists);
        if (thread % warp_lanes != 0) return;
        shared.founds[turn.held()][thread / warp_lanes] = own;
        mbarrier_arrive(&shared.found[turn.held()]);
      });
}

// finish(v) makes y of the values v, but for gamma and beta.
template <bool scales, class T, class Finish>
__device__ __forceinline__ void write_slice(const Rowwise& p, const RingRow<T, ring_writers>& row,
                                            const RingEdge<T>& edge, const RingPlanes<T>& planes,
                                            const Finish& finish) {
  using Values = RingValues<T, ring_writers>;
  constexpr int a_pack = Values::a_pack;
  auto* const y = static_cast<T*>(p.y) + row.slice.row * p.ldy;
  auto* const to = reinterpret_cast<uint4*>(y + row.slice.cut.head) + row.slice.begin + row.thread;
  row.each_piece(0.0f, [&](Values& values, int done, int slot) {
    arrive_as_warp(&row.shared.empty[slot]);
    finish(values.v);
    if constexpr (scales) {
      planes.template scale<Values::each, ring_writers>(
          row.slice.cut.head, done + row.thread, [&](int k) { return values.has(k * a_pack); },
          values.v);
    }
#pragma unroll
    for (int k = 0; k < Values::each; ++k)
      if (values.has(k * a_pack)) to[done + k * ring_writers] = packed_as<T>(values.v + k * a_pack);
  });
  if (!edge.exists) return;
  float one[1] = {edge.v};
  finish(one);
  if constexpr (scales) planes.scale_edge(row.slice.cut, row.thread, one);
  store_one(y + edge.at, one[0]);
}

template <bool softmax, class T>
__device__ __forceinline__ void write_row(const Rowwise& p, const RingRow<T, ring_writers>& row,
                                          const RingEdge<T>& edge, const RingPlanes<T>& planes,
                                          const RowTotal& total) {
  if constexpr (softmax) {
    if (p.op == RowwiseOp::log_softmax) {
      write_slice<false>(p, row, edge, planes, [&](auto& v) {
        for (float& each : v) each = (each - total.x) - total.y;
      });
    } else {
      write_slice<false>(p, row, edge, planes, [&](auto& v) {
        for (float& each : v) each = exp_of(each - total.x, true) * total.y;
      });
    }
  } else {
    const auto finish = [&](auto& v) {
      for (float& each : v) each = fmaf(each - total.x, total.y, total.z);
    };
    if (row.plan.plane_packs > 0)
      write_slice<true>(p, row, edge, planes, finish);
    else
      write_slice<false>(p, row, edge, planes, finish);
  }
}

template <bool softmax, class T>
__device__ __forceinline__ void write_ring_rows(const Rowwise& p, const RingPlan& plan,
                                                RingMemory& shared, int thread) {
  RingPlace place;
  RingPlanes<T> planes(ring_planes_begin(plan), plan.plane_packs, 0);
  each_ring_turn(
      plan,
      [&](const RingPhase& phase, const RingSeat& seat) {
        if (softmax || plan.plane_packs == 0) return;
        planes.first = slice_begin(phase, seat.rank) * a_pack_of<T>;
        sync_some_threads<1, ring_writers>();  // nobody reads those of the phase before
        planes.fill(p, plan.plane_packs, thread, ring_writers);
        sync_some_threads<1, ring_writers>();
      },
      [&](const RingTurn& turn) {
        const RingRow<T, ring_writers> row = {
            plan, shared, slice_of<T>(p, turn.phase, turn.seat.rank, turn.row), place, thread};
        const RingEdge<T> edge(p, row.slice, turn.seat.rank, thread);
        mbarrier_wait(&shared.known[turn.held()], turn.held_parity());
        write_row<softmax, T>(p, row, edge, planes, shared.totals[turn.held()]);
        arrive_as_warp(&shared.written[turn.held()]);
      });
}

// The slice of this block that is the first one, and gamma and beta of it.
template <class T>
__device__ __forceinline__ void ask_for_first_slice(const Rowwise& p, const RingPlan& plan) {
  const RingPhase& phase = plan.phases[0];
  const RingSeat seat = seat_in(phase);
  if (seat.team >= phase.teams) return;
  const std::int64_t row = phase.first_row + seat.team;
  const RingSlice slice = slice_of<T>(p, phase, seat.rank, row);
  const std::int64_t skip = static_cast<std::int64_t>(slice.begin) * pack_bytes;
  const std::int64_t bytes = static_cast<std::int64_t>(slice.packs) * pack_bytes;
  ask_for(static_cast<const char*>(p.x) +
              (row * p.ldx + slice.cut.head) * static_cast<std::int64_t>(sizeof(T)) + skip,
          bytes);
  if (plan.plane_packs == 0) return;
  for (int vector = 0; vector < 2; ++vector) ask_for_scales(p, skip, bytes, vector);
}

template <bool softmax, class T>
__global__ void __launch_bounds__(ring_block_threads<softmax>, 1)
    ring_rows([[maybe_unused]] const __grid_constant__ Rowwise p,
              [[maybe_unused]] const __grid_constant__ RingPlan plan,
              [[maybe_unused]] unsigned* tickets, [[maybe_unused]] WarpFound* given) {
  if constexpr (has_copy_engine) {
    auto& shared = *gpu::dynamic_shared<RingMemory>();
    const auto thread = static_cast<int>(threadIdx.x);
    constexpr int first_meeting = ring_writers + ring_finders;
    constexpr int first_filling = first_meeting + ring_meeting_threads<softmax>;
    if (thread == 0) {
      for (int slot = 0; slot < plan.slots; ++slot) {
        mbarrier_init(&shared.full[slot], 1);
        mbarrier_init(&shared.empty[slot], ring_writing_warps);
      }
      for (int held = 0; held < ring_rows_held; ++held) {
        mbarrier_init(&shared.found[held], ring_finding_warps);
        mbarrier_init(&shared.known[held], 1);
        mbarrier_init(&shared.written[held], ring_writing_warps);
      }
      mbarrier_init_is_done();
    } else if (thread == first_filling) {
      ask_for_first_slice<T>(p, plan);
    }
    __syncthreads();
    wait_for_previous_kernel();
    if (thread < ring_writers)
      write_ring_rows<softmax, T>(p, plan, shared, thread);
    else if (thread < first_meeting)
      find_ring_totals<softmax, T>(p, plan, shared, thread - ring_writers);
    else if (thread < first_filling)
      meet_teams<softmax, T>(p, plan, shared, (thread - first_meeting) / warp_lanes, tickets,
                             given);
    else if (thread == first_filling) {
      fill_ring<T>(p, plan, shared);
      let_next_kernel_start();
    }
  }
}

}  // namespace KW_TARGET::rowwise
