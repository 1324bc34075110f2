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
};

// Of a megabyte of parts that are written and read.
inline constexpr double complex_parts_megabyte_us = 0.076;

}  // namespace kw
