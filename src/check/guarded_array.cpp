// Canaries around an array of any element type.
#include "check/guarded_array.hpp"

#include <fmt/format.h>

#include "check/guarded_matrix.hpp"

namespace kw::check {
namespace {

// As a float -2.9e-16, as an int8 -91, as an index an absurd one.
constexpr unsigned char output_canary = 0xA5;

}  // namespace

double GuardedArray::bytes(DataType type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                           std::int64_t guard) {
  return GuardedMatrix::words(rows, cols, ld, guard, 0) * static_cast<double>(size_of(type));
}

GuardedArray::GuardedArray(Workbench& bench, const ElementStream& values, std::int64_t rows,
                           std::int64_t cols, std::int64_t ld, std::int64_t guard,
                           std::int64_t misalign)
    : bench_(bench),
      values_(values),
      place_(GuardedMatrix::placement(rows, cols, ld, guard, misalign)),
      buffer_(bench.runtime(), static_cast<std::size_t>(place_.total) * size_of(values.type)) {}

void* GuardedArray::data() const {
  return buffer_.as<unsigned char>() +
         static_cast<std::size_t>(place_.offset) * size_of(values_.type);
}

// All ones is a NaN in every format; for integers, large and negative.
unsigned char GuardedArray::input_canary() const { return is_floating(values_.type) ? 0xFF : 0x81; }

void GuardedArray::fill_bytes(unsigned char canary) {
  if (buffer_.bytes() == 0) return;
  require(bench_.runtime().fill(buffer_.data(), canary, buffer_.bytes(), bench_.stream()));
}

void GuardedArray::fill_input() {
  fill_bytes(input_canary());
  require(bench_.reduce_tools().fill({data(), place_.rows, place_.cols, place_.ld, values_},
                                     bench_.stream()));
}

void GuardedArray::fill_output() { fill_bytes(output_canary); }

std::string GuardedArray::find_change(const char* name, bool is_output, bool was_input) {
  const JudgeElements judge{buffer_.data(), place_, values_,
                            is_output && !was_input ? output_canary : input_canary(), is_output};
  const Partial found = bench_.find(bench_.reduce_tools().judge_elements, judge);
  if (found.failures == 0) return {};
  const std::int64_t inside = place_.element_at(found.first_failure);
  if (inside >= 0) {
    return fmt::format("{} were written: {} elements, first at row {}, column {}", name,
                       found.failures, inside / place_.cols, inside % place_.cols);
  }
  const std::int64_t at = found.first_failure - place_.offset;
  if (at >= 0 && place_.ld > 0 && at / place_.ld < place_.rows - 1) {
    return fmt::format("{} were written outside: {} elements, first in row {}'s padding", name,
                       found.failures, at / place_.ld);
  }
  return fmt::format("{} were written outside: {} elements, first {} elements {}", name,
                     found.failures, at < 0 ? -at : at,
                     at < 0 ? "before the first one" : "from the first one");
}

template <class T>
T GuardedArray::read(std::int64_t element) const {
  const std::int64_t at = element / place_.cols * place_.ld + element % place_.cols;
  return bench_.read(static_cast<const T*>(data()) + at);
}

std::string GuardedArray::text_at(std::int64_t element) const {
  return with_type(values_.type, [&]<class T>() {
    const auto value = to_value(read<T>(element));
    if constexpr (std::is_integral_v<T>) {
      return fmt::format("{}", value);
    } else {
      return fmt::format("{:.{}g}", value, std::is_same_v<T, double> ? 17 : 9);
    }
  });
}

double GuardedArray::value_at(std::int64_t element) const {
  return with_type(values_.type,
                   [&]<class T>() { return static_cast<double>(to_value(read<T>(element))); });
}

}  // namespace kw::check
