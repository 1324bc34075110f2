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
  double both_along_k = 1;                    // likewise
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
  // Whether there is an instance for operands that both lie along k. The quickest loops of a thread
  // gain nothing by it.
  bool turns = true;
  PartsTileTimes times;
};

// The configuration of a tile of stream_tile, without what parts do not need.
consteval StreamTileConfig parts_config(std::string_view of) {
  for (const StreamTile& tile : stream_tiles) {
    if (tile.name != of) continue;
    StreamTileConfig config = tile.config;
    config.clusters = config.shaped = config.plain = config.turns = false;
    return config;
  }
  throw "stream_tiles has no such tile";
}

inline constexpr PartsTile parts_tiles[] = {
    {.name = "parts_128x128",
     .idea = "8 x 16 outputs per thread",
     .config = parts_config("stream_128x128"),
     .stores_pieces = true,
     .turns = false,
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
     .turns = false,
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
     .times = {.start_us = 5.984,
               .crowded_start_us = 7.967,
               .iteration_us = 1.135,
               .crowded_iteration_us = 2.097,
               .along_k_us = 0.180,
               .by_4_us = 0.097,
               .exposed = 0.091,
               .tile_us = 5.143,
               .piece_us = 1.750}},
    {.name = "parts_48x128",
     .idea = "the same, wide",
     .config = parts_config("stream_48x128"),
     .times = {.start_us = 5.791,
               .crowded_start_us = 7.645,
               .iteration_us = 1.159,
               .crowded_iteration_us = 2.181,
               .along_k_us = 0.225,
               .by_4_us = 0.099,
               .both_along_k = 0.944,
               .exposed = 0.325,
               .tile_us = 4.218,
               .piece_us = 1.035}},
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
     .times = {.start_us = 5.488,
               .crowded_start_us = 7.153,
               .iteration_us = 0.828,
               .crowded_iteration_us = 1.518,
               .along_k_us = 0.155,
               .by_4_us = 0.045,
               .exposed = 0.140,
               .tile_us = 4.573,
               .piece_us = 1.164}},
    {.name = "parts_128x24",
     .idea = "8 x 12 outputs per thread, four warps along k",
     .config = parts_config("stream_128x24"),
     .times = {.start_us = 6.286,
               .crowded_start_us = 7.990,
               .iteration_us = 0.719,
               .crowded_iteration_us = 1.315,
               .along_k_us = 0.159,
               .by_4_us = 0.047,
               .both_along_k = 0.972,
               .exposed = 0.139,
               .tile_us = 4.682,
               .piece_us = 1.193}},
    {.name = "parts_24x128",
     .idea = "the same, wide",
     .config = parts_config("stream_24x128"),
     .times = {.start_us = 5.576,
               .crowded_start_us = 7.266,
               .iteration_us = 0.713,
               .crowded_iteration_us = 1.304,
               .along_k_us = 0.158,
               .by_4_us = 0.046,
               .both_along_k = 0.970,
               .exposed = 0.146,
               .tile_us = 4.646,
               .piece_us = 1.183}},
    {.name = "parts_128x40",
     .idea = "4 x 20 outputs per thread, two warps along k",
     .config = parts_config("stream_128x40"),
     .times = {.start_us = 6.196,
               .crowded_start_us = 8.152,
               .iteration_us = 1.044,
               .crowded_iteration_us = 1.957,
               .along_k_us = 0.196,
               .by_4_us = 0.087,
               .both_along_k = 0.978,
               .exposed = 0.12,
               .tile_us = 5.435,
               .piece_us = 1.631}},
    {.name = "parts_40x128",
     .idea = "the same, wide",
     .config = parts_config("stream_40x128"),
     .times = {.start_us = 6.116,
               .crowded_start_us = 8.047,
               .iteration_us = 1.030,
               .crowded_iteration_us = 1.931,
               .along_k_us = 0.193,
               .by_4_us = 0.086,
               .both_along_k = 0.980,
               .exposed = 0.12,
               .tile_us = 5.365,
               .piece_us = 1.609}},
    {.name = "parts_32x96",
     .idea = "8 x 12 outputs per thread, four warps along k",
     .config = parts_config("stream_32x96"),
     .times = {.start_us = 5.203,
               .crowded_start_us = 6.028,
               .iteration_us = 0.734,
               .crowded_iteration_us = 1.271,
               .along_k_us = 0.170,
               .by_4_us = 0.063,
               .both_along_k = 0.905,
               .exposed = 0.365,
               .tile_us = 3.411,
               .piece_us = 1.025}},
    {.name = "parts_32x64k64",
     .idea = "8 x 8 outputs per thread, four warps along k",
     .config = parts_config("stream_32x64k64"),
     .times = {.start_us = 4.928,
               .crowded_start_us = 5.602,
               .iteration_us = 0.864,
               .crowded_iteration_us = 1.621,
               .along_k_us = 0.291,
               .by_4_us = 0.132,
               .both_along_k = 0.918,
               .exposed = 0.299,
               .tile_us = 1.920,
               .piece_us = 0.552}},
    {.name = "parts_64x32k64",
     .idea = "the same, tall",
     .config = parts_config("stream_64x32k64"),
     .times = {.start_us = 5.193,
               .crowded_start_us = 5.986,
               .iteration_us = 0.880,
               .crowded_iteration_us = 1.625,
               .along_k_us = 0.200,
               .by_4_us = 0.066,
               .both_along_k = 0.937,
               .exposed = 0.168,
               .tile_us = 1.799,
               .piece_us = 0.993}},
};

// Predictions are so much less than measured: those of stream_tile for products of which all tiles
// are cut, with which the choice compares them, are too short, and these are the products that
// parts_* gain (results/h200/explored-parts.txt).
inline constexpr double parts_scale = 0.97;

// Further pieces of sums are made as far as they take such a share of the predicted time. With
// half of it errors were above the vendor's more often than by stream_tile.
inline constexpr double parts_most_time = 0.04;

}  // namespace kw
