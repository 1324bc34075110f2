// Which rows reduce_row_spans_kernel (row_spans.hpp) takes, and how their elements are cut: made on
// the host.
#pragma once

#include <cstdint>

#include "gpu/device.hpp"
#include "reduce/problem.hpp"

namespace kw {

// Of an SM: three blocks of 80 registers, which have three packs of each of two batches on their
// way. Four blocks, or packs, spill (results/h200/explored-reduce-spans.txt).
constexpr int span_blocks_an_sm = 3;
constexpr int span_packs = 3;

struct SpanPlan {
  std::int64_t blocks = 0;  // 0: rows do better otherwise
  std::int64_t span = 0;    // elements of a block, of rows one after the other
};

SpanPlan plan_spans(const Reduce& problem, const Device& device);

}  // namespace kw
