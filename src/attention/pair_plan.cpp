// The cut of attention_pair.
#include "attention/pair_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kw {
namespace {

double number(std::int64_t x) { return static_cast<double>(x); }

}  // namespace

bool can_cut_pairs(const Attention& p, const PairSchedule& s) {
  constexpr std::int64_t most_blocks = 0x7FFFFFFF;
  const PairConfig& c = pair_configs[s.config];
  const std::int64_t cut = pair_units(p, c) - s.whole;
  if (c.dim < p.dim || pair_blocks(p, s) > most_blocks) return false;
  return s.parts == 1 ||
         (cut <= std::int64_t{ticket_count} && s.parts <= ceil_div(p.keys, c.keys()));
}

// Blocks that see all keys come in waves; of causal ones, which come longest first, the shorter
// ones fill the gaps.
double pair_time_us(const Attention& p, const Device& device, const PairSchedule& s) {
  constexpr double launch_us = 3;
  const PairConfig& c = pair_configs[s.config];
  const double units = number(pair_units(p, c)), whole = number(s.whole), parts = s.parts;
  const double tiles = number(ceil_div(p.keys, c.keys())), most = std::ceil(tiles / parts);
  // The first product takes the head as it is, the second one is as wide as the configuration.
  const double dims = number(ceil_div(p.dim, c.steps)) * c.steps;
  const double tile_us = c.tile_us * (dims + c.dim) / (2.0 * c.dim);
  const double merge_us = s.parts > 1 ? c.merge_us : 0.0;  // of the last part; others run beside
  const double of_whole = c.start_us + tiles * tile_us, of_part = c.start_us + most * tile_us;
  const double at_a_time = device.sm_count, cut = (units - whole) * parts;
  if (p.causal == Causal::none)
    return launch_us + of_whole * std::ceil(whole / at_a_time) +
           of_part * std::ceil(cut / at_a_time) + merge_us;
  // A block goes on to the last key that its last query sees; by then most of its warps wait.
  const double share = p.pairs() / std::max(1.0, number(p.queries) * number(p.keys));
  const double seen = std::min(1.0, share + 0.5 / tiles + 0.25 * c.rows() / number(p.keys)) * tiles;
  const double longest = whole > 0 ? of_whole : of_part;
  const double work = ((whole + cut) * c.start_us + units * seen * tile_us) / at_a_time;
  return launch_us + merge_us + std::max(longest, work + 0.1 * longest);
}

PairSchedule choose_pairs(const Attention& p, const Device& device,
                          const std::size_t (&shared_bytes)[pair_config_count]) {
  constexpr std::array cuts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16};
  PairSchedule best;
  double least_us = 0;
  const auto take = [&](const PairSchedule& s) {
    if (!can_cut_pairs(p, s)) return;
    const double time_us = pair_time_us(p, device, s);
    if (best.config >= 0 && !(time_us < least_us)) return;
    least_us = time_us;
    best = s;
  };
  for (int i = 0; i < pair_config_count; ++i) {
    const PairConfig& c = pair_configs[i];
    const bool is_for_more = c.dim > 32 && c.dim / 2 >= p.dim;
    if (is_for_more || shared_bytes[i] > device.shared_bytes_per_block_optin) continue;
    const std::int64_t units = pair_units(p, c);
    for (const int parts : cuts) {
      take({i, parts, parts == 1 ? units : 0, {}});
      // Whole waves, and the rest in parts.
      const std::int64_t whole = units / device.sm_count * device.sm_count;
      if (parts > 1 && whole > 0 && whole < units) take({i, parts, whole, {}});
    }
  }
  return best;
}

}  // namespace kw
