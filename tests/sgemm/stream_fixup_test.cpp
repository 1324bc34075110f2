// stream_tile's fixups: where a tile has more parts than a block adds up at a time, and in clusters
// of each size. On a machine with few cores no other test has so many parts, as host SIMT's
// multiprocessors are as many as its workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/run_kernel.hpp"
#include "hopper_subjects.hpp"
#include "host_simt/host_simt.hpp"
#include "sgemm/kernels.hpp"
#include "sgemm/stream/plan.hpp"
#include "support/kept_options.hpp"

namespace kw {
namespace {

class StreamFixup : public testing::TestWithParam<Kernel<Sgemm>> {
 protected:
  StreamFixup() { host_simt::options().workers = 37; }

 private:
  const test::KeptOptions kept_;
};

const StreamTile& stream_tile_of(const Kernel<Sgemm>& kernel) {
  return *std::find_if(
      std::begin(stream_tiles), std::end(stream_tiles),
      [&](const StreamTile& tile) { return kernel.name == std::string(tile.name); });
}

// Host SIMT computes whole tiles, the larger of which would take long.
std::vector<Kernel<Sgemm>> small_stream_kernels() {
  std::vector<Kernel<Sgemm>> found;
  for (const Kernel<Sgemm>& kernel : on_host::sgemm_production()) {
    if (std::string_view(kernel.name).substr(0, 7) != "stream_") continue;
    const StreamTileConfig& config = stream_tile_of(kernel).config;
    if (config.bm * config.bn <= 64 * 64) found.push_back(kernel);
  }
  return found;
}

TEST_P(StreamFixup, GroupsOfPartsAddUpInAnyOrder) {
  const StreamTile& tile = stream_tile_of(GetParam());
  for (const auto order :
       {host_simt::Order::forward, host_simt::Order::reverse, host_simt::Order::random}) {
    host_simt::options().order = order;
    const std::unique_ptr<Runtime> runtime = open_host_simt();
    check::SgemmCase c;
    c.m = tile.config.bm - 1;
    c.n = tile.config.bn - 2;
    c.k = 9000;
    c.alpha = -1.5f;
    c.beta = 0.5f;
    check::Workbench bench(*runtime);
    check::SgemmTrial trial(bench, c);
    const auto plan = plan_stream_tile(tile, trial.problem(), runtime->device());
    ASSERT_TRUE(plan);
    // Under AddressSanitizer there is one worker, and so one multiprocessor, whatever was asked.
    if (runtime->device().sm_count > 1) {
      const int parts = plan->schedule.parts(plan->schedule.first(0), 0).count;
      EXPECT_GT(parts, stream_fan);
      EXPECT_NE(parts % stream_fan, 0) << "the last group was to be smaller";
    }
    const check::VerifyResult result = trial.verify(GetParam());
    EXPECT_TRUE(result.ok()) << to_string(order) << " " << describe(c) << ": " << result.message;
  }
}

// A kernel whose plan cuts each tile among a cluster of that many blocks.
struct ForcedCluster {
  const StreamTile* tile;
  int parts;
};
ForcedCluster forced_cluster;

std::optional<Plan<Sgemm>> plan_of_forced_cluster(const Sgemm& p, const Device&) {
  const auto shape = detail::stream_shape(forced_cluster.tile->config, p);
  if (!shape || shape->iterations < forced_cluster.parts) return std::nullopt;
  Plan<Sgemm> plan;
  plan.data.set(detail::cut_stream_by_clusters(*shape, forced_cluster.parts));
  return plan;
}

TEST_P(StreamFixup, ClustersAddUpInAnyOrder) {
  const StreamTile& tile = stream_tile_of(GetParam());
  if (!tile.config.clusters) return;
  Kernel<Sgemm> kernel = GetParam();
  kernel.make_plan = plan_of_forced_cluster;
  host_simt::options().workers = 2;
  for (int parts = 2; parts <= stream_cluster_parts; ++parts) {
    constexpr host_simt::Order orders[] = {host_simt::Order::forward, host_simt::Order::reverse,
                                           host_simt::Order::random};
    host_simt::options().order = orders[parts % 3];
    forced_cluster = {&tile, parts};
    const std::unique_ptr<Runtime> runtime = open_host_simt();
    check::Workbench bench(*runtime);
    check::SgemmCase c;
    c.k = tile.config.bk * (parts + 1) - 3;  // the first block has one iteration more
    // Two tiles, at an edge: vectors of C that are aligned, with and without C, or not aligned.
    c.m = tile.config.bm + 3;
    c.n = tile.config.bn - (parts % 2 == 0 ? 4 : 2);
    c.alpha = -1.5f;
    c.beta = parts % 4 < 2 ? 0.5f : 0;
    c.batch = parts == 5 ? 2 : 1;
    check::SgemmTrial trial(bench, c);
    const check::VerifyResult result = trial.verify(kernel);
    EXPECT_TRUE(result.ok()) << parts << " parts, " << describe(c) << ": " << result.message;
  }
}

// A kernel whose blocks sum up one or two iterations at a time.
struct ForcedPieces {
  const StreamTile* tile;
  int iterations;
};
ForcedPieces forced_pieces;

std::optional<Plan<Sgemm>> plan_of_forced_pieces(const Sgemm& p, const Device& device) {
  const StreamTile& tile = *forced_pieces.tile;
  auto planned = plan_stream_tile(tile, p, device);
  if (!planned) return std::nullopt;
  planned->schedule.piece = forced_pieces.iterations;
  planned->schedule.totals = tile.config.warps_k == 1 ? 1 : 0;
  Plan<Sgemm> plan;
  plan.workspace_bytes = stream_workspace_bytes(tile, planned->schedule);
  plan.data.set(planned->schedule);
  return plan;
}

// Tiles that a block has to itself, one after the other, and tiles that blocks share.
void expect_pieces(const Kernel<Sgemm>& row, int workers, host_simt::Order order) {
  const StreamTile& tile = stream_tile_of(row);
  Kernel<Sgemm> kernel = row;
  kernel.make_plan = plan_of_forced_pieces;
  host_simt::options().workers = workers;
  host_simt::options().order = order;
  const std::unique_ptr<Runtime> runtime = open_host_simt();
  check::Workbench bench(*runtime);
  for (const int iterations : {1, 2}) {
    forced_pieces = {&tile, iterations};
    check::SgemmCase c;
    c.m = tile.config.bm + 1;
    c.n = tile.config.bn - 1;
    c.k = 5 * tile.config.bk + 3;
    c.alpha = -1.5f;
    c.beta = iterations == 1 ? 0.5f : 0;
    check::SgemmTrial trial(bench, c);
    const check::VerifyResult result = trial.verify(kernel);
    EXPECT_TRUE(result.ok()) << workers << " workers, " << to_string(order) << " " << describe(c)
                             << ": " << result.message;
  }
}

TEST_P(StreamFixup, PiecesAddUpInAnyOrder) {
  expect_pieces(GetParam(), 1, host_simt::Order::random);
  expect_pieces(GetParam(), 3, host_simt::Order::reverse);
}

TEST(StreamPieces, LargeTilesAddUpInTheWorkspace) {
  const test::KeptOptions kept;
  int kernels = 0;
  for (const Kernel<Sgemm>& kernel : on_host::sgemm_production()) {
    if (std::string_view(kernel.name).substr(0, 7) != "stream_") continue;
    if (stream_tile_of(kernel).config.warps_k > 1) continue;
    SCOPED_TRACE(kernel.name);
    expect_pieces(kernel, ++kernels % 2 == 0 ? 1 : 3, host_simt::Order::random);
  }
  EXPECT_GT(kernels, 4);
}

// Where there is no room to add up pieces, sums are longer.
Kernel<Sgemm> kernel_of_pieces;

TEST(StreamPieces, WithoutWorkspaceSumsAreNotCut) {
  for (const Kernel<Sgemm>& kernel : on_host::sgemm_production())
    if (kernel.name == std::string("stream_64x256")) kernel_of_pieces = kernel;
  ASSERT_NE(kernel_of_pieces.name, nullptr);
  Kernel<Sgemm> limited = kernel_of_pieces;
  limited.launch_plan = [](const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                           Workspace workspace, Stream stream) {
    workspace.bytes = plan.needed_workspace_bytes();
    if (workspace.bytes == 0) workspace.data = nullptr;
    return kernel_of_pieces.launch_plan(p, device, plan, workspace, stream);
  };
  const std::unique_ptr<Runtime> runtime = open_host_simt();
  check::Workbench bench(*runtime);
  // As many tiles as blocks are resident, so that each has one to itself.
  const std::int64_t tiles = std::int64_t{runtime->device().sm_count} *
                             stream_tile_of(kernel_of_pieces).config.blocks_per_sm;
  check::SgemmTrial trial(bench, {.m = 64 * tiles, .n = 256, .k = 4100});
  const auto plan = plan_for(kernel_of_pieces, trial.problem(), runtime->device());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->needed_workspace_bytes(), 0U);
  EXPECT_GT(plan->workspace_bytes, 0U);
  const check::VerifyResult result = trial.verify(limited);
  EXPECT_TRUE(result.ok()) << result.message;
}

INSTANTIATE_TEST_SUITE_P(Tiles, StreamFixup, testing::ValuesIn(small_stream_kernels()),
                         kernel_name);

}  // namespace
}  // namespace kw
