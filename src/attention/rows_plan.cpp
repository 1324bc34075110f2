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
  const double blocks = number(rows_units(p, c)) * parts / number(device.sm_count),
               most = std::ceil(blocks);
  const double tiles = number(ceil_div(ceil_div(p.keys, std::int64_t{c.keys}), parts));
  // Of a last tile the first product leaves out lanes that have no key, and takes the head as it
  // is; the second one leaves out every key that is not there, and is as wide as the configuration.
  const auto filled = [&](std::int64_t keys) {
    return std::min(tiles, number(keys) / (c.keys * parts));
  };
  const double first = filled(ceil_div(p.keys, std::int64_t{c.key_lanes}) * c.key_lanes),
               work = (first * number(p.dim) / c.dim + filled(p.keys)) / 2;
  // Where causal, half of what the first queries do not see is met all the same.
  const double share = p.pairs() / std::max(1.0, number(p.queries) * number(p.keys)),
               met = (1 + share) / 2;
  const double one_us = c.start_us + met * (tiles * c.step_us + work * c.tile_us),
               more_us = c.more_us + met * (tiles * c.more_step_us + work * c.more_tile_us);
  const auto together = [&](double count) {
    return count > 0 ? one_us + (count - 1) * more_us : 0.0;
  };
  const double merge_us = parts > 1 ? c.merge_us + c.part_us * parts : 0.0;
  if (most <= c.blocks) return together(std::max(1.0, (blocks + most) / 2)) + merge_us;
  // More than a multiprocessor holds come in rounds.
  const double rounds = std::floor(most / c.blocks);
  return rounds * together(c.blocks) + together(most - rounds * c.blocks) + merge_us;
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
