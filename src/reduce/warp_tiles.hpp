// Rows and segments that are a warp's: the short ones, and of large arrays those of a few KB.
//
// Idea        A warp has a ring of stages in shared memory for itself. It asks for the tiles that
//             it will need, some sequences next to each other each, reduces the oldest one that is
//             there (tile.hpp; a sequence that is a tile alone by strips.hpp), and asks for the
//             next one in its place. So how much memory is on its way depends neither on registers
//             nor on how long a tree takes, and no warp waits for another.
// Order       order.hpp's: a sequence has the bits that it has alone.
// Work        Tiles go round: at any time the warps of the grid, one block an SM, are at tiles that
//             lie near each other.
// Limits      Longer sequences go on the lists (work_lists.hpp). Those of a tile that has no room in
//             the stage, because one among them is long or their offsets descend, a warp brings one
//             after the other.
#pragma once

#include "device/overlap.hpp"
#include "reduce/strips.hpp"
#include "reduce/tile.hpp"
#include "reduce/tile_plan.hpp"
#include "reduce/work_lists.hpp"

namespace KW_TARGET {

// A warp's part of the block's shared memory: for each stage the entries of its tile and its
// elements; then what a tile needs.
template <class A>
struct WarpMemory {
  static constexpr int entries_bytes = tile_sequences * static_cast<int>(sizeof(TileEntry));

  unsigned char* memory;
  int stage_bytes, stages;

  __device__ __forceinline__ TileEntry* entries(int stage) const {
    return reinterpret_cast<TileEntry*>(memory + stage * (entries_bytes + stage_bytes));
  }
  __device__ __forceinline__ unsigned char* elements(int stage) const {
    return memory + stage * (entries_bytes + stage_bytes) + entries_bytes;
  }
  __device__ __forceinline__ TileMemory<A>& tile() const {
    return *reinterpret_cast<TileMemory<A>*>(memory + stages * (entries_bytes + stage_bytes));
  }
};

// The stages of one warp.
template <ReduceKind kind, class T>
class WarpTiles {
 public:
  using A = Accumulator<kind, T>;
  static constexpr bool needs_first = kind == ReduceKind::moments;

  __device__ __forceinline__ WarpTiles(const T* data, const Sequences& sequences,
                                       const TilePlan& plan, const WorkLists& lists,
                                       const WarpMemory<A>& memory, int lane)
      : data_(data),
        sequences_(sequences),
        plan_(plan),
        lists_(lists),
        memory_(memory),
        lane_(lane),
        array_(extent_of(data, sequences.elements)) {}

  // Where this lane's sequence of a tile lies; without elements where it has none.
  __device__ __forceinline__ Span span_of(std::int64_t tile) const {
    const std::int64_t sequence = tile * plan_.each + lane_;
    const bool has_one = lane_ < plan_.each && sequence < sequences_.count;
    return has_one ? sequences_.at(sequence) : Span{0, -1};
  }

  // Asks for a tile.
  __device__ __forceinline__ void ask(std::int64_t tile, const Span& own, int stage) const {
    const bool is_long = own.count > plan_.longest;
    if (__any_sync(whole_warp(), is_long)) {
      put_on_lists<T>(lists_, tile * plan_.each + lane_, own, plan_.longest + 1, lane_);
    }
    TileEntry entry = {0, is_long ? -1 : static_cast<int>(own.count)};
    const int here = static_cast<int>(
        min(std::int64_t{plan_.each}, sequences_.count - tile * plan_.each));
    if (plan_.pitch > 0) {
      entry.position = ask_for_rows(own, here, stage);
    } else {
      const std::int64_t begin = from_lane(own.begin, 0);
      const std::int64_t end = from_lane(own.begin + own.count, here - 1);
      const std::int64_t room = plan_.stage_bytes / static_cast<int>(sizeof(T)) - 2 * width;
      const bool inside =
          own.count < 0 || (own.begin >= begin && own.begin + own.count <= end);
      if (__all_sync(whole_warp(), inside) && end - begin <= room) {
        const Packs<T> packs(data_ + begin, end - begin, array_);
        ask_for_run(memory_.elements(stage), packs, lane_);
        entry.position = packs.skip + static_cast<int>(own.begin - begin);
      } else {
        entry.position = -1;  // `reduce` brings them
      }
    }
    memory_.entries(stage)[lane_] = entry;
  }

  // Reduces the tile that was asked for; all of its elements are there, or none are.
  __device__ __forceinline__ void reduce(std::int64_t tile, int stage, const ResultSink& sink) {
    const std::int64_t first_sequence = tile * plan_.each;
    TileEntry entry = memory_.entries(stage)[lane_];
    const TileEntry asked = entry;
    const bool alone = __any_sync(whole_warp(), asked.position < 0);
#pragma unroll 1
    for (int i = 0; i < (alone ? plan_.each : 1); ++i) {
      if (alone) {
        const int count = from_lane(asked.count, i);
        if (count < 0) continue;
        const int skip = bring(first_sequence + i, count, stage);
        entry = lane_ == i ? TileEntry{skip, count} : TileEntry{0, -1};
      }
      if (plan_.longest > unit_packs * width) {
        const TileEntry only = from_lane(entry, i);
        if (only.count > unit_packs * width) {
          by_strips(first_sequence + i, only, stage, sink);
          continue;
        }
      }
      const auto partial = TileOfWarp<A, T>(memory_.tile(), lane_)
                               .template reduce<needs_first>(memory_.elements(stage), entry);
      if (entry.count < 0) continue;
      Chunk<T> chunk = {0, entry.count, {}};
      if (needs_first && entry.count > 0) chunk.first = first_of(entry, stage);
      write_result<T, kind>(sink, first_sequence + lane_, A::total(partial, chunk), entry.count);
    }
  }

 private:
  static constexpr int width = order_width<T>;

  __device__ __forceinline__ Value<T> first_of(const TileEntry& entry, int stage) const {
    return to_value(reinterpret_cast<const T*>(memory_.elements(stage))[entry.position]);
  }

  // Rows that are short and lie far apart: each one's packs, `pitch` bytes apart. Returns where
  // this lane's one begins.
  __device__ __forceinline__ int ask_for_rows(const Span& own, int rows, int stage) const {
    const int row_packs = plan_.pitch / 16;
    const std::int64_t first = from_lane(own.begin, 0);
#pragma unroll 1
    for (int at = lane_; at < rows * row_packs; at += warp_lanes) {
      const int row = at / row_packs, pack = at - row * row_packs;
      const Packs<T> packs(data_ + first + row * sequences_.ld, sequences_.length, array_);
      if (pack >= packs.count_of_packs()) continue;
      unsigned char* to = memory_.elements(stage) + at * 16;
      if (packs.is_inside(pack)) {
        copy_pack(to, packs.boundary + pack * width);
      } else {
        store_pack(to, packs.load_part(pack));
      }
    }
    const Packs<T> packs(data_ + own.begin, 0, array_);
    return lane_ * (plan_.pitch / static_cast<int>(sizeof(T))) + packs.skip;
  }

  __device__ __forceinline__ void by_strips(std::int64_t sequence, const TileEntry& only, int stage,
                                            const ResultSink& sink) const {
    const unsigned char* from =
        memory_.elements(stage) + only.position * static_cast<int>(sizeof(T));
    const Chunk<T> chunk = {0, only.count, first_of(only, stage)};
    const typename A::Total total =
        A::total(reduce_by_strips<A, T>(from, only.position % width, only.count, chunk.first,
                                        memory_.tile().partials, lane_),
                 chunk);
    if (lane_ == 0) write_result<T, kind>(sink, sequence, total, only.count);
  }

  // Brings one sequence of a tile that has no room in the stage. Returns where it begins there.
  __device__ __forceinline__ int bring(std::int64_t sequence, int count, int stage) const {
    const Packs<T> packs(data_ + sequences_.at(sequence).begin, count, array_);
    __syncwarp(whole_warp());
    ask_for_run(memory_.elements(stage), packs, lane_);
    async_commit();
    wait_for_copies(0);
    __syncwarp(whole_warp());
    return packs.skip;
  }

  const T* data_;
  const Sequences& sequences_;
  const TilePlan& plan_;
  const WorkLists& lists_;
  WarpMemory<A> memory_;
  int lane_;
  Extent array_;
};

// 24 warps of 80 registers a block; 16 of instances that would spill.
template <ReduceKind kind, class T>
constexpr int tile_warps =
    kind == ReduceKind::norm_square ||
            (sizeof(T) <= 2 && (kind == ReduceKind::moments || kind == ReduceKind::sum_square))
        ? 16
        : 24;

template <ReduceKind kind, class T>
__global__ void __launch_bounds__((tile_warps<kind, T> * warp_lanes), 1)
    reduce_tiles_kernel(const T* data, Sequences sequences, TilePlan plan, int memory_bytes,
                        WorkLists lists, ResultSink sink) {
  using A = Accumulator<kind, T>;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_lanes, warp = thread / warp_lanes;
  const WarpMemory<A> memory = {gpu::dynamic_shared<unsigned char>() + warp * memory_bytes,
                                plan.stage_bytes, plan.stages};
  WarpTiles<kind, T> tiles(data, sequences, plan, lists, memory, lane);
  const std::int64_t count = ceil_div(sequences.count, std::int64_t{plan.each});
  const std::int64_t step = std::int64_t{gridDim.x} * plan.warps;
  const std::int64_t first = std::int64_t{warp} * gridDim.x + blockIdx.x;
  std::int64_t asked = first;
  wait_for_previous_kernel();
  Span ahead = tiles.span_of(asked);  // of the tile that is asked for next
  const auto ask = [&](int stage) {
    if (asked < count) tiles.ask(asked, ahead, stage);
    async_commit();
    asked += step;
    ahead = tiles.span_of(asked);
  };
#pragma unroll 1
  for (int stage = 0; stage < plan.stages; ++stage) ask(stage);
  int stage = 0;
#pragma unroll 1
  for (std::int64_t tile = first; tile < count; tile += step) {
    wait_for_copies(plan.stages - 1);
    __syncwarp(whole_warp());
    tiles.reduce(tile, stage, sink);
    __syncwarp(whole_warp());
    ask(stage);
    stage = stage + 1 == plan.stages ? 0 : stage + 1;
  }
  let_next_kernel_start();
}

}  // namespace KW_TARGET
