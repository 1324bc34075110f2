// The cut of attention_rows.
#include "attention/rows_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kw {

bool can_cut_rows(const Attention& p, int config, int parts) {
  constexpr std::int64_t most_blocks = 0x7FFFFFFF;
  const RowsConfig& c = rows_configs[config];
  const std::int64_t units = rows_units(p, c);
  if (c.dim < p.dim || units * parts > most_blocks) return false;
  return parts == 1 || (units <= std::int64_t{ticket_count} && parts <= ceil_div(p.keys, c.keys));
}

double rows_time_us(const Attention& p, const Device& device, const RowsConfig& c, int parts) {
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const double blocks = number(rows_units(p, c)) * parts, at_a_time = number(device.sm_count);
  // Where causal, half of what the first queries do not see is met all the same.
  const double share = p.pairs() / std::max(1.0, number(p.queries) * number(p.keys));
  const double most = number(ceil_div(ceil_div(p.keys, std::int64_t{c.keys}), std::int64_t{parts})),
               tiles = std::max(1.0, most * (1 + share) / 2);
  const double together = std::clamp(blocks / at_a_time, 1.0, number(c.blocks)),
               crowd = (together - 1) / (c.blocks - 1);
  const double tile_us = c.alone_us + (c.tile_us - c.alone_us) * crowd,
               waves = std::max(1.0, blocks / (at_a_time * c.blocks));
  return c.start_us + tiles * tile_us * waves + (parts > 1 ? c.merge_us + c.part_us * parts : 0.0);
}

RowsSchedule choose_rows(const Attention& p, const Device& device,
                         const std::size_t (&shared_bytes)[rows_config_count]) {
  constexpr std::array cuts = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
  RowsSchedule best;
  double least_us = 0;
  for (int i = 0; i < rows_config_count; ++i) {
    const RowsConfig& c = rows_configs[i];
    const bool is_for_more = c.dim > 32 && c.dim / 2 >= p.dim;
    if (is_for_more || shared_bytes[i] > device.shared_bytes_per_block_optin) continue;
    for (const int parts : cuts) {
      if (!can_cut_rows(p, i, parts)) continue;
      const double time_us = rows_time_us(p, device, c, parts);
      if (best.config >= 0 && !(time_us < least_us)) continue;
      least_us = time_us;
      best.config = i;
      best.parts = parts;
    }
  }
  return best;
}

}  // namespace kw
