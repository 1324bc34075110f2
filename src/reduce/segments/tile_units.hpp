// How the warps of reduce_tiles_kernel (segment_tiles.hpp) take segments, and what lies in a stage:
// a batch of neighbouring segments, as they lie in memory.
#pragma once

#include "reduce/chunks/work_lists.hpp"
#include "reduce/segments/tile_plan.hpp"
#include "reduce/walk/stage.hpp"
#include "reduce/walk/warp_copies.hpp"

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
  int count;
  unsigned lanes_and_longer;

  // Of each segment; whether some is longer than these take.
  __device__ __forceinline__ LaneShare lanes() const {
    return {static_cast<int>(lanes_and_longer >> 1 & 63), lanes_and_longer >> 7};
  }
  __device__ __forceinline__ bool has_longer() const { return (lanes_and_longer & 1) != 0; }
  __device__ __forceinline__ static unsigned pack(const LaneShare& share, bool has_longer) {
    return share.factor << 7 | static_cast<unsigned>(share.lanes) << 1 | (has_longer ? 1u : 0u);
  }
};
struct TileBatch {
  TileHead head;
  TileSegment segments[warp_lanes];
};
static_assert(sizeof(TileBatch) <= tile_batch_bytes);

// The first lane that says so; warp_lanes: none does. All lanes call it.
__device__ __forceinline__ int first_lane_of(bool own, int lane) {
  return warp_lanes -
         static_cast<int>(largest_of_warp(own ? static_cast<unsigned>(warp_lanes - lane) : 0u));
}

// The longest segment that so many lanes take.
__device__ __forceinline__ int most_of_lanes(const TilePlan& plan, int lanes) {
  return min(plan.most_of_lane * lanes, plan.most_staged);
}

// A warp's stages in the block's shared memory.
struct TileStages {
  unsigned char* memory;
  TilePlan plan;

  __device__ __forceinline__ TileBatch& batch(int stage) const {
    return *reinterpret_cast<TileBatch*>(memory + stage * plan.stage_bytes);
  }
  // In one access.
  __device__ __forceinline__ TileHead head(int stage) const {
    const uint4 words = *reinterpret_cast<const uint4*>(&batch(stage).head);
    TileHead head;
    memcpy(&head, &words, sizeof head);
    return head;
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

// Asks for one of the three lines that hold the offsets of 32 segments to be brought into L2, by
// any lane of which `line` is below three.
__device__ __forceinline__ void prefetch_offsets(const Sequences& sequences, std::int64_t first,
                                                 int line) {
  constexpr int offsets_a_line = line_bytes / static_cast<int>(sizeof(std::int64_t));
  const std::int64_t at = first + line * offsets_a_line;
  if (sequences.offsets != nullptr && line < 3 && at <= sequences.count)
    prefetch_line_to_l2(sequences.offsets + at);
}

// The segments that a warp asks for: units of plan.each of them, a lane each, `step` apart. The
// limits of the next unit are asked for while this one's segments are.
template <class T>
class TileUnits {
 public:
  static constexpr int width = order_width<T>;

  __device__ __forceinline__ TileUnits(const T* data, const Sequences& sequences,
                                       const TilePlan& plan, WarpCopies& copies, std::int64_t first,
                                       std::int64_t step, int lane)
      : data_(data),
        sequences_(sequences),
        plan_(plan),
        copies_(copies),
        unit_(first - step),
        step_(step),
        lane_(lane),
        first_(plan.each),
        last_inner_(sequences.elements - plan.elements - width),
        next_is_there_(has_one(first)),
        next_(limits_of(first, next_is_there_)) {}

  // Asks for the next batch: a unit, if it fits the stage; else as many of its segments as do. A
  // batch without segments says that there are no more.
  __device__ __forceinline__ void ask(const TileStages& stages, int stage, const WorkLists& lists) {
    TileBatch& batch = stages.batch(stage);
    if (first_ >= plan_.each) {
      unit_ += step_;
      if (unit_ >= sequences_.count) {
        if (lane_ == 0) batch.head.count = 0;
        copies_.ask_for_none(stage);
        return;
      }
      const bool is_there = next_is_there_;
      const Limits64 limits = next_;
      next_is_there_ = has_one(unit_ + step_);
      next_ = limits_of(unit_ + step_, next_is_there_);
      prefetch_offsets(sequences_, unit_ + 2 * step_, lane_);
      if (ask_for_unit(limits, is_there, batch, stages.elements(stage), stage)) return;
      own_ = is_there ? sequences_.within(limits) : Span{0, -1};
      const bool is_long = own_.count > plan_.most_staged;
      if (__any_sync(whole_warp(), is_long)) {
        put_on_lists<T>(lists, unit_ + lane_, own_, plan_.most_staged + 1, lane_);
        if (is_long) own_.count = -1;
      }
      first_ = 0;
    }
    ask_for_part(batch, stages.elements(stage), stage);
  }

 private:
  __device__ __forceinline__ bool has_one(std::int64_t unit) const {
    return lane_ < plan_.each && unit + lane_ < sequences_.count;
  }
  __device__ __forceinline__ Limits64 limits_of(std::int64_t unit, bool is_there) const {
    return is_there ? sequences_.limits(unit + lane_) : Limits64{0, 0};
  }

  // Asks for all of a unit, if its limits ascend, it fits a stage and no stage reaches beyond the
  // array from there.
  __device__ __forceinline__ bool ask_for_unit(const Limits64& limits, bool is_there,
                                               TileBatch& batch, unsigned char* elements,
                                               int stage) {
    const std::int64_t begin = from_lane(limits.begin, 0);
    const auto at = static_cast<std::uint64_t>(limits.begin - begin);
    const auto count = static_cast<std::uint64_t>(limits.end - limits.begin);
    const auto room = static_cast<std::uint64_t>(plan_.elements);
    const bool fits = count <= static_cast<std::uint64_t>(plan_.most_staged) && at <= room &&
                      static_cast<unsigned>(at) + static_cast<unsigned>(count) <= room;
    const bool is_inner = begin >= width && begin <= last_inner_;
    if (!__all_sync(whole_warp(), is_inner && (!is_there || fits))) return false;
    const TileSegment own = {static_cast<int>(at), is_there ? static_cast<int>(count) : -1};
    if constexpr (has_copy_engine) {
      const int past = past_line(data_ + begin), skip = past % 16, place = past - skip;
      const auto end = static_cast<int>(end_of(own)) * static_cast<int>(sizeof(T));
      put(unit_, plan_.each, plan_.share, own, past / static_cast<int>(sizeof(T)), 0, batch);
      copies_.ask_inside(stage, elements + place,
                         reinterpret_cast<const char*>(data_ + begin) - skip,
                         static_cast<unsigned>(skip + end + 15) & ~15u);
    } else {
      ask_for(unit_, plan_.each, plan_.share, begin, own, 0, batch, elements, stage);
    }
    return true;
  }

  // From the unit's first segment that waits on as many as fit: a power of two of them, for whose
  // lanes the tree is. Where none waits, a batch of one that is not there.
  __device__ __forceinline__ void ask_for_part(TileBatch& batch, unsigned char* elements,
                                               int stage) {
    const bool waits = own_.count >= 0 && lane_ >= first_;
    const int first = first_lane_of(waits, lane_) & (warp_lanes - 1);
    const std::int64_t begin = from_lane(own_.begin, first);
    const bool fits = fits_stage(plan_, begin, own_);
    const int most = min(first_lane_of(waits && !fits, lane_), plan_.each) - first;
    const int shift = __clz(most) - (warp_lanes - 1 - warp_shift), count = warp_lanes >> shift;
    const bool wanted = waits && lane_ < first + count;
    TileSegment segment = {0, -1};
    if (wanted) {
      segment = {static_cast<int>(own_.begin - begin), static_cast<int>(own_.count)};
    }
    ask_for(unit_ + first, count, {1 << shift, 1u << (16 - shift)}, begin, segment, first, batch,
            elements, stage);
    first_ = first + count;
    if (!__any_sync(whole_warp(), own_.count >= 0 && lane_ >= first_)) first_ = plan_.each;
  }

  // The end of a batch's last segment; each lane has its own one's place.
  __device__ __forceinline__ static std::uint32_t end_of(const TileSegment& own) {
    return largest_of_warp(own.count >= 0 ? static_cast<std::uint32_t>(own.at + own.count) : 0u);
  }
  // Leaves in a stage where a batch's segments lie; the first one is that of lane `first`, and lies
  // `place` elements into the stage.
  __device__ __forceinline__ void put(std::int64_t first_sequence, int count,
                                      const LaneShare& share, TileSegment own, int place, int first,
                                      TileBatch& batch) const {
    const bool has_longer =
        __any_sync(whole_warp(), own.count > most_of_lanes(plan_, share.lanes)) != 0;
    own.at += place;
    batch.segments[(lane_ - first) & (warp_lanes - 1)] = own;
    if (lane_ == 0) {
      const TileHead head = {first_sequence, count, TileHead::pack(share, has_longer)};
      uint4 words;
      memcpy(&words, &head, sizeof words);
      *reinterpret_cast<uint4*>(&batch.head) = words;
    }
  }
  // Asks for a batch's segments from element `begin` of the array on, which is that of lane
  // `first`; each lane has its own one's place from there.
  __device__ __forceinline__ void ask_for(std::int64_t first_sequence, int count,
                                          const LaneShare& share, std::int64_t begin,
                                          const TileSegment& own, int first, TileBatch& batch,
                                          unsigned char* elements, int stage) {
    const Packs<T> packs(data_ + begin, end_of(own), extent_of(data_, sequences_.elements));
    put(first_sequence, count, share, own,
        packs.skip + place_in_stage(packs.boundary) / static_cast<int>(sizeof(T)), first, batch);
    copies_.ask(stage, elements, packs, lane_);
  }

  const T* data_;
  const Sequences& sequences_;
  const TilePlan& plan_;
  WarpCopies& copies_;
  std::int64_t unit_, step_;
  int lane_, first_;         // of the unit's segments the first one that waits
  std::int64_t last_inner_;  // a unit that begins there lies within the array, whatever it has
  bool next_is_there_;
  Limits64 next_;
  Span own_ = {0, -1};  // this lane's segment of the unit; below 0: none
};

}  // namespace KW_TARGET
