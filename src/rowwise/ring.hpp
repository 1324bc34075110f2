// Long plain rows: a row through the shared memory of a team of blocks, read once, written once.
//
// Idea        Blocks have a multiprocessor each and make up teams. A block has a slice of its
//             team's row, and of every row that the team takes after it. One warp has the copy
//             engine bring pieces of it into a ring, as far ahead as the ring has room, also of the
//             rows to come. Some warps find the totals of a slice as its pieces come; some meet the
//             team's other blocks (ring_meeting.hpp); others, rows behind, write the slices of
//             which the row's totals are there, piece by piece, each of which makes room for the
//             next one. So nobody who writes waits for one who reads, and memory does both all the
//             time.
// Teams       Are clusters of eight or sixteen blocks, which meet through shared memory in some
//             microsecond and leave a few multiprocessors out; or any blocks of the device, which
//             all run at once and meet through memory in four (ring_choice.hpp has the choice).
// Norms       A block's slice is of the same columns in all rows: gamma and beta of these are in
//             shared memory (planes.hpp); where there is no beta, gamma alone.
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

// A ring has room for more rows where gamma and beta take less: as they are in 16-bit types, and
// without a beta that is nowhere.
template <class T, bool has_beta>
using RingScale =
    std::conditional_t<has_beta, std::conditional_t<sizeof(T) == 2, NarrowPair<T>, WidePair<T>>,
                       std::conditional_t<sizeof(T) == 2, NarrowGamma<T>, WideGamma<T>>>;
template <class T, bool has_beta>
using RingPlanes = Planes<T, RingScale<T, has_beta>>;
// Host: their bytes.
inline std::size_t ring_plane_bytes(int packs, const Rowwise& p) {
  if (p.type == DataType::float32)
    return p.beta != nullptr ? planes_bytes<float, RingScale<float, true>>(packs)
                             : planes_bytes<float, RingScale<float, false>>(packs);
  return p.beta != nullptr ? planes_bytes<float16, RingScale<float16, true>>(packs)
                           : planes_bytes<float16, RingScale<float16, false>>(packs);
}

// One of the groups of threads that take rows by turns: which slot has its next row, and those
// rows.
template <int threads, int groups>
struct RingGroup {
  int group, thread;
  RingPlace place;

  __device__ __forceinline__ RingGroup(const RingPlan& plan, int thread_)
      : group(thread_ / threads), thread(thread_ - group * threads) {
    place.advance_by(group * plan.pieces, plan.slots);
  }
  // body(turn), which passes over the pieces of its row.
  template <class Body>
  __device__ __forceinline__ void each_turn(const Rowwise& p, const RingPlan& plan,
                                            const Body& body) {
    const auto one = [&](const auto& turn) {
      body(turn);
      if constexpr (groups > 1) place.advance_by((groups - 1) * plan.pieces, plan.slots);
    };
    each_ring_turn<groups>(p, plan, one, group, groups);
  }
};

template <bool softmax, class T, int groups>
__device__ __forceinline__ void find_ring_totals(const Rowwise& p, const RingPlan& plan,
                                                 RingMemory<groups>& shared, int thread) {
  constexpr int threads = ring_finders / groups;
  RingGroup<threads, groups> own_group(plan, thread);
  RingEdges<T> edges;
  own_group.each_turn(p, plan, [&](const auto& turn) {
    const RingRow<T, groups, threads, false> row = {plan, shared,
                                                    slice_of<T>(p, plan, turn.seat.rank, turn.row),
                                                    own_group.place, own_group.thread};
    const RingEdge<T> edge = edges.take(p, plan, turn, row.slice, row.thread, groups);
    // A slot may still wait for what it had before, of another group's row: its barrier would be
    // two phases behind.
    if constexpr (groups > 1) mbarrier_wait(&shared.asked[turn.held()], turn.held_parity());
    WarpFound own;
    if constexpr (softmax)
      own = softmax_of_slice(row, edge);
    else if (p.op == RowwiseOp::layer_norm)
      own = norm_of_slice<true>(row, edge);
    else
      own = norm_of_slice<false>(row, edge);
    if (row.thread % warp_lanes != 0) return;
    shared.founds[turn.held()][row.thread / warp_lanes] = own;
    mbarrier_arrive(&shared.found[turn.held()]);
  });
}

// finish(v) makes y of the values v, but for gamma and beta.
template <bool scales, class Row, class T, class Planes, class Finish>
__device__ __forceinline__ void write_slice(const Rowwise& p, const Row& row,
                                            const RingEdge<T>& edge, const Planes& planes,
                                            const Finish& finish) {
  using Values = typename Row::Values;
  constexpr int a_pack = Values::a_pack;
  auto* const y = static_cast<T*>(p.y) + row.slice.row * p.ldy;
  auto* const to = reinterpret_cast<uint4*>(y + row.slice.cut.head) + row.slice.begin + row.thread;
  row.each_piece(0, [&](const Values& values, int done) {
    float v[Values::count];
    values.unpack_to(v);
    finish(v);
    if constexpr (scales) {
      planes.template scale<Values::each, Row::threads>(
          row.slice.cut.head, done + row.thread, [&](int k) { return values.has(k); }, v);
    }
#pragma unroll
    for (int k = 0; k < Values::each; ++k)
      if (values.has(k)) to[done + k * Row::threads] = packed_as<T>(v + k * a_pack);
  });
  if (!edge.exists) return;
  float one[1] = {edge.value()};
  finish(one);
  if constexpr (scales) planes.scale_edge(row.slice.cut, row.thread, one);
  store_one(y + edge.at, one[0]);
}

template <bool softmax, class Row, class T, class Planes>
__device__ __forceinline__ void write_row(const Rowwise& p, const Row& row, const RingEdge<T>& edge,
                                          const Planes& planes, const RowTotal& total) {
  if constexpr (softmax) {
    if (p.op == RowwiseOp::log_softmax) {
      const float by = total.y + SoftmaxUnit<sizeof(T) == 2>{total.x}.log();
      write_slice<false>(p, row, edge, planes, [&](auto& v) {
        for (float& each : v) each = (each - total.x) - by;
      });
    } else if constexpr (sizeof(T) == 2) {
      const SoftmaxOrigin origin(SoftmaxUnit<true>{total.x});
      write_slice<false>(p, row, edge, planes, [&](auto& v) {
        for (float& each : v) each = origin.exponential(each) * total.y;
      });
    } else {
      write_slice<false>(p, row, edge, planes, [&](auto& v) {
        for (float& each : v) each = exp_of(each - total.x, true) * total.y;
      });
    }
  } else {
    const auto write = [&](const auto& finish) {
      if (row.plan.plane_packs > 0)
        write_slice<true>(p, row, edge, planes, finish);
      else
        write_slice<false>(p, row, edge, planes, finish);
    };
    // Of 16-bit types that is common, and instructions bound their time.
    if (sizeof(T) == 2 && total.x == 0) {
      write([&](auto& v) {
        for (float& each : v) each = fmaf(each, total.y, total.z);
      });
    } else {
      write([&](auto& v) {
        for (float& each : v) each = fmaf(each - total.x, total.y, total.z);
      });
    }
  }
}

template <bool softmax, class T, bool has_beta, int groups>
__device__ __forceinline__ void write_ring_rows(const Rowwise& p, const RingPlan& plan,
                                                RingMemory<groups>& shared, int thread) {
  constexpr int threads = ring_writers / groups;
  RingGroup<threads, groups> group(plan, thread);
  RingEdges<T> edges;
  RingPlanes<T, has_beta> planes(ring_planes_begin(plan), plan.plane_packs, 0);
  if (!softmax && plan.plane_packs > 0) {
    planes.first = slice_begin(plan, seat_in(plan).rank) * a_pack_of<T>;
    planes.fill(p, plan.plane_packs, thread, ring_writers);
    sync_some_threads<1, ring_writers>();
  }
  group.each_turn(p, plan, [&](const auto& turn) {
    const RingRow<T, groups, threads, true> row = {
        plan, shared, slice_of<T>(p, plan, turn.seat.rank, turn.row), group.place, group.thread};
    const RingEdge<T> edge = edges.take(p, plan, turn, row.slice, row.thread, groups);
    mbarrier_wait(&shared.known[turn.held()], turn.held_parity());
    write_row<softmax>(p, row, edge, planes, shared.totals[turn.held()]);
    arrive_as_warp(&shared.written[turn.held()]);
  });
}

// The slice of this block that is the first one, and gamma and beta of it.
template <class T>
__device__ __forceinline__ void ask_for_first_slice(const Rowwise& p, const RingPlan& plan) {
  const RingSeat seat = seat_in(plan);
  const std::int64_t row = seat.team;
  const RingSlice slice = slice_of<T>(p, plan, seat.rank, row);
  const std::int64_t skip = static_cast<std::int64_t>(slice.begin) * pack_bytes;
  const std::int64_t bytes = static_cast<std::int64_t>(slice.packs) * pack_bytes;
  ask_for(static_cast<const char*>(p.x) +
              (row * p.ldx + slice.cut.head) * static_cast<std::int64_t>(sizeof(T)) + skip,
          bytes);
  if (plan.plane_packs == 0) return;
  for (int vector = 0; vector < 2; ++vector) ask_for_scales(p, skip, bytes, vector);
}

template <bool softmax, class T, bool clusters, int groups>
__global__ void __launch_bounds__((ring_block_threads<softmax, groups>), 1)
    ring_rows([[maybe_unused]] const __grid_constant__ Rowwise p,
              [[maybe_unused]] const __grid_constant__ RingPlan plan,
              [[maybe_unused]] unsigned* tickets, [[maybe_unused]] WarpFound* given) {
  if constexpr (has_copy_engine) {
    auto& shared = *gpu::dynamic_shared<RingMemory<groups>>();
    const auto thread = static_cast<int>(threadIdx.x);
    constexpr int first_meeting = ring_writers + ring_finders;
    constexpr int first_filling = first_meeting + ring_meeting_threads<softmax, groups>;
    if (thread == 0) {
      for (int slot = 0; slot < plan.slots; ++slot) {
        mbarrier_init(&shared.full[slot], 1);
        mbarrier_init(&shared.empty[slot], ring_writing_warps / groups);
      }
      for (int held = 0; held < ring_rows_held(groups); ++held) {
        if constexpr (groups > 1) mbarrier_init(&shared.asked[held], 1);
        mbarrier_init(&shared.found[held], ring_finding_warps / groups);
        mbarrier_init(&shared.known[held], 1);
        mbarrier_init(&shared.written[held], ring_writing_warps / groups);
      }
      if constexpr (clusters) {
        auto& letters =
            *reinterpret_cast<RingLetters*>(gpu::dynamic_shared<char>() + plan.letters_begin);
        for (Mbarrier& one : letters.received) mbarrier_init(&one, 1);
      }
      mbarrier_init_is_done();
    } else if (thread == first_filling) {
      ask_for_first_slice<T>(p, plan);
    }
    __syncthreads();
    if constexpr (clusters) {
      arrive_at_cluster();
      wait_for_cluster();
    }
    wait_for_previous_kernel();
    if (thread < ring_writers) {
      if (softmax || p.beta == nullptr)
        write_ring_rows<softmax, T, false, groups>(p, plan, shared, thread);
      else
        write_ring_rows<softmax, T, true, groups>(p, plan, shared, thread);
    } else if (thread < first_meeting)
      find_ring_totals<softmax, T, groups>(p, plan, shared, thread - ring_writers);
    else if (thread < first_filling)
      meet_teams<softmax, T, clusters, groups>(
          p, plan, shared, (thread - first_meeting) / warp_lanes, tickets, given);
    else if (thread == first_filling) {
      fill_ring<T>(p, plan, shared);
      let_next_kernel_start();
    }
  }
}

}  // namespace KW_TARGET::rowwise
