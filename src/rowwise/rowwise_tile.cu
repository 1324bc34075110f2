// rowwise_tile: the launches of tile_rows.hpp.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>

#include "rowwise/gpu_kernels.hpp"
#include "rowwise/tile_rows.hpp"
#include "rowwise/tile_words.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

constexpr std::int64_t most_tile_rows = std::int64_t{1} << 30;

using rowwise::TileAsks, rowwise::TileGaps, rowwise::TileLaunch;

// Bytes from a row to the next one.
std::int64_t pitch_of(const Rowwise& p) {
  return (p.rows > 1 ? p.ldx : p.cols) * static_cast<std::int64_t>(size_of(p.type));
}
bool has_gaps(const Rowwise& p) { return pitch_of(p) != p.row_bytes(); }

// The first of tile_teams that holds a row, if any of its type's does.
std::optional<std::size_t> team_of(const Rowwise& p, const Device& device) {
  std::size_t count = tile_team_count(is_softmax(p.op), size_of(p.type));
  if (has_gaps(p)) count = std::min(count, tile_gap_team_count);
  for (std::size_t which = 0; which < count; ++which) {
    const TileTeam& team = tile_teams[which];
    if (p.cols > team.most_columns) continue;
    const std::int64_t at_once = std::int64_t{device.sm_count} * tile_sm_threads / team.lanes;
    if (team.values >= tile_banks_values && pitch_of(p) % tile_banks_bytes == 0) return {};
    if (team.values > tile_few_values && 2 * p.rows < tile_half_waves * at_once) return {};
    return which;
  }
  return {};
}
template <std::size_t count>
constexpr auto first_teams = [] {
  std::array<TileTeam, count> teams = {};
  std::copy_n(tile_teams.begin(), count, teams.begin());
  return teams;
}();

// Whether four lanes take a row of a 16-bit type by words. They take their time for a row: of those
// that are not very short few are quicker in registers.
bool has_words(const Rowwise& p, const Device& device) {
  if (p.type == DataType::float32 || p.cols > tile_word_most_columns) return false;
  if (has_gaps(p) && p.x != p.y && p.cols > tile_word_apart_columns) return false;
  if (has_gaps(p) && is_softmax(p.op)) return false;
  if (p.cols < tile_word_before_registers) return true;
  if ((has_gaps(p) || is_softmax(p.op)) && p.cols >= tile_word_registers_from) return false;
  const bool at_boundaries = reinterpret_cast<std::uintptr_t>(p.x) % rowwise::pack_bytes == 0 &&
                             pitch_of(p) % rowwise::pack_bytes == 0;
  const std::int64_t at_once =
      std::int64_t{device.sm_count} * tile_word_sm_threads / tile_word_lanes;
  const int half_waves = has_gaps(p) ? tile_word_gap_half_waves : tile_word_half_waves;
  return !at_boundaries && 2 * p.rows >= half_waves * at_once;
}

// Whether rows lie so close together that they are brought as one piece.
bool is_close(const Rowwise& p) {
  if (p.rows > 1 && p.ldx != p.ldy) return false;
  const std::int64_t gap = pitch_of(p) - p.row_bytes();
  if (gap == 0) return true;
  return p.row_bytes() >= tile_least_gap_row_bytes &&
         (gap <= tile_short_gap_bytes ||
          (gap <= tile_long_gap_bytes && p.row_bytes() <= tile_long_gap_row_bytes));
}

// Before rows are written, where there are gaps between them.
TileAsks asks_of(const Rowwise& p) {
  if (!has_gaps(p) || p.x == p.y) return TileAsks::nothing;
  const bool is_long = p.type == DataType::float32 ? p.cols > tile_gap_engine_columns_of_4
                                                   : p.cols > tile_teams[1].most_columns;
  return is_softmax(p.op) && is_long ? TileAsks::gaps : TileAsks::ends;
}

std::size_t tile_shared_bytes(const TileLaunch& launch, int threads) {
  return static_cast<std::size_t>(launch.pairs_bytes) +
         static_cast<std::size_t>(launch.stage_bytes) *
             static_cast<std::size_t>(threads / warp_lanes);
}

// Whole rows, as many as go at once or some times that; of few rows fewer, so that all warps have
// some. Of rows with gaps the nearest number in place, and elsewhere the lower one: what is asked
// for of y comes in time (results/h200/explored-rowwise-gaps.txt).
TileLaunch tile_launch(const Rowwise& p, const Device& device, int threads, int lanes,
                       int most_bytes) {
  const std::int64_t at_once = warp_lanes / lanes;
  const std::int64_t warps = std::int64_t{device.sm_count} * tile_warps_of_sm;
  const std::int64_t wanted = std::min(most_bytes / pitch_of(p), ceil_div(p.rows, warps));
  const std::int64_t nearest = has_gaps(p) && p.x == p.y ? at_once / 2 : 0;
  const std::int64_t rows = std::max<std::int64_t>((wanted + nearest) / at_once, 1) * at_once;
  TileLaunch launch = {};
  launch.rows = static_cast<int>(p.rows);
  launch.count_inverse = 1.0f / static_cast<float>(p.cols);
  launch.early = device.sm_count * (tile_sm_threads / threads);
  launch.cols = static_cast<int>(p.cols);
  launch.row_bytes = static_cast<int>(p.row_bytes());
  launch.pitch = static_cast<int>(pitch_of(p));
  launch.of_pitch = static_cast<unsigned>(
      ceil_div(std::int64_t{1} << 32, static_cast<std::int64_t>(launch.pitch)));
  launch.asks = asks_of(p);
  launch.tile_rows = static_cast<int>(rows);
  launch.tiles = static_cast<int>(ceil_div(p.rows, rows));
  if (p.scales()) launch.pairs_bytes = static_cast<int>(ceil_div(p.cols, std::int64_t{2}) * 16);
  // Wherever a tile begins past a boundary.
  const std::int64_t bytes = rows * pitch_of(p) + rowwise::pack_bytes;
  launch.stage_bytes =
      static_cast<int>(ceil_div(bytes, std::int64_t{rowwise::pack_bytes}) * rowwise::pack_bytes);
  return launch;
}

Status launch_kernel(void (*kernel)(Rowwise, TileLaunch), const Rowwise& p,
                     const TileLaunch& launch, int threads, Stream stream) {
  return gpu::launch(
      kernel,
      {.grid = dim3(static_cast<unsigned>(ceil_div(launch.tiles, threads / warp_lanes))),
       .block = dim3(static_cast<unsigned>(threads)),
       .shared_bytes = tile_shared_bytes(launch, threads),
       .stream = stream,
       .overlap = true},
      p, launch);
}

template <bool softmax, class T>
Status launch_team(const Rowwise& p, const Device& device, std::size_t chosen, Stream stream) {
  constexpr std::size_t count = tile_team_count(softmax, sizeof(T));
  constexpr auto kernels = of_each_row<first_teams<count>>([](auto row) {
    constexpr TileTeam team = tile_teams[row];
    return &rowwise::tile_rows<softmax, T, team.lanes, team.values, TileGaps::none>;
  });
  constexpr auto with_gaps =
      of_each_row<first_teams<std::min(count, tile_gap_team_count)>>([](auto row) {
        constexpr TileTeam team = tile_teams[row];
        constexpr bool by_elements = sizeof(T) == 4 && team.values >= tile_gap_element_values;
        return &rowwise::tile_rows < softmax, T, team.lanes, team.values,
               by_elements ? TileGaps::by_elements : TileGaps::by_parts > ;
      });
  TileLaunch launch = tile_launch(p, device, tile_threads, tile_teams[chosen].lanes,
                                  tile_bytes(softmax, sizeof(T), tile_teams[chosen].values));
  launch.ahead = device.sm_count * (tile_sm_threads / warp_lanes);
  return launch_kernel(has_gaps(p) ? with_gaps[chosen] : kernels[chosen], p, launch, tile_threads,
                       stream);
}

// How a warp's eight rows take their words, and how far apart the two forms of gamma and beta are.
struct WordTurns {
  unsigned turned;  // as TileLaunch has it
  int apart;        // quads, beyond a multiple of all banks
};
// Of accesses to rows that are so far past a boundary and apart, how often shared memory answers.
int answers_of(int past, int pitch, bool scales, const WordTurns& turns) {
  constexpr int words = rowwise::group_words, lanes = tile_word_lanes, rows = warp_lanes / lanes;
  int all = 0;
  for (int step = 0; step < words; ++step) {
    std::array<int, 32> of_bank = {};
    // Of half a warp, by the quad of banks: which words of which form.
    std::array<std::array<unsigned, words>, 2> of_quad = {};
    for (int row = 0; row < rows; ++row) {
      const int from = past + row * pitch, odd = from / 2 % 2;
      const int quad = (step + static_cast<int>(turns.turned >> 2 * row & 3)) % words;
      for (int lane = 0; lane < lanes; ++lane)
        ++of_bank[static_cast<std::size_t>(((from + 2) / 4 + quad * lanes + lane) % 32)];
      of_quad[static_cast<std::size_t>(row * 2 / rows)]
             [static_cast<std::size_t>((quad + odd * turns.apart) % words)] |=
          1u << (quad + odd * words);
    }
    constexpr int passes = 3;  // x twice, and y
    all += passes * *std::max_element(of_bank.begin(), of_bank.end());
    if (!scales) continue;
    for (const auto& half : of_quad) {
      int most = 0;
      for (const unsigned which : half) most = std::max(most, std::popcount(which));
      all += most;
    }
  }
  return all;
}
// Rows in their order, by one, two or three words further each, or each second one; and the forms
// of gamma and beta a quad apart, or none.
constexpr std::array<unsigned, 5> word_orders = {0x0000, 0xE4E4, 0x8888, 0x6C6C, 0xFA50};
constexpr WordTurns word_turns(std::size_t which) {
  return {word_orders[which / 2], static_cast<int>(which % 2)};
}
constexpr std::size_t usual_turns = 1;  // rows in their order, a quad apart
std::size_t best_turns(int past, int pitch, bool scales) {
  std::size_t best = usual_turns;
  int least = answers_of(past, pitch, scales, word_turns(best));
  for (std::size_t which = 0; which < 2 * word_orders.size(); ++which) {
    const int answers = answers_of(past, pitch, scales, word_turns(which));
    if (answers < least) best = which, least = answers;
  }
  return best;
}
// To find them takes as long as a launch, so each case is looked at once: banks come again after
// 128 bytes, and elements have two.
WordTurns turns_of(const Rowwise& p, int pitch) {
  constexpr int element = 2, pasts = rowwise::pack_bytes / element, lengths = 128 / element;
  constexpr int cases = 2 * pasts * lengths;
  static std::array<std::atomic<std::uint8_t>, cases> known = {};
  // Few rows gain less than the first look takes.
  if (p.rows < tile_word_least_rows) return word_turns(usual_turns);
  const int past = static_cast<int>(reinterpret_cast<std::uintptr_t>(p.x) % rowwise::pack_bytes);
  const int at = pitch / element % lengths * pasts + past / element;
  std::atomic<std::uint8_t>& own = known[static_cast<std::size_t>(2 * at + (p.scales() ? 1 : 0))];
  std::size_t which = own.load(std::memory_order_relaxed);  // 0: not looked at yet
  if (which == 0) {
    which = best_turns(past, pitch, p.scales()) + 1;
    own.store(static_cast<std::uint8_t>(which), std::memory_order_relaxed);
  }
  return word_turns(which - 1);
}

template <bool softmax, class T>
Status launch_words(const Rowwise& p, const Device& device, Stream stream) {
  constexpr int threads = tile_word_threads;
  using Planes = rowwise::WordPlanes;
  TileLaunch launch = tile_launch(p, device, threads, tile_word_lanes, tile_word_bytes);
  launch.full_groups = (launch.cols - 1) / 2 / rowwise::all_group_words;
  const WordTurns turns = turns_of(p, launch.pitch);
  launch.turned = turns.turned;
  if (p.scales()) {
    launch.plane_pitch = Planes::pitch_of(launch.cols, turns.apart);
    launch.pairs_bytes = 2 * launch.plane_pitch;
  }
  constexpr TileGaps with_gaps = softmax ? TileGaps::by_elements : TileGaps::by_parts;
  return launch_kernel(has_gaps(p) ? rowwise::tile_words_of_rows<softmax, T, with_gaps>
                                   : rowwise::tile_words_of_rows<softmax, T, TileGaps::none>,
                       p, launch, threads, stream);
}

}  // namespace

bool rowwise_tile_supports(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || !rowwise::is_plain(p) || p.rows == 0 || p.cols == 0)
    return false;
  return is_close(p) && p.rows <= most_tile_rows && (team_of(p, device) || has_words(p, device));
}

Status rowwise_tile(const Rowwise& p, const Device& device, Workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const std::optional<std::size_t> team = team_of(p, device);
  const auto run = [&](auto element) {
    using T = decltype(element);
    if constexpr (sizeof(T) == 2) {
      if (!team)
        return is_softmax(p.op) ? launch_words<true, T>(p, device, stream)
                                : launch_words<false, T>(p, device, stream);
    }
    return is_softmax(p.op) ? launch_team<true, T>(p, device, *team, stream)
                            : launch_team<false, T>(p, device, *team, stream);
  };
  if (p.type == DataType::float32) return run(float{});
  return p.type == DataType::float16 ? run(float16{}) : run(bfloat16{});
}

}  // namespace KW_TARGET
