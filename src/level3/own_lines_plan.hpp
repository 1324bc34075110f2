// How the kernels are launched that solve a system by warps with lines of their own, real
// (solve_warps.cu) or complex (ctrsm/warps.cu). Made on the host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/spread_blocks.hpp"

namespace KW_TARGET {

// Unknowns that a lane solves at a time; a square of the triangle has as many rows and columns.
constexpr int own_lines_at_once = 8;
constexpr int own_lines_most_warps = 4;   // of a block
constexpr int own_lines_most_size = 128;  // unknowns, whose triangle lies in shared memory

constexpr int own_lines_rows(int size) {
  return ceil_div(size, own_lines_at_once) * own_lines_at_once;
}
constexpr KW_HOST_DEVICE int own_lines_squares(int rows_of_squares) {
  return rows_of_squares * (rows_of_squares + 1) / 2;
}
// Of so many lines in shared memory, in elements of so many floats. With 16 bytes more, neighbours
// along the other direction lie in other banks.
template <int floats>
constexpr int own_lines_pitch(int lines) {
  return lines + 4 / floats;
}

// Lines of a warp, and warps of a block. An element has so many floats.
template <int floats>
struct OwnLines {
  int lines, warps;

  constexpr std::size_t shared_bytes(int size) const {
    const int rows = own_lines_rows(size), of_square = own_lines_at_once * own_lines_at_once;
    return sizeof(float) * floats *
           static_cast<std::size_t>(own_lines_squares(rows / own_lines_at_once) * of_square +
                                    2 * rows + warps * rows * own_lines_pitch<floats>(lines));
  }
  std::int64_t blocks(std::int64_t lines_of_entry, std::int64_t batch) const {
    return batch * ceil_div(lines_of_entry, std::int64_t{lines} * warps);
  }
  // Of a multiprocessor, whose registers are enough for so many warps.
  std::int64_t blocks_at_once(int size, const Device& device) const {
    constexpr std::size_t reserved = 1024;  // by the driver, a block
    const int warps_of_sm = floats == 2 && lines == warp_lines ? 14 : 16;
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
template <int floats>
struct OwnLinesTimes {
  OwnLines<floats> warps;
  double launch_us, panel_us, panel_beside_us, square_us, square_beside_us, million_us;
};

// `panel`: what a panel takes of panel_us.
template <int floats>
double own_lines_us(const OwnLinesTimes<floats>& t, int size, std::int64_t lines,
                    std::int64_t batch, double panel, const Device& device) {
  const int panels = ceil_div(size, own_lines_at_once), squares = own_lines_squares(panels - 1);
  const std::int64_t sms = std::max(device.sm_count, 1);
  const std::int64_t at_once = t.warps.blocks_at_once(size, device);
  const std::int64_t blocks = t.warps.blocks(lines, batch), turns = blocks / (sms * at_once);
  const auto turn_us = [&](std::int64_t of_sm) {
    const auto beside = static_cast<double>(std::max<std::int64_t>(of_sm * t.warps.warps - 4, 0));
    return panels * (panel * t.panel_us + beside * t.panel_beside_us) +
           squares * (t.square_us + beside * t.square_beside_us);
  };
  const std::int64_t rest = ceil_div(blocks - turns * sms * at_once, sms);
  return t.launch_us + static_cast<double>(turns) * turn_us(at_once) +
         (rest > 0 ? turn_us(rest) : 0) +
         t.million_us * 1e-6 * own_lines_rows(size) * static_cast<double>(lines * batch);
}

// That which is predicted to be quickest, and its time.
template <int floats>
struct OwnLinesChoice {
  OwnLines<floats> warps;
  double us;
};
template <int floats, std::size_t count>
OwnLinesChoice<floats> choose_own_lines(const OwnLinesTimes<floats> (&times)[count], int size,
                                        std::int64_t lines, std::int64_t batch, double panel,
                                        const Device& device) {
  OwnLinesChoice<floats> best{times[0].warps, std::numeric_limits<double>::infinity()};
  for (const OwnLinesTimes<floats>& t : times) {
    if (size > own_lines_most_size ||
        t.warps.shared_bytes(size) > device.shared_bytes_per_block_optin)
      continue;
    const double us = own_lines_us(t, size, lines, batch, panel, device);
    if (us < best.us) best = {t.warps, us};
  }
  return best;
}

}  // namespace KW_TARGET
