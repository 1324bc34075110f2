// Ranks that check and time together.
#include "bench/distributed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/distributed_rank.hpp"
#include "bench/statistics.hpp"
#include "check/tolerance.hpp"
#include "distributed/staging.hpp"
#include "distributed/tiles.hpp"
#include "kernelwright/out_of_core.hpp"

namespace kw::bench {
namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// What the ranks leave for each other between two meetings.
struct Board {
  explicit Board(int ranks)
      : us(static_cast<std::size_t>(ranks)), errors(us.size()), first(us.size()), last(us.size()) {}

  std::vector<double> us;
  std::vector<SampleError> errors;
  std::vector<float> first, last;
  int repeats[measured_count] = {1, 1, 1, 1};
  int warm_samples = 1;
  std::vector<double> samples[measured_count];  // of the slowest rank
  std::vector<std::vector<double>> one_each;    // of the one-device call, a rank
};

class Contest {
 public:
  Contest(detail::GroupState& group, std::int64_t m, std::int64_t n, std::int64_t k,
          const DistributedOptions& options)
      : group_(group),
        m_(m),
        n_(n),
        k_(k),
        options_(options),
        meeting_(group.grid().ranks(), group.rendezvous().limit_s()),
        board_(group.grid().ranks()) {
    board_.one_each.resize(board_.us.size());
  }

  void run() {
    std::vector<std::string> failures(board_.us.size());
    std::vector<std::thread> threads;
    threads.reserve(failures.size());
    for (int rank = 0; rank < group_.grid().ranks(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          check::require(group_.seat(rank).state().runtime().with_device([&] {
            run_rank(rank);
            return Status::success();
          }));
        } catch (const std::exception& error) {
          failures[static_cast<std::size_t>(rank)] = error.what();
          const Status why = Status::failure(StatusCode::device_error, error.what());
          meeting_.abort(rank, why);
          group_.rendezvous().abort(rank, why);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) {
      if (!failure.empty()) throw std::runtime_error(failure);
    }
  }

  const Board& board() const { return board_; }

 private:
  void meet(int rank) { check::require(meeting_.arrive(rank)); }

  // All ranks begin together; the time of each is on the board.
  void time(DistributedRank& its, int rank, Measured what, int times) {
    meet(rank);
    const Clock::time_point begin = Clock::now();
    its.call(what, times);
    board_.us[static_cast<std::size_t>(rank)] = us_since(begin) / times;
    meet(rank);
  }

  void run_rank(int rank) {
    DistributedRank its(group_, rank, m_, n_, k_, options_);
    its.fill();
    SampleError& error = board_.errors[static_cast<std::size_t>(rank)];
    for (Measured what : {Measured::one, Measured::distributed}) {
      time(its, rank, what, 1);
      its.check(what, &error);
    }
    its.ends(&board_.first[static_cast<std::size_t>(rank)],
             &board_.last[static_cast<std::size_t>(rank)]);
    warm_up(its, rank);
    // Copies alone let the device rest, so they come after all that follow each other warm.
    for (int round = 0; round < options_.rounds; ++round) {
      for (Measured what : {Measured::one, Measured::distributed, Measured::products}) {
        sample(its, rank, what);
      }
    }
    for (int round = 0; round < options_.rounds; ++round) sample(its, rank, Measured::copies);
  }

  void sample(DistributedRank& its, int rank, Measured what) {
    const int kind = static_cast<int>(what);
    time(its, rank, what, board_.repeats[kind]);
    if (rank == 0) keep(kind);
    if (what == Measured::one) {
      const auto r = static_cast<std::size_t>(rank);
      board_.one_each[r].push_back(board_.us[r]);
    }
    meet(rank);
  }

  // Until the clock is what it stays at; and how many calls a sample has.
  void warm_up(DistributedRank& its, int rank) {
    for (int kind = 0; kind < measured_count; ++kind) {
      time(its, rank, static_cast<Measured>(kind), 1);
      if (rank == 0) {
        const double slowest = *std::max_element(board_.us.begin(), board_.us.end());
        board_.repeats[kind] = std::clamp(
            static_cast<int>(std::ceil(1e3 * options_.sample_ms / std::max(1.0, slowest))), 1,
            1000);
        if (kind == 0) {
          const double sample_us = slowest * board_.repeats[0];
          board_.warm_samples = static_cast<int>(std::ceil(1e3 * options_.warm_ms / sample_us));
        }
      }
      meet(rank);
    }
    for (int i = 0; i < board_.warm_samples; ++i) {
      for (Measured what : {Measured::one, Measured::distributed}) {
        time(its, rank, what, board_.repeats[static_cast<int>(what)]);
      }
    }
  }

  void keep(int kind) {
    const bool is_one = kind == static_cast<int>(Measured::one);
    const double all = std::accumulate(board_.us.begin(), board_.us.end(), 0.0);
    board_.samples[kind].push_back(is_one ? all / static_cast<double>(board_.us.size())
                                          : *std::max_element(board_.us.begin(), board_.us.end()));
  }

  detail::GroupState& group_;
  std::int64_t m_, n_, k_;
  const DistributedOptions& options_;
  distributed::Rendezvous meeting_;
  Board board_;
};

double median_of(const std::vector<double>& samples) { return quantile(samples, 0.5); }

DistributedRow figures(const Board& board, const Grid& grid, double time_us,
                       const distributed::Prediction& prediction) {
  DistributedRow row;
  row.gpus = grid.ranks();
  row.grid = fmt::format("{}x{}", grid.p, grid.q);
  row.panel_k = prediction.panel_k;
  row.one_gpu_us = median_of(board.samples[static_cast<int>(Measured::one)]);
  for (const std::vector<double>& each : board.one_each) {
    row.one_gpu_us_each.push_back(median_of(each));
  }
  row.speedup = row.one_gpu_us / time_us;
  row.products_us = median_of(board.samples[static_cast<int>(Measured::products)]);
  row.transfers_us = median_of(board.samples[static_cast<int>(Measured::copies)]);
  if (grid.ranks() > 1) {
    const double exposed = time_us - row.products_us;
    row.overlap = std::clamp(1 - exposed / row.transfers_us, 0.0, 1.0);
  }
  row.peer_bytes = prediction.peer_bytes;
  row.memory_bytes = prediction.memory_bytes;
  return row;
}

Row product_row(std::int64_t m, std::int64_t n, std::int64_t k, const DistributedOptions& options) {
  Row row;
  row.op = "sgemm";
  row.kernel = row.path = options.math == Math::fp32_split ? "kernelwright_split" : "kernelwright";
  row.role = to_string(Role::production);
  row.math = to_string(options.math);
  row.input = to_string(options.input);
  row.m = m;
  row.n = n;
  row.k = row.lda = k;
  row.ldb = row.ldc = n;
  row.op_a = row.op_b = "N";
  row.l2 = "hot";
  row.timing = "alone";
  return row;
}

void fill_error(const std::vector<SampleError>& errors, const DistributedOptions& options,
                std::int64_t k, Row* row) {
  SampleError all;
  for (const SampleError& error : errors) {
    all.max = std::max(all.max, error.max);
    all.sum += error.sum;
    all.sum_squares += error.sum_squares;
    all.elements += error.elements;
    if (all.failures == 0) all.message = error.message;
    all.failures += error.failures;
  }
  const double elements = std::max(1.0, all.elements);
  row->error = {all.max, std::sqrt(all.sum_squares / elements), all.sum / elements,
                check::product_tolerance(options.input, k)};
  row->verified = all.failures == 0;
  row->message = all.message;
}

}  // namespace

Row run_distributed(detail::GroupState& group, std::int64_t m, std::int64_t n, std::int64_t k,
                    const DistributedOptions& options) {
  Contest contest(group, m, n, k, options);
  contest.run();
  const Board& board = contest.board();
  Row row = product_row(m, n, k, options);
  fill_error(board.errors, options, k, &row);
  row.c_first = board.first.front();
  row.c_last = board.last.back();
  const distributed::Prediction prediction = distributed::simulate(
      {group.grid(), group.grid().p, group.grid().q}, options.math, m, n, k, options.panel_k, {});
  const auto& samples = board.samples[static_cast<int>(Measured::distributed)];
  DistributedRow its = figures(board, group.grid(), median_of(samples), prediction);
  if (row.verified) {
    row.time_us = summarise_times(samples);
    row.gflops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) /
                 row.time_us->median * 1e-3;
  }
  if (group.seat(0).state().device().is_gpu()) {
    its.predicted_us = prediction.time_us;
    its.predicted_speedup = prediction.speedup();
  }
  row.distributed = std::move(its);
  return row;
}

namespace {

// Host memory as a program has it: not pinned, and touched by all threads before it is used.
class HostArray {
 public:
  explicit HostArray(std::int64_t elements)
      : elements_(static_cast<std::size_t>(elements)), data_(new float[elements_]) {
    const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t each = (elements_ + threads - 1) / threads;
    std::vector<std::thread> all;
    for (std::size_t begin = 0; begin < elements_; begin += each) {
      all.emplace_back([this, begin, each] {
        std::fill_n(data_.get() + begin, std::min(each, elements_ - begin),
                    std::numeric_limits<float>::quiet_NaN());
      });
    }
    for (std::thread& thread : all) thread.join();
  }
  float* data() const { return data_.get(); }

 private:
  std::size_t elements_;
  std::unique_ptr<float[]> data_;
};

void fetch(detail::Seat& seat, const float* from, float* to, std::int64_t rows, std::int64_t cols) {
  distributed::Staging staging(seat.state().runtime(), seat.transfer(), seat.channel());
  const auto line = static_cast<std::size_t>(cols) * sizeof(float);
  check::require(staging.open(line * static_cast<std::size_t>(rows), line));
  check::require(staging.to_host(
      from, {reinterpret_cast<unsigned char*>(to), line, line, static_cast<std::size_t>(rows)}));
}

}  // namespace

Row run_out_of_core(detail::GroupState& one_rank, std::int64_t m, std::int64_t n, std::int64_t k,
                    const DistributedOptions& options, double device_bytes) {
  detail::Seat& seat = one_rank.seat(0);
  DistributedRank its(one_rank, 0, m, n, k, options, false);
  its.fill();
  SampleError error;
  its.call(Measured::one, 1);
  its.check(Measured::one, &error);
  const HostArray a(m * k), b(k * n), c(m * n);
  fetch(seat, its.a(), a.data(), m, k);
  fetch(seat, its.b(), b.data(), k, n);
  const auto call = [&] {
    sgemm_out_of_core(seat.context(), 1.0f, row_major<const float>(a.data(), m, k),
                      row_major<const float>(b.data(), k, n), 0.0f, row_major(c.data(), m, n),
                      {options.math, static_cast<std::size_t>(device_bytes)});
  };
  call();
  its.check_host(c.data(), &error);
  std::vector<double> in_memory, samples;
  for (int round = 0; round < options.rounds; ++round) {
    Clock::time_point begin = Clock::now();
    its.call(Measured::one, 1);
    in_memory.push_back(us_since(begin));
    begin = Clock::now();
    call();
    samples.push_back(us_since(begin));
  }
  Row row = product_row(m, n, k, options);
  fill_error({error}, options, k, &row);
  row.c_first = c.data()[0];
  row.c_last = c.data()[m * n - 1];
  OutOfCoreRow& found = row.out_of_core.emplace();
  found.device_bytes = device_bytes;
  found.in_memory_us = median_of(in_memory);
  found.of_in_memory = found.in_memory_us / median_of(samples);
  if (const auto tiling = distributed::choose_tiling(m, n, k, options.math, device_bytes)) {
    found.bytes_in = tiling->bytes_in();
    found.bytes_out = tiling->bytes_out();
    found.tiles = fmt::format("{}x{}x{}", tiling->tile_m, tiling->tile_n, tiling->tile_k);
  }
  if (row.verified) row.time_us = summarise_times(samples);
  if (row.time_us) {
    row.gflops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) /
                 row.time_us->median * 1e-3;
  }
  return row;
}

}  // namespace kw::bench
