// The model of bulk copies: they wait in a list of the block, for no order among them is promised,
// and count their bytes at their mbarrier when they land.
//
// When is what a kernel must not rely on. In forward and reverse order as late as can be: when no
// thread of the block can go on, the oldest first, or the youngest. In random order also at once,
// or whenever a thread lets others run. What has not landed when the block ends is a fault: on a
// GPU it would land in another block's memory.
#include <fmt/format.h>

#include <cstring>

#include "host_simt/block.hpp"

namespace kw::host_simt {

void bulk_copy(void* to, const void* from, unsigned bytes, std::uint64_t* mbarrier, Site site) {
  Thread& thread = this_thread();
  thread.runner.start_bulk_copy(
      thread, {to, from, bytes, mbarrier, &thread, site, __builtin_return_address(0)});
}

void BlockRunner::check_bulk_copy(const BulkCopy& copy) {
  const auto refuse = [&](const std::string& text) {
    fault(*copy.thread, &copy.site, fmt::format("bulk_copy of {} bytes {}", copy.bytes, text));
  };
  const auto past_16 = [](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % 16;
  };
  if (copy.bytes == 0 || copy.bytes % 16 != 0) refuse("is impossible: copy a multiple of 16");
  if (const auto off = past_16(copy.to)) {
    refuse(
        fmt::format("writes to an address {} past a multiple of 16: align the shared array", off));
  }
  if (const auto off = past_16(copy.from)) {
    refuse(fmt::format("reads from an address {} past a multiple of 16: align the source", off));
  }
  if (!shared_.may_hold(copy.to, copy.bytes, *grid_->arrays)) {
    refuse(
        fmt::format("writes from {} on, where not all of it lies in one array of the block's "
                    "shared memory: copy less, or to a larger array",
                    shared_.describe(copy.to, *grid_->arrays)));
  }
}

void BlockRunner::start_bulk_copy(const Thread& thread, const BulkCopy& copy) {
  check_bulk_copy(copy);
  if (!is_usable(thread, copy.mbarrier, "bulk_copy", copy.site)) throw Unwind();
  if (observer_) {
    observer_->bulk_copy_issued(thread.index, copy.to, copy.from, copy.bytes, copy.call);
  }
  bulk_copies_.push_back(copy);
  if (is_random() && random_below(2) == 0) land_bulk_copy(bulk_copies_.size() - 1);
}

void BlockRunner::receive(const BulkCopy& copy) {
  std::memcpy(copy.to, copy.from, copy.bytes);
  complete_bytes(*copy.thread, copy.mbarrier, copy.bytes, copy.site);
}

void BlockRunner::land_bulk_copy(std::size_t index) {
  const BulkCopy copy = bulk_copies_[index];
  bulk_copies_.erase(bulk_copies_.begin() + static_cast<std::ptrdiff_t>(index));
  std::memcpy(copy.to, copy.from, copy.bytes);
  if (observer_) {
    observer_->bulk_copy_landed(copy.thread->index, copy.to, copy.bytes, copy.call);
    observer_->release(copy.thread->index, copy.mbarrier);
  }
  complete_bytes(*copy.thread, copy.mbarrier, copy.bytes, copy.site);
}

// In random order perhaps lands some of the block's copies, whichever: about once while each of its
// threads lets others run.
void BlockRunner::land_some_bulk_copies() {
  if (!is_random() || bulk_copies_.empty()) return;
  if (random_below(static_cast<std::uint32_t>(size_)) != 0) return;
  auto landing = random_below(static_cast<std::uint32_t>(bulk_copies_.size())) + 1;
  for (; landing > 0 && !fault_; --landing) {
    land_bulk_copy(random_below(static_cast<std::uint32_t>(bulk_copies_.size())));
  }
}

// Where no thread can go on.
void BlockRunner::land_next_bulk_copy() {
  switch (grid_->options.order) {
    case Order::forward: return land_bulk_copy(0);
    case Order::reverse: return land_bulk_copy(bulk_copies_.size() - 1);
    case Order::random:
      return land_bulk_copy(random_below(static_cast<std::uint32_t>(bulk_copies_.size())));
  }
}

void BlockRunner::check_bulk_copies_at_end() {
  if (!bulk_copies_.empty()) {
    const BulkCopy& copy = bulk_copies_.front();
    record_fault(*copy.thread, &copy.site,
                 fmt::format("the block ends while a bulk_copy of {} bytes to {} is under way: let "
                             "a thread wait for its mbarrier before it leaves the kernel",
                             copy.bytes, shared_.describe(copy.to, *grid_->arrays)));
  }
}

}  // namespace kw::host_simt
