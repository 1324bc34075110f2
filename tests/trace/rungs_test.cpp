// Rungs of the ladders: what their definition says they read and write, at whole tiles and at
// edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "arithmetic.hpp"
#include "reduce/problem.hpp"
#include "sgemm/problem.hpp"
#include "trace/fixture.hpp"

namespace kw::on_host {
KernelLaunch<Sgemm> r02_naive_coalesced, r07_conflict_free, r12_async_copy, r15_warp_specialised;
KernelLaunch<Reduce> r03_sequential;
}  // namespace kw::on_host

namespace kw::trace {
namespace {

class Rungs : public TraceTest {
 protected:
  LaunchCounts product(KernelLaunch<Sgemm>* rung, std::int64_t m, std::int64_t n, std::int64_t k) {
    Sgemm p{};
    p.m = m;
    p.n = n;
    p.k = k;
    p.alpha = 1;
    p.a = floats(m * k);
    p.lda = k;
    p.b = floats(k * n);
    p.ldb = n;
    p.c = floats(m * n);
    p.ldc = n;
    return traced_one([&] { return rung(p, device(), {}, {}); });
  }
};

// Thread 0's steps: "2L 4w:as ".
std::string steps_of(const LaunchCounts& launch) {
  std::string text;
  for (const ThreadStep& step : launch.steps.at(0)) {
    text += std::to_string(step.count) + step.what;
    if (!step.memory.empty()) text += ":" + step.memory.substr(step.memory.rfind(':') + 1);
    text += ' ';
  }
  return text;
}

// Sectors of `count` floats from element `first` on of an aligned array.
std::uint64_t sectors_of(std::int64_t first, std::int64_t count) {
  constexpr std::int64_t floats_per_sector = 8;
  return static_cast<std::uint64_t>((first + count - 1) / floats_per_sector -
                                    first / floats_per_sector + 1);
}

// A warp of r02 has 32 neighbouring columns of one row: at each k it reads one element of A and a
// piece of a row of B.
void expect_naive(const LaunchCounts& launch, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::uint64_t requests = 0, lanes = 0, sectors = 0, stores = 0, stored = 0;
  for (std::int64_t col = 0; col < n; col += 32) {
    const std::int64_t width = std::min<std::int64_t>(32, n - col);
    for (std::int64_t i = 0; i < k; ++i) {
      requests += 2 * static_cast<std::uint64_t>(m);
      lanes += static_cast<std::uint64_t>(2 * m * width);
      sectors += static_cast<std::uint64_t>(m) * (1 + sectors_of(i * n + col, width));
    }
    for (std::int64_t row = 0; row < m; ++row) {
      ++stores;
      stored += sectors_of(row * n + col, width);
    }
  }
  const AccessCounts loads = launch.total(Kind::global_load);
  EXPECT_EQ(loads.requests, requests);
  EXPECT_EQ(loads.lanes, lanes);
  EXPECT_EQ(loads.units, sectors);
  EXPECT_EQ(launch.total(Kind::global_store).requests, stores);
  EXPECT_EQ(launch.total(Kind::global_store).units, stored);
  EXPECT_TRUE(launch.races.empty());
}

TEST_F(Rungs, NaiveCoalesced) {
  const LaunchCounts launch = product(on_host::r02_naive_coalesced, 64, 256, 256);
  expect_naive(launch, 64, 256, 256);
  const AccessCounts loads = launch.total(Kind::global_load);
  EXPECT_EQ(2 * loads.units, 5 * loads.requests);  // 4 sectors for B, 1 for A
  EXPECT_EQ(launch.bytes_read, 4u * (64 * 256 + 256 * 256));
  EXPECT_EQ(launch.bytes_written, 4u * 64 * 256);
}

TEST_F(Rungs, NaiveCoalescedAtEdges) {
  expect_naive(product(on_host::r02_naive_coalesced, 33, 41, 19), 33, 41, 19);
  expect_naive(product(on_host::r02_naive_coalesced, 50, 101, 99), 50, 101, 99);
}

// Two tiles of 128 x 128; at each of 64 k a warp reads 16 bytes a lane four times: two of A, the
// same for 16 lanes (2 wavefronts), two of B, side by side for 16 lanes (4).
TEST_F(Rungs, ConflictFree) {
  const LaunchCounts launch = product(on_host::r07_conflict_free, 128, 256, 64);
  const std::uint64_t steps = 2 * 8 * 64;  // of warps
  expect_counts(launch, Kind::shared_load, 4 * steps, 32 * 4 * steps, (2 * 2 + 2 * 4) * steps);
  // Per tile of 8 along k, a thread loads one vector of A and one of B: 16 sectors a warp.
  expect_counts(launch, Kind::global_load, 2 * steps / 8, 32 * 2 * steps / 8, 16 * 2 * steps / 8);
  // C: 64 elements a thread in 16 vectors, 16 lanes side by side: 2 rows of 256 bytes.
  expect_counts(launch, Kind::global_store, 16 * 16, 32 * 16 * 16, 16 * 16 * 16);
  EXPECT_TRUE(launch.races.empty());
}

// Per tile of 16 along k, a thread copies 8 single elements of A and two vectors of B.
TEST_F(Rungs, WhatPicturesShow) {
  const LaunchCounts launch = product(on_host::r07_conflict_free, 128, 128, 16);
  EXPECT_EQ(steps_of(launch).substr(0, 20), "2L 4w:as 1w:bs 1| 16");  // a tile's copies, a barrier
  ASSERT_EQ(launch.stores.size(), 16U);  // 8 x 8 outputs a thread, four in a store
  for (const ExampleAccess& store : launch.stores) {
    EXPECT_EQ(store.bytes, 16);
    EXPECT_EQ(store.offset[1] - store.offset[0], 16);
    EXPECT_EQ(store.offset[16] - store.offset[0], 4 * 128 * 4);  // 16 lanes along n, then 4 rows on
  }
  bool has_read_of_as = false;
  for (const auto& [site, example] : launch.examples)
    if (site.kind == Kind::shared_load && example.memory.find("as") != std::string::npos)
      has_read_of_as = example.bytes == 16 && example.offset[0] == example.offset[15];
  EXPECT_TRUE(has_read_of_as);
  const LaunchCounts naive = product(on_host::r02_naive_coalesced, 32, 32, 4);
  EXPECT_EQ(steps_of(naive), "8L 1S ");
  EXPECT_TRUE(naive.shared_requests.empty());
}

// The warpgroup that copies meets those that multiply at mbarriers only; the first of these stores
// C.
TEST_F(Rungs, StepsOfWarpsWithDifferentWork) {
  const LaunchCounts launch = product(on_host::r15_warp_specialised, 128, 256, 32);
  const auto has = [&](int thread, char what) {
    const std::vector<ThreadStep>& steps = launch.steps.at(thread);
    return std::any_of(steps.begin(), steps.end(),
                       [&](const ThreadStep& step) { return step.what == what; });
  };
  EXPECT_TRUE(has(0, 'c') && has(0, 'q') && has(0, 'a') && !has(0, 'r') && !has(0, 'S'));
  EXPECT_TRUE(has(128, 'r') && has(128, 'q') && has(128, 'S') && !has(128, 'c'));
  EXPECT_FALSE(launch.stores.empty());
  // 12 warps at the block's barrier; 8 at the barrier of those that multiply, after one of the two
  // stages.
  EXPECT_EQ(launch.warp_barriers, 12U + 8U);
}

TEST_F(Rungs, AsyncCopy) {
  const LaunchCounts launch = product(on_host::r12_async_copy, 128, 128, 64);
  const std::uint64_t tiles = 64 / 16, warps = 8;
  const std::uint64_t copies = tiles * warps * (8 + 2);
  const std::uint64_t sectors = tiles * (128 * 16 + 16 * 128) / 8;  // each element once
  expect_counts(launch, Kind::async_copy_from, copies, 32 * copies, sectors);
  EXPECT_EQ(launch.total(Kind::global_load).requests, 0u);
  EXPECT_EQ(launch.total(Kind::shared_store).requests, 0u);
  EXPECT_TRUE(launch.races.empty());
}

// At edges each element that exists is still read once a tile that needs it, and no other.
TEST_F(Rungs, AsyncCopyAtEdges) {
  const LaunchCounts launch = product(on_host::r12_async_copy, 130, 67, 21);
  EXPECT_TRUE(launch.races.empty());
  const auto whole = [](std::int64_t floats) {
    return static_cast<std::uint64_t>(ceil_div(floats, 8)) * 32;
  };
  EXPECT_EQ(launch.bytes_read, whole(130 * 21) + whole(21 * 67));
  EXPECT_EQ(launch.bytes_written, whole(130 * 67));
}

// A block of 256 threads: s = 128, 64, 32 keep 4, 2 and 1 warps at work, 16 ... 1 one warp of s
// lanes; each of them reads two elements and writes one. Then one thread reads the sum.
TEST_F(Rungs, SequentialReduction) {
  constexpr std::int64_t blocks = 6, n = blocks * 256;
  Reduce p{};
  p.op = ReduceOp::sum;
  p.type = DataType::float32;
  p.data = floats(n);
  p.rows = 1;
  p.cols = n;
  p.ld = n;
  p.out = floats(64);
  const Workspace workspace{floats(256), 256 * sizeof(float), nullptr};
  const std::vector<LaunchCounts> launches =
      traced([&] { return on_host::r03_sequential(p, device(), workspace, {}); });
  ASSERT_EQ(launches.size(), 2u);  // over the elements, over the sums of blocks
  const LaunchCounts& first = launches.front();
  const std::uint64_t turns = 4 + 2 + 1 + 5, lanes = 128 + 64 + 32 + 16 + 8 + 4 + 2 + 1;
  expect_counts(first, Kind::shared_load, blocks * (2 * turns + 1), blocks * (2 * lanes + 1),
                blocks * (2 * turns + 1));
  expect_counts(first, Kind::shared_store, blocks * (8 + turns), blocks * (256 + lanes),
                blocks * (8 + turns));
  expect_counts(first, Kind::global_load, blocks * 8, blocks * 256, blocks * 8 * 4);
  EXPECT_EQ(first.block_barriers, static_cast<std::uint64_t>(blocks) * (1 + 8));
  EXPECT_TRUE(first.races.empty());
}

}  // namespace
}  // namespace kw::trace
