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
  int blocks;  // that a multiprocessor holds at a time
  // Fitted to forced cuts on an H200: a launch with the start of its blocks, a tile of keys where a
  // multiprocessor has one block and where it has as many as it holds, and what merging parts adds:
  // once, and for each part.
  double start_us, alone_us, tile_us, merge_us, part_us;
};

// By the head sizes up to which they serve; of each size the one for many rows first.
inline constexpr RowsConfig rows_configs[] = {
    {32, 32, 64, 6, 3.5, 2.7, 9.7, 2.1, 0.20},   {32, 16, 64, 6, 3.5, 1.9, 6.6, 1.4, 0.22},
    {32, 4, 64, 8, 3.5, 1.3, 4.9, 1.3, 0.20},    {64, 32, 64, 4, 4.0, 3.4, 11.5, 2.6, 0.26},
    {64, 16, 64, 4, 3.5, 3.5, 7.4, 2.3, 0.24},   {64, 4, 64, 5, 3.5, 1.9, 5.1, 2.0, 0.21},
    {128, 32, 64, 2, 4.6, 5.6, 11.1, 2.6, 0.37}, {128, 16, 64, 2, 4.0, 4.1, 8.3, 2.5, 0.22},
    {128, 4, 64, 3, 3.5, 3.3, 6.4, 2.1, 0.21},   {256, 32, 32, 2, 4.6, 6.2, 16.5, 4.0, 0.56},
    {256, 16, 32, 2, 3.9, 5.0, 8.5, 2.7, 0.40},  {256, 4, 32, 3, 4.4, 3.5, 7.5, 1.9, 0.22},
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
