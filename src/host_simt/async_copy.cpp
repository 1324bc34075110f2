// The model of cp.async: each thread's copies wait in a queue, with the ends of their groups and
// the arrivals at mbarriers that follow them, and land from its head.
//
// When they land is what a kernel must not rely on. In forward and reverse order it is as late as
// can be: at the thread's wait, or when no thread of the block can go on without an arrival. In
// random order also at once, or whenever the thread lets others run. What is left when the block
// ends never lands.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host_simt/block.hpp"

namespace kw::host_simt {
namespace {

void land_copy(const Thread& thread, const AsyncCopy& copy) {
  if (copy.source_bytes > 0) {  // else there may be no source
    std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.source_bytes));
  }
  std::memset(static_cast<char*>(copy.to) + copy.source_bytes, 0,
              static_cast<std::size_t>(copy.bytes - copy.source_bytes));
  if (thread.observer != nullptr) {
    thread.observer->async_copy_landed(thread.index, copy.to, copy.bytes, copy.call);
  }
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

void async_copy(void* to, const void* from, int bytes, int source_bytes, Site site) {
  Thread& thread = this_thread();
  const AsyncCopy copy{to, from, bytes, source_bytes, __builtin_return_address(0)};
  check_copy(thread, copy, site);
  thread.runner.start_copy(thread, copy);
}

void async_commit() { this_thread().async.emplace_back(AsyncGroupEnd{}); }

void async_wait(int pending_groups) {
  Thread& thread = this_thread();
  thread.runner.wait_for_copies(thread, static_cast<std::size_t>(std::max(pending_groups, 0)));
}

void BlockRunner::start_copy(Thread& thread, const AsyncCopy& copy) {
  if (observer_) {
    observer_->async_copy_issued(thread.index, copy.to, copy.from, copy.bytes, copy.source_bytes,
                                 copy.call);
  }
  if (is_random() && random_below(2) == 0) {
    land_copy(thread, copy);
  } else {
    thread.async.emplace_back(copy);
  }
}

void BlockRunner::wait_for_copies(Thread& thread, std::size_t pending_groups) {
  const auto& steps = thread.async;
  std::size_t groups = 0;  // from the youngest on
  for (std::size_t end = steps.size(); end > 0; --end) {
    if (!std::holds_alternative<AsyncGroupEnd>(steps[end - 1])) continue;
    if (++groups <= pending_groups) continue;
    land(thread, end);
    return;
  }
}

void BlockRunner::land(Thread& thread, std::size_t steps) {
  const auto end = thread.async.begin() + static_cast<std::ptrdiff_t>(steps);
  for (auto step = thread.async.begin(); step != end && !fault_; ++step) {
    if (const auto* copy = std::get_if<AsyncCopy>(&*step)) land_copy(thread, *copy);
    if (const auto* arrival = std::get_if<AsyncArrival>(&*step)) {
      arrive(thread, *arrival, "mbarrier_arrive_after_copies");
    }
  }
  thread.async.erase(thread.async.begin(), end);
}

// In random order perhaps lands the older ones of the thread's steps, and other things that take
// their time.
void BlockRunner::land_some(Thread& thread) {
  land_some_bulk_copies();
  compute_some(thread);
  if (!is_random() || thread.async.empty() || random_below(4) != 0) return;
  land(thread, 1 + random_below(static_cast<std::uint32_t>(thread.async.size())));
}

// Where no thread can go on, lands no more than it takes: everybody's oldest arrival before
// anybody's second, and bulk copies one by one.
void BlockRunner::land_until_ready() {
  while (is_stuck()) {
    if (land_oldest_arrivals()) continue;
    if (bulk_copies_.empty()) return;
    land_next_bulk_copy();
  }
}

// Until a thread can go on; false where there was none to land.
bool BlockRunner::land_oldest_arrivals() {
  bool has_landed = false;
  for (int i = 0; i < size_ && is_stuck(); ++i) {
    Thread& thread = thread_at(i);
    const auto& steps = thread.async;
    const auto arrival = std::find_if(steps.begin(), steps.end(), [](const AsyncStep& step) {
      return std::holds_alternative<AsyncArrival>(step);
    });
    if (arrival == steps.end()) continue;
    land(thread, static_cast<std::size_t>(arrival - steps.begin()) + 1);
    has_landed = true;
  }
  return has_landed;
}

}  // namespace kw::host_simt
