// Host side of the split kernels: what lies where in the workspace, how long a call will take, how
// a call is cut where the workspace is smaller.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "gpu/device.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/tuning.hpp"
#include "sgemm/problem.hpp"

namespace kw::hopper {

inline std::int64_t tiles_of(const Tile& tile, const Sgemm& p) {
  const auto across = [](std::int64_t size, std::int64_t step) { return (size + step - 1) / step; };
  return across(p.m, tile.bm()) * across(p.n, tile.bn) * p.batch;
}

// Parts that k is cut into, a block each, where tiles are too few for the device.
inline int parts_of(const Tile& tile, const Sgemm& p, const Device& device) {
  if (!tile.shares_rows) return 1;
  const std::int64_t tiles = std::max<std::int64_t>(tiles_of(tile, p), 1);
  const std::int64_t stages = Image(p.m, p.k).stages;
  return static_cast<int>(std::clamp<std::int64_t>(
      std::min(device.sm_count / tiles, stages / min_part_stages), 1, max_parts));
}
inline std::int64_t part_floats(const Tile& tile, const Sgemm& p, const Device& device) {
  const std::int64_t parts = parts_of(tile, p, device);
  return parts == 1 ? 0 : tiles_of(tile, p) * parts * tile.bm() * tile.bn;
}

// Offsets into the workspace, bytes. bf16x6 may follow fp16x3 and then overwrites its images.
struct Memory {
  std::size_t scales_a = 0, scales_b = 0, image_a = 0, image_b = 0, part_sums = 0;
  std::size_t end = 0;  // of all this: the fp32 kernel's workspace begins here

  Memory(const Sgemm& p, bool fp16, const Device& device) {
    end = aligned(sizeof(Control));
    const auto take = [&](std::int64_t bytes) {
      const std::size_t at = end;
      end += aligned(static_cast<std::size_t>(bytes));
      return at;
    };
    if (fp16) {
      constexpr std::int64_t word = sizeof(int);
      scales_a = take(p.batch * p.m * word);
      scales_b = take(p.batch * p.n * word);
    }
    image_a = take(Image(p.m, p.k).bytes(p.batch, split::bf16_pieces));
    image_b = take(Image(p.n, p.k).bytes(p.batch, split::bf16_pieces));
    std::int64_t sums = 0;
    for (const TileRow& row : bf16x6_tiles) sums = std::max(sums, part_floats(row.tile, p, device));
    part_sums = take(sums * static_cast<std::int64_t>(sizeof(float)));
  }

  static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
};

// An empty product is for the kernels in plain fp32.
inline bool has_work(const Sgemm& p) { return p.m > 0 && p.n > 0 && p.batch > 0 && p.loop_k() > 0; }

// Numbers of tiles, rows and k are ints in the kernels.
inline bool is_small_enough(const Sgemm& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (p.m > most || p.n > most || p.k > most || p.batch > most) return false;
  return static_cast<double>(p.m) / 64 * (static_cast<double>(p.n) / 64) *
             static_cast<double>(p.batch) <
         static_cast<double>(most);
}

// Infinite where the result would be less exact than that of the kernels in plain fp32.
inline double predicted_us(const TileRow& row, bool fp16, const Sgemm& p, const Device& device) {
  const Scheme& scheme = scheme_of(fp16);
  if (p.k < scheme.chosen_k || p.m * p.n < scheme.chosen_mn)
    return std::numeric_limits<double>::infinity();
  const std::int64_t waves = (tiles_of(row.tile, p) + device.sm_count - 1) / device.sm_count;
  const int parts = parts_of(row.tile, p, device);
  const std::int64_t stages = (Image(p.m, p.k).stages + parts - 1) / parts;
  if (p.m * p.n < fp16x3_scheme.chosen_mn && !row.tile.has_totals() &&
      row.tile.windows(stages) > max_windows)
    return std::numeric_limits<double>::infinity();
  const double elements =
      static_cast<double>(p.m + p.n) * static_cast<double>(p.k) * static_cast<double>(p.batch);
  constexpr double bytes_per_us = 3.4e6;  // of the pre-pass, measured
  const double prepare_us = elements * (fp16 ? 8 : 10) / bytes_per_us;
  const double add_us = parts > 1 ? part_us + parts * each_part_us * row.tile.bn / 64 : 0;
  return row.launch_us + prepare_us +
         static_cast<double>(waves) * (row.tile_us + static_cast<double>(stages) * row.stage_us) +
         add_us;
}

// The problem as two, of about half the workspace each: half the batch, else half of m or n,
// whichever is longer. Nothing where it is one tile, or pointers in the device's memory would have
// to be moved.
inline std::optional<std::pair<Sgemm, Sgemm>> in_halves(const Sgemm& p) {
  if (p.batch > 1) {
    const std::int64_t taken = p.batch / 2;
    return std::pair{some_entries(p, 0, taken), some_entries(p, taken, p.batch - taken)};
  }
  constexpr std::int64_t unit = block_rows;
  if (std::max(p.m, p.n) <= unit || p.a_array != nullptr) return std::nullopt;
  const auto half = [](std::int64_t size) { return (size / 2 + unit - 1) / unit * unit; };
  if (p.m >= p.n) {
    const std::int64_t taken = half(p.m);
    return std::pair{some_rows(p, 0, taken), some_rows(p, taken, p.m - taken)};
  }
  const std::int64_t taken = half(p.n);
  return std::pair{some_columns(p, 0, taken), some_columns(p, taken, p.n - taken)};
}

}  // namespace kw::hopper
