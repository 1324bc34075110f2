// How the warps of reduce_shares_kernel (segment_shares.hpp) come to the chunks of their block's
// share of an array of segments: one finds them and puts them in a queue, the others take them.
#pragma once

#include "device/mbarrier.hpp"
#include "reduce/chunks/work_lists.hpp"
#include "reduce/segments/share_plan.hpp"

namespace KW_TARGET {

// A chunk, or a whole short segment.
struct alignas(16) ShareUnit {
  std::int64_t sequence, begin;  // and the segment's first element in the array
  std::int32_t count, chunk;     // elements of the segment, below 0: no more; the chunk's number
  std::int32_t from, to;         // those of the segment's chunks that are in this share
  std::int32_t counter;          // of those that are done, where they are several
};

// A bit for each lane of a warp.
__device__ __forceinline__ unsigned lane_mask(bool is_so) {
  return static_cast<unsigned>(__ballot_sync(whole_warp(), is_so));
}

// The units of a block that were found and not taken: who finds writes them in turn, others take
// them in turn.
struct ShareQueue {
  // A segment that is not done has a unit in the queue or with a warp, so that a counter is free.
  static constexpr int kept = 16, counters = 4 * warp_lanes;
  ShareUnit units[kept];
  Mbarrier full[kept], empty[kept];
  int done[counters];  // chunks of a segment; below 0: nobody's
  unsigned taken;
  bool is_last_block;

  __device__ __forceinline__ void clear(int thread) {
    for (int i = thread; i < counters; i += static_cast<int>(blockDim.x)) done[i] = -1;
    if (thread < kept) mbarrier_init(&full[thread], 1), mbarrier_init(&empty[thread], 1);
    if (thread == 0) taken = 0;
  }
  // By a warp: unit number `at` of all, the next one.
  __device__ __forceinline__ void put(unsigned at, const ShareUnit& unit, int lane) {
    if (lane == 0) {
      const unsigned place = at % kept;
      if (at >= kept) mbarrier_wait(&empty[place], (at / kept - 1) & 1u);
      units[place] = unit;
      mbarrier_arrive(&full[place]);
    }
  }
  // By a warp: the next one that nobody has.
  __device__ __forceinline__ ShareUnit take(int lane) {
    unsigned at = 0;
    if (lane == 0) at = atomicAdd(&taken, 1u);
    at = from_lane(at, 0);
    const unsigned place = at % kept;
    mbarrier_wait(&full[place], at / kept & 1u);
    const ShareUnit unit = units[place];
    __syncwarp(whole_warp());
    if (lane == 0) mbarrier_arrive(&empty[place]);
    return unit;
  }
  // By a warp: a counter that is nobody's.
  __device__ __forceinline__ int free_counter(int lane) {
    const volatile int* const all = done;
    int found = -1;
#pragma unroll
    for (int i = 0; i < counters; i += warp_lanes) {
      const unsigned free = lane_mask(all[i + lane] < 0);
      if (free != 0) found = i + __ffs(static_cast<int>(free)) - 1;
    }
    if (lane == 0) done[found] = 0;
    __syncwarp(whole_warp());
    return found;
  }
};
constexpr int share_queue_bytes = (static_cast<int>(sizeof(ShareQueue)) + stage_alignment - 1) /
                                  stage_alignment * stage_alignment;

// What finds the units of a block's share: a warp's lanes call all of it together.
template <class T>
class UnitFinder {
 public:
  __device__ __forceinline__ UnitFinder(const Sequences& sequences, const SharePlan& plan,
                                        const WorkLists& lists, ShareQueue& queue, int lane)
      : sequences_(sequences), plan_(plan), lists_(lists), queue_(queue), lane_(lane) {}

  __device__ __forceinline__ void find_all() {
    begin_ = std::int64_t{blockIdx.x} * plan_.a_block, end_ = begin_ + plan_.a_block;
    std::int64_t first = max(first_behind() - 1, std::int64_t{0});
#pragma unroll 1
    while (find_of(first)) first += warp_lanes;
#pragma unroll 1
    for (int warp = 0; warp < plan_.warps; ++warp) put({0, 0, -1, 0, 0, 0, 0});
  }

 private:
  __device__ __forceinline__ void put(const ShareUnit& unit) { queue_.put(found_++, unit, lane_); }
  __device__ __forceinline__ std::int64_t place_of(std::int64_t i) const {
    if (sequences_.offsets == nullptr) return i * (sequences_.length + plan_.cost);
    const std::int64_t at = min(max(sequences_.offsets[i], std::int64_t{0}), sequences_.elements);
    return at + i * plan_.cost;
  }
  // The first segment at the beginning of the share or behind.
  __device__ __forceinline__ std::int64_t first_behind() const {
    std::int64_t low = -1, high = sequences_.count;  // it is behind low, and high or before it
#pragma unroll 1
    while (high - low > 1) {
      const std::int64_t step = (high - low + warp_lanes) / (warp_lanes + 1);
      const std::int64_t at = min(low + (lane_ + 1) * step, high);
      const bool is_behind = at == sequences_.count || place_of(at) >= begin_;
      const unsigned behind = lane_mask(is_behind);
      const int before = behind == 0 ? warp_lanes : __ffs(static_cast<int>(behind)) - 1;
      if (behind != 0) high = min(low + (before + 1) * step, high);
      low = min(low + before * step, high - 1);
    }
    return high;
  }
  // The units of 32 segments. False where the last one of the share is among them.
  __device__ __forceinline__ bool find_of(std::int64_t first) {
    const std::int64_t i = first + lane_;
    const bool is_there = i < sequences_.count;
    const Span own = is_there ? sequences_.at(i) : Span{0, 0};
    const std::int64_t at = sequences_.before(i, own.begin) + i * plan_.cost;
    const bool is_behind = !is_there || at >= end_;
    const bool is_long = is_there && own.count > most_shared<T>;
    if (__any_sync(whole_warp(), is_long)) {
      const bool is_own = is_long && !is_behind && at >= begin_;
      put_on_lists<T>(lists_, i, {own.begin, is_own ? own.count : -1}, most_shared<T> + 1, lane_);
    }
    const auto chunks = is_long ? 0 : static_cast<int>(chunk_count<T>(own.count));
    const int from = before(at, begin_, chunks);
    const int to = is_behind ? 0 : before(at, end_, chunks);
    unsigned left = lane_mask(from < to);
#pragma unroll 1
    while (left != 0) {
      const int which = __ffs(static_cast<int>(left)) - 1;
      left &= left - 1;
      ShareUnit unit = {first + which, from_lane(own.begin, which), 0, 0, 0, 0, 0};
      unit.count = static_cast<int>(from_lane(own.count, which));
      unit.from = from_lane(from, which), unit.to = from_lane(to, which);
      if (unit.to - unit.from > 1) unit.counter = queue_.free_counter(lane_);
#pragma unroll 1
      for (unit.chunk = unit.from; unit.chunk < unit.to; ++unit.chunk) put(unit);
    }
    return !__any_sync(whole_warp(), is_behind);
  }
  // How many of a segment's chunks lie before a place.
  __device__ __forceinline__ static int before(std::int64_t at, std::int64_t place, int chunks) {
    if (place <= at) return 0;
    return static_cast<int>(min((place - at - 1) / smallest_chunk<T> + 1, std::int64_t{chunks}));
  }

  const Sequences& sequences_;
  const SharePlan& plan_;
  const WorkLists& lists_;
  ShareQueue& queue_;
  int lane_;
  unsigned found_ = 0;
  std::int64_t begin_ = 0, end_ = 0;
};

}  // namespace KW_TARGET
