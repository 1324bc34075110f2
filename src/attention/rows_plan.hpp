// How attention_rows cuts a problem, and what it expects that to take: its configurations as data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "attention/problem.hpp"
#include "kernel.hpp"

namespace kw {

// Rows a block, a multiple of four, and keys a tile; lanes of a warp along the keys.
struct RowsConfig {
  int dim, rows, keys, key_lanes;
  // Fitted to forced cuts on an H200 (results/h200/explored-attention-64-rows.txt, above a head
  // size of 64 explored-attention-cuts.txt), for heads as large as the configuration's: a launch
  // with the start of its blocks; a tile of keys where a multiprocessor has one block, once and by
  // what it holds; what each further block adds, beside its tiles and for each of them, once and by
  // what it holds; and what merging parts adds: once, and for each part.
  double start_us, step_us, tile_us, more_us, more_step_us, more_tile_us, merge_us, part_us;
};

// By the head sizes up to which they serve; of each size the one for many rows first.
inline constexpr RowsConfig rows_configs[] = {
    {32, 32, 64, 16, 3.6, 1.20, 1.51, 1.2, 0.26, 1.19, 1.8, 0.12},
    {32, 16, 64, 16, 3.0, 0.96, 1.02, 0.7, 0.15, 0.80, 1.6, 0.21},
    {32, 4, 64, 32, 2.9, 0.60, 0.78, 0.7, 0.00, 0.36, 2.0, 0.10},
    {64, 64, 64, 8, 4.7, 2.83, 3.10, 1.8, 0.49, 3.83, 3.1, 0.36},
    {64, 32, 64, 16, 4.0, 1.85, 1.98, 1.6, 0.17, 2.28, 2.2, 0.18},
    {64, 16, 64, 16, 3.5, 1.44, 1.40, 1.1, 0.01, 1.46, 1.9, 0.19},
    {64, 4, 64, 32, 3.1, 1.17, 0.86, 0.8, 0.12, 0.60, 1.8, 0.13},
    {128, 64, 32, 8, 5.7, 1.79, 3.47, 3.7, 0.92, 3.27, 3.4, 0.61},
    {128, 32, 64, 16, 5.1, 2.09, 3.58, 2.6, 0.67, 4.06, 2.4, 0.45},
    {128, 32, 32, 8, 4.4, 1.10, 2.42, 1.7, 0.11, 2.40, 2.7, 0.38},
    {128, 16, 64, 16, 4.1, 1.80, 2.67, 1.8, 0.41, 3.38, 2.6, 0.25},
    {128, 4, 64, 32, 3.6, 1.45, 1.37, 1.2, 0.10, 1.77, 2.2, 0.20},
    {256, 32, 32, 16, 5.0, 4.34, 1.47, 3.0, 0.04, 5.57, 3.6, 0.62},
    {256, 16, 32, 16, 4.2, 2.79, 1.34, 1.9, 1.26, 2.59, 3.0, 0.37},
    {256, 4, 32, 32, 3.5, 2.61, 0.38, 1.6, 0.00, 1.92, 2.3, 0.20},
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
