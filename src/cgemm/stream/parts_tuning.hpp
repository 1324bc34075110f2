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
  ComplexStreamTile stream;  // without a name where stream.cu has no such tile
  ComplexPartsTimes times;

  constexpr bool is_narrow() const { return *stream.name == '\0'; }
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

// Of the tiles that fit sides which the others do not.
consteval ComplexPartsTile fitting_parts(const char* name, std::string_view tile) {
  return {.name = name,
          .idea = "complex stream tile cut along k, for sides that it fits",
          .stream = parts_of_tile(tile),
          .times = {.add_us = 2.3, .crowded_us = 1.5, .share = 1}};
}

// For products with a side so narrow that they wait for memory nearly as long as for FFMAs;
// stream.cu has no such tiles. Two groups of two warps along k: a stage has 32 k, so that of lines
// that lie along k neighbouring bytes are read together.
consteval ComplexPartsTile narrow_parts(const char* name, int bm, int bn, int wm, int wn, int tm,
                                        int tn, double busy_us) {
  return {.name = name,
          .idea = "complex tile cut along k for a narrow side",
          .stream = {.name = "",
                     .idea = "",
                     .config = {.bm = bm,
                                .bn = bn,
                                .bk = 32,
                                .wm = wm,
                                .wn = wn,
                                .warps_k = 2,
                                .tm = tm,
                                .tn = tn,
                                .stages = 2,
                                .blocks_per_sm = 2,
                                .producer_registers = 40,
                                .consumer_registers = 216,
                                .fetches_lines = true},
                     .times = {.start_us = 4.5,
                               .tile_us = 2,
                               .alone_us = 1.07 * busy_us,
                               .busy_us = busy_us,
                               .part_us = 0,
                               .each_part_us = 0}},
          .times = {.add_us = 1.5, .crowded_us = 1.5, .share = 1}};
}

// The last fourteen are fitted to 206 products on an NVIDIA H200, as they are chosen
// (results/h200/explored-complex-narrow.txt), the first five to all cuts of 64 products
// (results/h200/explored-complex-parts-k.txt)
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
     .times = {.add_us = 1, .crowded_us = 0.99, .share = 1.026}},
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
    fitting_parts("cgemm_parts_192x40", "cgemm_stream_192x40"),
    fitting_parts("cgemm_parts_128x48", "cgemm_stream_128x48"),
    fitting_parts("cgemm_parts_96x80", "cgemm_stream_96x80"),
    fitting_parts("cgemm_parts_64x96", "cgemm_stream_64x96"),
    fitting_parts("cgemm_parts_40x192", "cgemm_stream_40x192"),
    fitting_parts("cgemm_parts_48x128", "cgemm_stream_48x128"),
    fitting_parts("cgemm_parts_80x96", "cgemm_stream_80x96"),
    fitting_parts("cgemm_parts_96x64", "cgemm_stream_96x64"),
    narrow_parts("cgemm_parts_128x8k2", 128, 8, 64, 8, 8, 2, 1.12),
    narrow_parts("cgemm_parts_128x16k2", 128, 16, 64, 16, 8, 4, 1.53),
    narrow_parts("cgemm_parts_128x24k2", 128, 24, 64, 24, 8, 6, 2.16),
    narrow_parts("cgemm_parts_8x128k2", 8, 128, 8, 64, 2, 8, 1.21),
    narrow_parts("cgemm_parts_16x128k2", 16, 128, 16, 64, 4, 8, 1.65),
    narrow_parts("cgemm_parts_24x128k2", 24, 128, 24, 64, 6, 8, 2.16),
};

// By which a narrow tile takes longer where C has at most half of its short side.
inline constexpr double complex_parts_half_empty = 1.15;

// Of a megabyte of parts that are written and read, and of C (420 products of
// explored-complex-sides.txt).
inline constexpr double complex_parts_megabyte_us = 0.076;
inline constexpr double complex_parts_c_megabyte_us = 0.33;

}  // namespace kw
