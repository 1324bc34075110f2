// What the rows of products over several devices and of those out of core have in common.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "bench/distributed_rank.hpp"
#include "bench/row.hpp"

namespace kw::bench {

// The problem, without figures.
Row product_row(std::int64_t m, std::int64_t n, std::int64_t k, const DistributedOptions& options);
// Of the samples of all ranks; the row is verified where none failed.
void fill_error(const std::vector<SampleError>& errors, const DistributedOptions& options,
                std::int64_t k, Row* row);

using Clock = std::chrono::steady_clock;

inline double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

}  // namespace kw::bench
