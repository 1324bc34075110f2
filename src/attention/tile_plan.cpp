// The cut of attention_tile.
#include "attention/tile_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kw {

bool can_cut_tiles(const Attention& p, int config, int parts) {
  constexpr std::int64_t most_blocks = 0x7FFFFFFF;
  const TileConfig& c = tile_configs[config];
  const std::int64_t units = tile_units(p, c);
  if (c.dim < p.dim || units * parts > most_blocks) return false;
  return parts == 1 || (units <= std::int64_t{ticket_count} && parts <= ceil_div(p.keys, c.keys));
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
  const double start_us = c.start_us + (parts > 1 ? c.merge_us : 0.0);
  const double longest = start_us + most * (alone ? c.alone_us : c.tile_us);
  if (p.causal == Causal::none)
    return launch_us + longest * std::max(1.0, std::ceil(blocks / at_a_time));
  // A block goes on to the last key that its last query sees; by then most of its warps wait.
  const double seen = std::min(1.0, share + 0.5 / tiles + 0.25 * c.rows() / number(p.keys)) * tiles;
  const double work = units * (start_us * parts + seen * c.tile_us) / at_a_time;
  return launch_us + std::max(longest, work + 0.1 * longest);
}

TileSchedule choose_tiles(const Attention& p, const Device& device,
                          const std::size_t (&shared_bytes)[tile_config_count]) {
  constexpr std::array cuts = {1, 2, 3, 4, 6, 8, 12, 16};
  TileSchedule best;
  double least_us = 0;
  for (int i = 0; i < tile_config_count; ++i) {
    const TileConfig& c = tile_configs[i];
    const bool is_for_more = c.dim > 32 && c.dim / 2 >= p.dim;
    if (is_for_more || shared_bytes[i] > device.shared_bytes_per_block_optin) continue;
    for (const int parts : cuts) {
      if (!can_cut_tiles(p, i, parts)) continue;
      const double time_us = tile_time_us(p, device, c, parts);
      if (best.config >= 0 && !(time_us < least_us)) continue;
      least_us = time_us;
      best.config = i;
      best.parts = parts;
    }
  }
  return best;
}

}  // namespace kw
