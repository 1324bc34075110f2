// A loop spread over the CPU's threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace kw::check {

inline int cpu_threads() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Calls body(part, begin, end) for `parts` equal ranges of [0, size), one thread a range.
template <class Body>
void parallel_ranges(std::int64_t size, int parts, const Body& body) {
  if (parts <= 1) return body(0, std::int64_t{0}, size);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(parts));
  for (int part = 0; part < parts; ++part) {
    threads.emplace_back([&, part] { body(part, size * part / parts, size * (part + 1) / parts); });
  }
}

}  // namespace kw::check
