// Rotating operands.
#include "bench/operand_sets.hpp"

#include <algorithm>

namespace kw::bench {
namespace {

std::int64_t words_a_set(const std::vector<OperandShape>& operands) {
  std::int64_t words = 0;
  for (const OperandShape& operand : operands) words += operand.words();
  return words;
}

}  // namespace

const char* to_string(L2 l2) { return l2 == L2::hot ? "hot" : "cold"; }

std::int64_t cold_set_count(std::size_t l2_bytes, const std::vector<OperandShape>& operands) {
  const auto set_bytes =
      static_cast<std::size_t>(std::max<std::int64_t>(words_a_set(operands), 1)) * sizeof(float);
  return std::max<std::int64_t>(2, static_cast<std::int64_t>(4 * l2_bytes / set_bytes) + 1);
}

std::size_t OperandSets::bytes(const std::vector<OperandShape>& operands, std::int64_t sets) {
  return static_cast<std::size_t>(words_a_set(operands) * sets) * sizeof(float);
}

OperandSets::OperandSets(check::Workbench& bench, std::vector<OperandShape> operands,
                         std::int64_t sets)
    : operands_(std::move(operands)),
      sets_(sets),
      buffer_(bench.runtime(), bytes(operands_, sets)) {
  for (std::int64_t set = 0; set < sets_; ++set) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const OperandShape& operand = operands_[i];
      const check::Placement whole{operand.rows * operand.ld, 0, operand.rows, operand.cols,
                                   operand.ld};
      check::require(
          bench.tools().fill_matrix({data(set, i), whole, operand.values, false}, bench.stream()));
    }
  }
  bench.synchronize();
}

float* OperandSets::data(std::int64_t set, std::size_t operand) const {
  std::int64_t words = set * words_a_set(operands_);
  for (std::size_t i = 0; i < operand; ++i) words += operands_[i].words();
  return buffer_.as<float>() + words;
}

}  // namespace kw::bench
