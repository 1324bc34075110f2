// How block.cu is launched: lines of a block of threads, and blocks of a multiprocessor; and how
// warps.cu is. Made on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "gpu/gpu.hpp"
#include "level3/own_lines_plan.hpp"

namespace KW_TARGET {

constexpr int complex_at_once = 8;
constexpr int complex_most_lines = 32;  // of a block of threads
// Panels of the triangle, and of the right-hand side, in shared memory: two are used, that of the
// unknowns which are solved and the one before, and two are on their way.
constexpr int complex_panels = 4;

constexpr int complex_rows(int size) { return ceil_div(size, complex_at_once) * complex_at_once; }
// With two elements more, neighbours along the other direction lie in other banks.
constexpr int complex_pitch(int elements) { return elements + 2; }
// In bytes; an element has 8.
constexpr std::size_t complex_shared_bytes(int size, int lines) {
  const int rows = complex_rows(size);
  const int of_panel = complex_at_once * (complex_pitch(rows) + complex_pitch(lines));
  return 8 * static_cast<std::size_t>(rows * complex_pitch(lines) + complex_panels * of_panel +
                                      2 * rows);
}

// How a block of threads is launched: so many lines of its own, so many blocks side by side on a
// multiprocessor.
struct ComplexStrip {
  int lines, per_sm;
};
// Its time: of a launch, of 8 unknowns where a block has the multiprocessor to itself and where
// another is beside it.
struct ComplexStripTimes {
  ComplexStrip strip;
  double launch_us, alone_us, beside_us;
};
// Measured on an H200, 16 to 256 unknowns and 64 to 20000 lines; each wins somewhere.
constexpr ComplexStripTimes complex_strips[] = {
    {{8, 1}, 1.4, 0.78, 0.78},   // 128 unknowns: 15 us with 1000 lines
    {{16, 1}, 1.9, 0.95, 0.95},  // 19 us with 2000
    {{16, 2}, 1.9, 1.05, 1.2},   // 26 us with 3000 and 4200; {32, 2} 28
    {{32, 2}, 2.8, 1.15, 1.5},   // 39 us with 6000
};

// That which is predicted to be quickest, and its time.
struct ComplexStripChoice {
  ComplexStrip strip;
  double us;
};
inline ComplexStripChoice choose_complex_strip(int size, std::int64_t lines_of_all,
                                               const Device& device) {
  constexpr double of_work_us = 1.24e-5;  // a line and unknown squared, of one block
  ComplexStripChoice best{complex_strips[0].strip, std::numeric_limits<double>::infinity()};
  for (const ComplexStripTimes& t : complex_strips) {
    const std::size_t shared = complex_shared_bytes(size, t.strip.lines);
    const bool is_alone = t.strip.per_sm == 1 || 2 * shared > device.shared_bytes_per_sm;
    const double steps = ceil_div(size, complex_at_once);
    const double work = of_work_us * size * size * t.strip.lines;
    const double alone = t.launch_us + steps * t.alone_us + work;
    const double beside = is_alone ? alone : t.launch_us + steps * t.beside_us + 2 * work;
    const std::int64_t sms = std::max(device.sm_count, 1), at_once = is_alone ? sms : 2 * sms;
    const std::int64_t blocks = ceil_div(lines_of_all, std::int64_t{t.strip.lines});
    const std::int64_t rest = blocks % at_once;
    const double us = static_cast<double>(blocks / at_once) * beside + (rest == 0     ? 0
                                                                        : rest <= sms ? alone
                                                                                      : beside);
    if (us < best.us) best = {t.strip, us};
  }
  return best;
}

// --- warps with lines of their own

// Of panel_us, where the diagonal is of ones.
constexpr double complex_unit_panel = 0.79;
// Fitted to 8 to 128 unknowns with 100 to 100000 lines on an H200; off by a twentieth on average.
constexpr OwnLinesTimes<2> complex_warps_times[] = {
    {{8, 2}, 1.42, 0.782, 0.1123, 0.0948, 0.0112, 3.71},
    {{16, 4}, 1.46, 0.853, 0.1107, 0.1415, 0.0221, 0.79},
    {{32, 2}, 1.43, 0.923, 0.1347, 0.2267, 0.0487, 1.38},
    {{32, 4}, 1.45, 0.950, 0.1290, 0.2399, 0.0376, 0.70},
};

}  // namespace KW_TARGET
