// Finds races in a block's shared memory: two threads touch one word, at least one of them writes,
// and nothing orders the two. By vector clocks, so in whatever order the threads happened to run.
//
// A thread's clock ticks at each synchronisation. A barrier of the whole block orders all that came
// before it, so clocks below `base_` need no further look; what else orders threads (lanes that
// meet, mbarriers, named barriers) is kept in one clock a pair of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "host_simt/observer.hpp"
#include "trace/counts.hpp"

namespace kw::trace {

class RaceFinder {
 public:
  // `words` of shared memory.
  void begin_block(int threads, std::size_t words);

  void block_met();
  void lanes_met(int first_thread, std::uint64_t mask);
  void release(int thread, const void* object);
  void acquire(int thread, const void* object);

  // Atomic accesses order nothing here, but do not race with one another.
  void read(int thread, std::size_t word, std::uintptr_t call, bool atomic = false);
  void write(int thread, std::size_t word, std::uintptr_t call, bool atomic = false);

  // What was found since the block began. `first` has the access that came first.
  struct Found {
    int first_thread, second_thread;
    std::size_t word;
    std::uint64_t words;
  };
  const std::map<RacePair, Found>& found() const { return found_; }

 private:
  using Clock = std::uint32_t;
  struct Access {
    Clock clock;
    std::uint32_t call;  // an index into calls_
  };
  struct Word {
    Access write;
    std::uint16_t writer;
    bool atomic;
    Clock last_read;  // by anybody
  };

  Clock* seen_by(int thread) { return &seen_[static_cast<std::size_t>(thread) * stride_]; }
  bool is_ordered(Clock clock, int thread, int before) {
    return clock < base_ || thread == before ||
           clock <= seen_by(thread)[static_cast<std::size_t>(before)];
  }
  Access now(int thread, std::uintptr_t call);
  void tell(const Access& first, bool first_writes, int first_thread, std::uintptr_t second,
            bool second_writes, int second_thread, std::size_t word);

  std::size_t stride_ = 0;  // threads of the block
  Clock base_ = 1;
  std::vector<Clock> own_;   // of each thread
  std::vector<Clock> seen_;  // [thread][other]: what thread knows to have happened
  std::vector<Word> words_;
  std::vector<Access> reads_;  // [word][thread]: its last
  std::unordered_map<const void*, std::vector<Clock>> released_;
  std::vector<std::uintptr_t> calls_;
  std::unordered_map<std::uintptr_t, std::uint32_t> call_index_;
  std::uintptr_t last_call_ = 0;
  std::uint32_t last_index_ = 0;
  std::map<RacePair, Found> found_;
};

}  // namespace kw::trace
