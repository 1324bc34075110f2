// rowwise_plain: the launches of plain_rows.hpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "gpu/clusters_at_once.hpp"
#include "rowwise/gpu_kernels.hpp"
#include "rowwise/plain_cut.hpp"
#include "rowwise/plain_rows.hpp"

namespace KW_TARGET {
namespace {

// Rows that are yet to come fit an int, what lies between two an unsigned.
constexpr std::int64_t most_plain_rows = std::int64_t{1} << 30, most_plain_ld = most_plain_rows;

using rowwise::PlainCut, rowwise::is_large_call, rowwise::is_of_rings, rowwise::rows_alike,
    rowwise::cut_of_blocks, rowwise::plain_cut, rowwise::large_cut, rowwise::plane_packs;

// How a launch's blocks have rows, and gamma and beta: a row each, or some.
using rowwise::ClusterForm;

// Of a block: its planes, and before them what a cluster's warps found, of each of its teams.
template <class T>
std::size_t plain_planes_bytes(int packs, ClusterForm form) {
  return form == ClusterForm::alike ? rowwise::AlikePlanes<T>::bytes(packs)
                                    : rowwise::team_planes_bytes<T>(packs);
}
std::size_t plain_shared_bytes(const Rowwise& p, const PlainCut& cut, ClusterForm form, int teams) {
  const std::size_t found = cut.blocks == 1  ? 0
                            : cut.is_large() ? sizeof(rowwise::FoundInBlocks)
                                             : sizeof(rowwise::FoundInCluster);
  const std::size_t of_teams = static_cast<std::size_t>(teams) * found;
  if (!p.scales()) return of_teams;
  const int packs = plane_packs(p, cut);
  return of_teams + (p.type == DataType::float32 ? plain_planes_bytes<float>(packs, form)
                                                 : plain_planes_bytes<float16>(packs, form));
}

// In either form of planes that a cluster may have.
bool fits_shared(const Rowwise& p, const Device& device, const PlainCut& cut, int teams = 1) {
  constexpr std::size_t reserved = 2048;
  const ClusterForm other = cut.blocks == 1 ? ClusterForm::alike : ClusterForm::several;
  const std::size_t shared = std::max(plain_shared_bytes(p, cut, ClusterForm::alike, teams),
                                      plain_shared_bytes(p, cut, other, teams));
  return shared + reserved <= device.shared_bytes_per_block_optin;
}

// Rows of a block at once, and how often one has so many; of few rows fewer, so that all
// multiprocessors have some.
struct PlainBlock {
  int threads;
  std::int64_t rows_at_once, turns;
};
// The first row of a table that is for so many bytes.
template <class Row, std::size_t count>
const Row& row_for(const std::array<Row, count>& table, std::int64_t bytes) {
  return *std::ranges::find_if(table, [=](const Row& row) { return bytes <= row.most_bytes; });
}
const PlainRows& plain_rows_of(const Rowwise& p) {
  const bool is_wide = p.type == DataType::float32;
  const std::int64_t bytes = p.row_bytes();
  if (p.scales())
    return is_wide ? row_for(plain_norm_of_4, bytes) : row_for(plain_norm_of_2, bytes);
  return is_wide ? row_for(plain_softmax_of_4, bytes) : row_for(plain_softmax_of_2, bytes);
}
int lane_turns(const Rowwise& p, const PlainCut& cut, const PlainRows& rows,
               std::int64_t rows_at_once) {
  if (plain_is_lone(is_softmax(p.op), size_of(p.type), cut.lanes, cut.packs)) return 1;
  if (p.type == DataType::float32) return rows.of_lanes;
  const LaneTurns& turns = row_for(plain_lane_turns_of_2, rows_at_once * p.row_bytes());
  return is_softmax(p.op) ? turns.of_softmax : turns.of_norm;
}
PlainBlock plain_block(const Rowwise& p, const Device& device, const PlainCut& cut) {
  const std::int64_t enough = ceil_div(p.rows, std::int64_t{device.sm_count} * 2);
  const PlainRows& rows = plain_rows_of(p);
  PlainBlock block = {};
  if (cut.warps == 1) {
    const std::int64_t warps = ceil_div(enough * cut.lanes, std::int64_t{warp_lanes});
    block.threads =
        static_cast<int>(std::min<std::int64_t>(warps * warp_lanes, plain_lane_threads));
    block.rows_at_once = block.threads / cut.lanes;
  } else {
    const int most = std::max(rows.warp_threads / (cut.warps * warp_lanes), 1);
    block.rows_at_once = std::min<std::int64_t>(enough, most);
    block.threads = static_cast<int>(block.rows_at_once) * cut.warps * warp_lanes;
  }
  const int most_turns =
      cut.warps > 1 ? rows.of_warps : lane_turns(p, cut, rows, block.rows_at_once);
  block.turns = std::clamp<std::int64_t>(enough / block.rows_at_once, 1, most_turns);
  return block;
}

// Norms' rows that teams have, several to a block; nobody where others have them.
struct TeamsCut {
  PlainCut of_row = {};
  int teams = 0;  // of a block
};
const FewBlocks* few_blocks_of(const Rowwise& p, const Device& device) {
  const bool is_wide = p.type == DataType::float32;
  if (!is_large_call(p, device) && (is_wide || rows_alike(p) < plain_teams_ways_of_2(false)))
    return nullptr;
  const std::int64_t bytes = p.row_bytes();
  const auto table = is_wide ? std::span<const FewBlocks>(plain_few_blocks_of_4)
                             : std::span<const FewBlocks>(plain_few_blocks_of_2);
  const int ways = rows_alike(p);
  for (const FewBlocks& row : table)
    if (bytes >= row.least_bytes && bytes < row.end_bytes && ways >= row.least_ways &&
        ways <= row.most_ways && (row.centres || p.op != RowwiseOp::layer_norm))
      return &row;
  return nullptr;
}
bool is_layer_alone(const Rowwise& p) {
  if (p.op != RowwiseOp::layer_norm || p.type == DataType::float32) return false;
  const std::int64_t bytes = p.row_bytes();
  return std::ranges::any_of(plain_layers_alone_of_2, [&](const BytesRange& range) {
    return bytes >= range.least && bytes < range.end;
  });
}
TeamsCut teams_cut(const Rowwise& p, const Device& device, const PlainCut& cut,
                   const PlainCut& large) {
  const bool is_blocks = cut.lanes > 0 && cut.blocks == 1;
  if (!is_norm(p.op) || (is_blocks && large.blocks == 1)) return {};
  if (device.compute_capability != 90) return {};
  const bool is_wide = p.type == DataType::float32;
  const std::int64_t bytes = p.row_bytes();
  const bool is_held = cut.lanes > 0 || large.lanes > 0;
  const FewBlocks* const few = few_blocks_of(p, device);
  const int blocks = few != nullptr                                 ? few->blocks
                     : is_wide || bytes >= plain_eight_blocks_bytes ? plain_large_blocks
                     : bytes >= plain_two_blocks_bytes              ? plain_most_blocks
                                                                    : 2;
  const PlainCut own = cut_of_blocks(p.cols / (is_wide ? 4 : 8), is_wide, blocks);
  const bool is_long = own.is_large() && own.warps >= plain_long_teams_warps_of_2;
  const bool wants =
      few != nullptr ||
      (is_wide ? bytes >= plain_teams_bytes_of_4 && !plain_fills_sm_of_4(own.warps)
               : rows_alike(p) >= plain_teams_ways_of_2(is_long) && !is_layer_alone(p));
  if (own.is_large() && device.sm_count < plain_large_blocks) return {};
  const int threads = own.warps * warp_lanes;
  if ((!wants && is_held) || threads > plain_team_threads(size_of(p.type))) return {};
  // Of float32 two blocks share a multiprocessor.
  const int most =
      plain_teams_threads(own.is_large(), size_of(p.type)) / (is_wide || few != nullptr ? 2 : 1);
  TeamsCut teams = {own, std::max(most / threads, 1)};
  if (few != nullptr) teams.teams = std::min(teams.teams, few->most_teams);
  return fits_shared(p, device, own, teams.teams) ? teams : TeamsCut{};
}

// So many, but for a small part of a wave behind few whole ones.
std::int64_t in_waves(std::int64_t count, std::int64_t wave) {
  const std::int64_t waves = count / wave, part = count % wave;
  const bool is_small = static_cast<double>(part) < plain_part_of_wave * static_cast<double>(wave);
  return waves > 0 && waves < plain_few_waves && is_small ? waves * wave : count;
}

// Blocks that have some rows one after the other, but for the last ones: those have one each, so
// that multiprocessors come to an end together.
void cut_into_blocks(const Rowwise& p, const Device& device, int sm_threads,
                     const PlainBlock& block, rowwise::PlainLaunch* launch, std::int64_t* blocks) {
  launch->alike = rows_alike(p);
  launch->step = static_cast<int>(block.rows_at_once) * launch->alike;
  launch->at_once = static_cast<int>(block.rows_at_once);
  launch->long_turns = static_cast<int>(block.turns);
  const std::int64_t at_once = device.sm_count * std::int64_t{sm_threads / block.threads};
  const std::int64_t rows = block.turns * block.rows_at_once;
  const std::int64_t last = at_once * rows / plain_last_blocks;
  const std::int64_t group = rows * launch->alike;
  const std::int64_t wave = std::max<std::int64_t>(at_once / launch->alike, 1);
  const std::int64_t all_groups = std::max<std::int64_t>(p.rows - last, 0) / group;
  // Each block of several warps fills planes of 16-bit types longer than it has a row.
  const bool fills = p.scales() && p.type != DataType::float32 && launch->warps > 1;
  const std::int64_t groups = fills ? all_groups : in_waves(all_groups, wave);
  launch->long_blocks = static_cast<int>(groups * launch->alike);
  if (launch->long_blocks == 0) launch->long_turns = 1;
  launch->early = static_cast<int>(
      launch->long_blocks == 0 ? at_once : std::min<std::int64_t>(at_once, launch->long_blocks));
  const std::int64_t short_group = block.rows_at_once * launch->alike;
  *blocks = launch->long_blocks + ceil_div(p.rows - groups * group, short_group) * launch->alike;
}

template <class T>
rowwise::PlainLaunch plain_launch(const Rowwise& p, const PlainCut& cut) {
  const auto bytes = [](std::int64_t elements) {
    return static_cast<unsigned>(elements * static_cast<std::int64_t>(sizeof(T)));
  };
  return {.warps = cut.warps,
          .blocks = cut.blocks,
          .scales = p.scales(),
          .gaps = p.ldy != p.cols && p.x != p.y,
          .rows = static_cast<int>(p.rows),
          .cols = static_cast<int>(p.cols),
          .ldx = bytes(p.ldx),
          .ldy = bytes(p.ldy),
          .row_bytes = bytes(p.cols),
          .plane_packs = plane_packs(p, cut),
          .part_packs = cut.part_packs};
}

// Clusters stay: as many as run at once, and none that waits for others to end.
struct ClusterLaunch {
  PlainCut cut;
  void (*kernel)(Rowwise, rowwise::PlainLaunch) = nullptr;
  gpu::LaunchConfig config;
  int teams = 1;    // of a block
  int alike = 1;    // a cluster's rows are so many apart, but for its first two
  int step = 0;     // clusters that have rows; 0: there is no launch
  double time = 0;  // in nanoseconds, without its beginning and its end
};

// Where clusters of `cut` hold a row and are no slower than `best`, they are it.
template <bool softmax, class T, ClusterForm form, bool large>
Status consider_clusters(const Rowwise& p, const Device& device, const PlainCut& cut, int teams,
                         Stream stream, ClusterLaunch* best) {
  if (cut.lanes == 0 || !fits_shared(p, device, cut, teams)) return Status::success();
  const auto kernel = rowwise::plain_rows_of_clusters<softmax, T, form, large>;
  const auto threads = static_cast<unsigned>(teams * cut.warps * warp_lanes);
  ClusterLaunch launch = {.cut = cut,
                          .kernel = kernel,
                          .config = {.grid = dim3(static_cast<unsigned>(cut.blocks)),
                                     .block = dim3(threads),
                                     .shared_bytes = plain_shared_bytes(p, cut, form, teams),
                                     .stream = stream,
                                     .overlap = true,
                                     .cluster = cut.blocks},
                          .teams = teams,
                          .alike = form == ClusterForm::alike ? rows_alike(p) : 1};
  // Of sixteen blocks those that share a multiprocessor wait for each other (results/h200/
  // explored-rowwise-draws.txt).
  Status asked = gpu::clusters_at_once(reinterpret_cast<const void*>(kernel), launch.config, !large,
                                       &launch.step);
  if (!asked.ok()) return asked;
  if constexpr (form == ClusterForm::alike) {
    // A few may have no row; where those would be many, rows lie anyhow.
    const int even = launch.step / rows_alike(p) * rows_alike(p);
    constexpr int least_even = sizeof(T) == 4 ? plain_least_even_of_4 : plain_least_even_of_2;
    if (launch.step - even > launch.step / least_even)
      return consider_clusters<softmax, T, ClusterForm::several, large>(p, device, cut, 1, stream,
                                                                        best);
    launch.step = even;
  }
  if (launch.step == 0) return Status::success();
  const int blocks = launch.step * cut.blocks;
  const bool several = blocks > device.sm_count &&
                       blocks * cut.warps * teams > plain_several_warps * device.sm_count;
  const std::int64_t at_once = std::int64_t{launch.step} * teams;
  const std::int64_t turns = ceil_div(p.rows, at_once);
  launch.time = static_cast<double>(turns * at_once) * 2 * static_cast<double>(p.cols) * sizeof(T) /
                (several ? plain_several_gbs : plain_single_gbs);
  // No more than so many turns need: each fills its planes.
  if (form == ClusterForm::several) launch.step = static_cast<int>(ceil_div(p.rows, turns * teams));
  if (best->step == 0 || launch.time <= best->time) *best = launch;
  return asked;
}

// By clusters of `large`, where they hold a row and the device runs some, or of `cut`; of long rows
// of norms by those of fewer rounds. One of them may hold no row.
template <bool softmax, class T>
Status find_clusters(const Rowwise& p, const Device& device, const PlainCut& cut,
                     const PlainCut& large, Stream stream, ClusterLaunch* best) {
  constexpr ClusterForm form = softmax ? ClusterForm::one_row : ClusterForm::alike;
  constexpr int least =
      sizeof(T) == 4 ? plain_either_norm_bytes_of_4 : plain_either_norm_bytes_of_2;
  const bool either = !softmax && p.cols * static_cast<std::int64_t>(sizeof(T)) >= least;
  const auto consider_smaller = [&] {
    return consider_clusters<softmax, T, form, false>(p, device, cut, 1, stream, best);
  };
  if (either) {
    if (Status status = consider_smaller(); !status.ok()) return status;
  }
  if (Status status = consider_clusters<softmax, T, form, true>(p, device, large, 1, stream, best);
      !status.ok()) {
    return status;
  }
  return best->step == 0 && !either ? consider_smaller() : Status::success();
}
template <class T>
Status find_teams(const Rowwise& p, const Device& device, const TeamsCut& teams, Stream stream,
                  ClusterLaunch* best) {
  return teams.of_row.is_large() ? consider_clusters<false, T, ClusterForm::several, true>(
                                       p, device, teams.of_row, teams.teams, stream, best)
                                 : consider_clusters<false, T, ClusterForm::several, false>(
                                       p, device, teams.of_row, teams.teams, stream, best);
}

template <bool softmax, class T>
Status launch_clusters(const Rowwise& p, const Device& device, const PlainCut& cut,
                       const PlainCut& large, const TeamsCut& teams, unsigned* tickets,
                       Stream stream) {
  ClusterLaunch best = {};
  if constexpr (!softmax) {
    if (teams.teams > 0) {
      if (Status status = find_teams<T>(p, device, teams, stream, &best); !status.ok())
        return status;
    }
  }
  if (best.step == 0) {
    if (Status status = find_clusters<softmax, T>(p, device, cut, large, stream, &best);
        !status.ok()) {
      return status;
    }
  }
  if (best.step == 0)
    return Status::failure(StatusCode::device_error, "no cluster fits the device");
  rowwise::PlainLaunch plain = plain_launch<T>(p, best.cut);
  plain.step = best.step * best.teams;
  plain.at_once = best.teams;
  plain.alike = best.alike;
  plain.alike_bits = 0;  // of a power of two
  while (1 << plain.alike_bits < best.alike) ++plain.alike_bits;
  plain.tickets = tickets;
  const std::int64_t clusters =
      std::min<std::int64_t>(best.step, ceil_div(p.rows, std::int64_t{best.teams}));
  best.config.grid = dim3(static_cast<unsigned>(clusters) * static_cast<unsigned>(best.cut.blocks));
  return gpu::launch(best.kernel, best.config, p, plain);
}

// body(that one of the numbers that is `wanted`), as a constant.
template <int first, int... others, class Body>
auto with_constant(std::integer_sequence<int, first, others...>, int wanted, const Body& body) {
  if constexpr (sizeof...(others) > 0)
    if (wanted != first)
      return with_constant(std::integer_sequence<int, others...>{}, wanted, body);
  return body(std::integral_constant<int, first>{});
}

template <bool softmax, class T>
Status launch_plain(const Rowwise& p, const Device& device, unsigned* tickets, Stream stream) {
  const PlainCut cut = plain_cut(p, device);
  if constexpr (gpu::has_nvidia_kernels) {
    const PlainCut large = large_cut(p, device);
    const TeamsCut teams = teams_cut(p, device, cut, large);
    if (cut.blocks > 1 || large.blocks > 1 || teams.teams > 0)
      return launch_clusters<softmax, T>(p, device, cut, large, teams, tickets, stream);
  }
  const PlainBlock block = plain_block(p, device, cut);
  rowwise::PlainLaunch plain = plain_launch<T>(p, cut);
  std::int64_t blocks = 0;
  const int sm_threads =
      cut.warps > 1
          ? plain_sm_threads(rowwise::plain_block_packs<T>)
          : rowwise::plain_lane_blocks<softmax, T>(cut.lanes, cut.packs) * plain_lane_threads;
  cut_into_blocks(p, device, sm_threads, block, &plain, &blocks);
  const gpu::LaunchConfig config = {
      .grid = dim3(static_cast<unsigned>(blocks)),
      .block = dim3(static_cast<unsigned>(block.threads)),
      .shared_bytes = plain_shared_bytes(p, cut, ClusterForm::alike, 1),
      .stream = stream,
      .overlap = true};
  if (cut.warps > 1) return gpu::launch(rowwise::plain_rows_of_warps<softmax, T>, config, p, plain);
  return with_constant(rowwise::PlainPackCounts<softmax, T>{}, cut.packs, [&](auto packs) {
    constexpr int each = decltype(packs)::value;
    const auto of_lanes = [&](auto lanes) {
      return gpu::launch(rowwise::plain_rows_of_lanes<softmax, T, decltype(lanes)::value, each>,
                         config, p, plain);
    };
    constexpr auto has = rowwise::plain_has_lanes<softmax, T>;
    if constexpr (has(8, each))
      if (cut.lanes == 8) return of_lanes(std::integral_constant<int, 8>{});
    if constexpr (has(16, each))
      if (cut.lanes == 16) return of_lanes(std::integral_constant<int, 16>{});
    constexpr int others = has(warp_lanes, each) ? warp_lanes : 8;
    return of_lanes(std::integral_constant<int, others>{});
  });
}

}  // namespace

bool rowwise_plain_supports(const Rowwise& p, const Device& device) {
  if (!rowwise::is_plain(p) || is_of_rings(p, device)) return false;
  if (p.rows > most_plain_rows || p.ldx >= most_plain_ld || p.ldy >= most_plain_ld) return false;
  const PlainCut cut = plain_cut(p, device), large = large_cut(p, device);
  return (cut.lanes > 0 && fits_shared(p, device, cut)) ||
         (large.lanes > 0 && fits_shared(p, device, large)) ||
         (gpu::has_nvidia_kernels && teams_cut(p, device, cut, large).teams > 0);
}

Status rowwise_plain(const Rowwise& p, const Device& device, Workspace workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const auto run = [&](auto element) {
    using T = decltype(element);
    return is_softmax(p.op) ? launch_plain<true, T>(p, device, workspace.tickets, stream)
                            : launch_plain<false, T>(p, device, workspace.tickets, stream);
  };
  if (p.type == DataType::float32) return run(float{});
  return p.type == DataType::float16 ? run(float16{}) : run(bfloat16{});
}

}  // namespace KW_TARGET
