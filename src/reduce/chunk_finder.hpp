// How blocks of reduce_segment_blocks_kernel (segment_blocks.hpp) find the chunks that they walk
// over: those of windows of neighbouring segments, the first one by the block's number, each other
// one by a ticket.
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

  __device__ __forceinline__ ChunkItem item(std::int64_t first_sequence, int chunk,
                                            int chunk_shift) const {
    int low = 0;
#pragma unroll
    for (int step = warp_lanes / 2; step > 0; step /= 2) {
      if (first[low + step] <= chunk) low += step;
    }
    const std::int32_t size = 1 << chunk_shift;
    const std::int64_t at = std::int64_t{chunk - first[low]} << chunk_shift;
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
        const ChunkItem item = window_.item(first_, at, plan_.chunk_shift);
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
    if (tickets_.next_window != nullptr && lane_ == 0)
      ticket_ = atomicAdd(tickets_.next_window, 1u);
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
    const std::uint32_t size = 1u << plan_.chunk_shift;
    const std::uint32_t needed =
        (static_cast<std::uint32_t>(own.count) + size - 1) >> plan_.chunk_shift;
    const std::uint32_t chunks = !has_one || is_long ? 0u : max(needed, 1u);
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
  unsigned ticket_ = 0;                // for the window after that
  int of_window_ = 0, taken_ = 0;      // chunks
  int found_ = 0;                      // in all
};

}  // namespace KW_TARGET
