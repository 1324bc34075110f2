// How attention_rows cuts a problem, and what it expects that to take: its configurations as data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "attention/problem.hpp"
#include "kernel.hpp"

namespace kw {

// Rows a block, a multiple of four, and keys a tile.
struct RowsConfig {
  int dim, rows, keys;
  // Fitted to forced cuts on an H200 (results/h200/explored-attention-few-keys.txt), for heads as
  // large as the configuration's: a launch with the start of its blocks, a tile of keys where a
  // multiprocessor has one block, what each further block adds, beside its tiles and for each of
  // them, and what merging parts adds: once, and for each part.
  double start_us, tile_us, more_us, more_tile_us, merge_us, part_us;
};

// By the head sizes up to which they serve; of each size the one for many rows first.
inline constexpr RowsConfig rows_configs[] = {
    {32, 32, 64, 3.7, 2.6, 1.4, 1.3, 1.8, 0.12},  {32, 16, 64, 3.0, 1.9, 0.7, 0.9, 1.6, 0.21},
    {32, 4, 64, 2.6, 1.3, 0.6, 0.5, 2.0, 0.10},   {64, 32, 64, 4.3, 3.9, 1.2, 2.4, 2.2, 0.18},
    {64, 16, 64, 3.6, 3.0, 0.8, 1.5, 1.9, 0.19},  {64, 4, 64, 3.1, 2.1, 0.5, 0.9, 1.8, 0.13},
    {128, 32, 64, 4.9, 6.3, 2.3, 4.8, 2.4, 0.45}, {128, 16, 64, 4.2, 4.7, 1.9, 3.6, 2.6, 0.13},
    {128, 4, 64, 3.9, 3.1, 1.1, 2.2, 2.2, 0.10},  {256, 32, 32, 5.3, 6.2, 2.7, 5.4, 3.6, 0.61},
    {256, 16, 32, 4.4, 4.3, 2.2, 3.7, 3.2, 0.28}, {256, 4, 32, 3.7, 3.5, 1.4, 2.0, 2.3, 0.10},
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
