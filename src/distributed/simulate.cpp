// Steps at rates.
#include "distributed/simulate.hpp"

#include <algorithm>
#include <cmath>

namespace kw::distributed {

namespace {

constexpr double float_bytes = 4;

double product_us(Math math, double m, double n, double k, bool is_step, bool adds,
                  const Speeds& speeds) {
  const GpuRates& rates = *speeds.rates;
  if (math == Math::fp32 && speeds.fp32_us) return speeds.fp32_us(m, n, k, is_step) / speeds.scale;
  const double tflops = interpolated(rates.products(math, is_step), std::cbrt(m * n * k));
  double us = 2 * m * n * k / (tflops * speeds.scale * 1e6);
  if (math == Math::fp32_split && rates.split_gbs.value > 0) {
    us += 2 * float_bytes * (m * k + k * n) / (rates.split_gbs.value * 1e3);
  }
  if (math == Math::fp32_split && rates.store_gbs.value > 0)
    us += float_bytes * m * n / (rates.store_gbs.value * 1e3);
  return us + (adds ? 0.5 * 2 * m * n * float_bytes / (rates.memory_gbs.value * 1e3) : 0.0);
}

class RankTime {
 public:
  RankTime(const Cluster& cluster, int rank, Math math, const Speeds& speeds)
      : cluster_(cluster), rank_(rank), math_(math), speeds_(speeds) {}

  void run(const Schedule& schedule) {
    std::vector<double> ends;
    for (const Step& step : schedule.steps) {
      const double copies_before = copies_us;
      const double a = copied(step.a, cluster_.node_q, ends);
      const double b = copied(step.b, cluster_.node_p, ends);
      const double begin = std::max({product_end_, a, b});
      const bool is_first = ends.empty();
      const auto m = static_cast<double>(schedule.rows), n = static_cast<double>(schedule.cols);
      const double alone = product_us(math_, m, n, static_cast<double>(step.k),
                                      schedule.steps.size() > 1, !is_first, speeds_) +
                           step_us.value;
      // A first panel's copies have no product beside them.
      const double beside = is_first ? 0 : copies_us - copies_before;
      products_us += alone;
      product_end_ = begin + alone + speeds_.rates->copy_share.value * beside;
      ends.push_back(product_end_);
    }
  }

  double time_us() const { return product_end_; }
  double products_us = 0, copies_us = 0, peer_bytes = 0, network_bytes = 0;

 private:
  // When the panel is there. `sharers` ranks of the node need the same one: those in the same row
  // (of A) or column (of B) of the grid.
  double copied(const Panel& panel, int sharers, const std::vector<double>& ends) {
    if (panel.in_place) return 0;
    double peers = 0, from_nodes = 0;
    for (const Piece& piece : panel.pieces) {
      if (piece.owner == rank_) continue;
      const double bytes = float_bytes * static_cast<double>(piece.elements());
      if (cluster_.node(piece.owner) == cluster_.node(rank_)) {
        peers += bytes;
      } else {
        from_nodes += bytes;
      }
    }
    // A message is read from host memory while the next one comes over the network.
    const double network = from_nodes / sharers;
    const double us =
        peers / (speeds_.peer_gbs * 1e3) +
        std::max(network / (speeds_.network_gbs * 1e3), from_nodes / (speeds_.host_gbs * 1e3));
    const double free = panel.after >= 0 ? ends[static_cast<std::size_t>(panel.after)] : 0;
    channel_end_ = std::max(channel_end_, free) + us;
    copies_us += us;
    peer_bytes += peers;
    network_bytes += network;
    return channel_end_;
  }

  const Cluster& cluster_;
  int rank_;
  Math math_;
  const Speeds& speeds_;
  double product_end_ = 0, channel_end_ = 0;
};

double memory_bytes(const Product& product, int rank, const Schedule& schedule, Math math) {
  double elements = 0;
  for (const Distribution* d : {&product.a, &product.b, &product.c}) {
    elements += static_cast<double>(local_rows(*d, product.grid, rank)) *
                static_cast<double>(local_cols(*d, product.grid, rank));
  }
  const auto rows = static_cast<double>(schedule.rows), cols = static_cast<double>(schedule.cols);
  elements += schedule.buffers_a * rows * static_cast<double>(schedule.longest_a);
  elements += schedule.buffers_b * cols * static_cast<double>(schedule.longest_b);
  double longest = 0;
  for (const Step& step : schedule.steps) {
    longest = std::max(longest, static_cast<double>(step.k));
  }
  constexpr double most_workspace = 4.0 * (std::int64_t{1} << 30);  // math.hpp
  const double workspace =
      math == Math::fp32_split ? std::min(most_workspace, 6 * (rows + cols) * longest) : 0;
  return float_bytes * elements + workspace;
}

Nodes nodes_of(const Cluster& cluster) {
  Nodes nodes;
  if (cluster.node_p == cluster.grid.p && cluster.node_q == cluster.grid.q) return nodes;
  for (int rank = 0; rank < cluster.grid.ranks(); ++rank) {
    nodes.of_rank.push_back(cluster.node(rank));
  }
  return nodes;
}

// All ranks of a small grid; of a large one some, the first among them, whose parts are largest.
std::vector<int> looked_at(const Grid& grid) {
  constexpr int most = 16;
  std::vector<int> ranks;
  const int step = std::max(1, grid.ranks() / most);
  for (int rank = 0; rank < grid.ranks(); rank += step) ranks.push_back(rank);
  if (ranks.back() != grid.ranks() - 1) ranks.push_back(grid.ranks() - 1);
  return ranks;
}

}  // namespace

double one_gpu_us(Math math, double m, double n, double k, const Speeds& speeds) {
  return product_us(math, m, n, k, false, false, speeds);
}

Prediction simulate(const Cluster& cluster, Math math, std::int64_t m, std::int64_t n,
                    std::int64_t k, std::int64_t panel_k, const Speeds& speeds) {
  const Grid& grid = cluster.grid;
  const Product product{grid,
                        block_distribution(m, k, grid),
                        block_distribution(k, n, grid),
                        block_distribution(m, n, grid),
                        Op::none,
                        Op::none,
                        nodes_of(cluster)};
  Prediction found;
  found.cluster = cluster;
  found.panel_k = panel_k > 0 ? panel_k : default_panel_k(product);
  found.one_us = one_gpu_us(math, static_cast<double>(m), static_cast<double>(n),
                            static_cast<double>(k), speeds);
  for (int rank : looked_at(grid)) {
    const Schedule schedule = make_schedule(product, rank, found.panel_k);
    RankTime its(cluster, rank, math, speeds);
    its.run(schedule);
    if (its.time_us() > found.time_us) {
      found.time_us = its.time_us();
      found.products_us = its.products_us;
      found.copies_us = its.copies_us;
    }
    found.peer_bytes = std::max(found.peer_bytes, its.peer_bytes);
    found.network_bytes = std::max(found.network_bytes, its.network_bytes);
    found.memory_bytes = std::max(found.memory_bytes, memory_bytes(product, rank, schedule, math));
  }
  return found;
}

std::vector<Prediction> plan(int gpus, int nodes, Math math, std::int64_t m, std::int64_t n,
                             std::int64_t k, const Speeds& speeds) {
  std::vector<Prediction> all;
  for (int p = 1; p <= gpus * nodes; ++p) {
    if (gpus * nodes % p != 0) continue;
    const Grid grid{p, gpus * nodes / p};
    for (int node_p = 1; node_p <= gpus; ++node_p) {
      if (gpus % node_p != 0 || grid.p % node_p != 0 || grid.q % (gpus / node_p) != 0) continue;
      all.push_back(simulate({grid, node_p, gpus / node_p}, math, m, n, k, 0, speeds));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Prediction& x, const Prediction& y) { return x.time_us < y.time_us; });
  return all;
}

}  // namespace kw::distributed
