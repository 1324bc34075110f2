// Where an element of op(A) or op(B) lies in memory, by its line and its k.
#pragma once

#include <cstdint>

#include "kernelwright/matrix.hpp"

namespace kw::distributed {

// Whether the lines that a schedule counts (rows of op(A), columns of op(B)) are rows as stored.
struct Orientation {
  bool lines_are_rows;
  Layout layout;

  // An element's place in an array with leading dimension `ld`.
  std::int64_t offset(std::int64_t line, std::int64_t k, std::int64_t ld) const {
    return lies_along_k() ? line * ld + k : k * ld + line;
  }
  bool lies_along_k() const { return lines_are_rows == (layout == Layout::row_major); }
  std::int64_t ld_for(std::int64_t lines, std::int64_t k) const {
    return ((lies_along_k() ? k : lines) + 3) / 4 * 4;  // 16-byte loads
  }
};

}  // namespace kw::distributed
