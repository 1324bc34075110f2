// Canaries around a matrix.
#include "check/guarded_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kw::check {

Placement GuardedMatrix::placement(std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                   std::int64_t guard, std::int64_t misalign, std::int64_t entries,
                                   std::int64_t gap) {
  const std::int64_t span = rows > 0 && cols > 0 && entries > 0 ? (rows - 1) * ld + cols : 0;
  const std::int64_t stride = span + gap;
  const std::int64_t others = entries > 1 ? (entries - 1) * stride : 0;
  return {
      guard + misalign + others + span + guard, guard + misalign, rows, cols, ld, entries, stride};
}

double GuardedMatrix::words(std::int64_t rows, std::int64_t cols, std::int64_t ld,
                            std::int64_t guard, std::int64_t misalign, std::int64_t entries,
                            std::int64_t gap) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double span =
      rows > 0 && cols > 0 && entries > 0 ? number(rows - 1) * number(ld) + number(cols) : 0;
  const double others = entries > 1 ? number(entries - 1) * (span + number(gap)) : 0;
  return 2 * number(guard) + number(misalign) + others + span;
}

GuardedMatrix::GuardedMatrix(Workbench& bench, std::int64_t rows, std::int64_t cols,
                             std::int64_t ld, std::int64_t guard, std::int64_t misalign)
    : GuardedMatrix(bench, placement(rows, cols, ld, guard, misalign)) {}

GuardedMatrix::GuardedMatrix(Workbench& bench, const Placement& place)
    : bench_(bench),
      place_(place),
      buffer_(bench.runtime(), static_cast<std::size_t>(place_.total) * sizeof(float)) {}

void GuardedMatrix::fill(const InputStream& values, bool readable, Region region,
                         float beside_diagonal, Condition condition, bool is_symmetric) {
  filled_ = {buffer_.as<float>(), place_,    values,      !readable, region,
             beside_diagonal,     condition, is_symmetric};
  require(bench_.tools().fill_matrix(filled_, bench_.stream()));
}

std::string GuardedMatrix::find_change(const char* name, bool is_output) {
  const Partial found =
      bench_.find(bench_.tools().judge_unchanged, JudgeUnchanged{filled_, is_output});
  if (found.failures == 0) return {};
  const std::int64_t element = place_.element_at(found.first_failure);
  if (element >= 0) {
    const std::int64_t row = element / place_.cols;  // of all entries
    return fmt::format(
        "{} was written: {} words, first at {}row {}, column {}",
        is_output ? fmt::format("the other side of {}", name) : fmt::format("input {}", name),
        found.failures, entry_text(row / place_.rows), row % place_.rows, element % place_.cols);
  }
  std::int64_t word = found.first_failure - place_.offset;
  std::int64_t entry = 0;
  if (word >= 0 && place_.entries > 1 && place_.stride > 0) {
    entry = std::min(word / place_.stride, place_.entries - 1);
    word -= entry * place_.stride;
  }
  if (word >= 0 && place_.ld > 0 && word / place_.ld < place_.rows) {
    return fmt::format(
        "{} was written outside of the matrix: {} words, first in {}row {}'s padding, "
        "{} words after its end",
        name, found.failures, entry_text(entry), word / place_.ld,
        word % place_.ld - place_.cols + 1);
  }
  return fmt::format("{} was written outside of the matrix: {} words, first {}{} words {}", name,
                     found.failures, entry_text(entry), word < 0 ? -word : word,
                     word < 0 ? "before its first element" : "from its first element");
}

// "entry 3, " where there are several.
std::string GuardedMatrix::entry_text(std::int64_t entry) const {
  return place_.entries > 1 ? fmt::format("entry {}, ", entry) : std::string();
}

}  // namespace kw::check
