// Operands for timed calls: one set where the caches may be hot; where they must be cold, several
// that calls go through in turn.
#pragma once

#include <cstdint>
#include <vector>

#include "check/workbench.hpp"

namespace kw::bench {

enum class L2 { hot, cold };

const char* to_string(L2 l2);

// Memory of a verified problem, of which every set has a copy as far past a 256-byte boundary.
struct Operand {
  const void* from;
  std::size_t bytes;
};

// Reading this many times a cache's size leaves nothing of what it held.
constexpr std::size_t cold_factor = 4;

// Sets enough that one round over them moves more than `cold_factor` times the cache's bytes, at
// least two; but no more of them than a graph should have calls. Where that is too few, calls on
// one set after the other stay cold for one round after a flush (cache_flush.hpp).
constexpr std::int64_t max_cold_sets = 200;
std::int64_t cold_set_count(std::size_t cache_bytes, const std::vector<Operand>& operands);

class OperandSets {
 public:
  OperandSets(check::Workbench& bench, const std::vector<Operand>& operands, std::int64_t sets);

  std::int64_t count() const { return sets_; }
  template <class T>
  T* data(std::int64_t set, std::size_t operand) const {
    const auto place = static_cast<std::size_t>(set) * set_bytes_ + places_[operand];
    return reinterpret_cast<T*>(buffer_.as<unsigned char>() + place);
  }

  static std::size_t bytes(const std::vector<Operand>& operands, std::int64_t sets);

 private:
  std::int64_t sets_;
  std::size_t set_bytes_;
  std::vector<std::size_t> places_;  // of each operand within a set
  check::DeviceBuffer buffer_;
};

}  // namespace kw::bench
