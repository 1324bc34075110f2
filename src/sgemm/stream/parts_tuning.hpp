// The tiles that parts.cu cuts along k, and the constants of its cost model, as data.
#pragma once

#include <string_view>

#include "sgemm/stream/tuning.hpp"

namespace kw {

// The times by which a launch is predicted (parts_plan.hpp), fitted to products of which nearly all
// were chosen at random, on an NVIDIA H200 (results/h200/explored-parts.txt).
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
     .times = {.start_us = 7.512,
               .crowded_start_us = 9.929,
               .iteration_us = 2.598,
               .crowded_iteration_us = 5.134,
               .along_k_us = 0.268,
               .by_4_us = 0.095,
               .exposed = 0.009,
               .tile_us = 10.502,
               .piece_us = 4.812}},
    {.name = "parts_64x256",
     .idea = "the same, wide",
     .config = parts_config("stream_64x256"),
     .stores_pieces = true,
     .times = {.start_us = 7.706,
               .crowded_start_us = 10.356,
               .iteration_us = 2.620,
               .crowded_iteration_us = 5.218,
               .along_k_us = 0.400,
               .by_4_us = 0.116,
               .exposed = 0.136,
               .tile_us = 8.321,
               .piece_us = 6.731}},
    {.name = "parts_256x64",
     .idea = "the same, tall",
     .config = parts_config("stream_256x64"),
     .stores_pieces = true,
     .times = {.start_us = 7.427,
               .crowded_start_us = 10.018,
               .iteration_us = 2.697,
               .crowded_iteration_us = 5.206,
               .along_k_us = 0.394,
               .by_4_us = 0.138,
               .exposed = 0.060,
               .tile_us = 9.647,
               .piece_us = 5.062}},
    {.name = "parts_128x96",
     .idea = "8 x 12 outputs per thread",
     .config = parts_config("stream_128x96"),
     .times = {.start_us = 6.390,
               .crowded_start_us = 8.888,
               .iteration_us = 2.031,
               .crowded_iteration_us = 3.882,
               .along_k_us = 0.178,
               .by_4_us = 0.054,
               .exposed = 0.067,
               .tile_us = 7.938,
               .piece_us = 1.602}},
    {.name = "parts_96x128",
     .idea = "the same, wide",
     .config = parts_config("stream_96x128"),
     .times = {.start_us = 6.409,
               .crowded_start_us = 8.625,
               .iteration_us = 1.975,
               .crowded_iteration_us = 3.988,
               .along_k_us = 0.238,
               .by_4_us = 0.113,
               .exposed = 0.054,
               .tile_us = 10.067,
               .piece_us = 1.523}},
    {.name = "parts_128x48",
     .idea = "8 x 12 outputs per thread, two warps along k",
     .config = parts_config("stream_128x48"),
     .times = {.start_us = 5.990,
               .crowded_start_us = 7.975,
               .iteration_us = 1.136,
               .crowded_iteration_us = 2.099,
               .along_k_us = 0.180,
               .by_4_us = 0.097,
               .exposed = 0.095,
               .tile_us = 5.149,
               .piece_us = 1.751}},
    {.name = "parts_48x128",
     .idea = "the same, wide",
     .config = parts_config("stream_48x128"),
     .times = {.start_us = 5.617,
               .crowded_start_us = 7.415,
               .iteration_us = 1.124,
               .crowded_iteration_us = 2.115,
               .along_k_us = 0.218,
               .by_4_us = 0.096,
               .exposed = 0.325,
               .tile_us = 4.091,
               .piece_us = 1.004}},
    {.name = "parts_64x64",
     .idea = "8 x 8 outputs per thread, two warps along k",
     .config = parts_config("stream_64x64"),
     .times = {.start_us = 5.179,
               .crowded_start_us = 6.189,
               .iteration_us = 0.821,
               .crowded_iteration_us = 1.495,
               .along_k_us = 0.079,
               .by_4_us = 0.064,
               .exposed = 0.084,
               .tile_us = 3.794,
               .piece_us = 0.771}},
    {.name = "parts_128x32b2",
     .idea = "the same, tall",
     .config = parts_config("stream_128x32b2"),
     .times = {.start_us = 5.472,
               .crowded_start_us = 7.131,
               .iteration_us = 0.826,
               .crowded_iteration_us = 1.513,
               .along_k_us = 0.155,
               .by_4_us = 0.045,
               .exposed = 0.146,
               .tile_us = 4.559,
               .piece_us = 1.161}},
    {.name = "parts_32x96",
     .idea = "8 x 12 outputs per thread, four warps along k",
     .config = parts_config("stream_32x96"),
     .times = {.start_us = 5.017,
               .crowded_start_us = 5.813,
               .iteration_us = 0.708,
               .crowded_iteration_us = 1.226,
               .along_k_us = 0.164,
               .by_4_us = 0.061,
               .exposed = 0.365,
               .tile_us = 3.289,
               .piece_us = 0.988}},
    {.name = "parts_32x64k64",
     .idea = "8 x 8 outputs per thread, four warps along k",
     .config = parts_config("stream_32x64k64"),
     .times = {.start_us = 4.868,
               .crowded_start_us = 5.534,
               .iteration_us = 0.854,
               .crowded_iteration_us = 1.601,
               .along_k_us = 0.287,
               .by_4_us = 0.130,
               .exposed = 0.315,
               .tile_us = 1.897,
               .piece_us = 0.545}},
    {.name = "parts_64x32k64",
     .idea = "the same, tall",
     .config = parts_config("stream_64x32k64"),
     .times = {.start_us = 5.203,
               .crowded_start_us = 5.998,
               .iteration_us = 0.882,
               .crowded_iteration_us = 1.628,
               .along_k_us = 0.201,
               .by_4_us = 0.067,
               .exposed = 0.180,
               .tile_us = 1.802,
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
