// reduce_rows and reduce_segments: their launches. Sequences that a warp's stage takes go to
// staged.hpp, chunks that it does not take to chunk_blocks.hpp; a problem that is over before
// stages would be filled goes to short_sequences.hpp and chunk_blocks.hpp.
#include <algorithm>

#include "reduce/chunk_blocks.hpp"
#include "reduce/dispatch.hpp"
#include "reduce/gpu_kernels.hpp"
#include "reduce/short_sequences.hpp"
#include "reduce/staged.hpp"

namespace KW_TARGET {
namespace {

constexpr int warps_per_sm = 32;
constexpr int longest_short_bytes = 1536;  // of segments, where longer ones get a stage

// Blocks that hold so many teams, of which a block has `teams`.
unsigned blocks_for(std::int64_t wanted, int teams = order_warps,
                    std::int64_t most = std::int64_t{1} << 30) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(ceil_div(wanted, teams), 1, most));
}

// The counters of two lists take the first tickets, then sequences one each.
constexpr std::size_t list_tickets = 64, giants_counters = 16;
unsigned* sequence_tickets(const Workspace& workspace, std::int64_t sequences,
                           std::int64_t taken = 0) {
  const auto left = static_cast<std::int64_t>(ticket_count - list_tickets) - taken;
  return sequences <= left ? workspace.tickets + list_tickets + taken : nullptr;
}

// The lanes that the usual segment takes, by the mean length.
template <class T>
int group_of_segments(std::int64_t elements, std::int64_t segments) {
  int group = 1;
  while (group < warp_lanes && group_elements<T>(group) * segments < elements) group *= 2;
  return group;
}

// Parts of a workspace, one after the other, each aligned to 256 bytes.
class Parts {
 public:
  explicit Parts(void* data) : data_(static_cast<char*>(data)) {}
  template <class P>
  P* take(std::int64_t count) {
    P* part = reinterpret_cast<P*>(data_ + bytes_);
    bytes_ += (static_cast<std::size_t>(count) * sizeof(P) + 255) / 256 * 256;
    return part;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  char* data_;
  std::size_t bytes_ = 0;
};

// The lists of a call on segments. `giants` are those whose chunks do not fit a stage.
template <class Total>
struct SegmentLists {
  std::int64_t longest_short = 0;  // segment that is on none of them
  WorkLists lists = {}, giants = {};
  Total* totals = nullptr;
  Total* giant_totals = nullptr;
  std::size_t bytes = 0;
};

// Room for what the array's elements can make: segments that are not short, of one chunk, and
// chunks of those that have several, each of which but one is full.
template <class T, class Total>
SegmentLists<Total> lists_for(const Reduce& p, const Workspace& workspace, const StagedPlan& plan) {
  constexpr std::int64_t chunk = smallest_chunk_rounds * order_lanes<T>;
  SegmentLists<Total> made;
  made.longest_short = most_of_group<T>(warp_lanes);
  std::int64_t giants = 0;
  if (plan.warps > 0) {
    made.longest_short = std::min(made.longest_short, std::int64_t{longest_short_bytes} /
                                                          static_cast<std::int64_t>(sizeof(T)));
    giants = std::min(p.segments, p.cols / (longest_staged(sizeof(T)) + 1));
  }
  Parts parts(workspace.data);
  const auto make = [&](WorkLists& lists, Total*& totals, std::int64_t items,
                        std::int64_t sequences, unsigned* counters) {
    lists.item_capacity = items;
    lists.sequence_capacity = sequences;
    lists.items = parts.take<ChunkItem>(items);
    lists.sequences = parts.take<LongSequence>(sequences);
    totals = parts.take<Total>(items);
    lists.item_count = counters;
    lists.sequence_count = counters + 1;
    lists.finished_blocks = counters + 2;
  };
  make(made.lists, made.totals,
       std::min(p.segments, p.cols / (made.longest_short + 1)) + p.cols / chunk,
       std::min(p.segments, p.cols / chunk), workspace.tickets);
  make(made.giants, made.giant_totals, giants * max_chunks, giants,
       workspace.tickets + giants_counters);
  made.giants.sequence_tickets = sequence_tickets(workspace, giants);
  made.lists.sequence_tickets = sequence_tickets(workspace, made.lists.sequence_capacity, giants);
  made.bytes = parts.bytes();
  return made;
}

template <class A, class T>
StagedElement staged_element() {
  return {static_cast<int>(sizeof(T)), WarpStages<A>::places_bytes, WarpStages<A>::run_bytes};
}

struct LaunchSequences {
  const Reduce& p;
  const Device& device;
  Workspace workspace;
  Stream stream;

  gpu::LaunchConfig config(unsigned blocks) const {
    return {dim3(blocks), dim3(order_threads), 0, stream, true};
  }
  ResultSink sink() const { return {p.op, p.out, p.correction}; }

  // A warp takes as few sequences as leave all SMs with enough warps.
  template <ReduceKind kind, class T>
  Status short_ones(const T* data, const Sequences& sequences, int group,
                    const LongSequences& longer) const {
    const std::int64_t warps = std::int64_t{device.sm_count} * warps_per_sm;
    int each = warp_lanes;
    while (each > warp_lanes / group && sequences.count < warps * each) each /= 2;
    return gpu::launch(reduce_short_kernel<kind, T>,
                       config(blocks_for(ceil_div(sequences.count, each))), data, sequences, group,
                       each, longer, sink());
  }

  template <ReduceKind kind, class T>
  Status chunks(const T* data, const Sequences& sequences, const WorkLists& lists,
                typename Accumulator<kind, T>::Total* totals, std::int64_t most) const {
    const std::int64_t at_once = std::int64_t{device.sm_count} * chunk_blocks_per_sm<kind, T>;
    return gpu::launch(reduce_chunks_kernel<kind, T>, config(blocks_for(most, 1, at_once)), data,
                       sequences, lists, totals, sink());
  }

  template <ReduceKind kind, class T>
  Status merge(const Sequences& sequences, const WorkLists& lists,
               const typename Accumulator<kind, T>::Total* totals, std::int64_t most) const {
    return gpu::launch(merge_totals_kernel<kind, T>, config(blocks_for(most)), sequences, lists,
                       totals, sink());
  }

  template <ReduceKind kind, class T>
  Status staged(const T* data, const Sequences& sequences, const StagedPlan& plan,
                const WorkLists& lists, typename Accumulator<kind, T>::Total* totals,
                std::int64_t most) const {
    using Stages = WarpStages<Accumulator<kind, T>>;
    const std::size_t bytes =
        static_cast<std::size_t>(plan.warps) * Stages::bytes(plan.stages, plan.stage_bytes);
    return gpu::launch(reduce_staged_kernel<kind, T>,
                       {dim3(blocks_for(most, 1, device.sm_count)),
                        dim3(static_cast<unsigned>(plan.warps) * warp_lanes), bytes, stream, true},
                       data, sequences, plan, lists, totals, sink());
  }

  template <ReduceKind kind, class T>
  Status rows(const T* data) const {
    using A = Accumulator<kind, T>;
    const Sequences rows = {p.rows, p.cols, p.ld, nullptr, (p.rows - 1) * p.ld + p.cols};
    const StagedPlan plan = plan_staged_rows(p, staged_element<A, T>(), device);
    const bool is_short = p.cols <= most_of_group<T>(warp_lanes);
    if (is_short && plan.warps == 0) {
      for (int group = 1;; group *= 2) {
        if (p.cols > most_of_group<T>(group)) continue;
        return short_ones<kind>(data, rows, group, {p.cols, p.cols, {}, {}});
      }
    }
    WorkLists lists = {};
    lists.chunks_each = chunk_count<T>(p.cols);
    lists.sequence_capacity = p.rows;
    lists.sequence_tickets = sequence_tickets(workspace, p.rows);
    auto* totals = static_cast<typename A::Total*>(workspace.data);
    const Status status = plan.warps > 0
                              ? staged<kind>(data, rows, plan, lists, totals, plan.items)
                              : chunks<kind>(data, rows, lists, totals, p.rows * lists.chunks_each);
    if (!status.ok() || lists.chunks_each == 1 || lists.sequence_tickets != nullptr) return status;
    return merge<kind, T>(rows, lists, totals, p.rows);
  }

  template <ReduceKind kind, class T>
  Status segments(const T* data) const {
    using A = Accumulator<kind, T>;
    const Sequences segments = {p.segments, 0, 0, p.offsets, p.cols};
    const StagedPlan plan = plan_listed_chunks(p, staged_element<A, T>(), device);
    const auto made = lists_for<T, typename A::Total>(p, workspace, plan);
    const WorkLists& lists = made.lists;
    const std::int64_t longest_listed = plan.warps > 0 ? longest_staged(sizeof(T)) : p.cols;
    const LongSequences longer = {made.longest_short, longest_listed, lists, made.giants};
    const Status first =
        short_ones<kind>(data, segments, group_of_segments<T>(p.cols, p.segments), longer);
    if (!first.ok() || lists.item_capacity == 0) return first;
    const std::int64_t most = lists.item_capacity;
    const Status second = plan.warps > 0
                              ? staged<kind>(data, segments, plan, lists, made.totals, most)
                              : chunks<kind>(data, segments, lists, made.totals, most);
    const bool to_merge = second.ok() && lists.sequence_tickets == nullptr;
    const Status third =
        to_merge ? merge<kind, T>(segments, lists, made.totals, lists.sequence_capacity) : second;
    if (!third.ok() || made.giants.item_capacity == 0) return third;
    return chunks<kind>(data, segments, made.giants, made.giant_totals, made.giants.item_capacity);
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
      const std::int64_t chunks = chunk_count<T>(p.cols);
      return chunks > 1 ? static_cast<std::size_t>(p.rows * chunks) * sizeof(Total) : 0;
    }
    const StagedPlan plan =
        plan_listed_chunks(p, staged_element<Accumulator<kind, T>, T>(), device);
    return lists_for<T, Total>(p, {}, plan).bytes;
  }
};

}  // namespace

Status reduce_rows(const Reduce& problem, const Device& device, Workspace workspace,
                   Stream stream) {
  return dispatch(problem.op, problem.type, LaunchSequences{problem, device, workspace, stream});
}
Status reduce_segments(const Reduce& problem, const Device& device, Workspace workspace,
                       Stream stream) {
  return dispatch(problem.op, problem.type, LaunchSequences{problem, device, workspace, stream});
}

std::size_t reduce_rows_workspace(const Reduce& problem, const Device& device) {
  return dispatch(problem.op, problem.type, WorkspaceBytes{problem, device});
}
std::size_t reduce_segments_workspace(const Reduce& problem, const Device& device) {
  return dispatch(problem.op, problem.type, WorkspaceBytes{problem, device});
}

}  // namespace KW_TARGET
