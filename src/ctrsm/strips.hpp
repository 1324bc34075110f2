// How block.cu is launched: lines of a block of threads, and blocks of a multiprocessor; and how
// warps.cu is. Made on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/spread_blocks.hpp"

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

constexpr int complex_most_warps = 4;         // of a block
constexpr int complex_most_warps_size = 128;  // unknowns, whose triangle lies in shared memory
constexpr KW_HOST_DEVICE int complex_squares(int rows_of_squares) {
  return rows_of_squares * (rows_of_squares + 1) / 2;
}

// Lines of a warp, and warps of a block.
struct ComplexWarps {
  int lines, warps;

  constexpr std::size_t shared_bytes(int size) const {
    const int rows = complex_rows(size), square = complex_at_once * complex_at_once;
    return 8 * static_cast<std::size_t>(complex_squares(rows / complex_at_once) * square +
                                        2 * rows + warps * rows * complex_pitch(lines));
  }
  std::int64_t blocks(std::int64_t lines_of_entry, std::int64_t batch) const {
    return batch * ceil_div(lines_of_entry, std::int64_t{lines} * warps);
  }
  // Of a multiprocessor, whose registers are enough for so many warps.
  std::int64_t blocks_at_once(int size, const Device& device) const {
    constexpr std::size_t reserved = 1024;  // by the driver, a block
    const int warps_of_sm = lines == warp_lines ? 14 : 16;
    const auto by_memory =
        static_cast<int>(device.shared_bytes_per_sm / (shared_bytes(size) + reserved));
    return std::max(1, std::min(by_memory, warps_of_sm / warps));
  }
  // Where all blocks fit side by side and have some work, they are kept apart.
  std::size_t shared_bytes_asked(int size, std::int64_t blocks, const Device& device) const {
    constexpr int some_work = 40;  // unknowns
    const std::int64_t most = blocks_at_once(size, device) * device.sm_count;
    return blocks > most || size < some_work
               ? shared_bytes(size)
               : shared_bytes_that_spread(blocks, shared_bytes(size), device);
  }

 private:
  static constexpr int warp_lines = 32;
};

// A launch takes launch_us, and its blocks by turns, as many as fit: 8 unknowns of a line panel_us,
// a square of the triangle square_us, with up to four warps a multiprocessor, and `beside` more for
// each further one. The lines' way to memory is not hidden: million_us for a million unknowns.
struct ComplexWarpsTimes {
  ComplexWarps warps;
  double launch_us, panel_us, panel_beside_us, square_us, square_beside_us, million_us;
};
// Of panel_us, where the diagonal is of ones.
constexpr double complex_unit_panel = 0.79;
// Fitted to 8 to 128 unknowns with 100 to 100000 lines on an H200; off by a twentieth on average.
constexpr ComplexWarpsTimes complex_warps_times[] = {
    {{8, 2}, 1.42, 0.782, 0.1123, 0.0948, 0.0112, 3.71},
    {{16, 4}, 1.46, 0.853, 0.1107, 0.1415, 0.0221, 0.79},
    {{32, 2}, 1.43, 0.923, 0.1347, 0.2267, 0.0487, 1.38},
    {{32, 4}, 1.45, 0.950, 0.1290, 0.2399, 0.0376, 0.70},
};

inline double complex_warps_us(const ComplexWarpsTimes& t, int size, std::int64_t lines,
                               std::int64_t batch, bool unit, const Device& device) {
  const int panels = ceil_div(size, complex_at_once), squares = complex_squares(panels - 1);
  const std::int64_t sms = std::max(device.sm_count, 1);
  const std::int64_t at_once = t.warps.blocks_at_once(size, device);
  const std::int64_t blocks = t.warps.blocks(lines, batch), turns = blocks / (sms * at_once);
  const double unit_share = unit ? complex_unit_panel : 1;
  const auto turn_us = [&](std::int64_t of_sm) {
    const auto beside = static_cast<double>(std::max<std::int64_t>(of_sm * t.warps.warps - 4, 0));
    return panels * (unit_share * t.panel_us + beside * t.panel_beside_us) +
           squares * (t.square_us + beside * t.square_beside_us);
  };
  const std::int64_t rest = ceil_div(blocks - turns * sms * at_once, sms);
  return t.launch_us + static_cast<double>(turns) * turn_us(at_once) +
         (rest > 0 ? turn_us(rest) : 0) +
         t.million_us * 1e-6 * complex_rows(size) * static_cast<double>(lines * batch);
}

// That which is predicted to be quickest, and its time.
struct ComplexWarpsChoice {
  ComplexWarps warps;
  double us;
};
inline ComplexWarpsChoice choose_complex_warps(int size, std::int64_t lines, std::int64_t batch,
                                               bool unit, const Device& device) {
  ComplexWarpsChoice best{complex_warps_times[0].warps, std::numeric_limits<double>::infinity()};
  for (const ComplexWarpsTimes& t : complex_warps_times) {
    if (size > complex_most_warps_size ||
        t.warps.shared_bytes(size) > device.shared_bytes_per_block_optin)
      continue;
    const double us = complex_warps_us(t, size, lines, batch, unit, device);
    if (us < best.us) best = {t.warps, us};
  }
  return best;
}

}  // namespace KW_TARGET
