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

// Where a team is a cluster: what its blocks sent this one, of each row.
struct RingLetters {
  Mbarrier received[ring_rows_given];
  WarpFound of[ring_rows_given][plain_large_blocks];
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

// A row of this block, and which one of its rows.
struct RingTurn {
  RingSeat seat;
  std::int64_t row;
  unsigned turn;

  __device__ __forceinline__ unsigned held() const { return turn % ring_rows_held; }
  __device__ __forceinline__ unsigned held_parity() const { return turn / ring_rows_held % 2; }
};
// body(turn) for each of them.
template <class Body>
__device__ __forceinline__ void each_ring_turn(const Rowwise& p, const RingPlan& plan,
                                               const Body& body) {
  const RingSeat seat = seat_in(plan);
  unsigned turn = 0;
#pragma unroll 1
  for (std::int64_t row = seat.team; row < p.rows; row += plan.teams)
    body(RingTurn{seat, row, turn++});
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
  each_ring_turn(p, plan, [&](const RingTurn& turn) {
    const RingSlice slice = slice_of<T>(p, plan, turn.seat.rank, turn.row);
    const char* from = static_cast<const char*>(p.x) +
                       (turn.row * p.ldx + slice.cut.head) * static_cast<std::int64_t>(sizeof(T)) +
                       static_cast<std::int64_t>(slice.begin) * pack_bytes;
    if (turn.turn >= ring_rows_held)
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
  });
}

// A thread's packs of a piece, as they lie there.
template <class T, int threads>
struct RingValues {
  static constexpr int a_pack = a_pack_of<T>, each = ring_most_piece / threads;
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
  __device__ __forceinline__ void each_piece(std::uint32_t absent, const Body& body) const {
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
// Those of the rows that a thread comes to, each asked for a row ahead: a way to memory takes as
// long as a short slice.
template <class T>
class RingEdges {
 public:
  __device__ __forceinline__ RingEdge<T> take(const Rowwise& p, const RingPlan& plan,
                                              const RingTurn& turn, const RingSlice& slice,
                                              int thread) {
    const RingEdge<T> own =
        next_.row == slice.row ? next_ : RingEdge<T>(p, slice, turn.seat.rank, thread);
    const std::int64_t next = turn.row + plan.teams;
    if (next < p.rows)
      next_ = RingEdge<T>(p, slice_of<T>(p, plan, turn.seat.rank, next), turn.seat.rank, thread);
    return own;
  }

 private:
  RingEdge<T> next_;
};

}  // namespace KW_TARGET::rowwise
