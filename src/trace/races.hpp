// Finds races in a block's shared memory: two threads touch one word, at least one of them writes,
// and nothing orders the two. By vector clocks, so in whatever order the threads happened to run.
//
// A thread's clock ticks at each synchronisation. A barrier of the whole block orders all that came
// before it, so clocks below `base_` need no further look; what else orders threads (lanes that
// meet, mbarriers, named barriers) is kept in one clock a pair of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "trace/warp_access.hpp"

namespace kw::trace {

class RaceFinder {
 public:
  // `words` of shared memory. Places in the code are numbers that the caller gives them.
  void begin_block(int threads, std::size_t words);

  void block_met();
  void lanes_met(int first_thread, std::uint64_t mask);
  void release(int thread, const void* object);
  void acquire(int thread, const void* object);

  // Atomic accesses order nothing, and do not race with one another: an atomic read is compared
  // with the plain write before it, an atomic write with everything but the atomic one before it.
  void read(int thread, std::size_t word, std::uint32_t site, bool atomic = false);
  void write(int thread, std::size_t word, std::uint32_t site, bool atomic = false);

  // What was found since the block began, in the order in which it ran.
  struct Pair {
    std::uint32_t first, second;  // sites
    bool first_writes, second_writes;

    friend bool operator<(const Pair& a, const Pair& b) {
      return std::tie(a.first, a.second, a.first_writes, a.second_writes) <
             std::tie(b.first, b.second, b.first_writes, b.second_writes);
    }
  };
  struct Found {
    int first_thread, second_thread;
    std::size_t word;
    std::uint64_t words;
  };
  const std::map<Pair, Found>& found() const { return found_; }

 private:
  using Clock = std::uint32_t;
  struct Access {
    Clock clock = 0;
    std::uint32_t site = 0;
  };
  struct Word {
    Access write;
    std::uint16_t writer = 0;
    bool atomic = false;
    Clock last_read = 0;  // by anybody
  };
  // By the lanes of a warp, of one word: which of them have read it at the clock `last.clock`; or,
  // where their clocks differ, each one's last read in apart_.
  struct WarpReads {
    Access last;
    std::uint32_t lanes = 0;
    std::int32_t apart = -1;
  };
  using LaneReads = std::array<Access, warp_lanes>;

  Clock* seen_by(int thread) { return &seen_[static_cast<std::size_t>(thread) * threads_]; }
  bool is_ordered(Clock clock, int thread, int before) {
    return clock < base_ || thread == before ||
           clock <= seen_by(thread)[static_cast<std::size_t>(before)];
  }
  WarpReads& reads_of(std::size_t warp, std::size_t word) {
    return reads_[warp * words_.size() + word];
  }
  Access now(int thread, std::uint32_t site) const {
    return {own_[static_cast<std::size_t>(thread)], site};
  }
  void part(WarpReads& reads);
  void check_reads(const WarpReads& reads, int first_thread, int writer, std::size_t word,
                   std::uint32_t site);
  void tell(const Access& first, bool first_writes, int first_thread, std::uint32_t second,
            bool second_writes, int second_thread, std::size_t word);

  std::size_t threads_ = 0;  // of the block
  Clock base_ = 1;
  std::vector<Clock> own_;   // of each thread
  std::vector<Clock> seen_;  // [thread][other]: what thread knows to have happened
  std::vector<Word> words_;
  std::vector<WarpReads> reads_;  // [warp][word]: a warp's are near to each other
  std::vector<LaneReads> apart_;
  std::unordered_map<const void*, std::vector<Clock>> released_;
  std::map<Pair, Found> found_;
};

}  // namespace kw::trace
