// rowwise_plain: the launches of plain_rows.hpp, by the table of teams.
#include <algorithm>
#include <array>
#include <cstdint>

#include "gpu/clusters_at_once.hpp"
#include "rowwise/gpu_kernels.hpp"
#include "rowwise/plain_rows.hpp"

namespace KW_TARGET {
namespace {

constexpr std::int64_t most_plain_blocks = (std::int64_t{1} << 31) - 1;

struct PlainTeam {
  PlainForm form;
  int packs = 0;        // a thread; 0: no team holds the row
  int lanes = 0;        // of a warp, else threads of a block
  int blocks = 1;       // of a cluster
  int slice_packs = 0;  // of a block

  std::int64_t places() const { return std::int64_t{packs} * lanes * blocks; }
};

// Lanes are a power of two, threads whole warps; 0 lanes where the row does not fit.
PlainTeam plain_team(const PlainRow& row, std::int64_t packs, int most_blocks) {
  PlainTeam team = {row.form, row.packs};
  if (row.form == PlainForm::lanes) {
    team.lanes = plain_least_lanes;
    while (team.lanes * row.packs < packs) team.lanes *= 2;
    if (team.lanes > row.most_threads) team.lanes = 0;
    return team;
  }
  const std::int64_t most = std::int64_t{row.most_threads} * row.packs;
  if (row.form == PlainForm::cluster) {
    team.blocks = 2;
    while (team.blocks < most_blocks && team.blocks * most < packs) team.blocks *= 2;
  }
  team.slice_packs = static_cast<int>(ceil_div(packs, std::int64_t{team.blocks}));
  if (team.slice_packs > most) return team;
  const int wanted = std::max(ceil_div(team.slice_packs, row.packs), 1);
  team.lanes = ceil_div(wanted, warp_lanes) * warp_lanes;
  return team;
}

// The first form of the table that holds the row; of that, the team that leaves the fewest places
// empty.
PlainTeam plain_team_of(const Rowwise& p, const Device& device) {
  const bool is_wide = p.type == DataType::float32;
  const std::int64_t packs = p.cols / (is_wide ? 4 : 8);
  PlainTeam best;
  for (const PlainRow& row : is_wide ? plain_rows_of_4 : plain_rows_of_2) {
    if (row.form == PlainForm::cluster &&
        (device.compute_capability != 90 || !gpu::has_nvidia_kernels))
      continue;
    if (best.packs != 0 && best.form != row.form) break;
    const PlainTeam team =
        plain_team(row, packs, is_softmax(p.op) ? plain_softmax_blocks : plain_norm_blocks);
    if (team.lanes > 0 && (best.packs == 0 || team.places() <= best.places())) best = team;
  }
  return best;
}

// Blocks of a launch, and the shared memory in which a norm's blocks keep gamma and beta (0: they
// do not), where each takes several rows.
struct PlainGrid {
  std::int64_t blocks;  // as many as run at once, where they keep planes
  std::size_t plane_bytes;
};
template <bool softmax, class T>
PlainGrid plain_grid(const Rowwise& p, const Device& device, const PlainTeam& team,
                     std::int64_t blocks, int threads, int most_threads_per_sm) {
  if (softmax || (p.gamma == nullptr && p.beta == nullptr)) return {blocks, 0};
  const int packs = team.form == PlainForm::cluster
                        ? team.slice_packs
                        : static_cast<int>(p.cols) / rowwise::a_pack_of<T>;
  const std::size_t bytes = static_cast<std::size_t>(rowwise::plane_pitch(packs)) *
                            rowwise::a_pack_of<T> * sizeof(float2);
  constexpr std::size_t reserved = 2560;  // of each block, with its other shared memory
  const auto by_shared = static_cast<int>(device.shared_bytes_per_sm / (bytes + reserved));
  const int per_sm = std::min(most_threads_per_sm / threads, by_shared);
  const std::int64_t at_once = std::int64_t{device.sm_count} * per_sm;
  if (per_sm == 0 || bytes + reserved > device.shared_bytes_per_block_optin ||
      blocks < plain_rounds_with_planes * at_once)
    return {blocks, 0};
  return {at_once, bytes};
}

template <bool softmax, class T, int packs>
Status launch_lanes_of_plain(const Rowwise& p, const Device& device, const PlainTeam& team,
                             Stream stream) {
  constexpr int per_sm = rowwise::plain_warp_blocks<packs * rowwise::a_pack_of<T>>;
  const PlainGrid grid = plain_grid<softmax, T>(
      p, device, team, ceil_div(p.rows, std::int64_t{plain_warp_threads / team.lanes}),
      plain_warp_threads, plain_warp_threads * per_sm);
  return gpu::launch(rowwise::plain_rows_of_lanes<softmax, T, packs>,
                     {dim3(static_cast<unsigned>(grid.blocks)), dim3(plain_warp_threads),
                      grid.plane_bytes, stream},
                     p, team.lanes, grid.plane_bytes > 0);
}

template <bool softmax, class T, int packs>
Status launch_blocks_of_plain(const Rowwise& p, const Device& device, const PlainTeam& team,
                              Stream stream) {
  constexpr int most = rowwise::plain_most_threads<packs * rowwise::a_pack_of<T>>;
  const PlainGrid grid = plain_grid<softmax, T>(p, device, team, p.rows, team.lanes, 2 * most);
  return gpu::launch(rowwise::plain_rows_of_blocks<softmax, T, packs>,
                     {dim3(static_cast<unsigned>(grid.blocks)),
                      dim3(static_cast<unsigned>(team.lanes)), grid.plane_bytes, stream},
                     p, grid.plane_bytes > 0);
}

template <bool softmax, class T, int packs>
Status launch_clusters_of_plain(const Rowwise& p, const Device& device, const PlainTeam& team,
                                Stream stream) {
  if constexpr (gpu::has_nvidia_kernels) {
    const auto kernel = rowwise::plain_rows_of_clusters<softmax, T, packs>;
    constexpr int most = rowwise::plain_cluster_threads;
    PlainGrid grid =
        plain_grid<softmax, T>(p, device, team, p.rows * team.blocks, team.lanes, 2 * most);
    gpu::LaunchConfig config = {
        // A cluster at least, however few blocks the device has room for at once.
        .grid = dim3(static_cast<unsigned>(std::max<std::int64_t>(grid.blocks / team.blocks, 1) *
                                           team.blocks)),
        .block = dim3(static_cast<unsigned>(team.lanes)),
        .shared_bytes = sizeof(rowwise::ClusterMemory) + grid.plane_bytes,
        .stream = stream,
        .cluster = team.blocks};
    // Clusters that take several rows all run at once: who waits for others to end is late.
    if (grid.plane_bytes > 0) {
      int clusters = 0;
      Status asked =
          gpu::clusters_at_once(reinterpret_cast<const void*>(kernel), config, &clusters);
      if (!asked.ok()) return asked;
      const auto wanted = static_cast<int>(config.grid.x) / team.blocks;
      config.grid = dim3(static_cast<unsigned>(std::clamp(clusters, 1, wanted) * team.blocks));
    }
    return gpu::launch(kernel, config, p, team.blocks, team.slice_packs, grid.plane_bytes > 0);
  }
  return Status::success();
}

template <bool softmax>
Status launch_plain(const Rowwise& p, const Device& device, Stream stream) {
  const PlainTeam team = plain_team_of(p, device);
  const auto of_16 = [&](auto element) {
    using T = decltype(element);
    if (team.form == PlainForm::lanes) {
      return team.packs == 2 ? launch_lanes_of_plain<softmax, T, 2>(p, device, team, stream)
                             : launch_lanes_of_plain<softmax, T, 3>(p, device, team, stream);
    }
    if (team.form == PlainForm::cluster)
      return launch_clusters_of_plain<softmax, T, 4>(p, device, team, stream);
    return team.packs == 3 ? launch_blocks_of_plain<softmax, T, 3>(p, device, team, stream)
                           : launch_blocks_of_plain<softmax, T, 4>(p, device, team, stream);
  };
  if (p.type == DataType::float16) return of_16(float16{});
  if (p.type == DataType::bfloat16) return of_16(bfloat16{});
  if (team.form == PlainForm::lanes) {
    return team.packs == 4 ? launch_lanes_of_plain<softmax, float, 4>(p, device, team, stream)
                           : launch_lanes_of_plain<softmax, float, 6>(p, device, team, stream);
  }
  if (team.form == PlainForm::cluster)
    return launch_clusters_of_plain<softmax, float, 6>(p, device, team, stream);
  return team.packs == 4 ? launch_blocks_of_plain<softmax, float, 4>(p, device, team, stream)
                         : launch_blocks_of_plain<softmax, float, 6>(p, device, team, stream);
}

}  // namespace

bool rowwise_plain_supports(const Rowwise& p, const Device& device) {
  if (!rowwise::is_plain(p)) return false;
  const PlainTeam team = plain_team_of(p, device);
  return team.packs > 0 && p.rows <= most_plain_blocks / team.blocks;
}

Status rowwise_plain(const Rowwise& p, const Device& device, Workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  return is_softmax(p.op) ? launch_plain<true>(p, device, stream)
                          : launch_plain<false>(p, device, stream);
}

}  // namespace KW_TARGET
