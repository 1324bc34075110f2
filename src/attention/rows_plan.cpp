// The cut of attention_rows.
#include "attention/rows_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/configurations.hpp"

namespace kw {

bool can_cut_rows(const Attention& p, int config, int parts) {
  const RowsConfig& c = rows_configs[config];
  return can_cut_keys(p, c, rows_units(p, c), parts);
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
  return choose_cut<RowsSchedule>(
      p, device, rows_configs, shared_bytes, cuts,
      [&](int config, int parts) { return can_cut_rows(p, config, parts); },
      [&](const RowsConfig& c, int parts) { return rows_time_us(p, device, c, parts); });
}

}  // namespace kw
