// Rows as text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "bench/row.hpp"

namespace kw::bench {

// One line a row under a heading; all rows belong to one problem. The fastest is marked.
std::string problem_table(const std::vector<Row>& rows);

// Kernels down, problems across, GFLOP/s (GB/s for scale_add and reduce) in the cells, the best of
// each column marked. Empty where there is only one problem. Reductions: a table for each pair of
// operation and element type.
std::string summary_table(const std::vector<Row>& rows);

// Right-aligned columns except for the first `left` ones; the first row is the heading.
std::string align(const std::vector<std::vector<std::string>>& cells, std::size_t left = 1);

}  // namespace kw::bench
