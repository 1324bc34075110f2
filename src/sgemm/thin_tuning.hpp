// The instances of `thin`, the shapes that its blocks can have, and the constants of its cost
// model, as data.
#pragma once

#include <cstdint>

namespace kw {

// From one column of the narrow operand in shared memory to the next: copies of neighbouring
// columns meet different banks.
constexpr int narrow_pitch(int width, int chunk) { return width == 1 ? chunk : chunk + 4; }

// How a thread adds up its products: all in one sum; those of a step by themselves first, an
// addition more for each four; or some steps in a sum that then joins a total, which costs next to
// no time but as many registers as there are sums.
enum class ThinSums { whole, steps_apart, folded };

// An instance of the kernel, for products with up to `width` rows or columns. A thread has
// rows x depth elements of the wide operand a step.
struct ThinConfig {
  int width;
  int rows, depth;
  int threads;                          // of a block, at most
  int blocks_along_k, blocks_across_k;  // of those, resident on a multiprocessor

  constexpr int blocks_per_sm(bool along_k) const {
    return along_k ? blocks_along_k : blocks_across_k;
  }
  // k of the narrow operand in shared memory at a time. A step is no longer.
  constexpr int chunk() const {
    return width <= 2 ? 4096 : width <= 4 ? 2048 : width <= 8 ? 1024 : 512;
  }
  // How a thread keeps its sums short. Wider instances multiply for longer than they load; those
  // that load elements `one_by_one` have no time for an addition more a step, and registers for
  // totals only where outputs are few and, across k, steps short.
  constexpr ThinSums thread_sums(bool along_k, bool one_by_one) const {
    if (!one_by_one) return width <= 8 ? ThinSums::steps_apart : ThinSums::whole;
    const bool has_registers = along_k ? width == 1 : width <= 2 && depth <= 8;
    return has_registers ? ThinSums::folded : ThinSums::whole;
  }
  // Whether sums of threads that share rows meet in the lanes of a warp first: where they are few.
  constexpr bool adds_lanes() const { return rows * width <= 4; }
  // Whether its loads tell L2 which steps to keep: where registers are left for it.
  constexpr bool keeps_steps() const { return width <= (rows == 4 ? 12 : 4); }
  // Whether lines along k are read one element a load where they are short: not where the sums
  // leave no registers for it.
  constexpr bool reads_short_lines() const { return rows * width < 64; }
  // Whether loads of steps that lie inside of the operand ask nothing: where registers are left.
  constexpr bool reads_whole_steps(bool along_k) const {
    return along_k ? rows * width <= 4 : rows == 4 && width == 1;
  }
  // Columns whose sums lie in shared memory at a time.
  constexpr int sums_width() const {
    const int most = rows == 1 ? 8 : 4;
    return width < most ? width : most;
  }
  // An output has one float more than it has sums, and it has two of these or more.
  constexpr int sums_floats() const { return rows * sums_width() * threads * 3 / 2; }
  constexpr int shared_floats() const {
    const int narrow = width * narrow_pitch(width, chunk());
    return narrow > sums_floats() ? narrow : sums_floats();
  }
};

// For an NVIDIA H200, where 4.5 TB/s at 0.8 us of latency need 27 KB in flight per multiprocessor:
// 768 threads have 96 KB in two steps, the 512 of the widest instances 64 KB; more would spill.
inline constexpr ThinConfig thin_configs[] = {
    {1, 4, 4, 256, 3, 3},  {2, 4, 4, 256, 3, 3},  {4, 4, 4, 256, 3, 3},  {8, 4, 4, 256, 2, 2},
    {12, 4, 4, 256, 2, 2}, {16, 4, 4, 256, 2, 2}, {1, 1, 16, 256, 3, 4}, {2, 1, 8, 256, 4, 4},
    {4, 1, 8, 256, 2, 2},  {8, 1, 8, 256, 2, 2},  {16, 1, 8, 256, 2, 2}};
inline constexpr int thin_max_width = 16;

// A block: an instance with so many rows a thread, 2^threads_shift threads, and 2^row_shift of them
// along the rows, the others along k.
struct ThinBlock {
  int rows;
  int threads_shift, row_shift;
};

// In results/h200/explored-thin-choice-3.txt, with k whole or in parts, the quickest of these takes
// less than 1 % longer on average than the quickest of all that were measured.
inline constexpr ThinBlock thin_blocks[] = {{1, 7, 0}, {1, 7, 2}, {1, 7, 3}, {1, 7, 4}, {1, 7, 5},
                                            {1, 7, 7}, {1, 8, 0}, {1, 8, 1}, {1, 8, 2}, {1, 8, 3},
                                            {1, 8, 4}, {1, 8, 5}, {1, 8, 6}, {1, 8, 8}, {4, 7, 2},
                                            {4, 7, 3}, {4, 7, 5}, {4, 8, 3}, {4, 8, 4}, {4, 8, 5}};

struct ThinTuning {
  int tickets;  // of blocks that share rows: as many as ragged gives each of its parts
  // Of L2's size: so much of an operand that it cannot hold is to stay there, where kernels begin
  // early and where they do not.
  double steps_share, steps_share_apart;
  // Kernels that do not begin early: of operands from the first share of L2's size on, up to the
  // second where blocks lie evenly in any case; with so many columns at most.
  double apart_from, apart_to;
  int apart_width;
  double even_share;     // of what is resident at a time: so many blocks lie evenly in any case
  std::int64_t short_k;  // that one thread may have of a line along k

  // For the prediction, in microseconds, where nothing else is said. `start` is of 256 threads.
  double start, start_twice_threads;
  double start_shifted;         // where lines are read from the boundary before on
  double step;                  // from one load to the next
  double block;                 // another block of 256 threads on the same multiprocessor
  double fetch;                 // an element of the narrow operand that a thread copies
  double chunk;                 // a further chunk
  double add_lanes;             // sums of a warp's lanes
  double sums_pass;             // columns whose sums lie in shared memory
  double sums_add;              // one of these that a thread adds up
  double output_direct;         // of a thread, where no other has a part
  double scattered;             // output, where a column is no line of C
  double gather, gather_loads;  // where blocks share rows; eight loads of their sums
  double uneven;  // by which bytes take longer where some multiprocessors have twice as many blocks
  double l2_bytes;     // per microsecond
  double sm_bytes;     // the same to one multiprocessor
  double repeated;     // by how much bytes beside those asked for count
  double cut_sectors;  // the same of sectors that runs of shifted lines have a part of
  double touches;      // lines of the L1 cache that a multiprocessor touches, per microsecond
  // So much longer takes one element a load along k where a single column or row lies apart.
  double single_apart;
  // Of the issue slots of a multiprocessor, an element of the wide operand: `width` times the
  // first, the second for each load of the narrow operand, the third, and the fourth where it is a
  // load of its own.
  double fma_slots, narrow_slots, element_slots, load_slots;
  double slots_per_us;
  double share_of_bandwidth;  // of the one that the device states
  double short_piece;  // by which memory takes longer each time that a piece of a line halves
  double short_load;   // the same of what a warp's load has of a line along k, below 512 bytes
  double four_lines;   // by which it takes longer where a thread follows four lines
  // The same each time that the bytes double for which a multiprocessor waits, from 32 KiB on: of
  // lines along k, and across it.
  double crowded_along, crowded_across;
  // Across k, with so many columns at most, also each time that a block's part of k doubles, from
  // so many on, and each time that the blocks at a time on a multiprocessor do, from two on:
  // neighbours then read a line apart.
  double long_part, many_blocks;
  int short_part, apart_columns;
  // Of L2's size: an operand up to the first share stays there from call to call, from the second
  // on nothing of it does.
  double kept_share, lost_share;
};

// Fitted to these measurements by the formula of tools/fit_thin.py, with cuBLAS's time as a part of
// what is lost, and what is across k to explored-thin-parts.txt's: of both the cut of the least
// prediction takes 3.5 % longer than the quickest on average.
inline constexpr ThinTuning thin_tuning = {.tickets = 4096,
                                           .steps_share = 0.375,
                                           .steps_share_apart = 0.5,
                                           .apart_from = 0.6,
                                           .apart_to = 1.15,
                                           .apart_width = 4,
                                           .even_share = 0.93,
                                           .short_k = 128,
                                           .start = 1.368,
                                           .start_twice_threads = 0.31,
                                           .start_shifted = 0.6638,
                                           .step = 0.3008,
                                           .block = 0.8759,
                                           .fetch = 0.01923,
                                           .chunk = 0.5237,
                                           .add_lanes = 0.1261,
                                           .sums_pass = 0.6349,
                                           .sums_add = 0.013,
                                           .output_direct = 0.07555,
                                           .scattered = 3.084e-05,
                                           .gather = 1.083,
                                           .gather_loads = 0.3511,
                                           .uneven = 0.03542,
                                           .l2_bytes = 1.308e7,
                                           .sm_bytes = 2.593e5,
                                           .repeated = 1.982,
                                           .cut_sectors = 3.182,
                                           .touches = 2238,
                                           .single_apart = 1.08,
                                           .fma_slots = 1.269,
                                           .narrow_slots = 3.774,
                                           .element_slots = 1.538,
                                           .load_slots = 0.01495,
                                           .slots_per_us = 128 * 1750.0,
                                           .share_of_bandwidth = 0.9576,
                                           .short_piece = 0.1919,
                                           .short_load = 0.1087,
                                           .four_lines = 0.1263,
                                           .crowded_along = 0.02032,
                                           .crowded_across = 0.01701,
                                           .long_part = 0.05574,
                                           .many_blocks = 0.1606,
                                           .short_part = 256,
                                           .apart_columns = 8,
                                           .kept_share = 0.4225,
                                           .lost_share = 0.7677};

}  // namespace kw
