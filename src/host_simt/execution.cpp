// The scheduler's services for the GPU thread that runs now, including the model of cp.async.
#include "host_simt/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "host_simt/block.hpp"

namespace kw::host_simt {
namespace {

// Kernels cannot change their built-in variables; the scheduler's Thread around them it may.
Thread& this_thread() { return const_cast<Thread&>(static_cast<const Thread&>(*built_ins)); }

// The lane that `lane` reads from; itself where the asked one is outside of its segment.
int source_lane(Shuffle kind, int lane, int argument, int width) {
  const int first = lane & ~(width - 1);
  const int last = first + width - 1;
  switch (kind) {
    case Shuffle::index: return first + (argument & (width - 1));
    case Shuffle::up: return lane - argument < first ? lane : lane - argument;
    case Shuffle::down: return argument > last - lane ? lane : lane + argument;
    case Shuffle::butterfly: return (lane ^ argument) > last ? lane : lane ^ argument;
  }
  return lane;
}

void land(const AsyncCopy& copy) {
  std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.source_bytes));
  std::memset(static_cast<char*>(copy.to) + copy.source_bytes, 0,
              static_cast<std::size_t>(copy.bytes - copy.source_bytes));
}

void check_copy(const Thread& thread, const AsyncCopy& copy, const Site& site) {
  const auto refuse = [&](const std::string& text) {
    thread.runner.fault(thread, &site, fmt::format("async_copy of {} bytes {}", copy.bytes, text));
  };
  const auto misplaced = [&](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % static_cast<unsigned>(copy.bytes);
  };
  if (copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16) {
    refuse("is impossible: copy 4, 8 or 16");
  }
  if (copy.source_bytes < 0 || copy.source_bytes > copy.bytes) {
    refuse(fmt::format("reads {}: read between none and all of them", copy.source_bytes));
  }
  if (const auto off = misplaced(copy.to)) {
    refuse(
        fmt::format("writes to an address {} past a multiple of {}: align the shared array or "
                    "copy less at once",
                    off, copy.bytes));
  }
  if (const auto off = misplaced(copy.from)) {
    refuse(
        fmt::format("reads from an address {} past a multiple of {}: align the source or copy "
                    "less at once",
                    off, copy.bytes));
  }
}

}  // namespace

int barrier(const char* function, bool predicate, Site site) {
  Thread& thread = this_thread();
  return thread.runner.barrier(thread, function, predicate, site);
}

std::uint64_t shuffle(const char* function, Shuffle kind, std::uint64_t mask, std::uint64_t value,
                      int argument, int width, Site site) {
  Thread& thread = this_thread();
  if (width < 1 || width > thread.warp_size || !std::has_single_bit(static_cast<unsigned>(width))) {
    thread.runner.fault(thread, &site,
                        fmt::format("{} with width {}: use a power of two from 1 to {}", function,
                                    width, thread.warp_size));
  }
  thread.value = value;
  thread.source_lane = source_lane(kind, thread.lane, argument, width);
  return thread.runner.exchange(thread, mask, {.function = function, .site = site});
}

std::uint64_t ballot(const char* function, std::uint64_t mask, bool predicate, Site site) {
  Thread& thread = this_thread();
  thread.value = predicate ? 1 : 0;
  return thread.runner.exchange(thread, mask, {.function = function, .site = site, .vote = true});
}

void sync_warp(std::uint64_t mask, Site site) {
  Thread& thread = this_thread();
  thread.runner.exchange(
      thread, mask, {.function = "__syncwarp", .site = site, .vote = true, .at_one_place = false});
}

std::uint64_t active_mask() {
  const Thread& thread = this_thread();
  return thread.runner.running_lanes(thread);
}

void require_32_lanes(const char* function, Site site) {
  const Thread& thread = this_thread();
  if (thread.warp_size <= 32) return;
  thread.runner.fault(thread, &site,
                      fmt::format("{} with a 32-bit result on a warp of {} lanes: pass an unsigned "
                                  "long long mask to __ballot_sync",
                                  function, thread.warp_size));
}

void* dynamic_shared() { return this_thread().runner.dynamic_shared(); }

void async_copy(void* to, const void* from, int bytes, int source_bytes, Site site) {
  Thread& thread = this_thread();
  const AsyncCopy copy{to, from, bytes, source_bytes};
  check_copy(thread, copy, site);
  const bool may_land_now = thread.runner.grid().options.order == Order::random;
  if (may_land_now && thread.runner.random_below(2) == 0) {
    land(copy);
    return;
  }
  thread.async.copies.push_back(copy);
  ++thread.async.open;
}

void async_commit() {
  AsyncQueue& queue = this_thread().async;
  queue.groups.push_back(queue.open);
  queue.open = 0;
}

void async_wait(int pending_groups) {
  AsyncQueue& queue = this_thread().async;
  const std::size_t keep = static_cast<std::size_t>(std::max(pending_groups, 0));
  if (queue.groups.size() <= keep) return;
  const auto end = queue.groups.end() - static_cast<std::ptrdiff_t>(keep);
  auto landed = queue.copies.begin();
  for (auto group = queue.groups.begin(); group != end; ++group) {
    const auto group_end = landed + static_cast<std::ptrdiff_t>(*group);
    for (; landed != group_end; ++landed) land(*landed);
  }
  queue.copies.erase(queue.copies.begin(), landed);
  queue.groups.erase(queue.groups.begin(), end);
}

}  // namespace kw::host_simt
