// How the warps of reduce_tiles_kernel (segment_tiles.hpp) take segments, and what lies in a stage:
// a batch of neighbouring segments, as they lie in memory.
#pragma once

#include "reduce/stage.hpp"
#include "reduce/tile_plan.hpp"
#include "reduce/work_lists.hpp"

namespace KW_TARGET {

constexpr int warp_shift = 5;

// Where a segment lies in a stage: the first element's position and how many there are; below 0:
// none.
struct TileSegment {
  int at, count;
};
// What a stage has before its elements: its segments, of which those that are follow each other.
struct alignas(16) TileHead {
  std::int64_t first_sequence;
  int count, group_shift;  // each segment has 2^group_shift of the warp's lanes
};
struct TileBatch {
  TileHead head;
  TileSegment segments[warp_lanes];
};
static_assert(sizeof(TileBatch) == tile_batch_bytes);

// The first lane that says so; warp_lanes: none does. All lanes call it.
__device__ __forceinline__ int first_lane_of(bool own, int lane) {
  return warp_lanes -
         static_cast<int>(largest_of_warp(own ? static_cast<unsigned>(warp_lanes - lane) : 0u));
}

// A warp's stages in the block's shared memory.
struct TileStages {
  unsigned char* memory;
  TilePlan plan;

  __device__ __forceinline__ TileBatch& batch(int stage) const {
    return *reinterpret_cast<TileBatch*>(memory + stage * plan.stage_bytes);
  }
  __device__ __forceinline__ unsigned char* elements(int stage) const {
    return memory + stage * plan.stage_bytes + tile_batch_bytes;
  }
};

// Whether a lane's segment lies in a stage that begins with element `begin`.
__device__ __forceinline__ bool fits_stage(const TilePlan& plan, std::int64_t begin,
                                           const Span& own) {
  return own.begin >= begin && own.begin - begin + own.count <= plan.elements;
}

// The segments that a warp asks for: units of plan.each of them, a lane each, `step` apart. The
// limits of the next unit are asked for while this one's segments are.
template <class T>
class TileUnits {
 public:
  __device__ __forceinline__ TileUnits(const T* data, const Sequences& sequences,
                                       const TilePlan& plan, std::int64_t first, std::int64_t step,
                                       int lane)
      : data_(data),
        sequences_(sequences),
        plan_(plan),
        unit_(first - step),
        step_(step),
        lane_(lane),
        first_(plan.each),
        next_(limits_of(first)) {}

  // Asks for the next batch: a unit, if it fits the stage; else as many of its segments as do. A
  // batch without segments says that there are no more.
  __device__ __forceinline__ void ask(const TileStages& stages, int stage, const WorkLists& lists) {
    TileBatch& batch = stages.batch(stage);
    if (first_ >= plan_.each) {
      unit_ += step_;
      if (unit_ >= sequences_.count) {
        if (lane_ == 0) batch.head.count = 0;
        async_commit();
        return;
      }
      own_ = has_one(unit_) ? sequences_.within(next_) : Span{0, -1};
      next_ = limits_of(unit_ + step_);
      const std::int64_t begin = from_lane(own_.begin, 0);
      const bool is_long = own_.count > plan_.most_staged;
      if (__all_sync(whole_warp(),
                     own_.count < 0 || (!is_long && fits_stage(plan_, begin, own_)))) {
        ask_for({unit_, plan_.each, plan_.group_shift}, begin, own_.count >= 0, 0, batch,
                stages.elements(stage));
        return;
      }
      if (__any_sync(whole_warp(), is_long)) {
        put_on_lists<T>(lists, unit_ + lane_, own_, plan_.most_staged + 1, lane_);
        if (is_long) own_.count = -1;
      }
      first_ = 0;
    }
    ask_for_part(batch, stages.elements(stage));
  }

 private:
  __device__ __forceinline__ bool has_one(std::int64_t unit) const {
    return lane_ < plan_.each && unit + lane_ < sequences_.count;
  }
  __device__ __forceinline__ Limits64 limits_of(std::int64_t unit) const {
    return has_one(unit) ? sequences_.limits(unit + lane_) : Limits64{0, 0};
  }

  // From the unit's first segment that waits on as many as fit: a power of two of them, for whose
  // lanes the tree is. Where none waits, a batch of one that is not there.
  __device__ __forceinline__ void ask_for_part(TileBatch& batch, unsigned char* elements) {
    const bool waits = own_.count >= 0 && lane_ >= first_;
    const int first = first_lane_of(waits, lane_) & (warp_lanes - 1);
    const std::int64_t begin = from_lane(own_.begin, first);
    const bool fits = fits_stage(plan_, begin, own_);
    const int most = min(first_lane_of(waits && !fits, lane_), plan_.each) - first;
    const int shift = __clz(most) - (warp_lanes - 1 - warp_shift), count = warp_lanes >> shift;
    const bool wanted = waits && lane_ < first + count;
    ask_for({unit_ + first, count, shift}, begin, wanted, first, batch, elements);
    first_ = first + count;
    if (!__any_sync(whole_warp(), own_.count >= 0 && lane_ >= first_)) first_ = plan_.each;
  }

  // Asks for those that are `wanted`, from element `begin` of the array on, which is `first`'s.
  __device__ __forceinline__ void ask_for(const TileHead& head, std::int64_t begin, bool wanted,
                                          int first, TileBatch& batch, unsigned char* elements) {
    const auto at = static_cast<int>(own_.begin - begin), count = static_cast<int>(own_.count);
    const std::uint32_t end = largest_of_warp(wanted ? static_cast<std::uint32_t>(at + count) : 0u);
    const Packs<T> packs(data_ + begin, end, extent_of(data_, sequences_.elements));
    ask_for_run(elements, packs, lane_);
    TileSegment segment = {0, -1};
    if (wanted) segment = {at + packs.skip, count};
    batch.segments[(lane_ - first) & (warp_lanes - 1)] = segment;
    if (lane_ == 0) batch.head = head;
    async_commit();
  }

  const T* data_;
  const Sequences& sequences_;
  const TilePlan& plan_;
  std::int64_t unit_, step_;
  int lane_, first_;  // of the unit's segments the first one that waits
  Limits64 next_;
  Span own_ = {0, -1};  // this lane's segment of the unit; below 0: none
};

}  // namespace KW_TARGET
