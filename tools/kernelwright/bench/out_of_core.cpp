// Products of matrices in host memory: checked, then timed in turn with the call on the same
// matrices in the device's memory.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "bench/distributed.hpp"
#include "bench/distributed_row.hpp"
#include "bench/statistics.hpp"
#include "distributed/staging.hpp"
#include "distributed/tiles.hpp"
#include "kernelwright/out_of_core.hpp"

namespace kw::bench {

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
  found.in_memory_us = quantile(in_memory, 0.5);
  found.of_in_memory = found.in_memory_us / quantile(samples, 0.5);
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
