// Function objects applied to every element, in host memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "check/parallel.hpp"
#include "check/tools.hpp"

namespace kw::check {

inline int threads_for(std::int64_t operations) {
  constexpr std::int64_t worth_a_thread = 1 << 18;
  return static_cast<int>(std::clamp<std::int64_t>(operations / worth_a_thread, 1, cpu_threads()));
}

template <class Each>
Status run_each(const Each& each, Stream) {
  parallel_ranges(each.size(), threads_for(each.size()),
                  [&](int, std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i) each(i);
                  });
  return Status::success();
}

template <class Judge>
Status run_judge(const Judge& judge, Partial* partials, Stream) {
  std::fill_n(partials, partial_count, empty_partial());
  const int parts = std::min(threads_for(judge.size()), partial_count);
  parallel_ranges(judge.size(), parts, [&](int part, std::int64_t begin, std::int64_t end) {
    Partial found = empty_partial();
    for (std::int64_t i = begin; i < end; ++i) judge(i, found);
    partials[part] = found;
  });
  return Status::success();
}

}  // namespace kw::check
