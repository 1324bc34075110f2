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
template <bool softmax, int groups>
constexpr int ring_meeting_threads = ring_meeting_warps(softmax, groups) * warp_lanes;
template <bool softmax, int groups>
constexpr int ring_block_threads =
    ring_writers + ring_finders + ring_meeting_threads<softmax, groups> + warp_lanes;
constexpr int ring_writing_warps = ring_writers / warp_lanes;
constexpr int ring_finding_warps = ring_finders / warp_lanes;

// A ring has parts of at most so many rows, `held`, from the one that is written on. So who finds
// totals of row q has them of all rows up to q - held written, and nobody of its block reads what
// was found of those any more. Who gives row q to the team had the totals of row q - held, for
// which the whole team gave it; so the whole team has written, and read what was found of, all rows
// up to q - 2 held.
constexpr int ring_rows_given(int groups) { return 2 * ring_rows_held(groups); }

template <int groups>
struct RingMemory {
  static constexpr int held = ring_rows_held(groups);
  Mbarrier full[ring_most_slots], empty[ring_most_slots];
  Mbarrier asked[groups > 1 ? held : 1];  // the pieces of a row
  Mbarrier found[held], known[held], written[held];
  WarpFound founds[held][ring_finding_warps / groups];
  RowTotal totals[held];
  alignas(128) uint4 pieces[1];  // of each slot; gamma's and beta's planes behind them
};
KW_HOST_DEVICE constexpr int ring_pieces_begin(int groups) {
  return groups > 1 ? offsetof(RingMemory<ring_groups>, pieces) : offsetof(RingMemory<1>, pieces);
}
KW_HOST_DEVICE constexpr int ring_planes_begin(const RingPlan& plan) {
  return ring_pieces_begin(plan.groups) + plan.slots * plan.piece * pack_bytes;
}

// Where a team is a cluster: what its blocks sent this one, of each row.
constexpr int ring_letters = ring_rows_given(1);
struct RingLetters {
  Mbarrier received[ring_letters];
  WarpFound of[ring_letters][plain_large_blocks];
};

// A block's slice of a row.
struct RingSlice {
  std::int64_t row;
  RowCut cut;
  int begin, packs;  // of the row's packs
};
struct RingSeat {
  int team, rank;
};
__device__ __forceinline__ RingSeat seat_in(const RingPlan& plan) {
  const int block = static_cast<int>(blockIdx.x), team = block / plan.blocks;
  return {team, block - team * plan.blocks};
}
__device__ __forceinline__ int slice_begin(const RingPlan& plan, int rank) {
  return rank * plan.packs + min(rank, plan.one_more);
}
template <class T>
__device__ __forceinline__ RingSlice slice_of(const Rowwise& p, const RingPlan& plan, int rank,
                                              std::int64_t row) {
  const RowCut cut =
      cut_row<T>(static_cast<const char*>(p.x) + row * p.ldx * static_cast<std::int64_t>(sizeof(T)),
                 static_cast<int>(p.cols));
  const int begin = slice_begin(plan, rank);
  const int end = rank + 1 == plan.blocks ? cut.packs : slice_begin(plan, rank + 1);
  return {row, cut, begin, end - begin};
}

// A row of this block, and which one of its rows, of which a ring has parts of so many.
template <unsigned rows_held>
struct RingTurn {
  RingSeat seat;
  std::int64_t row;
  unsigned turn;

  __device__ __forceinline__ unsigned held() const { return turn % rows_held; }
  __device__ __forceinline__ unsigned held_parity() const { return turn / rows_held % 2; }
};
// body(turn) for each of them, or for each `apart`-th from `first` on.
template <int groups, class Body>
__device__ __forceinline__ void each_ring_turn(const Rowwise& p, const RingPlan& plan,
                                               const Body& body, int first = 0, int apart = 1) {
  const RingSeat seat = seat_in(plan);
  auto turn = static_cast<unsigned>(first);
#pragma unroll 1
  for (std::int64_t row = seat.team + std::int64_t{first} * plan.teams; row < p.rows;
       row += std::int64_t{apart} * plan.teams, turn += static_cast<unsigned>(apart))
    body(RingTurn<ring_rows_held(groups)>{seat, row, turn});
}

// Which slot of the ring is next, and how often it was filled.
struct RingPlace {
  int slot = 0;
  unsigned turn = 0;

  __device__ __forceinline__ void advance(int slots) {
    if (++slot == slots) slot = 0, turn ^= 1;
  }
  __device__ __forceinline__ void advance_by(int pieces, int slots) {
    slot += pieces;
    while (slot >= slots) slot -= slots, turn ^= 1;
  }
};

// By one thread. What blocks give each other waits behind the pieces that are on their way to them,
// so those are few.
template <class T, int groups>
__device__ __forceinline__ void fill_ring(const Rowwise& p, const RingPlan& plan,
                                          RingMemory<groups>& shared) {
  RingPlace place, next_there;
  int on_way = 0;
  bool was_filled = false;
  each_ring_turn<groups>(p, plan, [&](const auto& turn) {
    const RingSlice slice = slice_of<T>(p, plan, turn.seat.rank, turn.row);
    const char* from = static_cast<const char*>(p.x) +
                       (turn.row * p.ldx + slice.cut.head) * static_cast<std::int64_t>(sizeof(T)) +
                       static_cast<std::int64_t>(slice.begin) * pack_bytes;
    if (turn.turn >= ring_rows_held(groups))
      mbarrier_wait(&shared.written[turn.held()], turn.held_parity() ^ 1);
    for (int done = 0; done < slice.packs; done += plan.piece) {
      const auto bytes = static_cast<unsigned>(min(slice.packs - done, plan.piece) * pack_bytes);
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
    if constexpr (groups > 1) mbarrier_arrive(&shared.asked[turn.held()]);
  });
}

// A thread's packs of a piece, as they lie there.
template <class T, int threads>
struct RingValues {
  static constexpr int a_pack = a_pack_of<T>, each = ring_most_piece / ring_writers;
  static constexpr int count = each * a_pack;
  uint4 raw[each];
  int thread, packs;  // of the piece

  // Pack k.
  __device__ __forceinline__ bool has(int k) const { return thread + k * threads < packs; }
  // Of the thread's warp.
  __device__ __forceinline__ int warp_packs() const {
    const int before = packs - thread / warp_lanes * warp_lanes;
    int all = 0;
#pragma unroll
    for (int k = 0; k < each; ++k) all += min(max(before - k * threads, 0), warp_lanes);
    return all;
  }
  // `absent`, a word, stands for what is absent.
  __device__ __forceinline__ void load(const uint4* piece, int thread_, int packs_,
                                       std::uint32_t absent) {
    thread = thread_;
    packs = packs_;
#pragma unroll
    for (int k = 0; k < each; ++k) {
      raw[k] = make_uint4(absent, absent, absent, absent);
      if (has(k)) raw[k] = piece[thread + k * threads];
    }
  }
  __device__ __forceinline__ void unpack_to(float (&v)[count]) const {
#pragma unroll
    for (int k = 0; k < each; ++k) unpack(raw[k], T{}, v + k * a_pack);
  }
};

// All that this warp did before is done when `barrier` has its arrival.
__device__ __forceinline__ void arrive_as_warp(Mbarrier* barrier) {
  __syncwarp();
  if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(barrier);
}

// One slice of a block, for `threads` of its threads: where its pieces are. `takes`: a piece makes
// room for another one when they have it in registers.
template <class T, int groups, int threads_, bool takes>
struct RingRow {
  static constexpr int threads = threads_;
  using Values = RingValues<T, threads>;
  const RingPlan& plan;
  RingMemory<groups>& shared;
  RingSlice slice;
  RingPlace& place;  // of the next piece
  int thread;        // of so many

  // body(values, their first pack), of all of the slice.
  template <class Body>
  __device__ __forceinline__ void each_piece(std::uint32_t absent, const Body& body) const {
    constexpr int at_once = Values::each * threads;
#pragma unroll 1
    for (int done = 0; done < slice.packs; done += plan.piece) {
      mbarrier_wait(&shared.full[place.slot], place.turn);
      const int packs = min(slice.packs - done, plan.piece);
      const uint4* const piece = shared.pieces + place.slot * plan.piece;
      const auto take = [&](int begin) {
        Values values;
        values.load(piece + begin, thread, packs - begin, absent);
        if (takes && (at_once >= ring_most_piece || begin + at_once >= packs))
          arrive_as_warp(&shared.empty[place.slot]);
        body(values, done + begin);
      };
      if constexpr (at_once >= ring_most_piece) {
        take(0);
      } else {
#pragma unroll 1
        for (int begin = 0; begin < packs; begin += at_once) take(begin);
      }
      place.advance(plan.slots);
    }
  }
};

// This thread's edge of a row, as it lies in memory: all are of the first block's threads.
template <class T>
struct RingEdge {
  std::int64_t row = -1;
  bool exists = false;
  int at = 0;
  std::uint32_t bits = 0;
  int of_warp = 0;  // how many its warp has

  RingEdge() = default;
  __device__ __forceinline__ RingEdge(const Rowwise& p, const RingSlice& slice, int rank,
                                      int thread)
      : row(slice.row),
        exists(rank == 0 && thread < slice.cut.edges),
        at(slice.cut.edge<T>(thread)),
        bits(exists ? bits_of_element(static_cast<const T*>(p.x) + slice.row * p.ldx + at) : 0u),
        of_warp(rank == 0
                    ? min(max(slice.cut.edges - thread / warp_lanes * warp_lanes, 0), warp_lanes)
                    : 0) {}

  __device__ __forceinline__ float value() const {
    if constexpr (sizeof(T) == 4)
      return std::bit_cast<float>(bits);
    else
      return to_value(T{static_cast<std::uint16_t>(bits)});
  }
};
// Those of each `apart`-th row, which a thread comes to, each asked for a row ahead: a way to
// memory takes as long as a short slice.
template <class T>
class RingEdges {
 public:
  template <class Turn>
  __device__ __forceinline__ RingEdge<T> take(const Rowwise& p, const RingPlan& plan,
                                              const Turn& turn, const RingSlice& slice, int thread,
                                              int apart) {
    const RingEdge<T> own =
        next_.row == slice.row ? next_ : RingEdge<T>(p, slice, turn.seat.rank, thread);
    const std::int64_t next = turn.row + std::int64_t{apart} * plan.teams;
    if (next < p.rows)
      next_ = RingEdge<T>(p, slice_of<T>(p, plan, turn.seat.rank, next), turn.seat.rank, thread);
    return own;
  }

 private:
  RingEdge<T> next_;
};

}  // namespace KW_TARGET::rowwise
