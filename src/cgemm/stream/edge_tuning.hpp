// The complex stream tiles that edge.cu computes beside each other, and the constants of its cost
// model, as data.
#pragma once

#include "cgemm/stream/tuning.hpp"

namespace kw {

// In microseconds.
struct ComplexEdgeTimes {
  double start_us;  // a launch, its first stage and its end
  double tile_us;   // each further tile on an SM
  double stage_us;
  double odd_us;  // each tile on an SM, where lines of C begin at odd elements
};

struct ComplexEdgeTile {
  const char* name;
  const char* idea;
  ComplexStreamConfig whole;  // the tiles of C
  ComplexStreamConfig rest;   // those of its last rows, where they are few
  ComplexEdgeTimes times;
};

// Fitted to 150 products on an NVIDIA H200 (results/h200/explored-complex-sides.txt), off by a
// fortieth on average.
inline constexpr ComplexEdgeTile complex_edge_tiles[] = {
    {.name = "cgemm_edge_96x64",
     .idea =
         "complex stream tile of two groups of four warps along k, tiles of 32x160 for the last "
         "rows",
     .whole = {.bm = 96,
               .bn = 64,
               .bk = 32,
               .wm = 48,
               .wn = 32,
               .warps_k = 2,
               .tm = 6,
               .tn = 8,
               .stages = 4,
               .blocks_per_sm = 1,
               .producer_registers = 64,
               .consumer_registers = 216,
               .staged = true,
               .across = 128,
               .loads_within = 1},
     .rest = {.bm = 32,
              .bn = 160,
              .bk = 32,
              .wm = 32,
              .wn = 40,
              .warps_k = 2,
              .tm = 4,
              .tn = 10,
              .stages = 3,
              .blocks_per_sm = 1,
              .producer_registers = 64,
              .consumer_registers = 216,
              .staged = true,
              .across = 128,
              .loads_within = 1},
     .times = {.start_us = 5.8, .tile_us = 4.85, .stage_us = 3.86, .odd_us = 1}},
};

}  // namespace kw
