// Segments of some KB and more, of any lengths, in one launch: each block has an equal share of the
// array, and its warps take the chunks that begin there one by one.
//
// Idea        A segment's place is where it begins and somewhat more for each segment before it. A
//             share is a range of places. One warp of a block finds the first segment of the
//             block's share by halving, then all chunks (order.hpp) that begin there, and puts them
//             in a queue; a short segment is one chunk. The other warps take them. So no launch
//             looks at the segments before, nothing is put on a list, a short segment or the end of
//             a long one takes one warp as long as it takes, and all warps are done together.
// Ring        What a warp asks for lies in a ring of its own in shared memory, brought there by the
//             copy engine (warp_copies.hpp): a chunk, or as many short segments as fit.
// Merging     Totals of a segment of several chunks are left in the workspace. Who is the last of
//             the block's to leave one merges them; where others have a part of the segment, the
//             last one of the blocks does.
// Longer      A segment of larger chunks than others have goes on the lists (work_lists.hpp).
#pragma once

#include "device/overlap.hpp"
#include "reduce/numbers/result.hpp"
#include "reduce/segments/share_queue.hpp"
#include "reduce/walk/any_order.hpp"
#include "reduce/walk/strips.hpp"
#include "reduce/walk/warp_copies.hpp"

namespace KW_TARGET {

struct ShareTickets {
  unsigned* finished_blocks;
  unsigned* of_blocks;  // of the segment that begins in a block's share and ends in another's
};

// A unit in a warp's ring: its elements, as StagedRun has them, and where its room begins.
struct alignas(16) UnitInRing {
  ShareUnit unit;
  std::int32_t place, skip, elements, room;
};

// A warp's part of the block's shared memory.
template <class A>
struct WarpShare {
  using Place = StripPlace<A>;
  static constexpr int barrier_bytes =
      16 * ((most_share_copies * static_cast<int>(sizeof(Mbarrier)) + 15) / 16);
  static constexpr int units_bytes = most_share_copies * static_cast<int>(sizeof(UnitInRing));
  static constexpr int places_bytes =
      (A::any_order ? 0 : strip_places) * static_cast<int>(sizeof(Place));
  static constexpr int beside_bytes =
      (barrier_bytes + units_bytes + places_bytes + stage_alignment - 1) / stage_alignment *
      stage_alignment;

  unsigned char* ring;
  Mbarrier* full;
  UnitInRing* units;
  Place* places;

  __device__ __forceinline__ WarpShare(unsigned char* memory, int ring_bytes)
      : ring(memory),
        full(reinterpret_cast<Mbarrier*>(memory + ring_bytes)),
        units(reinterpret_cast<UnitInRing*>(memory + ring_bytes + barrier_bytes)),
        places(reinterpret_cast<Place*>(memory + ring_bytes + barrier_bytes + units_bytes)) {}
};

// A warp's units on their way through its ring.
template <ReduceKind kind, class T>
class ShareRing {
 public:
  using A = Accumulator<kind, T>;
  using Total = typename A::Total;

  __device__ __forceinline__ ShareRing(const T* data, const Sequences& sequences,
                                       const SharePlan& plan, ShareQueue& queue,
                                       const WarpShare<A>& own, WarpCopies& copies, int lane)
      : data_(data),
        array_(extent_of(data, sequences.elements)),
        plan_(plan),
        queue_(queue),
        own_(own),
        copies_(copies),
        lane_(lane) {}

  __device__ __forceinline__ void start() { next_ = queue_.take(lane_); }
  __device__ __forceinline__ bool is_empty() const { return asked_ == done_; }

  // Asks for what fits.
  __device__ __forceinline__ void ask() {
#pragma unroll 1
    while (next_.count >= 0 && asked_ - done_ < most_share_copies && ask_for_next()) {
    }
  }
  // The oldest unit and its total, which the first lane has.
  __device__ __forceinline__ ShareUnit add(Total* total) {
    const int slot = done_ % most_share_copies;
    copies_.wait(slot, asked_ - done_ - 1);
    const UnitInRing of = own_.units[slot];
    const StagedRun<T> run = {own_.ring + of.place, of.skip, of.elements};
    const T first = run.count > 0 ? run.first() : T{};
    const Chunk<T> chunk = {of.unit.chunk * smallest_chunk<T>, run.count, to_value(first)};
    if constexpr (std::is_same_v<A, NormSquare>) {
      *total = squares_by_ranges(lane_ == 0, [&]<class Sum>() {
        return reduce_by_strips<Sum>(run, first, own_.places, lane_);
      });
    } else if constexpr (A::any_order) {
      const auto own = walk_packs<A>(run, lane_, warp_lanes, first);
      *total = A::total(tree_of_warp<A, warp_lanes>(own), chunk);
    } else {
      *total = A::total(reduce_by_strips<A>(run, first, own_.places, lane_), chunk);
    }
    __syncwarp(whole_warp());
    ++done_;
    if (!is_empty()) oldest_ = own_.units[done_ % most_share_copies].room;
    return of.unit;
  }

 private:
  __device__ __forceinline__ bool ask_for_next() {
    const std::int64_t at = next_.chunk * smallest_chunk<T>;
    const auto elements = static_cast<int>(min(smallest_chunk<T>, next_.count - at));
    const Packs<T> packs(data_ + next_.begin + at, elements, array_);
    const int past = place_in_stage(packs.boundary);
    const int needed = (past + packs.count_of_packs() * 16 + stage_alignment - 1) /
                       stage_alignment * stage_alignment;
    int room = newest_;
    if (is_empty()) {
      room = oldest_ = 0;
    } else if (newest_ > oldest_) {
      if (room + needed > plan_.ring_bytes) room = 0;
      if (room == 0 && needed > oldest_) return false;
    } else if (room + needed > oldest_) {
      return false;
    }
    const int slot = asked_ % most_share_copies;
    if (lane_ == 0) own_.units[slot] = {next_, room + past, packs.skip, elements, room};
    copies_.ask(slot, own_.ring + room, packs, lane_);
    newest_ = room + needed;
    ++asked_;
    next_ = queue_.take(lane_);
    return true;
  }

  const T* data_;
  Extent array_;
  const SharePlan& plan_;
  ShareQueue& queue_;
  const WarpShare<A>& own_;
  WarpCopies& copies_;
  int lane_;
  ShareUnit next_ = {};
  int asked_ = 0, done_ = 0;     // units
  int oldest_ = 0, newest_ = 0;  // where what is under way begins and ends in the ring
};

// What becomes of a unit's total, which the first lane has.
template <ReduceKind kind, class T>
__device__ __forceinline__ void take_total(const ShareUnit& unit, const Sequences& sequences,
                                           const typename Accumulator<kind, T>::Total& total,
                                           const SharePlan& plan, ShareQueue& queue,
                                           unsigned* tickets,
                                           typename Accumulator<kind, T>::Total* totals,
                                           const ResultSink& sink, int lane) {
  using A = Accumulator<kind, T>;
  const auto chunks = static_cast<int>(chunk_count<T>(unit.count));
  if (chunks == 1) {
    if (lane == 0) write_result<T, kind>(sink, unit.sequence, total, unit.count);
    return;
  }
  const std::int64_t before = sequences.before(unit.sequence, unit.begin);
  auto* const left = totals + unit.sequence + before / smallest_chunk<T>;
  unsigned merges = 0;
  if (lane == 0) {
    left[unit.chunk] = total;
    const int own = unit.to - unit.from;
    bool is_last = true;
    if (own > 1) {
      __threadfence_block();
      is_last = atomicAdd(&queue.done[unit.counter], 1) == own - 1;
      __threadfence_block();
      if (is_last) *static_cast<volatile int*>(&queue.done[unit.counter]) = -1;
    }
    if (is_last && own < chunks) {
      const std::int64_t place = before + unit.sequence * plan.cost;
      const std::int64_t first = place / plan.a_block;
      const std::int64_t last = (place + (chunks - 1) * smallest_chunk<T>) / plan.a_block;
      unsigned* const ticket = tickets + first;
      is_last = take_ticket(ticket) == static_cast<unsigned>(last - first);
      if (is_last) *ticket = 0;
    }
    merges = is_last ? 1 : 0;
  }
  if (from_lane(merges, 0) == 0) return;
  __syncwarp(whole_warp());
  const auto merged = merge_totals<A>(left, chunks, lane);
  if (lane == 0) write_result<T, kind>(sink, unit.sequence, merged, unit.count);
}

// Threads of a block: those of variances take more registers.
template <ReduceKind kind>
constexpr int share_threads = kind == ReduceKind::moments ? 384 : 512;

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(share_threads<kind>, 1)
    reduce_shares_kernel(const T* data, Sequences sequences, SharePlan plan, ShareTickets tickets,
                         WorkLists lists, typename Accumulator<kind, T>::Total* totals,
                         ResultSink sink) {
  if constexpr (has_copy_engine) {
    using A = Accumulator<kind, T>;
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % warp_lanes, warp = thread / warp_lanes;
    auto* const shared = gpu::dynamic_shared<unsigned char>();
    ShareQueue& queue = *reinterpret_cast<ShareQueue*>(shared);
    const bool finds = warp == plan.warps;
    queue.clear(thread);
    if (thread == 0 && sequences.offsets != nullptr)
      prefetch_share(sequences.offsets, sequences.count + 1);
    const int mine = min(warp, plan.warps - 1);
    const WarpShare<A> own(
        shared + share_queue_bytes + mine * (plan.ring_bytes + WarpShare<A>::beside_bytes),
        plan.ring_bytes);
    WarpCopies copies(own.full, finds ? 0 : most_share_copies, lane);
    __syncthreads();
    wait_for_previous_kernel();
    if (finds) {
      UnitFinder<T>(sequences, plan, lists, queue, lane).find_all();
    } else {
      ShareRing<kind, T> ring(data, sequences, plan, queue, own, copies, lane);
      ring.start();
      ring.ask();
#pragma unroll 1
      while (!ring.is_empty()) {
        typename A::Total total;
        const ShareUnit unit = ring.add(&total);
        ring.ask();
        take_total<kind, T>(unit, sequences, total, plan, queue, tickets.of_blocks, totals, sink,
                            lane);
      }
    }
    let_next_kernel_start();
    __syncthreads();
    if (thread == 0) queue.is_last_block = take_ticket(tickets.finished_blocks) == gridDim.x - 1;
    __syncthreads();
    if (!queue.is_last_block) return;
    // What offsets that descend have left there.
    for (int i = thread; i < plan.blocks; i += static_cast<int>(blockDim.x))
      tickets.of_blocks[i] = 0;
    if (thread == 0) *tickets.finished_blocks = 0;
  }
}

}  // namespace KW_TARGET
