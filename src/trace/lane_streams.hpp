// Puts the accesses of single lanes together to those of warps: the k-th time that each lane of a
// warp executes an instruction, since the warp last met, is one access of the warp.
//
// Lanes run one after the other, so a lane's addresses wait for the other lanes'. They go to the
// sink when all lanes that are still in the kernel have come as far, some at a time, or when the
// warp meets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/warp_access.hpp"

namespace kw::trace {

// Of one warp and one instruction.
class LaneStream {
 public:
  // `alive`: the warp's lanes that are in the kernel.
  template <class Sink>
  void add(int lane, std::uintptr_t address, std::uint32_t alive, Sink sink) {
    std::vector<std::uintptr_t>& own = addresses_[static_cast<std::size_t>(lane)];
    own.push_back(address);
    constexpr std::size_t some = 256;
    if (own.size() % some != 0) return;
    std::size_t all_have = own.size();
    for (std::size_t i = 0; i < warp_lanes; ++i)
      if ((alive >> i & 1) != 0) all_have = std::min(all_have, addresses_[i].size());
    send(all_have, sink);
    if (all_have == own.size()) clear_if_sent();
  }

  // The warp has met.
  template <class Sink>
  void flush(Sink sink) {
    std::size_t most = 0;
    for (const auto& lane : addresses_) most = std::max(most, lane.size());
    send(most, sink);
    clear_if_sent();
  }

 private:
  // Up to number `end`.
  template <class Sink>
  void send(std::size_t end, Sink sink) {
    WarpAccess access;
    for (; sent_ < end; ++sent_) {
      access.lanes = 0;
      for (std::size_t i = 0; i < warp_lanes; ++i) {
        if (addresses_[i].size() <= sent_) continue;
        access.lanes |= 1u << i;
        access.address[i] = addresses_[i][sent_];
      }
      sink(access);
    }
  }

  void clear_if_sent() {
    for (const auto& lane : addresses_)
      if (lane.size() > sent_) return;
    for (auto& lane : addresses_) lane.clear();
    sent_ = 0;
  }

  std::array<std::vector<std::uintptr_t>, warp_lanes> addresses_;  // since the warp met, by lane
  std::size_t sent_ = 0;  // accesses that the sink has had of them
};

}  // namespace kw::trace
