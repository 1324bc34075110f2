// What the kernels of attention that have a table of configurations share: the choice of a row, and
// the instance that belongs to it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "arithmetic.hpp"
#include "attention/problem.hpp"
#include "kernel.hpp"

namespace kw {

// Calls visit(std::integral_constant<int, config>), of `count` configurations.
template <int count, int index = 0, class Visit>
auto with_config(int config, const Visit& visit) {
  if constexpr (index + 1 < count) {
    if (config != index) return with_config<count, index + 1>(config, visit);
  }
  return visit(std::integral_constant<int, index>());
}

// Whether the device has cp.async, or what Hopper alone has.
inline bool has_async_copies(const Device& device) {
  return device.kind == DeviceKind::host_simt
             ? device.warp_size == 32
             : device.kind == DeviceKind::cuda && device.compute_capability >= 80;
}
inline bool has_hopper_instructions(const Device& device) {
  return device.kind == DeviceKind::host_simt
             ? device.warp_size == 32
             : device.kind == DeviceKind::cuda && device.compute_capability == 90;
}

// Whether a launch of so many blocks can have the keys of each cut into parts.
template <class Config>
bool can_cut_keys(const Attention& p, const Config& c, std::int64_t units, int parts) {
  constexpr std::int64_t most_blocks = 0x7FFFFFFF;
  if (c.dim < p.dim || units * parts > most_blocks) return false;
  return parts == 1 || (units <= std::int64_t{ticket_count} && parts <= ceil_div(p.keys, c.keys));
}

// What causal blocks take at least, so many at a time and the longest first: of so many times that
// number and one more, some multiprocessor has one more than so many, none of them shorter than the
// last. A head has `tiles` tiles of queries, all heads together `of_tile` blocks of each, which
// take length_us(tile).
template <class LengthUs>
double least_in_turn_us(std::int64_t blocks, std::int64_t at_a_time, std::int64_t of_tile,
                        std::int64_t tiles, const LengthUs& length_us) {
  constexpr int most_turns = 3;
  double least_us = 0;
  for (int turns = 1; turns <= most_turns && turns * at_a_time < blocks; ++turns) {
    const std::int64_t from_last = std::min(tiles - 1, turns * at_a_time / of_tile);
    least_us = std::max(least_us, (turns + 1) * length_us(tiles - 1 - from_last));
  }
  return least_us;
}
// The keys that a tile of so many queries meets.
inline std::int64_t keys_of_tile(const Attention& p, std::int64_t tile, std::int64_t rows) {
  return visible_keys(p.causal, std::min(p.queries, (tile + 1) * rows) - 1, p.queries, p.keys);
}

// The configuration, with so much shared memory, and the parts, of which `can_cut(config, parts)`
// holds, that take least by `time_us(config, parts)`; none: config is -1.
template <class Schedule, class Config, std::size_t configs, std::size_t cuts, class CanCut,
          class TimeUs>
Schedule choose_cut(const Attention& p, const Device& device, const Config (&table)[configs],
                    const std::size_t (&shared_bytes)[configs], const std::array<int, cuts>& parts,
                    const CanCut& can_cut, const TimeUs& time_us) {
  Schedule best;
  double least_us = 0;
  for (int i = 0; i < static_cast<int>(configs); ++i) {
    const Config& c = table[i];
    const bool is_for_more = c.dim > 32 && c.dim / 2 >= p.dim;
    if (is_for_more || shared_bytes[i] > device.shared_bytes_per_block_optin) continue;
    for (const int of_keys : parts) {
      if (!can_cut(i, of_keys)) continue;
      const double us = time_us(c, of_keys);
      if (best.config >= 0 && !(us < least_us)) continue;
      least_us = us;
      best.config = i;
      best.parts = of_keys;
    }
  }
  return best;
}

}  // namespace kw
