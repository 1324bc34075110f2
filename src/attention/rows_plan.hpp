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
  // Fitted to forced cuts on an H200 (results/h200/explored-attention-rounds.txt), for heads as
  // large as the configuration's: a launch with the start of its blocks; a tile of keys where a
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
    {128, 64, 32, 8, 2, 5.0, 1.75, 3.50, 2.10, 0.52, 2.62, 4.04, 0.70},
    {128, 32, 64, 16, 2, 4.5, 2.01, 3.61, 1.47, 0.38, 3.22, 3.45, 0.41},
    {128, 32, 32, 8, 3, 4.0, 0.98, 2.42, 0.96, 0.07, 1.94, 3.14, 0.43},
    {128, 16, 64, 16, 2, 3.6, 1.83, 2.63, 1.02, 0.26, 2.36, 2.76, 0.27},
    {128, 4, 64, 32, 3, 3.2, 1.44, 1.37, 0.87, 0.06, 1.41, 2.14, 0.21},
    {256, 32, 32, 16, 2, 4.4, 3.71, 2.03, 1.70, 0.00, 4.09, 4.18, 0.75},
    {256, 16, 32, 16, 2, 3.3, 2.80, 1.40, 1.08, 0.97, 2.10, 3.09, 0.45},
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
