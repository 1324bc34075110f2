// Ranks that check and time together.
#include "bench/distributed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/distributed_rank.hpp"
#include "bench/distributed_row.hpp"
#include "bench/library_speeds.hpp"
#include "bench/statistics.hpp"

namespace kw::bench {
namespace {

// A rank's errors and ends of C, as it passes them to the others.
struct Found {
  double max = 0, sum_squares = 0, sum = 0, elements = 0;
  std::int64_t failures = 0;
  float first = 0, last = 0;
  char message[256] = {};
};

struct SpanMessage {
  static constexpr int most = 32;
  int count = 0, left = 0;  // in this message, and after it
  distributed::Timeline::Span spans[most] = {};
};

// What one rank does. What ranks measure they pass to each other, so that all come to the same
// figures and do the same next, whether they are threads or processes.
class RankMeasurement {
 public:
  RankMeasurement(detail::GroupState& group, int rank, std::int64_t m, std::int64_t n,
                  std::int64_t k, const DistributedOptions& options)
      : group_(group), rank_(rank), options_(options), its_(group, rank, m, n, k, options) {
    one_each.resize(static_cast<std::size_t>(group.grid().ranks()));
  }

  void run() {
    its_.fill();
    SampleError error;
    for (Measured what : {Measured::one, Measured::distributed}) {
      its_.reset(what);
      time(what, 1);
      its_.check(what, &error);
    }
    pass_on(error);
    if (options_.rounds > 0) measure();
    if (options_.has_timeline) record();
    check::require(group_.synchronize(rank_));
    (void)gather(0);  // none closes or frees what others still read
    check::require(group_.close_memory(rank_));
    (void)gather(0);
  }

  std::vector<Found> found;                     // a rank
  std::vector<double> samples[measured_count];  // of the slowest rank; of one device, the mean
  std::vector<std::vector<double>> one_each;    // of the one-device call, a rank
  std::vector<TimelineSpan> timeline;

 private:
  std::vector<double> gather(double own) {
    std::vector<double> all;
    check::require(exchange(group_.meeting(), rank_, own, &all));
    return all;
  }

  void pass_on(const SampleError& error) {
    Found own{error.max, error.sum_squares, error.sum, error.elements, error.failures, 0, 0, {}};
    its_.ends(&own.first, &own.last);
    error.message.copy(own.message, sizeof(own.message) - 1);
    check::require(exchange(group_.meeting(), rank_, own, &found));
  }

  // All ranks begin together. The time of each.
  std::vector<double> time(Measured what, int times) {
    (void)gather(0);
    const Clock::time_point begin = Clock::now();
    its_.call(what, times);
    return gather(us_since(begin) / times);
  }

  void measure() {
    warm_up();
    // Copies alone let the device rest, so they come after all that follow each other warm.
    for (int round = 0; round < options_.rounds; ++round) {
      for (Measured what : {Measured::one, Measured::distributed, Measured::products}) {
        sample(what);
      }
    }
    for (int round = 0; round < options_.rounds; ++round) sample(Measured::copies);
  }

  void sample(Measured what) {
    const int kind = static_cast<int>(what);
    const std::vector<double> us = time(what, repeats_[kind]);
    if (what != Measured::one) {
      samples[kind].push_back(*std::max_element(us.begin(), us.end()));
      return;
    }
    const double all = std::accumulate(us.begin(), us.end(), 0.0);
    samples[kind].push_back(all / static_cast<double>(us.size()));
    for (std::size_t rank = 0; rank < us.size(); ++rank) one_each[rank].push_back(us[rank]);
  }

  // Until the clock is what it stays at; and how many calls a sample has.
  void warm_up() {
    int warm_samples = 1;
    for (int kind = 0; kind < measured_count; ++kind) {
      const std::vector<double> us = time(static_cast<Measured>(kind), 1);
      const double slowest = *std::max_element(us.begin(), us.end());
      repeats_[kind] = std::clamp(
          static_cast<int>(std::ceil(1e3 * options_.sample_ms / std::max(1.0, slowest))), 1, 1000);
      if (kind == 0) {
        warm_samples =
            static_cast<int>(std::ceil(1e3 * options_.warm_ms / (slowest * repeats_[0])));
      }
    }
    for (int i = 0; i < warm_samples; ++i) {
      for (Measured what : {Measured::one, Measured::distributed}) {
        (void)time(what, repeats_[static_cast<int>(what)]);
      }
    }
  }

  // Of one call, the devices idle before it.
  void record() {
    distributed::Timeline recorded(its_.transfer());
    (void)gather(0);
    check::require(recorded.start(its_.stream()));
    its_.call(Measured::distributed, 1, &recorded);
    std::vector<distributed::Timeline::Span> own;
    check::require(recorded.spans(&own));
    std::size_t next = 0;
    for (bool is_more = true; is_more;) {
      SpanMessage message;
      for (; message.count < SpanMessage::most && next < own.size(); ++next) {
        message.spans[message.count++] = own[next];
      }
      message.left = static_cast<int>(own.size() - next);
      std::vector<SpanMessage> all;
      check::require(exchange(group_.meeting(), rank_, message, &all));
      is_more = false;
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        is_more = is_more || all[rank].left > 0;
        for (int i = 0; i < all[rank].count; ++i) {
          const distributed::Timeline::Span& span = all[rank].spans[i];
          const bool is_copy = span.kind == distributed::Timeline::Kind::copy;
          timeline.push_back({static_cast<int>(rank), is_copy ? "copy" : "product", span.step,
                              span.begin_us, span.end_us});
        }
      }
    }
  }

  detail::GroupState& group_;
  const int rank_;
  const DistributedOptions& options_;
  int repeats_[measured_count] = {1, 1, 1, 1};
  DistributedRank its_;
};

// Runs the ranks of this process; all know the same afterwards.
class GroupMeasurement {
 public:
  GroupMeasurement(detail::GroupState& group, std::int64_t m, std::int64_t n, std::int64_t k,
                   const DistributedOptions& options)
      : group_(group), m_(m), n_(n), k_(k), options_(options) {
    ranks_.resize(static_cast<std::size_t>(group.grid().ranks()));
  }

  const RankMeasurement& run() {
    std::vector<std::string> failures(ranks_.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < group_.grid().ranks(); ++rank) {
      if (!group_.check_rank(rank).ok()) continue;  // another process's
      threads.emplace_back(
          [&, rank] { failures[static_cast<std::size_t>(rank)] = failure_of(rank); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) {
      if (!failure.empty()) throw std::runtime_error(failure);
    }
    return *ranks_[static_cast<std::size_t>(group_.first_rank())];
  }

 private:
  std::string failure_of(int rank) {
    try {
      check::require(group_.seat(rank).state().runtime().with_device([&] {
        auto& measurement = ranks_[static_cast<std::size_t>(rank)];
        measurement = std::make_unique<RankMeasurement>(group_, rank, m_, n_, k_, options_);
        measurement->run();
        return Status::success();
      }));
      return {};
    } catch (const std::exception& error) {
      group_.meeting().abort(rank, Status::failure(StatusCode::device_error, error.what()));
      return error.what();
    }
  }

  detail::GroupState& group_;
  std::int64_t m_, n_, k_;
  const DistributedOptions& options_;
  std::vector<std::unique_ptr<RankMeasurement>> ranks_;
};

// What the planner knows nodes as: rectangles, all alike. Others it takes for one node.
distributed::Cluster cluster_of(const detail::GroupState& group) {
  const Grid& grid = group.grid();
  distributed::Cluster cluster{grid, grid.p, grid.q};
  if (!group.nodes().are_several()) return cluster;
  const std::vector<int> first = group.nodes().ranks(0);
  cluster.node_p = grid.row(first.back()) + 1;
  cluster.node_q = grid.col(first.back()) + 1;
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    const bool is_alike = grid.p % cluster.node_p == 0 && grid.q % cluster.node_q == 0 &&
                          cluster.node(rank) == group.nodes().node(rank);
    if (!is_alike) return {grid, grid.p, grid.q};
  }
  return cluster;
}

double median_of(const std::vector<double>& samples) { return quantile(samples, 0.5); }

DistributedRow figures(const RankMeasurement& ran, const Grid& grid, double time_us,
                       const distributed::Prediction& prediction) {
  DistributedRow row;
  row.gpus = grid.ranks();
  row.grid = fmt::format("{}x{}", grid.p, grid.q);
  row.panel_k = prediction.panel_k;
  row.one_gpu_us = median_of(ran.samples[static_cast<int>(Measured::one)]);
  for (const std::vector<double>& each : ran.one_each) {
    row.one_gpu_us_each.push_back(median_of(each));
  }
  row.speedup = row.one_gpu_us / time_us;
  row.products_us = median_of(ran.samples[static_cast<int>(Measured::products)]);
  row.transfers_us = median_of(ran.samples[static_cast<int>(Measured::copies)]);
  if (grid.ranks() > 1) {
    const double exposed = time_us - row.products_us;
    row.overlap = std::clamp(1 - exposed / row.transfers_us, 0.0, 1.0);
  }
  row.peer_bytes = prediction.peer_bytes + prediction.network_bytes;
  row.memory_bytes = prediction.memory_bytes;
  return row;
}

}  // namespace

Row run_distributed(detail::GroupState& group, std::int64_t m, std::int64_t n, std::int64_t k,
                    const DistributedOptions& options) {
  GroupMeasurement measurement(group, m, n, k, options);
  const RankMeasurement& ran = measurement.run();
  Row row = product_row(m, n, k, options);
  std::vector<SampleError> errors;
  for (const Found& its : ran.found) {
    errors.push_back({its.max, its.sum_squares, its.sum, its.elements, its.failures, its.message});
  }
  fill_error(errors, options, k, &row);
  row.c_first = ran.found.front().first;
  row.c_last = ran.found.back().last;
  if (options.rounds == 0) return row;
  const Device& device = group.seat(group.first_rank()).state().device();
  const distributed::Prediction prediction = distributed::simulate(
      cluster_of(group), options.math, m, n, k, options.panel_k, library_speeds(device.name));
  const auto& samples = ran.samples[static_cast<int>(Measured::distributed)];
  DistributedRow its = figures(ran, group.grid(), median_of(samples), prediction);
  its.timeline = ran.timeline;
  if (row.verified) {
    row.time_us = summarise_times(samples);
    row.gflops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) /
                 row.time_us->median * 1e-3;
  }
  // The prediction is of plain products in blocks, and of a network that pretended nodes have not.
  if (device.is_gpu() && !group.nodes().are_several() && options.op_a == Op::none &&
      options.op_b == Op::none && options.block == 0 && options.beta == 0) {
    its.predicted_us = prediction.time_us;
    its.predicted_speedup = prediction.speedup();
  }
  row.distributed = std::move(its);
  return row;
}

}  // namespace kw::bench
