// rowwise_rows: the launches of rows.hpp, by the table of teams.
#include <algorithm>

#include "rowwise/gpu_kernels.hpp"
#include "rowwise/rows.hpp"

namespace KW_TARGET {
namespace {

constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;

// Lanes that hold a row: a power of two of a warp, or whole warps; 0 where they do not.
int lanes_for(const RowTeam& team, const Rowwise& p) {
  const std::int64_t places = p.cols + rowwise::most_skip(p);
  if (places > team.most_columns) return 0;
  const auto wanted = static_cast<int>(ceil_div(places, team.values));
  if (team.lanes > warp_lanes) return static_cast<int>(ceil_div(wanted, warp_lanes)) * warp_lanes;
  int lanes = 1;
  while (lanes < wanted) lanes *= 2;
  return lanes;
}

struct ChosenTeam {
  const RowTeam* team = nullptr;
  int lanes = 0;

  int places() const { return lanes * team->values; }
};

ChosenTeam team_of(const Rowwise& p) {
  ChosenTeam best;
  for (const RowTeam& team : row_teams) {
    const ChosenTeam other = {&team, lanes_for(team, p)};
    if (other.lanes > 0 && (best.team == nullptr || other.places() < best.places())) best = other;
  }
  return best;
}

template <bool softmax, int values>
Status launch_lanes(const Rowwise& p, int lanes, Stream stream) {
  const auto blocks = static_cast<unsigned>(ceil_div(p.rows, warp_block_threads / lanes));
  return gpu::launch(rowwise::rows_of_lanes<softmax, values>,
                     {dim3(blocks), dim3(warp_block_threads), 0, stream}, p, rowwise::format_of(p),
                     lanes);
}
template <bool softmax, int values>
Status launch_blocks(const Rowwise& p, int lanes, Stream stream) {
  return gpu::launch(
      rowwise::rows_of_blocks<softmax, values>,
      {dim3(static_cast<unsigned>(p.rows)), dim3(static_cast<unsigned>(lanes)), 0, stream}, p,
      rowwise::format_of(p));
}

template <bool softmax>
Status launch_team(const Rowwise& p, Stream stream) {
  const auto [chosen, lanes] = team_of(p);
  const RowTeam& team = *chosen;
  if (team.lanes > warp_lanes) {
    return team.values == 16 ? launch_blocks<softmax, 16>(p, lanes, stream)
                             : launch_blocks<softmax, 24>(p, lanes, stream);
  }
  return team.values == 8 ? launch_lanes<softmax, 8>(p, lanes, stream)
                          : launch_lanes<softmax, 24>(p, lanes, stream);
}

}  // namespace

bool rowwise_rows_supports(const Rowwise& p, const Device&) {
  if (p.op == RowwiseOp::map) return false;
  if (p.cols == 0) return true;
  const auto [team, lanes] = team_of(p);
  if (team == nullptr) return false;
  const int rows_a_block = team->lanes > warp_lanes ? 1 : warp_block_threads / lanes;
  return ceil_div(p.rows, rows_a_block) <= most_blocks;
}

Status rowwise_rows(const Rowwise& p, const Device&, Workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  return is_softmax(p.op) ? launch_team<true>(p, stream) : launch_team<false>(p, stream);
}

}  // namespace KW_TARGET
