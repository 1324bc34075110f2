// The instances of cgemm_thin, how their blocks may be cut, and the constants of their cost model,
// as data.
#pragma once

#include <cstdint>

namespace kw {

// Where the wide operand of an instance's products comes from, call after call: L2, which keeps it,
// or memory. The loads from memory tell L2 which steps to keep.
enum class ThinFrom { any, l2, memory };

// An instance, for products with up to `width` rows or columns. A thread has rows x depth elements
// of the wide operand a step; `k_lanes` lanes of a warp lie along k, the others along rows.
struct ComplexThinConfig {
  int width;
  bool along_k;  // the wide operand is contiguous along k, else along its rows
  int rows, depth;
  int k_lanes;
  int blocks_per_sm;
  ThinFrom from = ThinFrom::any;

  static constexpr int threads = 256, warps = threads / 32;
  constexpr bool keeps_steps() const { return from == ThinFrom::memory; }
  constexpr int row_lanes() const { return 32 / k_lanes; }
  // k of the narrow operand in one of the two buffers of shared memory.
  constexpr int chunk() const { return width <= 4 ? 1024 : 4096 / width; }
  constexpr int pitch() const { return chunk() + 2; }
  // A block with so many warps along k has so many rows, and a step so many k.
  constexpr int block_rows(int k_warps) const { return warps / k_warps * row_lanes() * rows; }
  constexpr int step(int k_warps) const { return depth * k_lanes * k_warps; }
  constexpr int shared_bytes() const { return 2 * width * pitch() * 8; }
};

inline constexpr int complex_thin_max_width = 16;

inline constexpr ComplexThinConfig complex_thin_configs[] = {
    // The wide operand along k: rows that many threads share, short rows, few rows.
    {1, true, 4, 2, 32, 3, ThinFrom::l2},
    {1, true, 4, 2, 32, 3, ThinFrom::memory},
    {1, true, 2, 4, 8, 3},
    {1, true, 1, 8, 32, 3},
    {2, true, 4, 2, 32, 2, ThinFrom::l2},
    {2, true, 4, 2, 32, 2, ThinFrom::memory},
    {2, true, 2, 4, 8, 3},
    {2, true, 1, 8, 32, 3},
    {4, true, 4, 2, 32, 2, ThinFrom::l2},
    {4, true, 4, 2, 32, 2, ThinFrom::memory},
    {4, true, 2, 4, 8, 2},
    {4, true, 1, 8, 32, 2},
    {8, true, 4, 2, 32, 2, ThinFrom::l2},
    {8, true, 4, 2, 32, 2, ThinFrom::memory},
    {8, true, 2, 2, 8, 2},
    {8, true, 1, 4, 32, 2},
    {16, true, 2, 2, 32, 2},
    {16, true, 1, 4, 8, 2},
    {16, true, 1, 4, 32, 2},
    // Along rows: the lanes of a warp have neighbouring rows, or few of them and many k.
    {1, false, 2, 4, 1, 3, ThinFrom::l2},
    {1, false, 2, 4, 1, 3, ThinFrom::memory},
    {1, false, 1, 8, 1, 3, ThinFrom::memory},
    {1, false, 2, 4, 8, 3},
    {2, false, 2, 4, 1, 3, ThinFrom::l2},
    {2, false, 2, 4, 1, 3, ThinFrom::memory},
    {2, false, 2, 4, 8, 3},
    {4, false, 2, 4, 1, 2, ThinFrom::l2},
    {4, false, 2, 4, 1, 2, ThinFrom::memory},
    {4, false, 2, 4, 8, 2},
    {8, false, 2, 2, 1, 2, ThinFrom::l2},
    {8, false, 2, 2, 1, 2, ThinFrom::memory},
    {8, false, 2, 2, 8, 2},
    {16, false, 2, 2, 1, 2},
    {16, false, 2, 2, 8, 2},
};

struct ComplexThinTuning {
  std::int64_t longest_sum;  // of one thread; more is cut where the workspace allows
  int most_parts;
  // Of blocks that follow each other on a multiprocessor, so many for each that it holds, up to
  // that width: where parts that all run at once are too few for the rows' blocks to lie evenly.
  int most_rounds, rounds_width;
  // In microseconds.
  double start;   // the beginning and end of a launch
  double step;    // from one load of a thread to the next
  double block;   // another block on the same multiprocessor
  double chunk;   // of the narrow operand
  double lanes;   // the sum over the lanes of a warp, for each that a thread gives away
  double warps;   // the sum over the warps of a block
  double gather;  // the sum over blocks, and for eight loads of their sums
  double gather_loads;
  double store;   // an output of a multiprocessor, where C has few columns
  double uneven;  // by which bytes take longer where some multiprocessors have twice as many
  double l2_bytes, sm_bytes;  // per microsecond, of all and of one multiprocessor
  double slots_per_us;        // of the issue slots of a multiprocessor
  double element_slots;       // of an element of the wide operand, beside 4 * width
  double narrow_slots;        // of a load of two elements of the narrow operand
  double share_of_bandwidth;  // of the one that the device states
  double
      cut_sectors;  // by how much sectors that runs have a part of count, from L2 and from memory
  double cut_sectors_memory;
  double crowded_across;  // by which memory takes longer each time that the bytes double for which
                          // a multiprocessor waits, from 32 KiB on, where lines lie across k
  double beyond_rows;     // the same for the rows of blocks that lie beyond the operand
  double loose;           // by which bytes take longer where blocks do not lie evenly
  double column;          // by which all of it takes longer for each column of an instance
};

// Fitted to every cut of 36 products of which most come from memory, on an NVIDIA H200, with
// cuBLAS's time as a part of what is lost (results/h200/explored-complex-thin.txt): the cut of the
// least prediction takes 3 % longer than the quickest on average. The times of instructions and
// what a column adds are from 351 earlier ones; what a store of few columns takes, from 160 later
// ones (explored-complex-few.txt).
inline constexpr ComplexThinTuning complex_thin_tuning = {.longest_sum = 2048,
                                                          .most_parts = 512,
                                                          .most_rounds = 4,
                                                          .rounds_width = 2,
                                                          .start = 1.29,
                                                          .step = 0.275,
                                                          .block = 0.619,
                                                          .chunk = 0.392,
                                                          .lanes = 0.0143,
                                                          .warps = 0.294,
                                                          .gather = 0.498,
                                                          .gather_loads = 0.371,
                                                          .store = 7e-4,
                                                          .uneven = 0.0827,
                                                          .l2_bytes = 4.98e6,
                                                          .sm_bytes = 1.52e6,
                                                          .slots_per_us = 2.87e5,
                                                          .element_slots = 5.16,
                                                          .narrow_slots = 9.61,
                                                          .share_of_bandwidth = 0.889,
                                                          .cut_sectors = 0.0203,
                                                          .cut_sectors_memory = 0.171,
                                                          .crowded_across = 0.0296,
                                                          .beyond_rows = 0.0323,
                                                          .loose = 0.224,
                                                          .column = 0.0135};

}  // namespace kw
