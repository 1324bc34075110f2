// Vector clocks over a block's threads. See races.hpp.
#include "trace/races.hpp"

#include <algorithm>
#include <bit>

namespace kw::trace {
namespace {

void join(std::vector<std::uint32_t>& into, const std::uint32_t* other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

}  // namespace

void RaceFinder::begin_block(int threads, std::size_t words) {
  const auto count = static_cast<std::size_t>(threads);
  if (count != threads_ || words != words_.size()) {
    threads_ = count;
    own_.assign(count, base_);
    seen_.assign(count * count, 0);
    words_.assign(words, Word{});
    reads_.assign(words * ((count + warp_lanes - 1) / warp_lanes), WarpReads{});
    apart_.clear();
  }
  released_.clear();
  found_.clear();
  block_met();
}

void RaceFinder::block_met() {
  base_ = std::max(base_, *std::max_element(own_.begin(), own_.end())) + 1;
  std::fill(own_.begin(), own_.end(), base_);
  apart_.clear();
}

void RaceFinder::lanes_met(int first_thread, std::uint64_t mask) {
  std::vector<Clock> joined(threads_, 0);
  for (std::uint64_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const int thread = first_thread + std::countr_zero(lanes);
    join(joined, seen_by(thread));
  }
  for (std::uint64_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const int lane = first_thread + std::countr_zero(lanes);
    const auto thread = static_cast<std::size_t>(lane);
    joined[thread] = std::max(joined[thread], own_[thread]);
  }
  for (std::uint64_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const int thread = first_thread + std::countr_zero(lanes);
    std::copy(joined.begin(), joined.end(), seen_by(thread));
    ++own_[static_cast<std::size_t>(thread)];
  }
}

void RaceFinder::release(int thread, const void* object) {
  std::vector<Clock>& at = released_[object];
  at.resize(threads_, 0);
  join(at, seen_by(thread));
  Clock& own = own_[static_cast<std::size_t>(thread)];
  at[static_cast<std::size_t>(thread)] = own++;
}

void RaceFinder::acquire(int thread, const void* object) {
  const auto released = released_.find(object);
  if (released == released_.end()) return;
  Clock* const seen = seen_by(thread);
  for (std::size_t i = 0; i < threads_; ++i) seen[i] = std::max(seen[i], released->second[i]);
}

void RaceFinder::read(int thread, std::size_t word, std::uint32_t site, bool atomic) {
  Word& at = words_[word];
  if (atomic && at.atomic) return;
  if (!is_ordered(at.write.clock, thread, at.writer))
    tell(at.write, true, at.writer, site, false, thread, word);
  if (atomic) return;
  const Access access = now(thread, site);
  at.last_read = std::max(at.last_read, access.clock);
  const auto index = static_cast<std::size_t>(thread);
  const auto lane = static_cast<unsigned>(index % warp_lanes);
  WarpReads& reads = reads_of(index / warp_lanes, word);
  if (reads.last.clock < base_) reads = {};  // of no interest any more
  if (reads.apart < 0 && reads.lanes != 0 && reads.last.clock != access.clock) part(reads);
  reads.last = access;
  reads.lanes |= 1u << lane;
  if (reads.apart >= 0) apart_[static_cast<std::size_t>(reads.apart)][lane] = access;
}

// Gives each lane a place of its own.
void RaceFinder::part(WarpReads& reads) {
  LaneReads lanes;
  for (unsigned lane = 0; lane < warp_lanes; ++lane)
    if ((reads.lanes >> lane & 1) != 0) lanes[lane] = reads.last;
  reads.apart = static_cast<std::int32_t>(apart_.size());
  apart_.push_back(lanes);
}

void RaceFinder::check_reads(const WarpReads& reads, int first_thread, int writer, std::size_t word,
                             std::uint32_t site) {
  for (std::uint32_t lanes = reads.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
    const Access& read =
        reads.apart < 0 ? reads.last : apart_[static_cast<std::size_t>(reads.apart)][lane];
    const int reader = first_thread + static_cast<int>(lane);
    if (!is_ordered(read.clock, writer, reader))
      tell(read, false, reader, site, true, writer, word);
  }
}

void RaceFinder::write(int thread, std::size_t word, std::uint32_t site, bool atomic) {
  Word& at = words_[word];
  if (!(atomic && at.atomic) && !is_ordered(at.write.clock, thread, at.writer))
    tell(at.write, true, at.writer, site, true, thread, word);
  if (at.last_read >= base_) {
    for (std::size_t first = 0; first < threads_; first += warp_lanes) {
      const WarpReads& reads = reads_of(first / warp_lanes, word);
      if (reads.last.clock >= base_)
        check_reads(reads, static_cast<int>(first), thread, word, site);
    }
  }
  at.write = now(thread, site);
  at.writer = static_cast<std::uint16_t>(thread);
  at.atomic = atomic;
}

void RaceFinder::tell(const Access& first, bool first_writes, int first_thread,
                      std::uint32_t second, bool second_writes, int second_thread,
                      std::size_t word) {
  const Pair pair{first.site, second, first_writes, second_writes};
  ++found_.try_emplace(pair, Found{first_thread, second_thread, word, 0}).first->second.words;
}

}  // namespace kw::trace
