// What the kernels of many sequences have of a call's workspace.
#pragma once

#include <algorithm>

#include "reduce/chunks/work_lists.hpp"
#include "reduce/problem.hpp"
#include "workspace_parts.hpp"

namespace KW_TARGET {

// Lists take the first tickets, shares two of those after them.
constexpr std::size_t list_tickets = 64, share_tickets = 3;
constexpr std::size_t block_share_tickets = 1024;  // one a block

// Parts of a workspace, one after the other.
class Parts {
 public:
  explicit Parts(void* data) : data_(static_cast<char*>(data)) {}
  template <class P>
  P* take(std::int64_t count) {
    return reinterpret_cast<P*>(data_ +
                                take_part(bytes_, static_cast<std::size_t>(count) * sizeof(P)));
  }
  std::size_t bytes() const { return bytes_; }

 private:
  char* data_;
  std::size_t bytes_ = 0;
};

// Room for what the array's elements can make: segments that are too long for a group of lanes, of
// one chunk, and chunks of those that have several, each of which but one is full.
// `most`: elements of a segment that goes on none.
template <class T, class Total>
WorkLists lists_for(const Reduce& p, std::int64_t most, const Workspace& workspace, Total** totals,
                    std::size_t* bytes) {
  WorkLists lists = {};
  lists.item_capacity = std::min(p.segments, p.cols / (most + 1)) + p.cols / smallest_chunk<T>;
  lists.sequence_capacity = std::min(p.segments, p.cols / smallest_chunk<T>);
  Parts parts(workspace.data);
  lists.items = parts.take<ChunkItem>(lists.item_capacity);
  lists.sequences = parts.take<LongSequence>(lists.sequence_capacity);
  *totals = parts.take<Total>(lists.item_capacity);
  *bytes = parts.bytes();
  lists.item_count = workspace.tickets;
  lists.sequence_count = workspace.tickets + 1;
  lists.finished_blocks = workspace.tickets + 2;
  lists.block_tickets = workspace.tickets + list_tickets;
  return lists;
}

}  // namespace KW_TARGET
