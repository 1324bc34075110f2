// Many short segments of any lengths, in pieces of eight elements.
//
// Idea        A batch of up to 64 neighbouring segments lies in shared memory as in memory, brought
//             there as one run of as many bytes as they have (piece_units.hpp). A segment is as
//             many pieces as it has eights of elements; a piece is a subtree of the order
//             (order.hpp), and any lane may add it up. A lane has a segment, two of whose pieces
//             are under way side by side.
// Shared      Where some segments have so many more pieces that it takes less, all lanes share the
//             pieces of all, numbered one after the other: lane i takes every 32nd from the i-th
//             on. Whose it is, the bits of the segments that begin among the 32 tell: their number
//             up to the lane's. Then a lane adds up what its segment's pieces came to, which is the
//             same tree; of more than eight, sums of eight are pieces in turn.
// Banks       Where segments have the same length, lanes would read from the same banks. There a
//             lane takes element j ^ turn in place of element j.
// Longer      A segment that fits no batch goes on the lists (work_lists.hpp).
#pragma once

#include "reduce/numbers/neutral.hpp"
#include "reduce/numbers/result.hpp"
#include "reduce/segments/piece_units.hpp"
#include "reduce/walk/any_order.hpp"

namespace KW_TARGET {

constexpr int piece_elements = 8;
constexpr int piece_sums = 8;  // that are added up at a time
// Pieces of a segment at most where a lane has all of them; what a round of pieces that lanes share
// takes by that of a piece of its own, and beside all rounds (in eighths).
constexpr int pieces_of_tree = 8, pieces_of_lane = 2 * pieces_of_tree;
constexpr int eighths_of_round = 15, eighths_beside = 24;

// The bits of all lanes' words. All lanes of the warp call it.
__device__ __forceinline__ unsigned bits_of_warp(unsigned bits) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_or_sync(whole_warp(), bits);
#else
  for (int apart = 1; apart < warp_lanes; apart *= 2)
    bits |= from_lane(bits, (static_cast<int>(threadIdx.x) ^ apart) % warp_lanes);
  return bits;
#endif
}

// The sum of all lanes' numbers. All lanes of the warp call it.
__device__ __forceinline__ unsigned sum_of_warp(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(whole_warp(), value);
#else
  for (int apart = 1; apart < warp_lanes; apart *= 2)
    value += from_lane(value, (static_cast<int>(threadIdx.x) ^ apart) % warp_lanes);
  return value;
#endif
}

// Which of a warp's lanes has each piece of all: of a lane's pieces `begin` is the first and
// `count` their number. Lanes before `first` have none, all others up to the last one that has any
// do.
class PieceOwners {
 public:
  __device__ __forceinline__ PieceOwners(int begin, int count, int first)
      : begin_(begin), has_(count > 0), before_(first) {}

  // The owner of piece `first` + `lane`, asked for 32 pieces after the other.
  __device__ __forceinline__ int next(int first, int lane) {
    const int at = begin_ - first;
    const bool begins = has_ && static_cast<unsigned>(at) < static_cast<unsigned>(warp_lanes);
    const unsigned bits = bits_of_warp(begins ? 1u << at : 0u);
    const unsigned up_to_lane = ~0u >> (warp_lanes - 1 - lane);
    const int owner = before_ + __popc(bits & up_to_lane) - 1;
    before_ += __popc(bits);
    return owner;
  }

 private:
  int begin_;
  bool has_;
  int before_;  // lanes whose pieces began earlier
};

// A segment in the ring, piece by piece.
template <class A, class T>
struct PiecesOf {
  using Partial = typename A::Partial;

  const T* begin;
  int count;
  T first = {};

  __device__ __forceinline__ PiecesOf(const unsigned char* ring, const PieceSegment& of)
      : begin(reinterpret_cast<const T*>(ring) + of.at()), count(of.count()) {
    if constexpr (needs_first_element<A> && !compares_places<A>) first = *begin;
  }
  __device__ __forceinline__ int number() const {
    return (max(count, 0) + piece_elements - 1) / piece_elements;
  }
  __device__ __forceinline__ Partial piece(int number) const { return eight<false>(number, 0); }

  // The tree over all pieces, by one lane; the warp's longest segment has `most`.
  __device__ __forceinline__ Partial all(int most) const {
    // Where all begin at the same place of a piece's bytes, reads meet in few banks.
    const auto bytes = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(begin));
    constexpr unsigned piece_bytes = piece_elements * static_cast<unsigned>(sizeof(T));
    const unsigned apart = bytes ^ from_lane(bytes, 0);
    if (__all_sync(whole_warp(), apart % piece_bytes == 0 || count <= 0))
      return all<true>(most, static_cast<int>(bytes / line_bytes % piece_elements));
    return all<false>(most, 0);
  }

 private:
  template <bool turns>
  __device__ __forceinline__ Partial all(int most, int turn) const {
    if (most <= 1) return eight<turns>(0, turn);
    Partial whole = A::empty();
#pragma unroll 1
    for (int from = 0; from < most; from += pieces_of_tree)
      append<turns>(whole, tree<pieces_of_tree, turns>(from, most - from, turn));
    return whole;
  }
  // Eight elements; those that are not there change nothing (neutral.hpp). In an order of its own a
  // lane exchanges neighbours at each level of the tree, no more.
  template <bool turns>
  __device__ __forceinline__ Partial eight(int number, int turn) const {
    constexpr int elements = piece_elements;
    const int at = number * elements, left = count - at;
    const unsigned present = left >= elements ? 0xFFu : (1u << max(left, 0)) - 1;
    const Value<T> first_value = to_value(first);
    const Value<T> neutral = to_value(neutral_element<A>(first));
    Partial partials[elements];
#pragma unroll
    for (int j = 0; j < elements; ++j) {
      const int i = turns ? j ^ turn : j;
      Value<T> value = neutral;
      if ((present >> i & 1) != 0) value = to_value(begin[at + i]);
      if constexpr (compares_places<A>) {
        partials[j] = {value, static_cast<std::uint32_t>(at + i)};
      } else {
        partials[j] = lane_of_one<A, T>(value, first_value);
      }
    }
#pragma unroll
    for (int step = 1; step < elements; step *= 2) {
#pragma unroll
      for (int j = 0; j < elements; j += 2 * step) append<turns>(partials[j], partials[j + step]);
    }
    return partials[0];
  }
  // Merges what comes later; in an order of its own either may be the first.
  template <bool turns>
  __device__ __forceinline__ static void append(Partial& into, const Partial& later) {
    if constexpr (compares_places<A> && !turns) {
      A::add(into, later.best, static_cast<std::int32_t>(later.at), later.best);
    } else {
      A::merge(into, later);
    }
  }
  // Pieces that are under way side by side; places would spill.
  static constexpr int at_once = compares_places<A> && sizeof(T) != 4 ? 1 : 2;
  // Over pieces `from` and later ones, of which the warp's longest segment has `most`.
  template <int pieces, bool turns>
  __device__ __forceinline__ Partial tree(int from, int most, int turn) const {
    constexpr int half = pieces / 2;
    if constexpr (pieces == 1) {
      return eight<turns>(from, turn);
    } else {
      Partial whole = tree<half, turns>(from, most, turn);
      if (pieces <= at_once || most > half)
        append<turns>(whole, tree<half, turns>(from + half, most - half, turn));
      return whole;
    }
  }
};

// The tree over up to eight sums; none of the warp's lanes has more than `most` of them.
template <class A, int count>
__device__ __forceinline__ typename A::Partial tree_of_sums(const typename A::Partial* sums,
                                                            int present, int most) {
  if constexpr (count == 1) {
    return present > 0 ? *sums : A::empty();
  } else {
    typename A::Partial whole = tree_of_sums<A, count / 2>(sums, present, most);
    if (most <= count / 2) return whole;
    A::merge(whole,
             tree_of_sums<A, count / 2>(sums + count / 2, present - count / 2, most - count / 2));
    return whole;
  }
}

// The sum of each lane's segment, some of which have many pieces, by all lanes: those of lanes
// `first` and later at a time whose pieces the places suffice for. Returns the next lane.
template <class A, class T>
__device__ __forceinline__ int share_pieces(const unsigned char* ring, typename A::Partial* sums,
                                            const PieceSegment& own, int first,
                                            typename A::Partial& sum, int lane) {
  using Partial = typename A::Partial;
  constexpr int places = PieceRoom<A>::places;
  int pieces = lane < first ? 0 : max(PiecesOf<A, T>(ring, own).number(), 1);
  auto up_to = static_cast<int>(sum_up_to_lane(static_cast<unsigned>(pieces), lane));
  int next = warp_lanes, total = from_lane(up_to, warp_lanes - 1);
  if (total > places) {
    next = __popc(static_cast<unsigned>(__ballot_sync(whole_warp(), up_to <= places)));
    total = from_lane(up_to, next - 1);
    if (lane >= next) pieces = 0, up_to = total;
  }
  int begin = up_to - pieces;
  PieceOwners owners(begin, pieces, first);
#pragma unroll 1
  for (int round = 0; round < total; round += warp_lanes) {
    const int owner = owners.next(round, lane);
    const PieceSegment of = {from_lane(own.word, owner)};
    const int piece = round + lane - from_lane(begin, owner);
    sums[round + lane] = PiecesOf<A, T>(ring, of).piece(piece);
  }
  __syncwarp(whole_warp());
  auto most = static_cast<int>(largest_of_warp(static_cast<unsigned>(pieces)));
#pragma unroll 1
  while (most > piece_sums) {
    const int groups = (pieces + piece_sums - 1) / piece_sums;
    const auto up = static_cast<int>(sum_up_to_lane(static_cast<unsigned>(groups), lane));
    const int end = from_lane(up, warp_lanes - 1);
    PieceOwners of_groups(up - groups, groups, first);
#pragma unroll 1
    for (int round = 0; round < end; round += warp_lanes) {
      const int owner = of_groups.next(round, lane);
      const int group = round + lane - from_lane(up - groups, owner);
      const int left = from_lane(pieces, owner) - group * piece_sums;
      const Partial* its = sums + from_lane(begin, owner) + group * piece_sums;
      const Partial of_group = tree_of_sums<A, piece_sums>(its, left, piece_sums);
      __syncwarp(whole_warp());
      sums[round + lane] = of_group;
      __syncwarp(whole_warp());
    }
    pieces = groups, begin = up - groups;
    most = (most + piece_sums - 1) / piece_sums;
  }
  const Partial whole = tree_of_sums<A, piece_sums>(sums + begin, pieces, most);
  if (pieces > 0) sum = whole;
  __syncwarp(whole_warp());
  return next;
}

// Whether lanes are done sooner with a segment each than with pieces of all, by the pieces of each.
__device__ __forceinline__ bool takes_own(int pieces, int most) {
  if (most > pieces_of_lane) return false;
  const auto all = static_cast<int>(sum_of_warp(static_cast<unsigned>(max(pieces, 1))));
  return 8 * most <= eighths_of_round * ((all + warp_lanes - 1) / warp_lanes) + eighths_beside;
}

// Reduces a batch in the ring, a segment a lane.
template <ReduceKind kind, class T>
__device__ __forceinline__ void reduce_batch(const PieceBatch& batch, const unsigned char* ring,
                                             typename Accumulator<kind, T>::Partial* sums,
                                             const ResultSink& sink, int lane) {
  using A = Accumulator<kind, T>;
  using Partial = typename A::Partial;
  const std::int64_t first_sequence = batch.first_sequence + lane;
  const int all = batch.count;
#pragma unroll 1
  for (int from = 0; from < all; from += warp_lanes) {
    PieceSegment own = {};
    if (from + lane < all) own = batch.segment(from + lane);
    const int count = own.count();
    const PiecesOf<A, T> pieces(ring, own);
    const int most = static_cast<int>(largest_of_warp(static_cast<unsigned>(pieces.number())));
    Partial sum;
    if (most <= pieces_of_tree || takes_own(pieces.number(), most)) {
      sum = pieces.all(most);
    } else {
      sum = A::empty();
#pragma unroll 1
      for (int first = 0; first < warp_lanes;)
        first = share_pieces<A, T>(ring, sums, own, first, sum, lane);
    }
    if (count >= 0) {
      Partial whole = A::empty();
      if (count > 0) A::merge(whole, sum);
      const Chunk<T> chunk = {0, count, to_value(pieces.first)};
      write_result<T, kind>(sink, first_sequence + from, A::total(whole, chunk), count);
    }
  }
}

template <ReduceKind kind, class T>
constexpr int piece_blocks_per_sm = kind == ReduceKind::moments || kind == ReduceKind::norm_square
                                        ? 4
                                    : sizeof(T) == 8 ? 5
                                                     : 6;

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(piece_warps* warp_lanes, (piece_blocks_per_sm<kind, T>))
    reduce_pieces_kernel(const T* data, Sequences sequences, PiecePlan plan, WorkLists lists,
                         ResultSink sink) {
  if constexpr (has_copy_engine) {
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % warp_lanes, warp = thread / warp_lanes;
    const std::int64_t first = (std::int64_t{blockIdx.x} * piece_warps + warp) * plan.each;
    unsigned char* const ring = gpu::dynamic_shared<unsigned char>() + warp * plan.warp_bytes;
    auto& room = *reinterpret_cast<PieceRoom<Accumulator<kind, T>>*>(ring + plan.ring_bytes);
    constexpr int offsets_a_line = line_bytes / static_cast<int>(sizeof(std::int64_t));
    if (const std::int64_t at = first + lane * offsets_a_line;
        lane * offsets_a_line <= plan.each && at <= sequences.count)
      prefetch_line_to_l2(sequences.offsets + at);
    WarpCopies copies(room.full, most_piece_batches, lane);
    __syncthreads();
    wait_for_previous_kernel();
    PieceUnits<T> units(data, sequences, plan, ring, room.batches, copies, first, lane);
#pragma unroll 1
    while (true) {
      units.ask(lists);
      if (units.is_empty()) break;
      reduce_batch<kind, T>(units.wait(), ring, room.sums, sink, lane);
      units.release();
    }
    let_next_kernel_start();
  }
}

}  // namespace KW_TARGET
