// A distributed product's time, traffic and memory, predicted by going through the very steps that
// the ranks take, at measured rates. Needs no device.
//
// Model      A rank's copies are one after the other on its links, its products likewise; they wait
//            for each other as the schedule says. Links of different ranks do not disturb each
//            other.
// Nodes      What comes from another node comes once a node: of those that need it, each receives a
//            part, while all of them read all of it from the node's memory. A GPU's links to its
//            host and to the network are its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "distributed/rates.hpp"
#include "distributed/schedule.hpp"
#include "kernelwright/math.hpp"

namespace kw::distributed {

// The rates of a kind of GPU, and what is to take their place.
struct Speeds {
  Speeds() : Speeds("") {}
  explicit Speeds(const std::string& device)
      : rates(&rates_of(device)), peer_gbs(rates->peer_gbs.value) {}

  const GpuRates* rates;
  double scale = 1;  // of one GPU's products, by the table's
  double peer_gbs;
  double network_gbs = distributed::network_gbs.value;
  double host_gbs = distributed::host_gbs.value;
  // Of a plain product of FP32: m, n, k, whether others follow each other with it. Without one the
  // tables count, which know of a shape no more than how many multiplications it has.
  std::function<double(double, double, double, bool)> fp32_us;
};

// p x q ranks, of which each node holds a part of node_p x node_q.
struct Cluster {
  Grid grid;
  int node_p = 1, node_q = 1;

  int node(int rank) const {
    return grid.row(rank) / node_p * (grid.q / node_q) + grid.col(rank) / node_q;
  }
};

struct Prediction {
  Cluster cluster;
  std::int64_t panel_k = 0;
  double one_us = 0;       // the same product on one GPU
  double time_us = 0;      // of the slowest rank
  double products_us = 0;  // of that rank: its products alone, its copies alone
  double copies_us = 0;
  double peer_bytes = 0, network_bytes = 0;  // that a rank receives, at most
  double memory_bytes = 0;                   // its parts, buffers and workspace, at most

  double speedup() const { return one_us / time_us; }
};

double one_gpu_us(Math math, double m, double n, double k, const Speeds& speeds);

Prediction simulate(const Cluster& cluster, Math math, std::int64_t m, std::int64_t n,
                    std::int64_t k, std::int64_t panel_k, const Speeds& speeds);

// All ways to lay `gpus` GPUs of each of `nodes` nodes out as a grid, the quickest first.
std::vector<Prediction> plan(int gpus, int nodes, Math math, std::int64_t m, std::int64_t n,
                             std::int64_t k, const Speeds& speeds);

}  // namespace kw::distributed
