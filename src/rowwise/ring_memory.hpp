// The ring of ring.hpp: which block has which slice of which row, what its shared memory holds, how
// a warp fills it, and how the others read it piece by piece.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "rowwise/plain_totals.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

struct RingCut {
  int blocks;       // of a cluster
  int clusters;     // of the launch: each has rows so many apart
  int slice_packs;  // of a block
  int slots;        // of the ring
  bool has_scales;  // and a ring of gamma and beta
};

// Threads of a block: those that write, those that find totals, and a warp for each ring, which
// fills it.
constexpr int ring_block_threads = ring_writers + ring_finders + 2 * warp_lanes;
constexpr int ring_finding_warps = ring_finders / warp_lanes;
constexpr int ring_most_found = ring_most_blocks * ring_finding_warps;

// Rows whose totals may be under way at once. A ring has parts of at most ring_rows_held rows, from
// the one that is written on. So whoever sends row q has written row q - ring_rows_held, for which
// it had the totals of all blocks; each of these, to have sent them, has written, and so read, the
// totals of all rows up to q - 2 ring_rows_held.
constexpr int ring_rows_found = 2 * ring_rows_held;
struct RingMemory {
  Mbarrier full[ring_most_slots], empty[ring_most_slots];
  Mbarrier scales_full[ring_scale_slots], scales_empty[ring_scale_slots];
  Mbarrier received[ring_rows_found];
  WarpFound found[ring_rows_found][ring_most_found];
  // Slots of ring_piece packs; behind them, slots of gamma's and beta's packs for a piece.
  alignas(128) uint4 pieces[1];

  __device__ __forceinline__ uint4* scales(const RingCut& ring, int slot, int vector) {
    return pieces + ring.slots * ring_piece + (2 * slot + vector) * (ring_piece + 1);
  }
};
inline std::size_t ring_bytes(int slots, bool has_scales) {
  const int scales = has_scales ? ring_scale_slots * 2 * (ring_piece + 1) : 0;
  return sizeof(RingMemory) + static_cast<std::size_t>(slots * ring_piece + scales) * pack_bytes;
}

// A block's slice of a row.
struct RingSlice {
  std::int64_t row;
  RowCut cut;
  int begin, packs;  // of the row's packs

  __device__ __forceinline__ int pieces() const { return (packs + ring_piece - 1) / ring_piece; }
};
template <class T>
__device__ __forceinline__ RingSlice slice_of(const Rowwise& p, const RingCut& ring, int rank,
                                              std::int64_t row) {
  const RowCut cut =
      cut_row<T>(static_cast<const char*>(p.x) + row * p.ldx * static_cast<std::int64_t>(sizeof(T)),
                 static_cast<int>(p.cols));
  const int begin = rank * ring.slice_packs, left = cut.packs - begin;
  return {row, cut, begin, left < 0 ? 0 : left < ring.slice_packs ? left : ring.slice_packs};
}

// Which slot of the ring is next, and how often it was filled.
struct RingPlace {
  int slot = 0;
  unsigned turn = 0;

  __device__ __forceinline__ void advance(int slots, int by = 1) {
    slot += by;
    if (slot >= slots) slot -= slots, turn ^= 1;
  }
};

template <class T>
__device__ __forceinline__ void fill_ring(const Rowwise& p, const RingCut& ring, RingMemory& shared,
                                          int rank) {
  constexpr int a_pack = a_pack_of<T>;
  RingPlace place;
  bool was_filled = false;
  for (std::int64_t row = cluster_index(); row < p.rows; row += ring.clusters) {
    const RingSlice slice = slice_of<T>(p, ring, rank, row);
    const char* from =
        static_cast<const char*>(p.x) +
        (row * p.ldx + slice.cut.head + static_cast<std::int64_t>(slice.begin) * a_pack) *
            static_cast<std::int64_t>(sizeof(T));
    for (int done = 0; done < slice.packs; done += ring_piece) {
      const int packs = min(slice.packs - done, ring_piece);
      if (was_filled) mbarrier_wait(&shared.empty[place.slot], place.turn ^ 1);
      mbarrier_arrive_expecting(&shared.full[place.slot],
                                static_cast<unsigned>(packs * pack_bytes));
      bulk_copy(shared.pieces + place.slot * ring_piece, from,
                static_cast<unsigned>(packs * pack_bytes), &shared.full[place.slot]);
      from += ring_piece * pack_bytes;
      place.advance(ring.slots);
      was_filled = was_filled || place.slot == 0;
    }
  }
}

// Memory's packs that hold a piece's columns of gamma or beta, but for those that are not the
// vector's as a whole; column `first` is the piece's first.
template <class T>
struct VectorCover {
  const char* from = nullptr;
  int skipped = 0, bytes = 0;  // before `from`, and from there

  __device__ __forceinline__ void set(const void* vector, int first, int packs, int cols) {
    constexpr std::intptr_t mask = pack_bytes - 1;
    const auto begin = reinterpret_cast<std::intptr_t>(vector);
    const std::intptr_t end = (begin + cols * static_cast<std::intptr_t>(sizeof(T))) & ~mask;
    const std::intptr_t wanted = begin + first * static_cast<std::intptr_t>(sizeof(T));
    const std::intptr_t low = wanted & ~mask, high = (wanted + packs * pack_bytes + mask) & ~mask;
    const std::intptr_t lowest = (begin + mask) & ~mask;
    const std::intptr_t whole = low > lowest ? low : lowest, stop = high < end ? high : end;
    if (stop <= whole) return;
    from = static_cast<const char*>(vector) + (whole - begin);
    skipped = static_cast<int>(whole - low);
    bytes = static_cast<int>(stop - whole);
  }
  __device__ __forceinline__ void copy(uint4* to, Mbarrier* full) const {
    if (bytes == 0) return;
    bulk_copy(reinterpret_cast<char*>(to) + skipped, from, static_cast<unsigned>(bytes), full);
  }
};

// Gamma and beta for each piece, in the order in which they are written.
template <class T>
__device__ __forceinline__ void fill_scales(const Rowwise& p, const RingCut& ring,
                                            RingMemory& shared, int rank) {
  RingPlace place;
  bool was_filled = false;
  for (std::int64_t row = cluster_index(); row < p.rows; row += ring.clusters) {
    const RingSlice slice = slice_of<T>(p, ring, rank, row);
    for (int done = 0; done < slice.packs; done += ring_piece) {
      const int packs = min(slice.packs - done, ring_piece);
      const int first = slice.cut.head + (slice.begin + done) * a_pack_of<T>;
      if (was_filled) mbarrier_wait(&shared.scales_empty[place.slot], place.turn ^ 1);
      Mbarrier* const full = &shared.scales_full[place.slot];
      VectorCover<T> of_gamma, of_beta;
      if (p.gamma != nullptr) of_gamma.set(p.gamma, first, packs, static_cast<int>(p.cols));
      if (p.beta != nullptr) of_beta.set(p.beta, first, packs, static_cast<int>(p.cols));
      mbarrier_arrive_expecting(full, static_cast<unsigned>(of_gamma.bytes + of_beta.bytes));
      of_gamma.copy(shared.scales(ring, place.slot, 0), full);
      of_beta.copy(shared.scales(ring, place.slot, 1), full);
      place.advance(ring_scale_slots);
      was_filled = was_filled || place.slot == 0;
    }
  }
}

// A thread's packs of a piece.
template <class T, int threads>
struct RingValues {
  static constexpr int a_pack = a_pack_of<T>, each = ring_piece / threads;
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

// One row of a block: where its pieces are.
template <class T, int threads>
struct RingRow {
  using Values = RingValues<T, threads>;
  const RingCut& ring;
  RingMemory& shared;
  RingSlice slice;
  RingPlace place;  // of the first piece
  int thread;       // of so many

  // body(values, the piece's first pack, its slot), of each piece of the slice.
  template <class Body>
  __device__ __forceinline__ void each_piece(float absent, const Body& body) const {
    RingPlace at = place;
#pragma unroll 1
    for (int done = 0; done < slice.packs; done += ring_piece) {
      mbarrier_wait(&shared.full[at.slot], at.turn);
      Values values;
      values.load(shared.pieces + at.slot * ring_piece, thread, min(slice.packs - done, ring_piece),
                  absent);
      body(values, done, at.slot);
      at.advance(ring.slots);
    }
  }
  __device__ __forceinline__ void release(int slot) const { release_to(&shared.empty[slot]); }
  __device__ __forceinline__ void release_to(Mbarrier* empty) const {
    __syncwarp();
    if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(empty);
  }
};

}  // namespace KW_TARGET::rowwise
