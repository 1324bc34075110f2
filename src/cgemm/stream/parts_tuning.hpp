// The complex stream tiles that parts.cu cuts along k, and the constants of its cost model, as
// data.
#pragma once

#include <string_view>

#include "cgemm/stream/tuning.hpp"

namespace kw {

// In microseconds, beside what a tile takes as in tuning.hpp.
struct ComplexPartsTimes {
  double add_us;      // the second launch
  double crowded_us;  // added where there is more than one block per SM
  double share;       // of the time that the tile's products take by stream.cu's prediction
};

struct ComplexPartsTile {
  const char* name;
  const char* idea;
  ComplexStreamTile stream;
  ComplexPartsTimes times;
};

// A tile without what parts do not need.
consteval ComplexStreamTile parts_of_tile(std::string_view name) {
  for (ComplexStreamTile tile : complex_stream_tiles) {
    if (tile.name != name) continue;
    tile.config.clusters = tile.config.staged = false;
    return tile;
  }
  throw "complex_stream_tiles has no such tile";
}

// A tile for products with a narrow side, of which stream.cu has none.
consteval ComplexStreamTile narrow_tile(const ComplexStreamConfig& config, double alone_us,
                                        double busy_us) {
  return {.name = nullptr,
          .idea = nullptr,
          .config = config,
          .times = {.start_us = 4.5,
                    .tile_us = 2,
                    .alone_us = alone_us,
                    .busy_us = busy_us,
                    .part_us = 0,
                    .each_part_us = 0}};
}

// Fitted to all cuts of 64 products on an NVIDIA H200 (results/h200/explored-complex-parts-k.txt)
// and to the choice among all kernels for 93 others, with cuBLAS's time as a part of what is lost;
// off by a twentieth on average. The share of 128x64 is a twenty-fifth larger than by that fit: so
// much longer it took where it was predicted to be the quickest (explored-complex-choice.txt).
inline constexpr ComplexPartsTile complex_parts_tiles[] = {
    {.name = "cgemm_parts_128x64",
     .idea = "complex stream tile cut along k, 8 x 8 outputs a thread",
     .stream = parts_of_tile("cgemm_stream_128x64"),
     .times = {.add_us = 2.50, .crowded_us = 2.36, .share = 1.018}},
    {.name = "cgemm_parts_64x64",
     .idea = "complex stream tile cut along k, three blocks per SM",
     .stream = parts_of_tile("cgemm_stream_64x64"),
     .times = {.add_us = 0.52, .crowded_us = 0.99, .share = 1.026}},
    {.name = "cgemm_parts_32x64k2",
     .idea = "complex stream tile cut along k, few rows",
     .stream = parts_of_tile("cgemm_stream_32x64k2"),
     .times = {.add_us = 1.00, .crowded_us = 0.70, .share = 1.031}},
    {.name = "cgemm_parts_64x32k2",
     .idea = "complex stream tile cut along k, few columns",
     .stream = parts_of_tile("cgemm_stream_64x32k2"),
     .times = {.add_us = 1.81, .crowded_us = 1.27, .share = 0.995}},
    {.name = "cgemm_parts_32x32k4",
     .idea = "complex stream tile cut along k, four warps along k",
     .stream = parts_of_tile("cgemm_stream_32x32k4"),
     .times = {.add_us = 1.38, .crowded_us = 1.23, .share = 1.018}},
    {.name = "cgemm_parts_192x40",
     .idea = "complex stream tile cut along k, some 40 columns",
     .stream = parts_of_tile("cgemm_stream_192x40"),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_128x48",
     .idea = "complex stream tile cut along k, some 48 columns",
     .stream = parts_of_tile("cgemm_stream_128x48"),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_96x80",
     .idea = "complex stream tile cut along k, some 80 columns",
     .stream = parts_of_tile("cgemm_stream_96x80"),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_64x96",
     .idea = "complex stream tile cut along k, some 96 columns",
     .stream = parts_of_tile("cgemm_stream_64x96"),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_40x192",
     .idea = "complex stream tile cut along k, some 40 rows",
     .stream = parts_of_tile("cgemm_stream_40x192"),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_48x128",
     .idea = "complex stream tile cut along k, some 48 rows",
     .stream = parts_of_tile("cgemm_stream_48x128"),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_80x96",
     .idea = "complex stream tile cut along k, some 80 rows",
     .stream = parts_of_tile("cgemm_stream_80x96"),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_96x64",
     .idea = "complex stream tile cut along k, some 96 rows",
     .stream = parts_of_tile("cgemm_stream_96x64"),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_256x8",
     .idea = "complex stream tile cut along k for some 8 columns",
     .stream = narrow_tile({.bm = 256, .bn = 8, .bk = 16, .wm = 64, .wn = 8, .warps_k = 1,
                            .tm = 8, .tn = 2, .stages = 3, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           1.09, 1.02),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_256x16",
     .idea = "complex stream tile cut along k for some 16 columns",
     .stream = narrow_tile({.bm = 256, .bn = 16, .bk = 16, .wm = 64, .wn = 16, .warps_k = 1,
                            .tm = 8, .tn = 4, .stages = 3, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           1.58, 1.47),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_256x24",
     .idea = "complex stream tile cut along k for some 24 columns",
     .stream = narrow_tile({.bm = 256, .bn = 24, .bk = 16, .wm = 64, .wn = 24, .warps_k = 1,
                            .tm = 8, .tn = 6, .stages = 3, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           2.1, 1.96),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_8x256",
     .idea = "complex stream tile cut along k for some 8 rows",
     .stream = narrow_tile({.bm = 8, .bn = 256, .bk = 16, .wm = 8, .wn = 64, .warps_k = 1,
                            .tm = 2, .tn = 8, .stages = 3, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           1.09, 1.02),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_16x256",
     .idea = "complex stream tile cut along k for some 16 rows",
     .stream = narrow_tile({.bm = 16, .bn = 256, .bk = 16, .wm = 16, .wn = 64, .warps_k = 1,
                            .tm = 4, .tn = 8, .stages = 3, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           1.65, 1.54),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_24x256",
     .idea = "complex stream tile cut along k for some 24 rows",
     .stream = narrow_tile({.bm = 24, .bn = 256, .bk = 16, .wm = 24, .wn = 64, .warps_k = 1,
                            .tm = 6, .tn = 8, .stages = 3, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           2.14, 2),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_128x8k2",
     .idea = "complex stream tile cut along k for some 8 columns",
     .stream = narrow_tile({.bm = 128, .bn = 8, .bk = 32, .wm = 64, .wn = 8, .warps_k = 2,
                            .tm = 8, .tn = 2, .stages = 2, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           1.09, 1.02),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_128x16k2",
     .idea = "complex stream tile cut along k for some 16 columns",
     .stream = narrow_tile({.bm = 128, .bn = 16, .bk = 32, .wm = 64, .wn = 16, .warps_k = 2,
                            .tm = 8, .tn = 4, .stages = 2, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           1.58, 1.47),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_128x24k2",
     .idea = "complex stream tile cut along k for some 24 columns",
     .stream = narrow_tile({.bm = 128, .bn = 24, .bk = 32, .wm = 64, .wn = 24, .warps_k = 2,
                            .tm = 8, .tn = 6, .stages = 2, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           2.18, 2.04),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_8x128k2",
     .idea = "complex stream tile cut along k for some 8 rows",
     .stream = narrow_tile({.bm = 8, .bn = 128, .bk = 32, .wm = 8, .wn = 64, .warps_k = 2,
                            .tm = 2, .tn = 8, .stages = 2, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           1.09, 1.02),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_16x128k2",
     .idea = "complex stream tile cut along k for some 16 rows",
     .stream = narrow_tile({.bm = 16, .bn = 128, .bk = 32, .wm = 16, .wn = 64, .warps_k = 2,
                            .tm = 4, .tn = 8, .stages = 2, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           1.65, 1.54),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
    {.name = "cgemm_parts_24x128k2",
     .idea = "complex stream tile cut along k for some 24 rows",
     .stream = narrow_tile({.bm = 24, .bn = 128, .bk = 32, .wm = 24, .wn = 64, .warps_k = 2,
                            .tm = 6, .tn = 8, .stages = 2, .blocks_per_sm = 2,
                            .producer_registers = 40, .consumer_registers = 216},
                           2.18, 2.04),
     .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1.0}},
};

// Of a megabyte of parts that are written and read.
inline constexpr double complex_parts_megabyte_us = 0.076;

}  // namespace kw
