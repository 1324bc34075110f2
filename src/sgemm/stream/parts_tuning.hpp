// The tiles that parts.cu cuts along k, and the constants of its cost model, as data.
#pragma once

#include <string_view>

#include "sgemm/stream/tuning.hpp"

namespace kw {

// The times by which a launch is predicted (parts_plan.hpp), fitted to products of which nearly all
// were chosen at random, on an NVIDIA H200 (results/h200/explored-parts.txt), and then to what the
// choice loses (explored-narrow.txt).
struct PartsTileTimes {
  double start_us, crowded_start_us;          // both launches, with one block per SM and with two
  double iteration_us, crowded_iteration_us;  // a stage of bk, likewise
  double along_k_us, by_4_us;                 // added to an iteration, as in StreamTileTimes
  double exposed;                             // the part of the memory's time that nothing hides
  double tile_us;   // where tiles are as many as blocks: more parts, more of C
  double piece_us;  // a further piece of a sum
};

struct PartsTile {
  const char* name;
  const char* idea;
  StreamTileConfig config;
  // Whether each piece of a sum is stored as one more part, and not added to those before it: where
  // a thread has 8 x 16 outputs, code that adds leaves the loop 3 to 5 % slower.
  bool stores_pieces = false;
  PartsTileTimes times;
};

// The configuration of a tile of stream_tile, without what parts do not need.
consteval StreamTileConfig parts_config(std::string_view of) {
  for (const StreamTile& tile : stream_tiles) {
    if (tile.name != of) continue;
    StreamTileConfig config = tile.config;
    config.clusters = config.shaped = config.plain = false;
    return config;
  }
  throw "stream_tiles has no such tile";
}

inline constexpr PartsTile parts_tiles[] = {
    {.name = "parts_128x128",
     .idea = "8 x 16 outputs per thread",
     .config = parts_config("stream_128x128"),
     .stores_pieces = true,
     .times = {.start_us = 7.523,
               .crowded_start_us = 9.493,
               .iteration_us = 2.515,
               .crowded_iteration_us = 5.134,
               .along_k_us = 0.268,
               .by_4_us = 0.095,
               .exposed = 0.009,
               .tile_us = 17.884,
               .piece_us = 5.106}},
    {.name = "parts_64x256",
     .idea = "the same, wide",
     .config = parts_config("stream_64x256"),
     .stores_pieces = true,
     .times = {.start_us = 7.914,
               .crowded_start_us = 12.232,
               .iteration_us = 2.621,
               .crowded_iteration_us = 5.218,
               .along_k_us = 0.393,
               .by_4_us = 0.116,
               .exposed = 0.136,
               .tile_us = 13.663,
               .piece_us = 6.819}},
    {.name = "parts_256x64",
     .idea = "the same, tall",
     .config = parts_config("stream_256x64"),
     .stores_pieces = true,
     .times = {.start_us = 7.439,
               .crowded_start_us = 10.035,
               .iteration_us = 2.697,
               .crowded_iteration_us = 5.258,
               .along_k_us = 0.393,
               .by_4_us = 0.138,
               .exposed = 0.060,
               .tile_us = 15.911,
               .piece_us = 5.074}},
    {.name = "parts_128x96",
     .idea = "8 x 12 outputs per thread",
     .config = parts_config("stream_128x96"),
     .times = {.start_us = 6.660,
               .crowded_start_us = 9.991,
               .iteration_us = 1.998,
               .crowded_iteration_us = 3.882,
               .along_k_us = 0.177,
               .by_4_us = 0.054,
               .exposed = 0.067,
               .tile_us = 9.105,
               .piece_us = 1.693}},
    {.name = "parts_96x128",
     .idea = "the same, wide",
     .config = parts_config("stream_96x128"),
     .times = {.start_us = 6.092,
               .crowded_start_us = 9.086,
               .iteration_us = 1.975,
               .crowded_iteration_us = 4.019,
               .along_k_us = 0.238,
               .by_4_us = 0.113,
               .exposed = 0.054,
               .tile_us = 12.418,
               .piece_us = 1.523}},
    {.name = "parts_128x48",
     .idea = "8 x 12 outputs per thread, two warps along k",
     .config = parts_config("stream_128x48"),
     .times = {.start_us = 4.748,
               .crowded_start_us = 7.990,
               .iteration_us = 1.303,
               .crowded_iteration_us = 2.229,
               .along_k_us = 0.180,
               .by_4_us = 0.097,
               .exposed = 0.095,
               .tile_us = 5.620,
               .piece_us = 1.751}},
    {.name = "parts_48x128",
     .idea = "the same, wide",
     .config = parts_config("stream_48x128"),
     .times = {.start_us = 5.580,
               .crowded_start_us = 7.356,
               .iteration_us = 1.095,
               .crowded_iteration_us = 2.248,
               .along_k_us = 0.218,
               .by_4_us = 0.096,
               .exposed = 0.285,
               .tile_us = 4.900,
               .piece_us = 1.004}},
    {.name = "parts_64x64",
     .idea = "8 x 8 outputs per thread, two warps along k",
     .config = parts_config("stream_64x64"),
     .times = {.start_us = 5.044,
               .crowded_start_us = 6.464,
               .iteration_us = 0.738,
               .crowded_iteration_us = 1.524,
               .along_k_us = 0.079,
               .by_4_us = 0.058,
               .exposed = 0.084,
               .tile_us = 3.524,
               .piece_us = 0.770}},
    {.name = "parts_128x32b2",
     .idea = "the same, tall",
     .config = parts_config("stream_128x32b2"),
     .times = {.start_us = 5.818,
               .crowded_start_us = 7.572,
               .iteration_us = 0.902,
               .crowded_iteration_us = 1.555,
               .along_k_us = 0.155,
               .by_4_us = 0.045,
               .exposed = 0.146,
               .tile_us = 4.559,
               .piece_us = 1.161}},
    {.name = "parts_128x24",
     .idea = "8 x 12 outputs per thread, four warps along k",
     .config = parts_config("stream_128x24"),
     .times = {.start_us = 6.503,
               .crowded_start_us = 6.551,
               .iteration_us = 0.699,
               .crowded_iteration_us = 1.324,
               .along_k_us = 0.155,
               .by_4_us = 0.045,
               .exposed = 0.146,
               .tile_us = 4.449,
               .piece_us = 1.161}},
    {.name = "parts_24x128",
     .idea = "the same, wide",
     .config = parts_config("stream_24x128"),
     .times = {.start_us = 5.974,
               .crowded_start_us = 7.493,
               .iteration_us = 0.700,
               .crowded_iteration_us = 1.240,
               .along_k_us = 0.155,
               .by_4_us = 0.045,
               .exposed = 0.146,
               .tile_us = 4.559,
               .piece_us = 1.161}},
    {.name = "parts_128x40",
     .idea = "4 x 20 outputs per thread, two warps along k",
     .config = parts_config("stream_128x40"),
     .times = {.start_us = 5.63,
               .crowded_start_us = 7.48,
               .iteration_us = 1.048,
               .crowded_iteration_us = 2.003,
               .along_k_us = 0.18,
               .by_4_us = 0.08,
               .exposed = 0.12,
               .tile_us = 5.00,
               .piece_us = 1.5}},
    {.name = "parts_40x128",
     .idea = "the same, wide",
     .config = parts_config("stream_40x128"),
     .times = {.start_us = 5.80,
               .crowded_start_us = 7.52,
               .iteration_us = 1.191,
               .crowded_iteration_us = 1.960,
               .along_k_us = 0.20,
               .by_4_us = 0.08,
               .exposed = 0.12,
               .tile_us = 5.35,
               .piece_us = 1.5}},
    {.name = "parts_32x96",
     .idea = "8 x 12 outputs per thread, four warps along k",
     .config = parts_config("stream_32x96"),
     .times = {.start_us = 4.864,
               .crowded_start_us = 5.818,
               .iteration_us = 0.630,
               .crowded_iteration_us = 1.350,
               .along_k_us = 0.175,
               .by_4_us = 0.061,
               .exposed = 0.365,
               .tile_us = 3.283,
               .piece_us = 0.988}},
    {.name = "parts_32x64k64",
     .idea = "8 x 8 outputs per thread, four warps along k",
     .config = parts_config("stream_32x64k64"),
     .times = {.start_us = 5.488,
               .crowded_start_us = 5.511,
               .iteration_us = 0.855,
               .crowded_iteration_us = 1.654,
               .along_k_us = 0.290,
               .by_4_us = 0.130,
               .exposed = 0.287,
               .tile_us = 2.100,
               .piece_us = 0.545}},
    {.name = "parts_64x32k64",
     .idea = "the same, tall",
     .config = parts_config("stream_64x32k64"),
     .times = {.start_us = 4.846,
               .crowded_start_us = 6.059,
               .iteration_us = 1.033,
               .crowded_iteration_us = 1.796,
               .along_k_us = 0.201,
               .by_4_us = 0.067,
               .exposed = 0.180,
               .tile_us = 1.934,
               .piece_us = 0.995}},
};

// Predictions are so much less than measured: those of stream_tile for products of which all tiles
// are cut, with which the choice compares them, are too short, and these are the products that
// parts_* gain (results/h200/explored-parts.txt).
inline constexpr double parts_scale = 0.97;

// Further pieces of sums are made as far as they take such a share of the predicted time. With
// half of it errors were above the vendor's more often than by stream_tile.
inline constexpr double parts_most_time = 0.04;

}  // namespace kw
