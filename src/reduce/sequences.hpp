// The launches of reduce_rows and reduce_segments. Short sequences go to short_sequences.hpp, long
// ones to chunk_blocks.hpp, few long rows where order cannot show to row_spans.hpp, large arrays of
// those of up to some KB to segment_pieces.hpp, segment_tiles.hpp and staged_rows.hpp, of longer
// segments to segment_shares.hpp. The element types are shared by two translation units, which
// compile side by side.
#pragma once

#include <algorithm>

#include "reduce/chunks/chunk_blocks.hpp"
#include "reduce/chunks/sequence_workspace.hpp"
#include "reduce/dispatch.hpp"
#include "reduce/gpu_kernels.hpp"
#include "reduce/rows/few_rows.hpp"
#include "reduce/rows/row_spans.hpp"
#include "reduce/rows/staged_rows.hpp"
#include "reduce/segments/few_segments.hpp"
#include "reduce/segments/segment_pieces.hpp"
#include "reduce/segments/segment_shares.hpp"
#include "reduce/segments/segment_tiles.hpp"
#include "reduce/segments/staged_segments.hpp"
#include "reduce/short_sequences.hpp"

namespace KW_TARGET {

constexpr int batches_a_warp = 8;

// Few rows of more elements have a block each, at least: 512 bytes of them, or 128 of one byte
// (results/h200/explored-reduce-lanes.txt).
template <class T>
constexpr std::int64_t most_of_a_warp = sizeof(T) == 1 ? 128 : 512 / static_cast<int>(sizeof(T));

// So many rows a block, each of at most so many elements, are not cut into chunks.
constexpr int whole_rows_a_block = 8;
template <class T>
constexpr std::int64_t most_whole = 64 * smallest_chunk<T>;

// Blocks that hold so many teams, of which a block has `teams`.
inline unsigned blocks_for(std::int64_t wanted, int teams = order_warps,
                           std::int64_t most = std::int64_t{1} << 30) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(ceil_div(wanted, teams), 1, most));
}

// The lanes that the usual segment takes, by the mean length and somewhat more: where that is just
// what they take, half of the segments would have a whole warp each, one after the other.
template <class T>
int group_of_segments(std::int64_t elements, std::int64_t segments) {
  int group = 1;
  while (group < warp_lanes && group_elements<T>(group) * segments < elements + elements / 8)
    group *= 2;
  return group;
}

// Few segments are one launch: where one that looks for short ones would find few, or leave most
// multiprocessors without work.
template <class T>
bool are_counted(const Reduce& p, const Device& device) {
  constexpr std::int64_t least_mean_bytes = 2048;
  const std::int64_t bytes = p.cols * static_cast<std::int64_t>(sizeof(T));
  return p.segments <= most_counted_segments && p.cols > most_of_group<T>(warp_lanes) &&
         (bytes >= p.segments * least_mean_bytes || p.segments <= 2 * device.sm_count);
}
// Each segment may be all of the array: offsets are not the host's to see.
template <class T>
std::int64_t most_counted_chunks(const Reduce& p) {
  return p.segments * std::min(max_chunks, p.cols / smallest_chunk<T> + 1);
}

template <class A>
constexpr int staged_from = staged_from_bytes(A::any_order, sizeof(StripPlace<A>));

template <ReduceKind kind, class T>
TilePlan tile_plan(const Reduce& p, const Device& device) {
  return plan_tiles(p,
                    {sizeof(T), static_cast<int>(order_lanes<T>), tile_most_of_lane<T>,
                     tile_blocks_per_sm<kind, T>, staged_from<Accumulator<kind, T>>,
                     Accumulator<kind, T>::any_order, sums_are_wide<kind, T>},
                    device);
}

// Elements of one byte are read in packs of 16; of three sums a piece those of norms of float64
// leave little room for elements.
template <ReduceKind kind, class T>
constexpr bool has_pieces = sizeof(T) > 1 && !std::is_same_v<Accumulator<kind, T>, NormSquare>;
template <ReduceKind kind, class T>
PiecePlan piece_plan(const Reduce& p, const Device& device) {
  using A = Accumulator<kind, T>;
  constexpr int most = PieceRoom<A>::places * piece_elements;
  return plan_pieces(
      p,
      {sizeof(T), PieceRoom<A>::bytes(), std::min(most, static_cast<int>(order_lanes<T>)),
       piece_blocks_per_sm<kind, T>},
      device);
}

template <ReduceKind kind, class T>
StagedElement staged_element(bool has_short_rows = false) {
  using A = Accumulator<kind, T>;
  return {sizeof(T),
          WarpStages<A>::beside_bytes,
          (has_short_rows ? most_staged_row_threads(A::any_order, sizeof(StripPlace<A>))
                          : most_staged_threads(A::any_order)) /
              warp_lanes,
          staged_from<A>,
          staged_to_bytes(A::any_order, sums_are_wide<kind, T>, sizeof(StripPlace<A>), sizeof(T)),
          A::any_order,
          compares_places<A>,
          sizeof(StripPlace<A>)};
}

// The launch that looks at all segments: which kernel's, and the most elements that it reduces;
// chunks are counted where that is no launch of its own.
struct FirstPass {
  PiecePlan pieces;
  TilePlan tiles;
  StagedPlan staged;
  bool are_counted = false;
  std::int64_t most = 0;
};
template <ReduceKind kind, class T>
FirstPass first_pass(const Reduce& p, const Device& device) {
  FirstPass pass;
  pass.are_counted = are_counted<T>(p, device);
  if (pass.are_counted) return pass;
  if constexpr (has_pieces<kind, T>) pass.pieces = piece_plan<kind, T>(p, device);
  pass.most = pass.pieces.most;
  if (pass.pieces.each > 0) return pass;
  pass.tiles = tile_plan<kind, T>(p, device);
  pass.most = pass.tiles.most_staged;
  if (pass.tiles.each > 0) return pass;
  pass.staged = plan_staged(p, staged_element<kind, T>(), device);
  pass.most = pass.staged.warps > 0 ? pass.staged.most : most_of_group<T>(warp_lanes);
  return pass;
}

template <ReduceKind kind, class T>
SharePlan share_plan(const Reduce& p, const Device& device) {
  return plan_shares(
      p,
      {sizeof(T), smallest_chunk<T>, share_queue_bytes,
       WarpShare<Accumulator<kind, T>>::beside_bytes, share_threads<kind> / warp_lanes - 1},
      device);
}
template <ReduceKind kind, class T>
SpanPlan span_plan(const Reduce& p, const Device& device) {
  return takes_whole<Accumulator<kind, T>, T> ? plan_spans(p, device) : SpanPlan{};
}
// Room for the totals of shares, and for lists behind it where a segment may be too long.
template <ReduceKind kind, class T>
struct ShareRoom {
  using Total = typename Accumulator<kind, T>::Total;
  Total *totals, *of_lists = nullptr;
  WorkLists lists = {};
  std::size_t bytes = 0;

  ShareRoom(const Reduce& p, Workspace workspace) {
    Parts parts(workspace.data);
    totals = parts.take<Total>(p.sequences() + p.elements() / smallest_chunk<T> + 1);
    if (p.cols > most_shared<T>) {
      workspace.data = parts.take<char>(0);
      lists = lists_for<T>(p, most_shared<T>, workspace, &of_lists, &bytes);
    }
    bytes += parts.bytes();
  }
};

struct LaunchSequences {
  const Reduce& p;
  const Device& device;
  Workspace workspace;
  Stream stream;

  gpu::LaunchConfig config(unsigned blocks) const {
    return {dim3(blocks), dim3(order_threads), 0, stream, true};
  }
  ResultSink sink() const { return {p.op, p.out, p.correction}; }

  // A batch has as few sequences as leave all warps with some batches; where most go on the lists,
  // with one: room on them is taken once a batch, and takes long.
  static int short_batch(std::int64_t sequences, int group, bool has_lists, std::int64_t blocks) {
    const std::int64_t warps = blocks * order_warps;
    const int batches = has_lists && group == warp_lanes ? 1 : batches_a_warp;
    int each = warp_lanes;
    while (each > warp_lanes / group && sequences < batches * warps * each) each /= 2;
    return each;
  }
  template <ReduceKind kind, class T>
  Status short_ones(const T* data, const Sequences& sequences, int group,
                    const WorkLists& lists) const {
    const std::int64_t blocks = std::int64_t{device.sm_count} * short_blocks_per_sm<kind, T>;
    const int each = short_batch(sequences.count, group, lists.item_capacity > 0, blocks);
    return gpu::launch(reduce_short_kernel<kind, T>,
                       config(blocks_for(ceil_div(sequences.count, each), order_warps, blocks)),
                       data, sequences, group, each, lists, sink());
  }

  template <ReduceKind kind, class T>
  Status tiles(const T* data, const Sequences& sequences, const TilePlan& plan,
               const WorkLists& lists) const {
    const std::int64_t blocks = std::int64_t{device.sm_count} * tile_blocks_per_sm<kind, T>;
    const auto shared_bytes = static_cast<std::size_t>(plan.stages * plan.stage_bytes) * tile_warps;
    return gpu::launch(
        reduce_tiles_kernel<kind, T>,
        {dim3(blocks_for(ceil_div(sequences.count, std::int64_t{plan.each}), tile_warps, blocks)),
         dim3(tile_warps * warp_lanes), shared_bytes, stream, true},
        data, sequences, plan, lists, sink());
  }

  template <ReduceKind kind, class T>
  Status pieces(const T* data, const Sequences& segments, const PiecePlan& plan,
                const WorkLists& lists) const {
    const std::int64_t blocks = std::int64_t{device.sm_count} * plan.blocks_an_sm;
    return gpu::launch(
        reduce_pieces_kernel<kind, T>,
        {dim3(blocks_for(ceil_div(segments.count, std::int64_t{plan.each}), piece_warps, blocks)),
         dim3(piece_warps * warp_lanes), static_cast<std::size_t>(plan.warp_bytes) * piece_warps,
         stream, true},
        data, segments, plan, lists, sink());
  }

  template <ReduceKind kind, class T>
  gpu::LaunchConfig staged_config(const StagedPlan& plan) const {
    const auto warps = static_cast<unsigned>(plan.warps);
    const auto bytes = static_cast<std::size_t>(WarpStages<Accumulator<kind, T>>::bytes(plan));
    return {dim3(blocks_for(p.sequences(), 1, device.sm_count)), dim3(warps * warp_lanes),
            warps * bytes, stream, true};
  }

  // As many stages of chunks as all blocks of an SM have room for.
  template <class T>
  std::size_t chunk_stages(std::size_t beside, int blocks_per_sm) const {
    constexpr std::size_t stage = ChunkRing<T, true>::stage_bytes, reserved = 1 << 10;
    const std::size_t room =
        std::min(device.shared_bytes_per_sm / static_cast<std::size_t>(blocks_per_sm) - reserved,
                 device.shared_bytes_per_block_optin);
    return room > beside ? std::clamp<std::size_t>((room - beside) / stage, 1, most_chunk_stages)
                         : 1;
  }

  template <ReduceKind kind, class T>
  Status chunks(const T* data, const Sequences& sequences, const WorkLists& lists,
                typename Accumulator<kind, T>::Total* totals, std::int64_t most) const {
    constexpr std::size_t beside = chunk_memory_bytes<Accumulator<kind, T>, T>;
    const std::size_t stages = chunk_stages<T>(beside, chunk_blocks_per_sm<kind, T>);
    const std::int64_t at_once = std::int64_t{device.sm_count} * chunk_blocks_per_sm<kind, T>;
    return gpu::launch(
        reduce_chunks_kernel<kind, T>,
        {dim3(static_cast<unsigned>(std::clamp<std::int64_t>(most, 1, at_once))),
         dim3(order_threads), beside + stages * ChunkRing<T, true>::stage_bytes, stream, true},
        data, sequences, lists, totals, static_cast<int>(stages), sink());
  }

  template <ReduceKind kind, class T>
  Status spans(const T* data, const Sequences& rows, const SpanPlan& plan) const {
    return gpu::launch(reduce_row_spans_kernel<kind, T>, config(static_cast<unsigned>(plan.blocks)),
                       data, rows, plan.span, reinterpret_cast<Letter*>(workspace.tickets), sink());
  }

  template <ReduceKind kind, class T>
  Status rows(const T* data) const {
    const Sequences rows = {p.rows, p.cols, p.ld, nullptr, (p.rows - 1) * p.ld + p.cols};
    const std::int64_t at_once = std::int64_t{device.sm_count} * chunk_blocks_per_sm<kind, T>;
    if (p.rows <= at_once && p.cols > most_of_a_warp<T> && p.cols <= smallest_chunk<T>) {
      return gpu::launch(reduce_few_rows_kernel<kind, T>, config(static_cast<unsigned>(p.rows)),
                         data, rows, sink());
    }
    if constexpr (takes_whole<Accumulator<kind, T>, T>) {
      if (const SpanPlan plan = span_plan<kind, T>(p, device); plan.blocks > 0)
        return spans<kind>(data, rows, plan);
    }
    const StagedElement element = staged_element<kind, T>(p.cols <= order_lanes<T>);
    const int stages = stages_of_rows(p, element, device);
    StagedPlan staged_plan;
    if (stages > 0) staged_plan = plan_staged(p, element, device, stages);
    if (staged_plan.warps == 0) {
      const TilePlan tile = tile_plan<kind, T>(p, device);
      if (tile.each > 0) return tiles<kind>(data, rows, tile, {});
      staged_plan = plan_staged(p, element, device);
    }
    if (staged_plan.warps > 0) {
      auto* kernel = reduce_staged_kernel<kind, T, false>;
      if constexpr (!takes_whole<Accumulator<kind, T>, T>) {
        if (p.cols > smallest_chunk<T>) kernel = reduce_staged_kernel<kind, T, true>;
      }
      return gpu::launch(kernel, staged_config<kind, T>(staged_plan), data, rows, staged_plan,
                         sink());
    }
    for (int group = 1; group <= warp_lanes; group *= 2) {
      if (p.cols <= most_of_group<T>(group)) return short_ones<kind>(data, rows, group, {});
    }
    if (const SharePlan share = share_plan<kind, T>(p, device); share.warps > 0)
      return shares<kind>(data, rows, share);
    WorkLists lists = {};
    // Of many rows each is one where that cannot show.
    const bool are_whole = takes_whole<Accumulator<kind, T>, T> &&
                           p.rows >= whole_rows_a_block * at_once && p.cols <= most_whole<T>;
    lists.chunks_each = are_whole ? 1 : chunk_count<T>(p.cols);
    lists.sequence_capacity = p.rows;
    lists.block_tickets = workspace.tickets + list_tickets;
    auto* totals = static_cast<typename Accumulator<kind, T>::Total*>(workspace.data);
    return chunks<kind>(data, rows, lists, totals, p.rows * lists.chunks_each);
  }

  template <ReduceKind kind, class T>
  Status shares(const T* data, const Sequences& sequences, const SharePlan& plan) const {
    const ShareRoom<kind, T> room(p, workspace);
    const ShareTickets tickets = {workspace.tickets + share_tickets,
                                  workspace.tickets + block_share_tickets};
    const int bytes = plan.ring_bytes + WarpShare<Accumulator<kind, T>>::beside_bytes;
    const Status status = gpu::launch(
        reduce_shares_kernel<kind, T>,
        {dim3(static_cast<unsigned>(plan.blocks)),
         dim3(static_cast<unsigned>((plan.warps + 1) * warp_lanes)),
         static_cast<std::size_t>(share_queue_bytes + plan.warps * bytes), stream, true},
        data, sequences, plan, tickets, room.lists, room.totals, sink());
    if (!status.ok() || room.lists.item_capacity == 0) return status;
    return chunks<kind>(data, sequences, room.lists, room.of_lists, room.lists.item_capacity);
  }

  template <ReduceKind kind, class T>
  Status segments(const T* data) const {
    using Total = typename Accumulator<kind, T>::Total;
    const Sequences segments = {p.segments, 0, 0, p.offsets, p.cols};
    const FewPlan few = few_plan<kind, T>(p, device);
    if (few.blocks > 0) {
      return gpu::launch(reduce_few_segments_kernel<kind, T>,
                         config(static_cast<unsigned>(few.blocks)), data, segments, few,
                         reinterpret_cast<Letter*>(workspace.tickets), sink());
    }
    const SharePlan plan = share_plan<kind, T>(p, device);
    if (plan.warps > 0) return shares<kind>(data, segments, plan);
    const FirstPass pass = first_pass<kind, T>(p, device);
    Total* totals = static_cast<Total*>(workspace.data);
    std::size_t bytes = 0;
    WorkLists lists = {};  // of none where no segment can be too long
    if (!pass.are_counted && p.cols > pass.most)
      lists = lists_for<T>(p, pass.most, workspace, &totals, &bytes);
    if (pass.are_counted) {
      lists.are_counted = true;
      lists.sequence_capacity = p.segments;
      lists.block_tickets = workspace.tickets + list_tickets;
      return chunks<kind>(data, segments, lists, totals, p.segments + p.cols / smallest_chunk<T>);
    }
    const Status status = first_launch<kind>(data, segments, pass, lists);
    if (!status.ok() || lists.item_capacity == 0) return status;
    return chunks<kind>(data, segments, lists, totals, lists.item_capacity);
  }
  template <ReduceKind kind, class T>
  Status first_launch(const T* data, const Sequences& segments, const FirstPass& pass,
                      const WorkLists& lists) const {
    if constexpr (has_pieces<kind, T>) {
      if (pass.pieces.each > 0) return pieces<kind>(data, segments, pass.pieces, lists);
    }
    if (pass.tiles.each > 0) return tiles<kind>(data, segments, pass.tiles, lists);
    if (pass.staged.warps > 0) {
      return gpu::launch(reduce_staged_segments_kernel<kind, T>,
                         staged_config<kind, T>(pass.staged), data, segments, pass.staged, lists,
                         sink());
    }
    return short_ones<kind>(data, segments, group_of_segments<T>(p.cols, p.segments), lists);
  }

  template <ReduceKind kind, class T>
  Status operator()() const {
    const T* data = static_cast<const T*>(p.data);
    return p.shape == ReduceShape::rows ? rows<kind>(data) : segments<kind>(data);
  }
};

struct WorkspaceBytes {
  const Reduce& p;
  const Device& device;

  template <ReduceKind kind, class T>
  std::size_t operator()() const {
    using Total = typename Accumulator<kind, T>::Total;
    if (p.shape == ReduceShape::rows) {
      if (span_plan<kind, T>(p, device).blocks > 0) return 0;
      if (share_plan<kind, T>(p, device).warps > 0) return ShareRoom<kind, T>(p, {}).bytes;
      const std::int64_t chunks = p.rows > 1 ? chunk_count<T>(p.cols) : 1;
      return chunks > 1 ? static_cast<std::size_t>(p.rows * chunks) * sizeof(Total) : 0;
    }
    if (few_plan<kind, T>(p, device).blocks > 0) return 0;
    if (share_plan<kind, T>(p, device).warps > 0) return ShareRoom<kind, T>(p, {}).bytes;
    const FirstPass pass = first_pass<kind, T>(p, device);
    if (pass.are_counted)
      return static_cast<std::size_t>(most_counted_chunks<T>(p)) * sizeof(Total);
    Total* totals = nullptr;
    std::size_t bytes = 0;
    if (p.cols > pass.most) lists_for<T>(p, pass.most, {}, &totals, &bytes);
    return bytes;
  }
};

}  // namespace KW_TARGET
