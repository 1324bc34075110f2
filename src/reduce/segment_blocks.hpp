// Segments of some KB and more in one launch: a block takes them whole, some neighbouring ones at a
// time, and comes back for more.
//
// Idea        The chunks of a block's segments are a run that it walks as chunk_blocks.hpp has it,
//             but nobody cut it beforehand: a warp finds the next chunks while the others walk, from
//             the next window of segments, which a ticket says. So nothing is put on a list or left
//             for others, one segment's data are on their way while another is walked over, and
//             blocks that are quicker take more.
// Longer      A segment that would keep a block long after the others are done goes on the lists
//             (work_lists.hpp).
#pragma once

#include "reduce/block_plan.hpp"
#include "reduce/chunk_blocks.hpp"

namespace KW_TARGET {

// Of the windows after the first of each block; null where there are none.
struct WindowTickets {
  unsigned* next_window;
  unsigned* finished_blocks;
};

// A window in shared memory: its segments, and which of all their chunks is each one's first.
struct SegmentWindow {
  std::int64_t begin[warp_lanes], count[warp_lanes];
  std::int32_t first[warp_lanes];

  template <class T>
  __device__ __forceinline__ ChunkItem item(std::int64_t first_sequence, int chunk) const {
    int low = 0;
#pragma unroll
    for (int step = warp_lanes / 2; step > 0; step /= 2) {
      if (first[low + step] <= chunk) low += step;
    }
    constexpr auto size = static_cast<std::int32_t>(smallest_chunk<T>);
    const std::int64_t at = std::int64_t{chunk - first[low]} * size;
    const auto left = static_cast<std::int32_t>(count[low] - at);
    const ChunkOf of = count[low] <= size ? ChunkOf::alone
                       : left <= size     ? ChunkOf::last
                                          : ChunkOf::inner;
    return {first_sequence + low, begin[low] + at, at, 0, min(left, size), of};
  }
};

// What finds a block's chunks: a warp's lanes call all of it together.
template <class T, bool turns>
class ChunkFinder {
 public:
  __device__ __forceinline__ ChunkFinder(const T* data, const Sequences& sequences,
                                         const BlockPlan& plan, const WindowTickets& tickets,
                                         SegmentWindow& window, ChunkRun& run, int lane)
      : data_(data),
        sequences_(sequences),
        plan_(plan),
        tickets_(tickets),
        window_(window),
        run_(run),
        lane_(lane) {}

  // Asks for the first window.
  __device__ __forceinline__ void start() {
    next_ = std::int64_t{blockIdx.x} * plan_.each;
    limits_ = limits_of(next_);
    ask_for_ticket();
  }

  // Finds chunks until there are `wanted`, or no more. Returns how many there are.
  __device__ __forceinline__ int find(int wanted, const WorkLists& lists) {
#pragma unroll 1
    while (found_ < wanted) {
      if (taken_ == of_window_ && !take_window(lists)) break;
      const int at = taken_ + lane_, to = found_ + lane_;
      if (at < of_window_) {
        const ChunkItem item = window_.template item<T>(first_, at);
        run_.items[to & (ChunkRun::kept - 1)] = item;
        run_.places[to & (ChunkRun::kept - 1)] = ChunkRing<T, turns>::place_of(
            Packs<T>(data_ + item.element, item.count, extent_of(data_, sequences_.elements)));
      }
      const int more = min(of_window_ - taken_, warp_lanes);
      found_ += more, taken_ += more;
    }
    return found_;
  }

 private:
  __device__ __forceinline__ Limits64 limits_of(std::int64_t first) const {
    const bool has_one = lane_ < plan_.each && first + lane_ < sequences_.count;
    return has_one ? sequences_.limits(first + lane_) : Limits64{0, -1};
  }
  __device__ __forceinline__ void ask_for_ticket() {
    if (tickets_.next_window != nullptr && lane_ == 0) ticket_ = atomicAdd(tickets_.next_window, 1u);
  }
  // False where there is none.
  __device__ __forceinline__ bool take_window(const WorkLists& lists) {
    if (next_ >= sequences_.count) return false;
    const bool has_one = lane_ < plan_.each && next_ + lane_ < sequences_.count;
    const Span own = has_one ? sequences_.within(limits_) : Span{0, -1};
    first_ = next_;
    const bool is_long = own.count > plan_.most;
    if (__any_sync(whole_warp(), is_long))
      put_on_lists<T>(lists, first_ + lane_, own, plan_.most + 1, lane_);
    constexpr auto size = static_cast<std::uint32_t>(smallest_chunk<T>);
    const std::uint32_t chunks =
        !has_one || is_long ? 0u : max((static_cast<std::uint32_t>(own.count) + size - 1) / size, 1u);
    const std::uint32_t up_to = sum_up_to_lane(chunks, lane_);
    __syncwarp(whole_warp());
    window_.begin[lane_] = own.begin;
    window_.count[lane_] = own.count;
    window_.first[lane_] = static_cast<std::int32_t>(up_to - chunks);
    of_window_ = static_cast<int>(from_lane(up_to, warp_lanes - 1)), taken_ = 0;
    __syncwarp(whole_warp());
    next_ = sequences_.count;
    if (tickets_.next_window != nullptr) {
      next_ = (std::int64_t{gridDim.x} + from_lane(ticket_, 0)) * plan_.each;
      limits_ = limits_of(next_);
      if (next_ < sequences_.count) ask_for_ticket();
    }
    return true;
  }

  const T* data_;
  const Sequences& sequences_;
  const BlockPlan& plan_;
  const WindowTickets& tickets_;
  SegmentWindow& window_;
  ChunkRun& run_;
  int lane_;
  std::int64_t first_ = 0, next_ = 0;  // of this window and of the next one
  Limits64 limits_ = {};               // of this lane's segment of the next window
  unsigned ticket_ = 0;            // for the window after that
  int of_window_ = 0, taken_ = 0;  // chunks
  int found_ = 0;                  // in all
};

template <class A, class T>
struct SegmentBlockMemory {
  ChunkRun run;
  SegmentWindow window;
  ChunkPartials<A, T> partials;
  ChunkEdges<A, T> edges;
  typename A::Total totals[2 * most_block_chunks];  // by the chunk's number modulo this
  int found[2];
};
template <class A, class T>
constexpr std::size_t segment_block_bytes =
    (sizeof(SegmentBlockMemory<A, T>) + stage_alignment - 1) / stage_alignment* stage_alignment;

template <ReduceKind kind, class T>
__global__ void __launch_bounds__(order_threads, (chunk_blocks_per_sm<kind, T>))
    reduce_segment_blocks_kernel(const T* data, Sequences sequences, BlockPlan plan,
                                 WindowTickets tickets, WorkLists lists, int stages, ResultSink sink) {
  using A = Accumulator<kind, T>;
  using Total = typename A::Total;
  constexpr int a_round = ChunkPartials<A, T>::chunks, kept_totals = 2 * most_block_chunks;
  constexpr bool needs_first = kind == ReduceKind::moments, turns = turns_chunks<A, T>;
  constexpr int finder_warp = order_warps - 1, ahead = a_round + most_chunk_stages + 1;
  auto* shared = gpu::dynamic_shared<unsigned char>();
  SegmentBlockMemory<A, T>& memory = *reinterpret_cast<SegmentBlockMemory<A, T>*>(shared);
  ChunkRun& run = memory.run;
  ChunkPartials<A, T>& partials = memory.partials;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const Extent array = extent_of(data, sequences.elements);
  if (thread == 0) begin_small_grid(data, sequences);
  wait_for_previous_kernel();
  if (plan.most_of_even > 0 && !are_even(sequences, plan.most_of_even, thread)) return;
  ChunkFinder<T, turns> finder(data, sequences, plan, tickets, memory.window, run, lane);
  if (warp == finder_warp) {
    finder.start();
    const int first_found = finder.find(ahead, lists);
    if (lane == 0) memory.found[0] = first_found;
  }
  __syncthreads();
  int found = memory.found[0];
  ChunkRing<T, turns> ring(shared + segment_block_bytes<A, T>, stages);
  int ask_at = 0, ask_piece = 0;
  const auto ask = [&] {  // for the next piece, into the stage that is free
    if (ask_at < found) {
      const ChunkPlace& place = run.place(ask_at);
      ring.ask(place, ask_piece, array, thread);
      if (++ask_piece == place.pieces) ask_piece = 0, ++ask_at;
    }
    async_commit();
    ring.advance();
  };
  for (int stage = 0; stage < stages; ++stage) ask();
  Value<T> first = {}, next_first = {};
  const auto first_of = [&](int at) {
    return run[at].count > 0 ? to_value(data[run[at].element]) : Value<T>{};
  };
  if (needs_first && found > 0) next_first = first_of(0);
  int complete = -1;  // the last chunk of a sequence whose totals are all there
  const auto merge_complete = [&] {
    if (complete < 0) return;
    const ChunkItem& last = run[complete];
    const auto chunks = static_cast<int>(last.begin / smallest_chunk<T>) + 1;
    const int first_chunk = complete + 1 - chunks;
    Total kept = A::empty_total();  // lane i: the i-th eighth of the slots'
#pragma unroll 1
    for (int eighth = 0; eighth * warp_lanes < chunks; ++eighth) {
      const int c = eighth * warp_lanes + lane;
      const Total slot =
          c < chunks ? memory.totals[(first_chunk + c) & (kept_totals - 1)] : A::empty_total();
      const Total sum = from_lane(tree_of_warp<A, warp_lanes>(slot), 0);
      if (lane == eighth) kept = sum;
    }
    kept = tree_of_warp<A, order_warps>(kept);
    if (lane == 0) write_result<T, kind>(sink, last.sequence, kept, last.begin + last.count);
    complete = -1;
  };
#pragma unroll 1
  for (int round = 0; round < found; round += a_round) {
    const int slots = round & a_round;
    const int number = round / a_round & 1;
    if (warp == finder_warp) {
      const int now = finder.find(round + a_round + ahead, lists);
      if (lane == 0) memory.found[number ^ 1] = now;
    }
    const int chunks = min(a_round, found - round);
#pragma unroll 1
    for (int i = 0; i < chunks; ++i) {
      const ChunkPlace& place = run.place(round + i);
      if constexpr (needs_first) {
        first = next_first;
        if (round + i + 1 < found) next_first = first_of(round + i + 1);
        if (thread == 0) partials.first[slots + i] = first;
      }
      Lanes<A, T> lanes;
      lanes.clear();
      const int pieces = place.pieces, skip = place.skip, turn = turns ? place.turn : 0;
#pragma unroll 1
      for (int piece = 0; piece < pieces; ++piece) {
        ring.wait();
        ring.add(lanes, place, piece, first, thread);
        ask();
      }
      if constexpr (A::any_order) {
        partials.put(slots + i, thread, tree_of_lanes(lanes));
      } else {
        partials.put(slots + i, member_of(thread, turn),
                     memory.edges.close(lanes, skip, turn, slots + i, thread));
      }
    }
    __syncthreads();
    found = memory.found[number ^ 1];
    merge_complete();
    if (warp >= slots && warp < slots + chunks) {
      const int of_run = round + warp - slots;
      if constexpr (!A::any_order) memory.edges.join(partials, warp, lane);
      const ChunkItem& item = run[of_run];
      const Chunk<T> chunk = {item.begin, item.count, partials.first[warp]};
      const Total total = A::total(partials.tree(warp, lane), chunk);
      if (item.of == ChunkOf::alone) {
        if (lane == 0) write_result<T, kind>(sink, item.sequence, total, item.count);
      } else {
        if (lane == 0) memory.totals[of_run & (kept_totals - 1)] = total;
        if (item.of == ChunkOf::last) complete = of_run;
      }
    }
  }
  let_next_kernel_start();
  __syncthreads();
  merge_complete();
  if (thread == 0 && tickets.next_window != nullptr &&
      take_ticket(tickets.finished_blocks) == gridDim.x - 1) {
    *tickets.next_window = *tickets.finished_blocks = 0;
  }
}

}  // namespace KW_TARGET
