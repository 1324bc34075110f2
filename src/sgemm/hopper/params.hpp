// What the kernels of a split product are given: the split pass, which writes packed operands, and
// the product, which multiplies them. call.hpp fills these in.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/hopper/outliers.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/schedule.hpp"
#include "sgemm/hopper/split_items.hpp"
#include "sgemm/hopper/tile_grid.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

// One operand of the split pass, seen as rows along k.
struct Source {
  PackedLayout layout;
  bool along_k;  // an element's neighbour in memory is the next along k; else the next row
  bool aligned;  // where along k: rows begin at multiples of 16 bytes
  char* packed;
  int* scales;  // fp16: [entry][row]
};

struct SplitParams {
  Sgemm problem;
  Source sources[2];
  SplitItems items[2];
  Control* control;
  OutlierLists outliers[2];  // fp16
  OutlierTotals* outlier_totals;
};

struct ProductParams {
  Sgemm problem;
  PackedLayout a, b;
  const char *packed_a = nullptr, *packed_b = nullptr;
  const int *scales_a = nullptr, *scales_b = nullptr;  // fp16: [entry][row], powers of two
  Control* control = nullptr;
  int range_blocks = 0;           // of the split pass, whose ranges select the path
  float* split_k_sums = nullptr;  // where several blocks share a tile: the sums of each
  unsigned* tickets = nullptr;    // two a cut tile, zero before and after
  OutlierLists outliers_a = {}, outliers_b = {};  // fp16
  OutlierTotals* outlier_totals = nullptr;
  unsigned long long most_outlier_ns = 0;  // with more, bf16x6 computes the product
  Schedule schedule = {};                  // of the tile that is launched
  TileGrid grid = {};                      // likewise, where C is full
  // fp16x3: by which it writes the pieces for the product that comes next, where that is selected.
  SplitParams second_split = {};
};

}  // namespace KW_TARGET::hopper
