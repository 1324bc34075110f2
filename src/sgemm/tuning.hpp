// The configurations of the production kernels, as data, each with what was measured for it.
#pragma once

namespace kw {

struct AsyncTileConfig {
  int bm, bn, bk;  // block tile
  int tm, tn;      // outputs a thread: 2x2 quarters of tm/2 x tn/2
  int wm, wn;      // warp tile
  int stages;      // shared-memory buffers: one computed, the others on their way

  constexpr int threads() const { return (bm / tm) * (bn / tn); }
};

// NVIDIA H200, 4096 x 4096 x 4096, row-major, no transposes: 48.7 TFLOP/s, cuBLAS 50.9 in the
// same run (results/h200/sgemm-ladder.json). Tried in explored-r12.txt, in the same folder: bk = 8
// loses 8 %, bk = 32 loses 1 %, a fourth stage changes nothing.
inline constexpr AsyncTileConfig async_tile_config = {
    .bm = 128, .bn = 128, .bk = 16, .tm = 8, .tn = 8, .wm = 64, .wn = 32, .stages = 3};

}  // namespace kw
