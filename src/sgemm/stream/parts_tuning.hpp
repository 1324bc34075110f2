// The tiles that parts.cu cuts along k, and the constants of its cost model, as data.
#pragma once

#include <string_view>

#include "sgemm/stream/tuning.hpp"

namespace kw {

// The times by which a launch is predicted (parts_plan.hpp), fitted to products of which nearly all
// were chosen at random, on an NVIDIA H200 (results/h200/explored-parts.txt), and then to what the
// choice loses (explored-narrow.txt, explored-choice-tail.txt).
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
     .times = {.start_us = 7.773,
               .crowded_start_us = 10.649,
               .iteration_us = 2.701,
               .crowded_iteration_us = 5.330,
               .along_k_us = 0.272,
               .by_4_us = 0.097,
               .exposed = 0.009,
               .tile_us = 10.561,
               .piece_us = 5.271}},
    {.name = "parts_64x256",
     .idea = "the same, wide",
     .config = parts_config("stream_64x256"),
     .stores_pieces = true,
     .times = {.start_us = 8.508,
               .crowded_start_us = 11.113,
               .iteration_us = 2.689,
               .crowded_iteration_us = 5.313,
               .along_k_us = 0.388,
               .by_4_us = 0.119,
               .exposed = 0.136,
               .tile_us = 8.867,
               .piece_us = 6.942}},
    {.name = "parts_256x64",
     .idea = "the same, tall",
     .config = parts_config("stream_256x64"),
     .stores_pieces = true,
     .times = {.start_us = 7.941,
               .crowded_start_us = 10.745,
               .iteration_us = 2.782,
               .crowded_iteration_us = 5.391,
               .along_k_us = 0.372,
               .by_4_us = 0.141,
               .exposed = 0.061,
               .tile_us = 9.796,
               .piece_us = 5.417}},
    {.name = "parts_128x96",
     .idea = "8 x 12 outputs per thread",
     .config = parts_config("stream_128x96"),
     .turns = false,
     .times = {.start_us = 6.672,
               .crowded_start_us = 10.234,
               .iteration_us = 2.073,
               .crowded_iteration_us = 4.023,
               .along_k_us = 0.182,
               .by_4_us = 0.054,
               .exposed = 0.066,
               .tile_us = 8.110,
               .piece_us = 1.620}},
    {.name = "parts_96x128",
     .idea = "the same, wide",
     .config = parts_config("stream_96x128"),
     .times = {.start_us = 6.721,
               .crowded_start_us = 9.247,
               .iteration_us = 2.047,
               .crowded_iteration_us = 4.096,
               .along_k_us = 0.240,
               .by_4_us = 0.115,
               .exposed = 0.054,
               .tile_us = 9.994,
               .piece_us = 1.578}},
    {.name = "parts_128x48",
     .idea = "8 x 12 outputs per thread, two warps along k",
     .config = parts_config("stream_128x48"),
     .times = {.start_us = 6.323,
               .crowded_start_us = 8.663,
               .iteration_us = 1.142,
               .crowded_iteration_us = 2.109,
               .along_k_us = 0.180,
               .by_4_us = 0.099,
               .exposed = 0.092,
               .tile_us = 5.252,
               .piece_us = 1.717}},
    {.name = "parts_48x128",
     .idea = "the same, wide",
     .config = parts_config("stream_48x128"),
     .times = {.start_us = 6.095,
               .crowded_start_us = 7.936,
               .iteration_us = 1.143,
               .crowded_iteration_us = 2.186,
               .along_k_us = 0.227,
               .by_4_us = 0.099,
               .both_along_k = 0.944,
               .exposed = 0.329,
               .tile_us = 4.218,
               .piece_us = 1.040}},
    {.name = "parts_64x64",
     .idea = "8 x 8 outputs per thread, two warps along k",
     .config = parts_config("stream_64x64"),
     .times = {.start_us = 5.072,
               .crowded_start_us = 6.181,
               .iteration_us = 0.834,
               .crowded_iteration_us = 1.554,
               .along_k_us = 0.084,
               .by_4_us = 0.065,
               .exposed = 0.085,
               .tile_us = 3.724,
               .piece_us = 0.782}},
    {.name = "parts_128x32b2",
     .idea = "the same, tall",
     .config = parts_config("stream_128x32b2"),
     .times = {.start_us = 5.507,
               .crowded_start_us = 7.262,
               .iteration_us = 0.843,
               .crowded_iteration_us = 1.557,
               .along_k_us = 0.159,
               .by_4_us = 0.046,
               .exposed = 0.145,
               .tile_us = 4.541,
               .piece_us = 1.161}},
    {.name = "parts_128x24",
     .idea = "8 x 12 outputs per thread, four warps along k",
     .config = parts_config("stream_128x24"),
     .times = {.start_us = 6.678,
               .crowded_start_us = 7.692,
               .iteration_us = 0.725,
               .crowded_iteration_us = 1.277,
               .along_k_us = 0.160,
               .by_4_us = 0.048,
               .both_along_k = 0.972,
               .exposed = 0.139,
               .tile_us = 4.628,
               .piece_us = 1.196}},
    {.name = "parts_24x128",
     .idea = "the same, wide",
     .config = parts_config("stream_24x128"),
     .times = {.start_us = 6.126,
               .crowded_start_us = 6.920,
               .iteration_us = 0.722,
               .crowded_iteration_us = 1.318,
               .along_k_us = 0.163,
               .by_4_us = 0.046,
               .both_along_k = 0.970,
               .exposed = 0.146,
               .tile_us = 4.550,
               .piece_us = 1.190}},
    {.name = "parts_128x40",
     .idea = "4 x 20 outputs per thread, two warps along k",
     .config = parts_config("stream_128x40"),
     .times = {.start_us = 6.218,
               .crowded_start_us = 8.005,
               .iteration_us = 1.076,
               .crowded_iteration_us = 2.027,
               .along_k_us = 0.201,
               .by_4_us = 0.087,
               .both_along_k = 0.978,
               .exposed = 0.121,
               .tile_us = 5.624,
               .piece_us = 1.637}},
    {.name = "parts_40x128",
     .idea = "the same, wide",
     .config = parts_config("stream_40x128"),
     .times = {.start_us = 5.974,
               .crowded_start_us = 7.692,
               .iteration_us = 1.056,
               .crowded_iteration_us = 1.975,
               .along_k_us = 0.204,
               .by_4_us = 0.086,
               .both_along_k = 0.980,
               .exposed = 0.121,
               .tile_us = 5.443,
               .piece_us = 1.594}},
    {.name = "parts_32x96",
     .idea = "8 x 12 outputs per thread, four warps along k",
     .config = parts_config("stream_32x96"),
     .times = {.start_us = 5.238,
               .crowded_start_us = 6.123,
               .iteration_us = 0.732,
               .crowded_iteration_us = 1.259,
               .along_k_us = 0.171,
               .by_4_us = 0.063,
               .both_along_k = 0.905,
               .exposed = 0.364,
               .tile_us = 3.429,
               .piece_us = 1.024}},
    {.name = "parts_32x64k64",
     .idea = "8 x 8 outputs per thread, four warps along k",
     .config = parts_config("stream_32x64k64"),
     .times = {.start_us = 4.945,
               .crowded_start_us = 6.115,
               .iteration_us = 0.874,
               .crowded_iteration_us = 1.589,
               .along_k_us = 0.262,
               .by_4_us = 0.134,
               .both_along_k = 0.918,
               .exposed = 0.292,
               .tile_us = 1.971,
               .piece_us = 0.552}},
    {.name = "parts_64x32k64",
     .idea = "the same, tall",
     .config = parts_config("stream_64x32k64"),
     .times = {.start_us = 5.054,
               .crowded_start_us = 6.266,
               .iteration_us = 0.904,
               .crowded_iteration_us = 1.651,
               .along_k_us = 0.190,
               .by_4_us = 0.069,
               .both_along_k = 0.937,
               .exposed = 0.172,
               .tile_us = 1.916,
               .piece_us = 0.989}},
};

// Predictions are so much less than measured: those of stream_tile for products of which all tiles
// are cut, with which the choice compares them, are too short, and these are the products that
// parts_* gain (results/h200/explored-parts.txt).
inline constexpr double parts_scale = 0.97;

// What it takes longer to store a C whose vectors are not aligned or cross its edge.
inline constexpr double parts_store_by_4_us = 0.5;

// Of what the block with the most iterations has more than the mean, this share is not seen: blocks
// that have an iteration less leave more of L2 and of their multiprocessor to the others
// (results/h200/explored-choice-tail.txt).
inline constexpr double parts_evened = 0.75;

// Further pieces of sums are made as far as they take such a share of the predicted time. With
// half of it errors were above the vendor's more often than by stream_tile.
inline constexpr double parts_most_time = 0.04;

}  // namespace kw
