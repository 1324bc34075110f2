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
  if (count != stride_ || words != words_.size()) {
    stride_ = count;
    own_.assign(count, base_);
    seen_.assign(count * count, 0);
    words_.assign(words, Word{});
    reads_.assign(words * count, Access{});
  }
  released_.clear();
  found_.clear();
  block_met();
}

void RaceFinder::block_met() {
  base_ = std::max(base_, *std::max_element(own_.begin(), own_.end())) + 1;
  std::fill(own_.begin(), own_.end(), base_);
}

void RaceFinder::lanes_met(int first_thread, std::uint64_t mask) {
  std::vector<Clock> joined(stride_, 0);
  for (std::uint64_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const int thread = first_thread + std::countr_zero(lanes);
    join(joined, seen_by(thread));
  }
  for (std::uint64_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const auto thread = static_cast<std::size_t>(first_thread + std::countr_zero(lanes));
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
  at.resize(stride_, 0);
  join(at, seen_by(thread));
  Clock& own = own_[static_cast<std::size_t>(thread)];
  at[static_cast<std::size_t>(thread)] = own++;
}

void RaceFinder::acquire(int thread, const void* object) {
  const auto released = released_.find(object);
  if (released == released_.end()) return;
  Clock* const seen = seen_by(thread);
  for (std::size_t i = 0; i < stride_; ++i) seen[i] = std::max(seen[i], released->second[i]);
}

RaceFinder::Access RaceFinder::now(int thread, std::uintptr_t call) {
  if (call != last_call_ || calls_.empty()) {
    const auto index = static_cast<std::uint32_t>(calls_.size());
    const auto [known, is_new] = call_index_.try_emplace(call, index);
    if (is_new) calls_.push_back(call);
    last_call_ = call;
    last_index_ = known->second;
  }
  return {own_[static_cast<std::size_t>(thread)], last_index_};
}

void RaceFinder::read(int thread, std::size_t word, std::uintptr_t call, bool atomic) {
  Word& at = words_[word];
  if (atomic && at.atomic) return;
  if (!is_ordered(at.write.clock, thread, at.writer))
    tell(at.write, true, at.writer, call, false, thread, word);
  reads_[word * stride_ + static_cast<std::size_t>(thread)] = now(thread, call);
  at.last_read = std::max(at.last_read, own_[static_cast<std::size_t>(thread)]);
}

void RaceFinder::write(int thread, std::size_t word, std::uintptr_t call, bool atomic) {
  Word& at = words_[word];
  if (!(atomic && at.atomic) && !is_ordered(at.write.clock, thread, at.writer))
    tell(at.write, true, at.writer, call, true, thread, word);
  if (at.last_read >= base_) {
    const Access* const reads = &reads_[word * stride_];
    for (std::size_t i = 0; i < stride_; ++i) {
      const int reader = static_cast<int>(i);
      if (!is_ordered(reads[i].clock, thread, reader))
        tell(reads[i], false, reader, call, true, thread, word);
    }
  }
  at.write = now(thread, call);
  at.writer = static_cast<std::uint16_t>(thread);
  at.atomic = atomic;
}

void RaceFinder::tell(const Access& first, bool first_writes, int first_thread,
                      std::uintptr_t second, bool second_writes, int second_thread,
                      std::size_t word) {
  const RacePair pair{calls_[first.call], second, first_writes, second_writes};
  ++found_.try_emplace(pair, Found{first_thread, second_thread, word, 0}).first->second.words;
}

}  // namespace kw::trace
