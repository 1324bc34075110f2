// How the blocks of a team come to a row's total: some warps of each block merge what its finding
// warps found, give that to the team through memory, and merge what all blocks gave. They take
// rows by turns, so that several are under way.
#pragma once

#include "device/ticket.hpp"
#include "gpu/polling.hpp"
#include "rowwise/ring_memory.hpp"

namespace KW_TARGET::rowwise {

// Waits until all blocks of a team have given what they found of a row. By a whole warp.
__device__ __forceinline__ void wait_for_team(const unsigned* ticket, unsigned all) {
  if (threadIdx.x % warp_lanes == 0) {
    while (static_cast<int>(see_ticket(ticket) - all) < 0) gpu::between_looks();
  }
  __syncwarp();
}

// Of a block's slice, or of a row. By a whole warp, as all below.
template <bool softmax, class T, int most>
struct RingFound {
  FoundSoftmax of_softmax;
  FoundNorm<double> of_norm;

  __device__ __forceinline__ RingFound(const WarpFound* found, int count, bool centers,
                                       float count_inverse) {
    if constexpr (softmax)
      of_softmax = merge_softmax<double, most, sizeof(T) == 2>(found, count);
    else
      of_norm = merge_norm<double, most>(found, count, centers, count_inverse);
  }
  __device__ __forceinline__ WarpFound as_one(int elements) const {
    if constexpr (softmax) return {of_softmax.largest, static_cast<float>(of_softmax.sum), 0, 0};
    return {of_norm.near, of_norm.rest, static_cast<float>(of_norm.squares),
            static_cast<float>(elements)};
  }
  __device__ __forceinline__ RowTotal total(const Rowwise& p, float count_inverse) const {
    if constexpr (softmax)
      return {of_softmax.largest, softmax_by(p.op == RowwiseOp::log_softmax, of_softmax.sum), 0, 0};
    else
      return NormMeeting<double, true>{count_inverse, p.epsilon}.of(of_norm);
  }
};

// Sends what this block found of a row to all blocks of its cluster, and waits for theirs.
template <class Turn>
__device__ __forceinline__ const WarpFound* exchange_letters(const Turn& turn, int blocks,
                                                             RingLetters& letters,
                                                             const WarpFound& own) {
  const unsigned place = turn.turn % ring_letters;
  const auto lane = static_cast<int>(threadIdx.x) % warp_lanes;
  if (lane == 0)
    mbarrier_arrive_expecting(&letters.received[place],
                              static_cast<unsigned>(blocks) * sizeof(WarpFound));
  if (lane < blocks)
    send_to_block(lane, &letters.of[place][turn.seat.rank], own, &letters.received[place]);
  mbarrier_wait(&letters.received[place], turn.turn / ring_letters % 2);
  return letters.of[place];
}

template <bool softmax, class T, bool clusters, int groups, class Turn>
__device__ __forceinline__ RowTotal meet_team(const Rowwise& p, const RingPlan& plan,
                                              const Turn& turn, const WarpFound* found,
                                              unsigned* tickets, WarpFound* given,
                                              float count_inverse) {
  constexpr int finding_warps = ring_finding_warps / groups;
  const bool centers = p.op == RowwiseOp::layer_norm;
  const int blocks = plan.blocks;
  if (blocks == 1)
    return RingFound<softmax, T, finding_warps>(found, finding_warps, centers, count_inverse)
        .total(p, count_inverse);
  const RingSlice slice = slice_of<T>(p, plan, turn.seat.rank, turn.row);
  const int elements = slice.packs * a_pack_of<T> + (turn.seat.rank == 0 ? slice.cut.edges : 0);
  const RingFound<softmax, T, finding_warps> own(found, finding_warps, centers,
                                                 1.0f / static_cast<float>(elements));
  if constexpr (clusters) {
    auto& letters =
        *reinterpret_cast<RingLetters*>(gpu::dynamic_shared<char>() + plan.letters_begin);
    return RingFound<softmax, T, plain_large_blocks>(
               exchange_letters(turn, blocks, letters, own.as_one(elements)), blocks, centers,
               count_inverse)
        .total(p, count_inverse);
  }
  constexpr int given_rows = ring_rows_given(groups);
  const int place = turn.seat.team * given_rows + static_cast<int>(turn.turn % given_rows);
  unsigned* const ticket = tickets + 1 + place;
  WarpFound* const of_team = given + place * blocks;
  if (threadIdx.x % warp_lanes == 0) {
    of_team[turn.seat.rank] = own.as_one(elements);
    take_ticket(ticket);
  }
  wait_for_team(ticket, (turn.turn / given_rows + 1) * static_cast<unsigned>(blocks));
  return RingFound<softmax, T, ring_most_blocks>(of_team, blocks, centers, count_inverse)
      .total(p, count_inverse);
}

// By each warp of those that meet: `which` of them.
template <bool softmax, class T, bool clusters, int groups>
__device__ __forceinline__ void meet_teams(const Rowwise& p, const RingPlan& plan,
                                           RingMemory<groups>& shared, int which, unsigned* tickets,
                                           WarpFound* given) {
  const float count_inverse = 1.0f / static_cast<float>(p.cols);
  each_ring_turn<groups>(p, plan, [&](const auto& turn) {
    if (static_cast<int>(turn.turn % ring_meeting_warps(softmax, groups)) != which) return;
    const unsigned held = turn.held();
    mbarrier_wait(&shared.found[held], turn.held_parity());
    const RowTotal total = meet_team<softmax, T, clusters, groups>(
        p, plan, turn, shared.founds[held], tickets, given, count_inverse);
    if (threadIdx.x % warp_lanes == 0) {
      shared.totals[held] = total;
      mbarrier_arrive(&shared.known[held]);
    }
  });
  // Who is last of the launch leaves the tickets as they were.
  if (clusters || plan.blocks == 1) return;
  unsigned taken = 0;
  if (threadIdx.x % warp_lanes == 0) taken = take_ticket(tickets);
  taken = from_lane(taken, 0);
  if (taken + 1 != gridDim.x * ring_meeting_warps(softmax, groups)) return;
  const int all = 1 + plan.teams * ring_rows_given(groups);
  for (int i = static_cast<int>(threadIdx.x) % warp_lanes; i < all; i += warp_lanes) tickets[i] = 0;
}

}  // namespace KW_TARGET::rowwise
