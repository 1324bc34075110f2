// Rotating operands.
#include "bench/operand_sets.hpp"

#include <algorithm>

#include "arithmetic.hpp"

namespace kw::bench {
namespace {

constexpr std::size_t boundary = 256;  // the alignment of an allocation

std::size_t past_boundary(const Operand& operand) {
  return reinterpret_cast<std::uintptr_t>(operand.from) % boundary;
}

std::size_t room(const Operand& operand) {
  return ceil_div(past_boundary(operand) + operand.bytes, boundary) * boundary;
}

}  // namespace

const char* to_string(L2 l2) { return l2 == L2::hot ? "hot" : "cold"; }

std::int64_t cold_set_count(std::size_t cache_bytes, const std::vector<Operand>& operands) {
  const std::size_t set_bytes = std::max<std::size_t>(OperandSets::bytes(operands, 1), 1);
  const auto wanted = static_cast<std::int64_t>(cold_factor * cache_bytes / set_bytes) + 1;
  return std::clamp<std::int64_t>(wanted, 2, max_cold_sets);
}

std::size_t OperandSets::bytes(const std::vector<Operand>& operands, std::int64_t sets) {
  std::size_t set_bytes = 0;
  for (const Operand& operand : operands) set_bytes += room(operand);
  return set_bytes * static_cast<std::size_t>(sets);
}

OperandSets::OperandSets(check::Workbench& bench, const std::vector<Operand>& operands,
                         std::int64_t sets)
    : sets_(sets), set_bytes_(bytes(operands, 1)), buffer_(bench.runtime(), bytes(operands, sets)) {
  std::size_t next = 0;
  for (const Operand& operand : operands) {
    places_.push_back(next + past_boundary(operand));
    next += room(operand);
  }
  for (std::int64_t set = 0; set < sets_; ++set) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].bytes == 0) continue;
      check::require(bench.runtime().copy(data<void>(set, i), operands[i].from, operands[i].bytes,
                                          bench.stream()));
    }
  }
}

}  // namespace kw::bench
