// Operands for timed calls: one set where the caches may be hot, as many as it takes to be sure
// that they are cold.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "check/workbench.hpp"

namespace kw::bench {

enum class L2 { hot, cold };

const char* to_string(L2 l2);

// A matrix that every set has once, in words. Rows are `ld` apart.
struct OperandShape {
  std::int64_t rows, cols, ld;
  check::InputStream values;
  // 64 words: 256 bytes, the alignment of an allocation.
  std::int64_t words() const { return (rows * ld + 63) / 64 * 64; }
};

// Sets enough that one round over them moves more than four times the L2's bytes; at least two.
std::int64_t cold_set_count(std::size_t l2_bytes, const std::vector<OperandShape>& operands);

class OperandSets {
 public:
  OperandSets(check::Workbench& bench, std::vector<OperandShape> operands, std::int64_t sets);

  std::int64_t count() const { return sets_; }
  float* data(std::int64_t set, std::size_t operand) const;

  static std::size_t bytes(const std::vector<OperandShape>& operands, std::int64_t sets);

 private:
  std::vector<OperandShape> operands_;
  std::int64_t sets_;
  check::DeviceBuffer buffer_;
};

}  // namespace kw::bench
