// The instances of `thin`, the shapes that its blocks can have, and the constants of its cost
// model, as data.
#pragma once

#include <cstdint>

namespace kw {

// An instance of the kernel, for products with up to `width` rows or columns. A thread has
// rows x depth elements of the wide operand at a time, and as many on their way.
struct ThinConfig {
  int width;
  int rows, depth;
  int threads;        // of a block, at most
  int blocks_per_sm;  // of those, resident

  // k of the narrow operand in shared memory at a time. A step is no longer.
  constexpr int chunk() const {
    return width <= 2 ? 4096 : width <= 4 ? 2048 : width <= 8 ? 1024 : 512;
  }
  // Whether sums of threads that share rows meet in the lanes of a warp first: where they are few.
  constexpr bool adds_lanes() const { return rows * width <= 4; }
  // Columns whose sums lie in shared memory at a time.
  constexpr int sums_width() const {
    const int most = rows == 1 ? 8 : 4;
    return width < most ? width : most;
  }
  // An output has one float more than it has sums, and it has two of these or more.
  constexpr int sums_floats() const { return rows * sums_width() * threads * 3 / 2; }
  constexpr int shared_floats() const {
    return width * chunk() > sums_floats() ? width * chunk() : sums_floats();
  }
};

// For an NVIDIA H200, where 4.5 TB/s at 0.8 us of latency need 27 KB in flight per multiprocessor:
// 1024 threads have 64 KB, the 512 of the widest instances 32 KB; more of those would spill.
inline constexpr ThinConfig thin_configs[] = {
    {1, 4, 4, 256, 4},  {2, 4, 4, 256, 4},  {4, 4, 4, 256, 3},   {8, 4, 4, 256, 2},
    {12, 4, 4, 256, 2}, {16, 4, 4, 256, 2}, {1, 1, 16, 1024, 1}, {2, 1, 8, 1024, 1},
    {4, 1, 8, 512, 1},  {8, 1, 8, 512, 1},  {16, 1, 8, 512, 1}};
inline constexpr int thin_max_width = 16;

// A block: an instance with so many rows a thread, 2^threads_shift threads, and 2^row_shift of them
// along the rows, the others along k.
struct ThinBlock {
  int rows;
  int threads_shift, row_shift;
};

// Beside each, where measurements on an NVIDIA H200 find it quickest among these and how quick,
// with k whole or (/) in parts, in microseconds (results/h200/explored-thin-cuts.txt).
inline constexpr ThinBlock thin_blocks[] = {
    {4, 7, 2},  //  176 x 4 x 103 2.13    1450 x 1 x 103 2.21   25 x 1 x 2371 / 3.40
    {4, 7, 5},  //  12 x 120000 x 300 50.4 after {4, 8, 6}
    {4, 7, 7},  //  3112 x 5 x 4 2.91 after {1, 8, 8}
    {4, 8, 0},  //  272 x 1 x 743 3.42
    {4, 8, 1},  //  1 x 580 x 377 2.82 after {1, 8, 3}
    {4, 8, 3},  //  8 x 4096 x 4096 / 23.8   4 x 3782 x 15323 / 64.2
    {4, 8, 5},  //  9797 x 1 x 36 2.67   1 x 8192 x 8192 / 64.9   7 x 9494 x 1527 / 24.9
    {4, 8, 6},  //  12 x 120000 x 300 48.9
    {1, 8, 3},  //  1 x 229 x 748 2.74   384 x 8 x 2102 / 6.19
    {1, 8, 5},  //  673 x 6 x 63 2.19   16 x 7477 x 253 6.28   2 x 4768 x 1872 / 10.8
    {1, 8, 8},  //  3112 x 5 x 4 2.42   13 x 7432 x 9 3.29
    {1, 9, 2},  //  1 x 289 x 1817 4.36
    {1, 9, 3},  //  3 x 23 x 12651 / 4.94
    {1, 9, 5},  //  2227 x 1 x 882 5.05   163 x 1 x 4877 / 5.19
    {1, 9, 7},  //  14198 x 16 x 373 15.5 after {4, 8, 5}
};

struct ThinTuning {
  int tickets;  // of blocks that share rows: as many as ragged gives each of its parts
  // Lines that do not start on a 16-byte boundary are read four elements a load where the wide
  // operand has so many floats and a block so many steps: the edges of lines then count little.
  double shifted_floats;
  int shifted_steps;

  // For the prediction, in microseconds, where nothing else is said. `start` is of 256 threads.
  double start, start_twice_threads;
  double step;                  // from one load to the next
  double block;                 // another block on the same multiprocessor
  double fetch;                 // further loads of a chunk of the narrow operand
  double chunk;                 // a further chunk
  double add_lanes;             // sums of a warp's lanes
  double sums_pass;             // columns whose sums lie in shared memory
  double sums_add;              // one of these that a thread adds up
  double output_direct;         // of a thread, where no other has a part
  double scattered;             // output, where a column is no line of C
  double gather, gather_loads;  // where blocks share rows; eight loads of their sums
  double sm_bytes, l2_bytes;    // per microsecond
  double unaligned;             // the share by which they are more where lines are not aligned
  // Of the issue slots of a multiprocessor, an element of the wide operand: beside `width` times
  // the first the second, and the third where it is a load of its own.
  double fma_slots, element_slots, load_slots;
  double slots_per_us;
  double share_of_bandwidth;  // of the one that the device states
  double share_of_l2;         // that keeps an operand from call to call
  double default_l2_bytes;
};

// Fitted to the same measurements by tools/fit_thin.py: over 42 shapes the cut of the least
// prediction takes 3 % longer than the quickest. `gather_loads` is of eight loads under way at a
// time, which were measured one after the other.
inline constexpr ThinTuning thin_tuning = {.tickets = 4096,
                                           .shifted_floats = 2 << 20,
                                           .shifted_steps = 4,
                                           .start = 1.19,
                                           .start_twice_threads = 0.514,
                                           .step = 0.513,
                                           .block = 0.762,
                                           .fetch = 0.415,
                                           .chunk = 0.192,
                                           .add_lanes = 0.11,
                                           .sums_pass = 0.47,
                                           .sums_add = 0.0193,
                                           .output_direct = 0.0518,
                                           .scattered = 0.453e-3,
                                           .gather = 1.31,
                                           .gather_loads = 0.25,
                                           .sm_bytes = 199e3,
                                           .l2_bytes = 5.95e6,
                                           .unaligned = 0.209,
                                           .fma_slots = 1.72,
                                           .element_slots = 6.92,
                                           .load_slots = 7.03,
                                           .slots_per_us = 128 * 1750.0,
                                           .share_of_bandwidth = 0.95,
                                           .share_of_l2 = 0.8,
                                           .default_l2_bytes = 50e6};

}  // namespace kw
