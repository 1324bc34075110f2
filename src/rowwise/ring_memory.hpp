// The ring of ring.hpp: which block has which slice of which row, what its shared memory holds, how
// a warp fills it, and how the others read it piece by piece.
#pragma once

#include <cstddef>

#include "device/bulk_copy.hpp"
#include "rowwise/plain_totals.hpp"
#include "rowwise/ring_plan.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

// Threads of a block: those that write, those that find totals, the warps that meet the team's
// other blocks, and one that fills the ring.
template <bool softmax>
constexpr int ring_meeting_threads = ring_meeting_warps(softmax) * warp_lanes;
template <bool softmax>
constexpr int ring_block_threads =
    ring_writers + ring_finders + ring_meeting_threads<softmax> + warp_lanes;
constexpr int ring_writing_warps = ring_writers / warp_lanes;
constexpr int ring_finding_warps = ring_finders / warp_lanes;

// A ring has parts of at most ring_rows_held rows, from the one that is written on. So who finds
// totals of row q has them of all rows up to q - ring_rows_held written, and nobody of its block
// reads what was found of those any more. Who gives row q to the team had the totals of row
// q - ring_rows_held, for which the whole team gave it; so the whole team has written, and read
// what was found of, all rows up to q - 2 ring_rows_held.
constexpr int ring_rows_given = 2 * ring_rows_held;

struct RingMemory {
  Mbarrier full[ring_most_slots], empty[ring_most_slots];
  Mbarrier found[ring_rows_held], known[ring_rows_held], written[ring_rows_held];
  WarpFound founds[ring_rows_held][ring_finding_warps];
  RowTotal totals[ring_rows_held];
  alignas(128) uint4 pieces[1];  // of each slot; gamma's and beta's planes behind them
};
constexpr int ring_pieces_begin = offsetof(RingMemory, pieces);
KW_HOST_DEVICE constexpr int ring_planes_begin(const RingPlan& plan) {
  return ring_pieces_begin + plan.slots * plan.piece * pack_bytes;
}

// A block's slice of a row.
struct RingSlice {
  std::int64_t row;
  RowCut cut;
  int begin, packs;  // of the row's packs
};
struct RingSeat {
  int team, rank;
};
__device__ __forceinline__ RingSeat seat_in(const RingPhase& phase) {
  const int block = static_cast<int>(blockIdx.x), team = block / phase.blocks;
  return {team, block - team * phase.blocks};
}
__device__ __forceinline__ int slice_begin(const RingPhase& phase, int rank) {
  return rank * phase.packs + min(rank, phase.one_more);
}
template <class T>
__device__ __forceinline__ RingSlice slice_of(const Rowwise& p, const RingPhase& phase, int rank,
                                              std::int64_t row) {
  const RowCut cut =
      cut_row<T>(static_cast<const char*>(p.x) + row * p.ldx * static_cast<std::int64_t>(sizeof(T)),
                 static_cast<int>(p.cols));
  const int begin = slice_begin(phase, rank);
  const int end = rank + 1 == phase.blocks ? cut.packs : slice_begin(phase, rank + 1);
  return {row, cut, begin, end - begin};
}

// A row of this block: the how-many-th of the launch, and of its phase.
struct RingTurn {
  const RingPhase& phase;
  RingSeat seat;
  std::int64_t row;
  unsigned turn, round;

  __device__ __forceinline__ unsigned held() const { return turn % ring_rows_held; }
  __device__ __forceinline__ unsigned held_parity() const { return turn / ring_rows_held % 2; }
};
// begin(phase, seat) before a phase of which this block has rows, body(turn) for each of them.
template <class Begin, class Body>
__device__ __forceinline__ void each_ring_turn(const RingPlan& plan, const Begin& begin,
                                               const Body& body) {
  unsigned turn = 0;
#pragma unroll 1
  for (int f = 0; f < 2; ++f) {
    const RingPhase& phase = plan.phases[f];
    if (phase.first_row == phase.end_row) continue;
    const RingSeat seat = seat_in(phase);
    if (seat.team >= phase.teams) continue;
    begin(phase, seat);
    unsigned round = 0;
#pragma unroll 1
    for (std::int64_t row = phase.first_row + seat.team; row < phase.end_row; row += phase.teams)
      body(RingTurn{phase, seat, row, turn++, round++});
  }
}

// Which slot of the ring is next, and how often it was filled.
struct RingPlace {
  int slot = 0;
  unsigned turn = 0;

  __device__ __forceinline__ void advance(int slots) {
    if (++slot == slots) slot = 0, turn ^= 1;
  }
};

// By one thread. What blocks give each other waits behind the pieces that are on their way to them,
// so those are few.
template <class T>
__device__ __forceinline__ void fill_ring(const Rowwise& p, const RingPlan& plan,
                                          RingMemory& shared) {
  RingPlace place, next_there;
  int on_way = 0;
  bool was_filled = false;
  each_ring_turn(
      plan, [](const RingPhase&, const RingSeat&) {},
      [&](const RingTurn& turn) {
        const RingSlice slice = slice_of<T>(p, turn.phase, turn.seat.rank, turn.row);
        const char* from =
            static_cast<const char*>(p.x) +
            (turn.row * p.ldx + slice.cut.head) * static_cast<std::int64_t>(sizeof(T)) +
            static_cast<std::int64_t>(slice.begin) * pack_bytes;
        if (turn.turn >= ring_rows_held)
          mbarrier_wait(&shared.written[turn.held()], turn.held_parity() ^ 1);
        for (int done = 0; done < slice.packs; done += plan.piece) {
          const auto bytes =
              static_cast<unsigned>(min(slice.packs - done, plan.piece) * pack_bytes);
          if (was_filled) mbarrier_wait(&shared.empty[place.slot], place.turn ^ 1);
          if (on_way < plan.on_way) {
            ++on_way;
          } else {
            mbarrier_wait(&shared.full[next_there.slot], next_there.turn);
            next_there.advance(plan.slots);
          }
          mbarrier_arrive_expecting(&shared.full[place.slot], bytes);
          bulk_copy(shared.pieces + place.slot * plan.piece, from, bytes, &shared.full[place.slot]);
          from += plan.piece * pack_bytes;
          place.advance(plan.slots);
          was_filled = was_filled || place.slot == 0;
        }
      });
}

// A thread's packs of a piece.
template <class T, int threads>
struct RingValues {
  static constexpr int a_pack = a_pack_of<T>, each = ring_most_piece / threads;
  static constexpr int count = each * a_pack;
  float v[count];
  int thread, packs;  // of the piece

  __device__ __forceinline__ bool has(int i) const { return thread + i / a_pack * threads < packs; }
  __device__ __forceinline__ void load(const uint4* piece, int thread_, int packs_, float absent) {
    thread = thread_;
    packs = packs_;
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (has(k * a_pack)) {
        unpack(piece[thread + k * threads], T{}, v + k * a_pack);
      } else {
#pragma unroll
        for (int w = 0; w < a_pack; ++w) v[k * a_pack + w] = absent;
      }
    }
  }
};

// One slice of a block, for `threads` of its threads: where its pieces are.
template <class T, int threads>
struct RingRow {
  using Values = RingValues<T, threads>;
  const RingPlan& plan;
  RingMemory& shared;
  RingSlice slice;
  RingPlace& place;  // of the next piece
  int thread;        // of so many

  // body(values, the piece's first pack, its slot), of each piece of the slice.
  template <class Body>
  __device__ __forceinline__ void each_piece(float absent, const Body& body) const {
#pragma unroll 1
    for (int done = 0; done < slice.packs; done += plan.piece) {
      mbarrier_wait(&shared.full[place.slot], place.turn);
      Values values;
      values.load(shared.pieces + place.slot * plan.piece, thread,
                  min(slice.packs - done, plan.piece), absent);
      body(values, done, place.slot);
      place.advance(plan.slots);
    }
  }
};

// All that this warp did before is done when `barrier` has its arrival.
__device__ __forceinline__ void arrive_as_warp(Mbarrier* barrier) {
  __syncwarp();
  if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(barrier);
}

// This thread's edge of a row: all are of the first block's threads.
template <class T>
struct RingEdge {
  bool exists;
  int at;
  float v;

  __device__ __forceinline__ RingEdge(const Rowwise& p, const RingSlice& slice, int rank,
                                      int thread)
      : exists(rank == 0 && thread < slice.cut.edges),
        at(slice.cut.edge<T>(thread)),
        v(exists ? to_value((static_cast<const T*>(p.x) + slice.row * p.ldx)[at]) : 0.0f) {}
};

}  // namespace KW_TARGET::rowwise
