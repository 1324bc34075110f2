// Canaries around a matrix.
#include "check/guarded_matrix.hpp"

#include <fmt/format.h>

namespace kw::check {

Placement GuardedMatrix::placement(std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                   std::int64_t guard, std::int64_t misalign) {
  const std::int64_t span = rows > 0 && cols > 0 ? (rows - 1) * ld + cols : 0;
  return {guard + misalign + span + guard, guard + misalign, rows, cols, ld};
}

GuardedMatrix::GuardedMatrix(Workbench& bench, std::int64_t rows, std::int64_t cols,
                             std::int64_t ld, std::int64_t guard, std::int64_t misalign)
    : bench_(bench),
      place_(placement(rows, cols, ld, guard, misalign)),
      buffer_(bench.runtime(), static_cast<std::size_t>(place_.total) * sizeof(float)) {}

void GuardedMatrix::fill(const InputStream& values, bool readable) {
  filled_ = {buffer_.as<float>(), place_, values, !readable};
  require(bench_.tools().fill_matrix(filled_, bench_.stream()));
}

std::string GuardedMatrix::find_change(const char* name, bool is_output) {
  const Partial found =
      bench_.find(bench_.tools().judge_unchanged, JudgeUnchanged{filled_, is_output});
  if (found.failures == 0) return {};
  const std::int64_t element = place_.element_at(found.first_failure);
  if (element >= 0) {
    return fmt::format("input {} was written: {} words, first at row {}, column {}", name,
                       found.failures, element / place_.cols, element % place_.cols);
  }
  const std::int64_t word = found.first_failure - place_.offset;
  if (word >= 0 && place_.ld > 0 && word / place_.ld < place_.rows) {
    return fmt::format(
        "{} was written outside of the matrix: {} words, first in row {}'s padding, "
        "{} words after its end",
        name, found.failures, word / place_.ld, word % place_.ld - place_.cols + 1);
  }
  return fmt::format("{} was written outside of the matrix: {} words, first {} words {}", name,
                     found.failures, word < 0 ? -word : word,
                     word < 0 ? "before its first element" : "from its first element");
}

}  // namespace kw::check
