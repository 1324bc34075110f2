// How attention_rows cuts a problem, and what it expects that to take: its configurations as data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "attention/problem.hpp"
#include "kernel.hpp"

namespace kw {

// Rows a block, a multiple of four, and keys a tile; lanes of a warp along the keys; blocks that a
// multiprocessor holds at a time.
struct RowsConfig {
  int dim, rows, keys, key_lanes;
  int blocks;
  // Fitted to forced cuts on an H200 (results/h200/explored-attention-rounds.txt; of 16 to 64 rows
  // and heads above 64 explored-attention-head-lanes.txt), for heads as large as the
  // configuration's: a launch with the start of its blocks; a tile of keys where a
  // multiprocessor has one block, once and by what it holds; what each further block at the same
  // time adds, beside its tiles and for each of them, once and by what it holds; and what merging
  // parts adds: once, and for each part.
  double start_us, step_us, tile_us, more_us, more_step_us, more_tile_us, merge_us, part_us;
};

// By the head sizes up to which they serve; of each size the one for many rows first.
inline constexpr RowsConfig rows_configs[] = {
    {32, 32, 64, 16, 3, 2.9, 1.18, 1.56, 0.68, 0.15, 0.73, 2.83, 0.20},
    {32, 16, 64, 16, 4, 2.6, 0.86, 1.06, 0.40, 0.08, 0.54, 2.13, 0.24},
    {32, 4, 64, 32, 5, 2.3, 0.60, 0.77, 0.40, 0.00, 0.33, 2.22, 0.16},
    {64, 64, 64, 8, 3, 4.3, 2.62, 3.09, 1.02, 0.28, 2.93, 4.10, 0.46},
    {64, 32, 64, 16, 3, 3.4, 1.72, 2.00, 0.91, 0.10, 1.66, 3.21, 0.28},
    {64, 16, 64, 16, 4, 2.9, 1.43, 1.44, 0.62, 0.00, 1.10, 2.53, 0.26},
    {64, 4, 64, 32, 5, 2.3, 1.04, 1.10, 0.59, 0.06, 0.53, 2.30, 0.20},
    {128, 64, 32, 8, 2, 5.4, 1.49, 3.69, 1.18, 0.45, 2.48, 3.73, 0.69},
    {128, 32, 64, 16, 2, 4.9, 2.03, 3.48, 0.88, 0.34, 2.78, 3.14, 0.40},
    {128, 32, 32, 8, 3, 4.4, 0.95, 2.06, 0.65, 0.07, 1.59, 2.92, 0.42},
    {128, 16, 64, 16, 2, 3.7, 1.97, 2.16, 0.92, 0.24, 1.70, 2.67, 0.25},
    {128, 4, 64, 32, 3, 3.2, 1.44, 1.37, 0.87, 0.06, 1.41, 2.14, 0.21},
    {256, 32, 32, 8, 2, 4.8, 2.61, 2.44, 1.32, 0.00, 3.29, 4.15, 0.74},
    {256, 16, 32, 8, 2, 3.7, 2.13, 1.50, 0.96, 0.62, 1.12, 3.05, 0.45},
    {256, 4, 32, 32, 3, 2.9, 2.62, 0.36, 1.21, 0.00, 1.45, 2.32, 0.23},
};
constexpr int rows_config_count = sizeof(rows_configs) / sizeof(rows_configs[0]);

constexpr int most_row_parts = 64;

struct RowsSchedule {
  int config = -1, parts = 1;  // of the keys
  std::int64_t row_groups = 0;
};

// Queries of heads that share K and V are one list of rows, cut into groups.
inline std::int64_t rows_groups(const Attention& p, const RowsConfig& c) {
  return ceil_div(p.group() * p.queries, std::int64_t{c.rows});
}
inline std::int64_t rows_units(const Attention& p, const RowsConfig& c) {
  return p.batch * p.kv_heads * rows_groups(p, c);
}

bool can_cut_rows(const Attention& p, int config, int parts);
double rows_time_us(const Attention& p, const Device& device, const RowsConfig& c, int parts);
// The cut that takes least, of configurations with so much shared memory; none: config is -1.
RowsSchedule choose_rows(const Attention& p, const Device& device,
                         const std::size_t (&shared_bytes)[rows_config_count]);

}  // namespace kw
