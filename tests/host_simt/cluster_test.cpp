// Clusters in host SIMT: that blocks which send each other values and wait for them pass in every
// order, and that wrong ones are found.
#include "device/cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/bulk_copy.hpp"
#include "planted_mistakes.hpp"
#include "support/run_seed.hpp"

namespace KW_TARGET {
namespace {

using host_simt::Order;

constexpr int seeds = 20;
constexpr unsigned threads = 64;
constexpr int most = 8;

enum class Mistake {
  none,
  no_wait_for_the_cluster,
  no_wait_for_what_is_sent,
  leaves_before_all_has_come,
  expects_too_much,
  one_block_never_arrives,
  sends_beyond_the_cluster,
  sends_from_elsewhere,
  arrives_twice,
  waits_without_arrival,
  leaves_without_wait,
};

struct Mail {
  float4 from[most][threads];  // [rank][lane]
  Mbarrier received;
};

float4 letter_of(unsigned block, unsigned thread) {
  const auto x = static_cast<float>(100 * block + thread);
  return make_float4(x, -x, x + 0.5f, 1);
}

// Each block of a cluster sends each other one a vector a thread; out[block][thread] is the sum of
// what came, plus the cluster's number in w.
template <Mistake mistake>
__global__ void exchange(int parts, float4* out) {
  Mail& mail = *gpu::dynamic_shared<Mail>();
  const unsigned tid = threadIdx.x;
  const int rank = rank_in_cluster();
  if (tid == 0) mbarrier_init(&mail.received, 1);
  if (mistake == Mistake::waits_without_arrival) wait_for_cluster();
  if (mistake != Mistake::one_block_never_arrives || rank != 1) arrive_at_cluster();
  if (mistake == Mistake::arrives_twice) arrive_at_cluster();
  __syncthreads();
  if (mistake == Mistake::leaves_without_wait && tid >= 32) return;
  if (mistake == Mistake::one_block_never_arrives && rank == 1) {
    mbarrier_wait(&mail.received, 0);
  }
  if (tid == 0) {
    auto bytes = static_cast<unsigned>(parts - 1) * threads * 16;
    if (mistake == Mistake::expects_too_much) bytes += 16;
    mbarrier_arrive_expecting(&mail.received, bytes);
  }
  if (mistake != Mistake::no_wait_for_the_cluster) wait_for_cluster();
  const float4 own = letter_of(blockIdx.x, tid);
  for (int to = 0; to < parts; ++to) {
    float4* const at = &mail.from[rank][tid];
    float4 elsewhere;
    if (to == rank)
      *at = own;
    else
      send_to_block(mistake == Mistake::sends_beyond_the_cluster ? to + parts : to,
                    mistake == Mistake::sends_from_elsewhere ? &elsewhere : at, own,
                    &mail.received);
  }
  if (mistake == Mistake::leaves_before_all_has_come) return;
  if (mistake != Mistake::no_wait_for_what_is_sent) mbarrier_wait(&mail.received, 0);
  float4 sum = {};
  for (int i = 0; i < parts; ++i) {
    const float4 part = mail.from[i][tid];
    sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
  }
  sum.w += static_cast<float>(cluster_index());
  out[blockIdx.x * threads + tid] = sum;
}

constexpr unsigned clusters = 3;

template <Mistake mistake>
Status launch_exchange(int parts, std::vector<float4>* out) {
  const unsigned blocks = clusters * static_cast<unsigned>(parts);
  out->assign(std::size_t{blocks} * threads, float4{-1, -1, -1, -1});
  return gpu::launch(
      exchange<mistake>,
      {.grid = blocks, .block = threads, .shared_bytes = sizeof(Mail), .cluster = parts}, parts,
      out->data());
}

bool is_right(int parts, const std::vector<float4>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const unsigned of_cluster = static_cast<unsigned>(parts);
    const auto block = static_cast<unsigned>(i / threads),
               thread = static_cast<unsigned>(i % threads);
    const unsigned cluster = block / of_cluster, first = cluster * of_cluster;
    float x = 0;  // of small integers: exact
    for (unsigned b = first; b < first + of_cluster; ++b) x += letter_of(b, thread).x;
    const auto n = static_cast<float>(parts);
    const float4& got = out[i];
    if (got.x != x || got.y != -x || got.z != x + n / 2 || got.w != n + static_cast<float>(cluster))
      return false;
  }
  return true;
}

template <Mistake mistake>
bool is_caught() {
  std::vector<float4> out;
  return !launch_exchange<mistake>(3, &out).ok() || !is_right(3, out);
}

template <Mistake mistake>
void expect_fault_in_every_order(std::initializer_list<const char*> parts) {
  for (const Order order : orders) {
    host_simt::options().order = order;
    std::vector<float4> out;
    const Status status = launch_exchange<mistake>(3, &out);
    EXPECT_EQ(status.code, StatusCode::device_error);
    for (const char* part : parts)
      EXPECT_NE(status.message.find(part), std::string::npos) << part << " in " << status.message;
  }
}

TEST_F(HostSimt, BlocksOfAClusterSendEachOtherValuesInEveryOrder) {
  for (const Order order : orders) {
    options().order = order;
    for (int parts = 1; parts <= most; ++parts) {
      for (int seed = 0; seed < (order == Order::random ? seeds : 1); ++seed) {
        options().seed = run_seed() + static_cast<std::uint64_t>(seed);
        std::vector<float4> out;
        expect_ok(launch_exchange<Mistake::none>(parts, &out));
        ASSERT_TRUE(is_right(parts, out)) << to_string(order) << " seed " << seed << " " << parts;
      }
    }
  }
}

TEST_F(HostSimt, MissingWaitsInAClusterAreCaught) {
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_wait_for_the_cluster>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::no_wait_for_what_is_sent>);
  expect_caught_in_every_order(seeds, is_caught<Mistake::leaves_before_all_has_come>);
}

TEST_F(HostSimt, FaultsInAClusterNameTheirCause) {
  expect_fault_in_every_order<Mistake::no_wait_for_the_cluster>({"kernel exchange<", "mbarrier"});
  expect_fault_in_every_order<Mistake::expects_too_much>(
      {"deadlock: an mbarrier waits for bytes", "64 threads at mbarrier_wait"});
  expect_fault_in_every_order<Mistake::one_block_never_arrives>(
      {"deadlock: an mbarrier waits for an arrival", "block (1,0,0)"});
  expect_fault_in_every_order<Mistake::sends_beyond_the_cluster>(
      {"send_to_block to block", "of a cluster of 3"});
  expect_fault_in_every_order<Mistake::sends_from_elsewhere>(
      {"send_to_block to an address outside of the dynamic shared memory"});
  expect_fault_in_every_order<Mistake::arrives_twice>({"arrive_at_cluster for a second time"});
  expect_fault_in_every_order<Mistake::waits_without_arrival>(
      {"wait_for_cluster without arrive_at_cluster"});
  expect_fault_in_every_order<Mistake::leaves_without_wait>(
      {"it left the kernel between arrive_at_cluster and wait_for_cluster"});
}

// --- what is no cluster

__global__ void with_an_array(float* out) {
  __shared__ float array[32];
  array[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = array[31 - threadIdx.x];
}

TEST_F(HostSimt, ClustersThatADeviceWouldNotTakeAreRefused) {
  std::vector<float4> out(64 * threads);
  const auto launch = [&](unsigned blocks, int cluster) {
    return gpu::launch(
        exchange<Mistake::none>,
        {.grid = blocks, .block = threads, .shared_bytes = sizeof(Mail), .cluster = cluster},
        cluster, out.data());
  };
  expect_fault(launch(17, 17), {"clusters of 17 blocks in grid (17,1,1)", "1 to 16"});
  expect_fault(launch(4, 0), {"clusters of 0 blocks"});
  expect_fault(launch(4, 3), {"clusters of 3 blocks in grid (4,1,1)", "multiple"});
  expect_ok(launch(6, 3));
  std::vector<float> of_array(32);
  expect_ok(gpu::launch(with_an_array, {.grid = 1, .block = 32}, of_array.data()));
  expect_fault(gpu::launch(with_an_array, {.grid = 2, .block = 32, .cluster = 2}, of_array.data()),
               {"clusters of 2 blocks", "array", "dynamic"});
}

}  // namespace
}  // namespace KW_TARGET
