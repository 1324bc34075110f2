// How the operands of a complex stream tile lie in memory.
#pragma once

#include <algorithm>

#include "gpu/gpu.hpp"

namespace KW_TARGET::complex_stream {

// How an operand lies in memory, which decides how it is copied. `i` runs along m or n.
enum class AccessPattern {
  along_i16,  // x[k * ld + i], lines that begin at 16 bytes: two elements a copy
  along_i,    // the same with any lines
  along_k,    // x[i * ld + k]: turned on the way
};

struct Operands {
  AccessPattern a, b;
  bool c16;  // lines of C begin at 16 bytes
};

// So many producers lie side by side on a line of so many units, `most` at most: the largest power
// of two that divides both.
constexpr int producers_across(int units, int most) { return std::min(units & -units, most); }

}  // namespace KW_TARGET::complex_stream
