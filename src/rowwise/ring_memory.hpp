// The ring of ring.hpp: which block has which slice of which row, what its shared memory holds, how
// a warp fills it, and how the others read it piece by piece.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/cluster.hpp"
#include "rowwise/cluster_team.hpp"
#include "rowwise/pack_steps.hpp"
#include "rowwise/tuning.hpp"

namespace KW_TARGET::rowwise {

struct RingCut {
  int blocks;       // of a cluster
  int clusters;     // of the launch: each has rows so many apart
  int slice_packs;  // of a block
  int slots;        // of the ring
};

struct RingMemory {
  Mbarrier full[ring_most_slots], empty[ring_most_slots];
  ClusterExchange exchange;
  TeamMemory team;
  alignas(128) uint4 pieces[1];  // slots of ring_piece packs
};
inline std::size_t ring_bytes(int slots) {
  return sizeof(RingMemory) + static_cast<std::size_t>(slots) * ring_piece * pack_bytes;
}

// The warps that compute.
struct SyncRing {
  __device__ __forceinline__ void operator()() const { sync_some_threads<1, ring_threads>(); }
};
using RingTeam = TeamOfWarps<SyncRing>;

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

__device__ __forceinline__ std::int64_t cluster_index_of(const RingCut& ring) {
  return ring.blocks > 1 ? cluster_index() : static_cast<int>(blockIdx.x);
}

template <class T>
__device__ __forceinline__ void fill_ring(const Rowwise& p, const RingCut& ring, RingMemory& shared,
                                          int rank) {
  constexpr int a_pack = a_pack_of<T>;
  RingPlace place;
  bool was_filled = false;
  for (std::int64_t row = cluster_index_of(ring); row < p.rows; row += ring.clusters) {
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

// A thread's packs of a piece.
template <class T>
struct RingValues {
  static constexpr int a_pack = a_pack_of<T>, each = ring_piece / ring_threads;
  static constexpr int count = each * a_pack;
  float v[count];
  int packs;  // of the piece

  __device__ __forceinline__ bool has(int i) const {
    return static_cast<int>(threadIdx.x) + i / a_pack * ring_threads < packs;
  }
  __device__ __forceinline__ void load(const uint4* piece, int packs_, float absent) {
    packs = packs_;
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (has(k * a_pack)) {
        unpack(piece[threadIdx.x + k * ring_threads], T{}, v + k * a_pack);
      } else {
#pragma unroll
        for (int w = 0; w < a_pack; ++w) v[k * a_pack + w] = absent;
      }
    }
  }
  // In place of what was there, of float32.
  __device__ __forceinline__ void keep(uint4* piece) const {
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (has(k * a_pack)) piece[threadIdx.x + k * ring_threads] = packed_as<float>(v + k * a_pack);
    }
  }
};

// One row of a block: where its pieces are.
template <class T>
struct RingRow {
  const RingCut& ring;
  RingMemory& shared;
  RingSlice slice;
  RingPlace place;  // of the first piece

  // body(values, the piece's first pack, its slot), of each piece of the slice.
  template <bool waits, class Body>
  __device__ __forceinline__ void each_piece(float absent, const Body& body) const {
    RingPlace at = place;
#pragma unroll 1
    for (int done = 0; done < slice.packs; done += ring_piece) {
      if (waits) mbarrier_wait(&shared.full[at.slot], at.turn);
      RingValues<T> values;
      values.load(shared.pieces + at.slot * ring_piece, min(slice.packs - done, ring_piece),
                  absent);
      body(values, done, at.slot);
      at.advance(ring.slots);
    }
  }
  __device__ __forceinline__ void release(int slot) const {
    __syncwarp();
    if (threadIdx.x % warp_lanes == 0) mbarrier_arrive(&shared.empty[slot]);
  }
};

}  // namespace KW_TARGET::rowwise
