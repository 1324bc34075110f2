// The cut of attention_tile.
#include "attention/tile_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/configurations.hpp"

namespace kw {

bool can_cut_tiles(const Attention& p, int config, int parts) {
  const TileConfig& c = tile_configs[config];
  return can_cut_keys(p, c, tile_units(p, c), parts);
}

// Blocks that see all keys come in waves; of causal ones, which come longest first, the shorter
// ones fill the gaps.
double tile_time_us(const Attention& p, const Device& device, const TileConfig& c, int parts) {
  constexpr double launch_us = 3;
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const double units = number(tile_units(p, c)), blocks = units * parts;
  const double tiles = number(ceil_div(p.keys, c.keys));
  // Of a last tile that is not full the second product leaves out what is not there.
  const double missing = (tiles - number(p.keys) / c.keys) / 2,
               most = std::ceil(tiles / parts) - (parts == 1 ? missing : 0.0);
  const double share = p.pairs() / std::max(1.0, number(p.queries) * number(p.keys));
  const double at_a_time = static_cast<double>(device.sm_count * c.blocks);
  const bool alone = blocks <= device.sm_count;
  // The block that comes last reads all parts of its tile.
  const double merge_us = parts > 1 ? c.merge_us + 1.2 * std::max(0, parts - 3) : 0.0;
  const double start_us = c.start_us + merge_us;
  const double longest = start_us + most * (alone ? c.alone_us : c.tile_us);
  if (p.causal == Causal::none)
    return launch_us + longest * std::max(1.0, std::ceil(blocks / at_a_time));
  // A block goes on to the last key that its last query sees; by then most of its warps wait.
  const double seen = std::min(1.0, share + 0.5 / tiles + 0.25 * c.rows() / number(p.keys)) * tiles;
  const double work = units * (start_us * parts + seen * c.tile_us) / at_a_time;
  const auto length_us = [&](std::int64_t tile) {
    const std::int64_t of_keys = ceil_div(keys_of_tile(p, tile, c.rows()), c.keys);
    return start_us + number(ceil_div(of_keys, parts)) * c.tile_us;
  };
  return launch_us +
         std::max({longest, work + 0.1 * longest,
                   least_in_turn_us(tile_units(p, c) * parts, device.sm_count * c.blocks,
                                    p.batch * p.heads * parts, ceil_div(p.queries, c.rows()),
                                    length_us)});
}

TileSchedule choose_tiles(const Attention& p, const Device& device,
                          const std::size_t (&shared_bytes)[tile_config_count]) {
  constexpr std::array cuts = {1, 2, 3, 4, 6, 8, 12, 16};
  return choose_cut<TileSchedule>(
      p, device, tile_configs, shared_bytes, cuts,
      [&](int config, int parts) { return can_cut_tiles(p, config, parts); },
      [&](const TileConfig& c, int parts) { return tile_time_us(p, device, c, parts); });
}

}  // namespace kw
