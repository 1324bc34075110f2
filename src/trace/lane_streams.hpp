// Puts the accesses of single lanes together to those of warps: the k-th time that each lane of a
// warp executes an instruction, since the warp last met, is one access of the warp.
//
// Lanes run one after the other, so an access waits for its other lanes. It goes to the sink as
// soon as all lanes that are still in the kernel have executed it, or when the warp meets.
#pragma once

#include <array>
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
    const std::uint32_t at = executed_[static_cast<std::size_t>(lane)]++ - gone_;
    if (at + head_ == waiting_.size()) waiting_.emplace_back();
    WarpAccess& access = waiting_[at + head_];
    access.lanes |= 1u << lane;
    access.address[static_cast<std::size_t>(lane)] = address;
    if (at != 0 || (alive & ~access.lanes) != 0) return;
    for (; head_ < waiting_.size() && (alive & ~waiting_[head_].lanes) == 0; ++head_, ++gone_)
      sink(waiting_[head_]);
    if (head_ < waiting_.size()) return;
    waiting_.clear();
    head_ = 0;
  }

  // The warp has met.
  template <class Sink>
  void flush(Sink sink) {
    for (; head_ < waiting_.size(); ++head_) sink(waiting_[head_]);
    waiting_.clear();
    head_ = 0;
    gone_ = 0;
    executed_ = {};
  }

 private:
  std::array<std::uint32_t, warp_lanes> executed_{};  // times, by each lane
  std::uint32_t gone_ = 0;                            // accesses that the sink has had
  std::vector<WarpAccess> waiting_;                   // those behind, from head_ on
  std::size_t head_ = 0;
};

}  // namespace kw::trace
