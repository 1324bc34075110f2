// Tiles that the blocks of a cluster share: who has which iterations, how many clusters a device
// holds, and where they are chosen.
#include <gtest/gtest.h>

#include "stream_support.hpp"

namespace kw {
namespace {

Device device_with_clusters(int sms = 132) {
  Device device = stream_device(sms);
  device.compute_capability = 90;
  return device;
}

TEST(StreamPlan, AClusterHasItsTileAndEachBlockAShare) {
  StreamSchedule shape;
  shape.tiles = 7;
  for (int iterations = 8; iterations < 30; ++iterations) {
    shape.iterations = iterations;
    for (int parts = 2; parts <= stream_cluster_parts; ++parts) {
      const StreamSchedule s = detail::cut_stream_by_clusters(shape, parts);
      EXPECT_EQ(s.blocks, 7 * parts);
      EXPECT_EQ(s.slots(), 0) << "no workspace";
      for (int cluster = 0; cluster < 7; ++cluster) {
        int end = 0;
        for (int rank = 0; rank < parts; ++rank) {
          const StreamWork work = s.of_cluster(cluster, rank);
          EXPECT_EQ(work.tile, cluster);
          EXPECT_EQ(work.begin, end);
          EXPECT_GE(work.end - work.begin, iterations / parts);
          EXPECT_LE(work.end - work.begin, ceil_div(iterations, parts));
          end = work.end;
        }
        EXPECT_EQ(end, iterations);
      }
    }
  }
}

// A cluster lies in one GPC. On 132 SMs those that were measured to run in one round, and not those
// that took two.
TEST(StreamPlan, ClustersFillGpcsNotDevices) {
  EXPECT_EQ(blocks_in_clusters(132, 1, 2), 132);
  const auto fits = [](int clusters, int parts, int blocks_per_sm) {
    return clusters * parts <= blocks_in_clusters(132, blocks_per_sm, parts);
  };
  EXPECT_TRUE(fits(38, 3, 1) && fits(29, 4, 1) && fits(22, 5, 1) && fits(15, 8, 1));
  EXPECT_FALSE(fits(40, 3, 1) || fits(31, 4, 1) || fits(18, 6, 1) || fits(16, 7, 1));
  EXPECT_TRUE(fits(75, 3, 2) && fits(58, 4, 2) && fits(43, 5, 2) && fits(36, 6, 2) &&
              fits(30, 7, 2) && fits(26, 8, 2));
  EXPECT_FALSE(fits(77, 3, 2) || fits(60, 4, 2) || fits(46, 5, 2) || fits(38, 6, 2) ||
               fits(32, 7, 2) || fits(28, 8, 2));
  EXPECT_EQ(blocks_in_clusters(114, 1, 8), 12 * 8) << "15 clusters of 132 SMs, in proportion";
  EXPECT_EQ(blocks_in_clusters(2, 1, 2), 2);
  EXPECT_EQ(blocks_in_clusters(2, 1, 3), 0);
}

TEST(StreamPlan, ClustersAreChosenWhereTheyAreQuicker) {
  StreamTile tile = tile_of_times(64, 64, 32);
  tile.config.clusters = true;
  tile.config.blocks_per_sm = 1;
  tile.times.cluster_us = 2;
  tile.times.crowded_cluster_us = 3;
  // 30 tiles of 12 iterations: 4 blocks each.
  Sgemm p = stream_product(5 * 64, 6 * 64, 12 * 32);
  p.op_a = Op::transpose, p.lda = p.m;
  const auto plan = plan_stream_tile(tile, p, device_with_clusters());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->schedule.cluster, 4);
  EXPECT_EQ(plan->schedule.blocks, 120);
  EXPECT_EQ(plan->schedule.share, 3);
  EXPECT_DOUBLE_EQ(plan->time_us, 10 + 3 * 4 + 2);
  EXPECT_EQ(stream_workspace_bytes(tile, plan->schedule), 0U);

  const auto cluster = [&](const StreamTile& of, const Device& device) {
    return plan_stream_tile(of, p, device)->schedule.cluster;
  };
  EXPECT_EQ(cluster(tile, stream_device()), 0) << "a device without clusters";
  StreamTile other = tile;
  other.config.clusters = false;
  EXPECT_EQ(cluster(other, device_with_clusters()), 0);
  other = tile;
  other.times.cluster_us = 5;
  EXPECT_EQ(cluster(other, device_with_clusters()), 0) << "no quicker than part_us";
  other = tile;
  other.config.blocks_per_sm = 2;
  other.times.crowded_iteration_us = 4;
  const auto crowded = plan_stream_tile(other, p, device_with_clusters());
  EXPECT_EQ(crowded->schedule.cluster, 6) << "234 blocks fit where SMs take two";
  EXPECT_DOUBLE_EQ(crowded->time_us, 10 + 2 * 4 + 3);
  p.m = 0;
  EXPECT_EQ(cluster(tile, device_with_clusters()), 0);
  p.m = 5 * 64, p.k = 0;
  EXPECT_EQ(cluster(tile, device_with_clusters()), 0);
  p.k = 12 * 32, p.m = 12 * 64;
  EXPECT_EQ(cluster(tile, device_with_clusters()), 0) << "72 tiles: two blocks each are too many";
}

// More blocks than fit clusters on SMs of their own share SMs, and so ask for no more memory.
TEST(StreamPlan, ClustersHaveAnSmABlockWhereTheyFit) {
  Device device = device_with_clusters();
  device.shared_bytes_per_sm = 228 << 10;
  device.shared_bytes_per_block_optin = 227 << 10;
  const StreamTile tile = tile_of_times(64, 64, 32);
  const std::size_t needed = 70 << 10;
  const auto bytes = [&](int tiles) {
    StreamSchedule shape;
    shape.tiles = tiles;
    shape.iterations = 16;
    return stream_shared_bytes(tile, detail::cut_stream_by_clusters(shape, 8), device, needed);
  };
  EXPECT_EQ(bytes(15), std::size_t{114 << 10});
  EXPECT_EQ(bytes(16), needed);
}

}  // namespace
}  // namespace kw
