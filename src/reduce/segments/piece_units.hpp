// How the warps of reduce_pieces_kernel (segment_pieces.hpp) take segments, and what lies in a
// warp's ring: batches of neighbouring segments, as they lie in memory.
#pragma once

#include "reduce/chunks/work_lists.hpp"
#include "reduce/segments/piece_plan.hpp"
#include "reduce/walk/warp_copies.hpp"

namespace KW_TARGET {

// Where a segment lies, in elements from a ring's beginning, and how many it has. In one word, as
// both are below 2^16.
struct PieceSegment {
  std::uint32_t word = 0;  // 0: none, or one that is on the lists

  __device__ __forceinline__ static PieceSegment of(unsigned at, unsigned count) {
    return {at | (count + 1) << 16};
  }
  __device__ __forceinline__ int at() const { return static_cast<int>(word & 0xFFFF); }
  __device__ __forceinline__ int count() const { return static_cast<int>(word >> 16) - 1; }
};
struct alignas(16) PieceBatch {
  const void* from;     // what is copied: whole packs,
  std::uint32_t bytes;  // so many,
  std::uint16_t past;   // the first of which lies so far past a line,
  std::uint16_t skip;   // and the first segment so far past that, in bytes
  std::int64_t first_sequence;
  std::int32_t count;                    // segments
  std::uint16_t begin, end;              // of its room in the ring, in lines
  std::uint32_t at;                      // of its first segment in the ring, in elements
  PieceSegment segments[most_of_batch];  // from there on

  __device__ __forceinline__ PieceSegment segment(int number) const {
    return {segments[number].word + at};
  }
};

// Where two neighbouring segments begin and end.
struct LimitsOfTwo {
  Limits64 first;
  std::int64_t second_end;

  __device__ __forceinline__ Limits64 second() const { return {first.end, second_end}; }
};
static_assert(most_of_batch == 2 * warp_lanes);  // so many has a lane of a batch

// What a warp has beside its ring in the block's shared memory.
template <class A>
struct PieceRoom {
  // As many pieces are added up before their sums are: a multiple of a warp's lanes.
  static constexpr int places = 128;
  static constexpr int bytes() {
    return (static_cast<int>(sizeof(PieceRoom)) + stage_alignment - 1) / stage_alignment *
           stage_alignment;
  }

  PieceBatch batches[most_piece_batches];
  Mbarrier full[most_piece_batches];
  typename A::Partial sums[places];
};

// The batches of a warp: units of plan.each segments, all warps' by turns, of which as many as fit
// the ring are a batch, up to 64. The limits of those that follow are asked for meanwhile.
template <class T>
class PieceUnits {
 public:
  __device__ __forceinline__ PieceUnits(const T* data, const Sequences& sequences,
                                        const PiecePlan& plan, unsigned char* ring,
                                        PieceBatch* batches, WarpCopies& copies, std::int64_t first,
                                        int lane)
      : data_(data),
        sequences_(sequences),
        plan_(plan),
        ring_(ring),
        batches_(batches),
        copies_(copies),
        lane_(lane),
        first_(first - past_others()) {
    move_on(0);
  }

  __device__ __forceinline__ bool is_empty() const { return asked_ == done_; }

  // Asks for the batch that was found before, and for the one after it, as far as they fit the
  // ring: no more, as that one's limits come while the oldest batch is reduced.
  __device__ __forceinline__ void ask(const WorkLists& lists) {
    bool has_found = false;
#pragma unroll 1
    while (asked_ - done_ < (has_found ? 2 : most_piece_batches)) {
      if (needed_ < 0) {
        find_next(lists);
        has_found = true;
      }
      if (needed_ < 0 || !ask_for_next()) break;
      needed_ = -1;
    }
  }
  // The oldest batch, which has come.
  __device__ __forceinline__ const PieceBatch& wait() {
    const int slot = done_ % most_piece_batches;
    copies_.wait_for_phase(slot, done_ / most_piece_batches);
    return batches_[slot];
  }
  // Nobody reads the oldest batch any more.
  __device__ __forceinline__ void release() {
    __syncwarp(whole_warp());
    ++done_;
  }

 private:
  static constexpr int width = order_width<T>;

  // Segments of other warps that follow a unit.
  __device__ __forceinline__ int past_others() const {
    return (static_cast<int>(gridDim.x) * piece_warps - 1) * plan_.each;
  }
  // Goes past `count` segments, to the next unit at the end of this one, and asks for the limits of
  // those that follow.
  __device__ __forceinline__ void move_on(int count) {
    first_ += count, left_ -= count;
    if (left_ <= 0) {
      first_ += past_others();
      left_ = static_cast<int>(min(std::int64_t{plan_.each}, sequences_.count - first_));
    }
    const int own = 2 * lane_;
    const std::int64_t* offsets = sequences_.offsets + first_ + own;
    if (own < left_) next_.first = {offsets[0], offsets[1]};
    if (own + 1 < left_) next_.second_end = offsets[2];
  }

  // Leaves in the next batch's place as many segments as ascend and fit the ring wherever that
  // begins.
  __device__ __forceinline__ void find_next(const WorkLists& lists) {
    PieceBatch& batch = batches_[asked_ % most_piece_batches];
#pragma unroll 1
    while (left_ > 0) {
      const int most = min(left_, most_of_batch), own = 2 * lane_;
      const std::int64_t begin = from_lane(next_.first.begin, 0);
      const bool first_fits = fits(next_.first, begin), second_fits = fits(next_.second(), begin);
      batch.segments[own] = segment_of(next_.first, begin);
      batch.segments[own + 1] = segment_of(next_.second(), begin);
      int count = most;
      const bool all_fit =
          begin >= 0 && (first_fits || own >= most) && (second_fits || own + 1 >= most);
      if (!__all_sync(whole_warp(), all_fit)) {
        count = min(2 * first_lane(!first_fits), 2 * first_lane(!second_fits) + 1);
        count = begin < 0 ? 0 : min(count, most);
        if (count > warp_lanes && count < most) count = warp_lanes;
      }
      if (count == 0) {
        if (take_alone(batch, lists)) return;
        continue;
      }
      std::int64_t end = next_.first.end;
      if (count % 2 == 0) end = next_.second_end;
      end = from_lane(end, (count - 1) / 2);
      put_head(batch, count, begin, static_cast<int>(end - begin));
      move_on(count);
      return;
    }
  }
  __device__ __forceinline__ bool fits(const Limits64& of, std::int64_t begin) const {
    return of.begin <= of.end && of.end - begin <= plan_.room && of.end <= sequences_.elements &&
           static_cast<unsigned>(of.end - of.begin) <= static_cast<unsigned>(plan_.most);
  }
  __device__ __forceinline__ static PieceSegment segment_of(const Limits64& of,
                                                            std::int64_t begin) {
    return PieceSegment::of(static_cast<unsigned>(of.begin - begin),
                            static_cast<unsigned>(of.end - of.begin));
  }
  // Of a batch of `run` elements from `element` of the array on.
  __device__ __forceinline__ void put_head(PieceBatch& batch, int count, std::int64_t element,
                                           int run) {
    constexpr auto size = static_cast<unsigned>(sizeof(T));
    const T* begin = data_ + element;
    const auto address = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(begin));
    const unsigned skip = address % 16, past = address % line_bytes - skip;
    const unsigned bytes = (skip + static_cast<unsigned>(run) * size + 15) / 16 * 16;
    needed_ = static_cast<int>((past + bytes + line_bytes - 1) / line_bytes);
    // Packs that reach beyond an end of the array are not copied whole.
    const bool is_inner = element >= width && element + run <= sequences_.elements - width;
    if (lane_ == 0) {
      batch.from = reinterpret_cast<const char*>(begin) - skip;
      batch.bytes = is_inner ? bytes : ~static_cast<unsigned>(run);
      batch.past = static_cast<std::uint16_t>(past), batch.skip = static_cast<std::uint16_t>(skip);
      batch.first_sequence = first_, batch.count = count;
    }
    __syncwarp(whole_warp());
  }
  // The first segment: it is too long, and goes on the lists, or its limits do not ascend within
  // the array. False where nothing is to be asked for.
  __device__ __forceinline__ bool take_alone(PieceBatch& batch, const WorkLists& lists) {
    const Span own = sequences_.within(next_.first);
    const auto count = static_cast<int>(from_lane(min(own.count, plan_.most + std::int64_t{1}), 0));
    const bool is_long = count > plan_.most;
    if (is_long) {
      put_on_lists<T>(lists, first_, {own.begin, lane_ == 0 ? own.count : -1}, plan_.most + 1,
                      lane_);
    } else {
      if (lane_ == 0) batch.segments[0] = PieceSegment::of(0, static_cast<unsigned>(count));
      put_head(batch, 1, from_lane(own.begin, 0), count);
    }
    move_on(1);
    return !is_long;
  }
  // The first lane that says so; warp_lanes: none does.
  __device__ __forceinline__ int first_lane(bool own) const {
    return warp_lanes -
           static_cast<int>(largest_of_warp(own ? static_cast<unsigned>(warp_lanes - lane_) : 0u));
  }

  __device__ __forceinline__ bool ask_for_next() {
    const int slot = asked_ % most_piece_batches;
    PieceBatch& batch = batches_[slot];
    int room = 0;  // lines, as needed_
    if (!is_empty()) {
      const int oldest = batches_[done_ % most_piece_batches].begin;
      room = batches_[(asked_ - 1) % most_piece_batches].end;
      if (room > oldest && (room + needed_) * line_bytes > plan_.ring_bytes) room = 0;
      if (room <= oldest && room + needed_ > oldest) return false;
    }
    const int past = room * line_bytes + batch.past;
    if (lane_ == 0) {
      batch.begin = static_cast<std::uint16_t>(room);
      batch.end = static_cast<std::uint16_t>(room + needed_);
      batch.at = static_cast<unsigned>(past + batch.skip) / static_cast<unsigned>(sizeof(T));
    }
    const unsigned bytes = batch.bytes;
    if (static_cast<int>(bytes) >= 0) {
      copies_.ask_inside(slot, ring_ + past, batch.from, bytes);
    } else {
      const auto* begin =
          reinterpret_cast<const T*>(static_cast<const char*>(batch.from) + batch.skip);
      copies_.ask(slot, ring_ + room * line_bytes,
                  Packs<T>(begin, ~bytes, extent_of(data_, sequences_.elements)), lane_);
    }
    ++asked_;
    return true;
  }

  const T* data_;
  const Sequences& sequences_;
  const PiecePlan& plan_;
  unsigned char* ring_;
  PieceBatch* batches_;
  WarpCopies& copies_;
  int lane_;
  // What no batch has yet: this lane's segments of the unit, from segment first_ on.
  std::int64_t first_;
  int left_ = 0;
  LimitsOfTwo next_ = {};
  int needed_ = -1;  // lines of the batch that was found and not asked for; below 0: none was
  int asked_ = 0, done_ = 0;  // batches
};

}  // namespace KW_TARGET
