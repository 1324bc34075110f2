// Exchanges among the lanes of a warp: the last lane to arrive does the work for all.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "host_simt/block.hpp"

namespace kw::host_simt {
namespace {

constexpr std::uint64_t poison_value = ~std::uint64_t{0};

template <class Visit>
void for_each_lane(std::uint64_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

bool meet(const Exchange& a, const Exchange& b) {
  return a.mask == b.mask &&
         (a.function == b.function || std::strcmp(a.function, b.function) == 0) &&
         (!a.at_one_place || same_place(a.site, b.site));
}

}  // namespace

std::size_t BlockRunner::warp_of(const Thread& thread) const {
  return static_cast<std::size_t>(thread.index) / static_cast<unsigned>(thread.warp_size);
}

Thread& BlockRunner::lane_of(const Thread& thread, int lane) const {
  return thread_at(thread.index - thread.lane + lane);
}

std::uint64_t BlockRunner::existing_lanes(const Thread& thread) const {
  const int lanes = std::min(thread.warp_size, size_ - (thread.index - thread.lane));
  return ~std::uint64_t{0} >> (64 - lanes);
}

std::uint64_t BlockRunner::running_lanes(const Thread& thread) const {
  return existing_lanes(thread) & ~warps_[warp_of(thread)].left;
}

std::uint64_t BlockRunner::exchange(Thread& thread, std::uint64_t mask, Exchange what) {
  what.mask = mask == ~std::uint64_t{0} ? existing_lanes(thread) : mask;  // all that there are
  const auto refuse = [&](const std::string& text) {
    fault(thread, &what.site,
          fmt::format("{} with mask {:#010x}, which {}", what.function, mask, text));
  };
  if ((what.mask & lane_bit(thread.lane)) == 0) {
    refuse(
        fmt::format("does not name the calling lane {}: add it, or keep the lane out of the call",
                    thread.lane));
  }
  if (const std::uint64_t absent = what.mask & ~running_lanes(thread); absent != 0) {
    const int lane = std::countr_zero(absent);
    const bool left = (existing_lanes(thread) & lane_bit(lane)) != 0;
    refuse(fmt::format("names lane {}, which {}: name lanes that come to this call", lane,
                       left ? "has left the kernel" : "the warp does not have"));
  }

  thread.function = what.function;
  thread.site = what.site;
  thread.state = Thread::State::waiting;
  std::vector<Exchange>& pending = warps_[warp_of(thread)].pending;
  auto group = std::find_if(pending.begin(), pending.end(),
                            [&](const Exchange& other) { return meet(other, what); });
  if (group == pending.end()) group = pending.insert(pending.end(), what);
  group->arrived |= lane_bit(thread.lane);
  if (group->arrived == group->mask) {
    const Exchange done = *group;
    pending.erase(group);
    complete(thread, done);
  }
  suspend(thread);
  return thread.result;
}

void BlockRunner::complete(const Thread& thread, const Exchange& done) {
  if (observer_) {
    observer_->lanes_met(thread.index - thread.lane, done.mask,
                         (running_lanes(thread) & ~done.mask) == 0);
  }
  std::uint64_t votes = 0;
  for_each_lane(done.mask, [&](int lane) {
    if (lane_of(thread, lane).value != 0) votes |= lane_bit(lane);
  });
  for_each_lane(done.mask, [&](int lane) {
    Thread& receiver = lane_of(thread, lane);
    const int source = receiver.source_lane;
    if (done.vote) {
      receiver.result = votes;
    } else if (done.mask & lane_bit(source)) {
      receiver.result = lane_of(thread, source).value;
    } else {
      receiver.result = poison_value;  // undefined on a GPU: that lane takes no part
    }
  });
  const bool reverse = grid_->options.order == Order::reverse;
  std::uint64_t waking = done.mask;
  while (waking != 0) {
    const int lane = reverse ? 63 - std::countl_zero(waking) : std::countr_zero(waking);
    waking &= ~lane_bit(lane);
    make_ready(lane_of(thread, lane));
  }
}

}  // namespace kw::host_simt
