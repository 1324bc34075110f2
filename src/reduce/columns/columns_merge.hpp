// How what the blocks of reduce_columns have of a strip becomes its totals: groups of neighbours
// are merged by the last block of each to arrive, then groups of those.
#pragma once

#include "device/tickets.hpp"
#include "reduce/columns/columns_plan.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {

// Totals of `count` members side by side for each of `columns` columns, in shared memory, merged as
// a tree of neighbours; member 0 has the result. All threads of the block call it. At each level
// those write that others read at the next one, and nobody reads what they write at this one.
template <class A>
__device__ __forceinline__ typename A::Total tree_across(typename A::Total total,
                                                         typename A::Total* shared, int member,
                                                         int column, int count, int columns,
                                                         bool present) {
  if (count <= 1) return total;
  typename A::Total* const own = shared + member * columns + column;
  __syncthreads();
  if (present) *own = total;
  for (int step = 1; step < count; step *= 2) {
    __syncthreads();
    if (present && member % (2 * step) == 0 && member + step < count) {
      A::merge(total, own[step * columns]);
      *own = total;
    }
  }
  return total;
}

// What waits for its neighbours: `count` totals of all columns behind each other, at each level a
// 2^merge_shift-th of them, and a ticket for each group of them and strip.
template <class Total>
struct WaitingTotals {
  Total* totals;
  unsigned* tickets;
  int count;

  __device__ __forceinline__ int groups(const ColumnPlan& plan) const {
    return (count + plan.merged() - 1) >> plan.merge_shift;
  }
  __device__ __forceinline__ int members(const ColumnPlan& plan, int group) const {
    return min(plan.merged(), count - (group << plan.merge_shift));
  }
  __device__ __forceinline__ void go_up(const ColumnPlan& plan) {
    totals += count * plan.cols;
    count = groups(plan);
    tickets += plan.strips * count;
  }
  // Whether a group is complete with `mine` of it, by one thread.
  __device__ __forceinline__ bool arrive(const ColumnPlan& plan, int strip, int group,
                                         int mine) const {
    unsigned* const ticket = tickets + (strip * groups(plan) + group);
    const auto of_block = static_cast<unsigned>(mine);
    const unsigned there = take_tickets(ticket, of_block) + of_block;
    if (there != static_cast<unsigned>(members(plan, group))) return false;
    *ticket = 0;
    return true;
  }
};

// The total of a group in the threads of member 0: merged_each of them a thread at a time, then the
// threads of a column.
template <class A>
__device__ __forceinline__ typename A::Total merge_group(const ColumnPlan& plan,
                                                         const typename A::Total* from, int members,
                                                         typename A::Total* shared, int columns) {
  using Total = typename A::Total;
  const int thread = static_cast<int>(threadIdx.x);
  const int member = thread / columns, column = thread % columns;
  const int each = 1 << plan.each_shift, begin = member << plan.each_shift;
  const bool present = begin < plan.merged();
  from += begin * plan.cols + column;
  const int left = present ? members - begin : 0;
  static_assert(most_merged_each == 2 * merged_each);
  Total total = A::empty_total();
#pragma unroll 1
  for (int asked = 0; asked < each; asked += merged_each) {
    Total parts[merged_each];
#pragma unroll
    for (int i = 0; i < merged_each; ++i, from += plan.cols) {
      parts[i] = A::empty_total();
      if (asked + i < left) parts[i] = *from;
    }
    A::merge(total, tree_of_array<A>(parts));
  }
  return tree_across<A>(total, shared, member, column, (members + each - 1) >> plan.each_shift,
                        columns, present);
}

// Merges what the blocks of a strip have left, of which this one has `mine` totals from `first` on.
// True in the block that has the strip's totals at the end, in `total` of the first threads.
template <class A>
__device__ __forceinline__ bool merge_blocks(const ColumnPlan& plan, typename A::Total& total,
                                             typename A::Total* totals, unsigned* tickets,
                                             typename A::Total* shared, int strip, int first,
                                             int mine, int columns) {
  __shared__ bool completes[column_threads], completes_group;
  const int thread = static_cast<int>(threadIdx.x);
  totals += strip * std::int64_t{plan.strip_columns};
  const int begin = first >> plan.merge_shift, end = ((first + mine - 1) >> plan.merge_shift) + 1;
  __syncthreads();
  if (begin + thread < end) {
    const int from = (begin + thread) << plan.merge_shift;
    const int of_group = min(first + mine, from + plan.merged()) - max(first, from);
    completes[thread] = WaitingTotals<typename A::Total>{totals, tickets, plan.item_count}.arrive(
        plan, strip, begin + thread, of_group);
  }
  __syncthreads();
#pragma unroll 1
  for (int complete = begin; complete < end; ++complete) {
    if (!completes[complete - begin]) continue;
    WaitingTotals<typename A::Total> level = {totals, tickets, plan.item_count};
#pragma unroll 1
    for (int group = complete;;) {
      total =
          merge_group<A>(plan, level.totals + (std::int64_t{group} << plan.merge_shift) * plan.cols,
                         level.members(plan, group), shared, columns);
      if (level.count <= plan.merged()) return true;
      level.go_up(plan);
      if (thread < columns) level.totals[group * plan.cols + thread] = total;
      group >>= plan.merge_shift;
      __syncthreads();
      if (thread == 0) completes_group = level.arrive(plan, strip, group, 1);
      __syncthreads();
      if (!completes_group) break;
    }
  }
  return false;
}

}  // namespace KW_TARGET
