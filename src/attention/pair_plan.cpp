// The cut of attention_pair.
#include "attention/pair_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/configurations.hpp"

namespace kw {
namespace {

double number(std::int64_t x) { return static_cast<double>(x); }

// Blocks of two lengths, the longer ones first, each as soon as a multiprocessor is free.
struct Blocks {
  std::int64_t count;
  double us;
};
double finish_us(Blocks longer, Blocks shorter, std::int64_t at_a_time) {
  const std::int64_t rounds = longer.count / at_a_time, late = longer.count % at_a_time;
  // Some are free after so many rounds of the longer ones, and some after one more.
  const double early_us = number(rounds) * longer.us, late_us = early_us + longer.us;
  double end_us = late > 0 ? late_us : early_us;
  if (shorter.count == 0) return end_us;
  const auto fit = [&](double free_us) {
    return std::floor((end_us - free_us) / shorter.us + 1e-6);
  };
  for (;;) {
    const double early = std::max(0.0, fit(early_us)), later = std::max(0.0, fit(late_us));
    if (early * number(at_a_time - late) + later * number(late) >= number(shorter.count))
      return end_us;
    end_us = std::min(early_us + (early + 1) * shorter.us, late_us + (later + 1) * shorter.us);
  }
}

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
  const double tiles = number(ceil_div(p.keys, c.keys()));
  // The first product takes the head as it is, the second one is as wide as the configuration.
  const double dims = number(ceil_div(p.dim, c.steps)) * c.steps;
  const double tile_us = c.tile_us * (dims + c.dim) / (2.0 * c.dim);
  // Of the last part; others run beside.
  const double merge_us = s.parts > 1 ? c.merge_us + 3.0 * (s.parts - 2) : 0.0;
  const double first_share = s.first_share == 0 ? 1 / parts : s.first_share / 64.0,
               other_share = s.parts == 1 ? 0.0 : (1 - first_share) / (parts - 1);
  const auto part_us = [&](double share) {
    // Of a last tile that is not full the second product leaves out what is not there.
    const double missing = share < 1 ? 0.0 : (tiles - number(p.keys) / c.keys()) / 2;
    return c.start_us + (std::ceil(tiles * share - 1e-6) - missing) * tile_us;
  };
  const double of_whole = part_us(1), of_part = part_us(first_share);
  const double at_a_time = device.sm_count, cut = (units - whole) * parts;
  if (p.causal == Causal::none) {
    const std::int64_t firsts = pair_units(p, c) - s.whole;
    return launch_us + of_whole * std::ceil(whole / at_a_time) +
           finish_us({firsts, of_part}, {firsts * (s.parts - 1), part_us(other_share)},
                     device.sm_count) +
           merge_us;
  }
  // A block goes on to the last key that its last query sees; by then most of its warps wait.
  const double share = p.pairs() / std::max(1.0, number(p.queries) * number(p.keys));
  const double seen = std::min(1.0, share + 0.5 / tiles + 0.25 * c.rows() / number(p.keys)) * tiles;
  const double longest = whole > 0 ? of_whole : of_part;
  const double work = ((whole + cut) * c.start_us + units * seen * tile_us) / at_a_time;
  double least_us = std::max(longest, work + 0.1 * longest);
  if (s.whole == 0 || s.parts == 1) {
    const auto length_us = [&](std::int64_t tile) {
      const std::int64_t of_keys = ceil_div(keys_of_tile(p, tile, c.rows()), c.keys());
      return c.start_us + number(ceil_div(of_keys, s.parts)) * tile_us;
    };
    least_us = std::max(
        least_us, least_in_turn_us(pair_blocks(p, s), device.sm_count, p.batch * p.heads * s.parts,
                                   ceil_div(p.queries, c.rows()), length_us));
  }
  return launch_us + merge_us + least_us;
}

PairSchedule choose_pairs(const Attention& p, const Device& device,
                          const std::size_t (&shared_bytes)[pair_config_count]) {
  constexpr std::array cuts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16};
  constexpr int most_unequal = 3;
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
      if (parts == 1) {
        take({i, 1, 0, units, {}});
        continue;
      }
      const auto take_cuts = [&](std::int64_t whole) {
        take({i, parts, 0, whole, {}});
        if (parts > most_unequal || p.causal != Causal::none) return;
        for (int share = (64 / parts + 4) / 4 * 4; share < 64; share += 4)
          take({i, parts, share, whole, {}});
      };
      take_cuts(0);
      // Whole waves, and the rest in parts.
      const std::int64_t whole = units / device.sm_count * device.sm_count;
      if (whole > 0 && whole < units) take_cuts(whole);
    }
  }
  return best;
}

}  // namespace kw
