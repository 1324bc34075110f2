// The rungs' launch functions, one or a family a file, and the parameters by which the members of a
// family differ. rungs.cu makes the table of them.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET::amd {

// A block's outputs and its step along k; a thread's outputs. All tiles are work for 256 threads.
struct Tile {
  int bm, bn, bk, tm, tn;
};
constexpr Tile tile_64{.bm = 64, .bn = 64, .bk = 16, .tm = 4, .tn = 4};
constexpr Tile tile_128{.bm = 128, .bn = 128, .bk = 8, .tm = 8, .tn = 8};
constexpr Tile tile_128_deep{.bm = 128, .bn = 128, .bk = 16, .tm = 8, .tn = 8};
constexpr int threads = 256;

enum class LaneOrder {
  rows,   // row by row
  pairs,  // rows two by two: lanes 2i and 2i + 1 one above the other
  z,      // 8x8 only: along a Z of Zs
};

// How threads stand over the tile: each m x n consecutive ones cover a rectangle of places, a
// thread's outputs in pieces of `piece` x `piece` that are spread over the block's tile. 64 threads
// are a wavefront on GFX9, two warps on NVIDIA.
struct Lanes {
  int m, n;
  int piece = 4;
  LaneOrder order = LaneOrder::rows;
};
constexpr Lanes whole_block{.m = 16, .n = 16};
constexpr Lanes whole_block_of_8{.m = 16, .n = 16, .piece = 8};
constexpr Lanes wave_8x8{.m = 8, .n = 8}, wave_8x8_of_8{.m = 8, .n = 8, .piece = 8};
constexpr Lanes wave_4x16{.m = 4, .n = 16};
constexpr Lanes wave_pairs{.m = 4, .n = 16, .order = LaneOrder::pairs};
constexpr Lanes wave_z{.m = 8, .n = 8, .order = LaneOrder::z};
constexpr Lanes wave_quarters{.m = 8, .n = 8, .piece = 2, .order = LaneOrder::pairs};

// What every form has. The forms are types: nvcc has no way to give a kernel a value of class type
// as a template argument.
struct AsPublished {
  // Without __launch_bounds__ hipcc takes a block of 1024 threads for possible and leaves a thread
  // 64 vector registers. Most of S2's kernels have none, and so have their rungs on AMD.
  static constexpr bool bounds = false;
  static constexpr bool runtime_sizes = false;  // the tile's bn and bk are arguments
};

// ------------------------------------------------ one buffer, A as [m][k + pad] (one_buffer.cu)

enum class Copy {
  run,     // a thread's neighbouring elements, one by one
  vector,  // 16 bytes a thread
};
enum class Operands {
  shared,     // each FMA names its elements in shared memory
  registers,  // those of k_steps along k in registers first
  one_of_a,   // a row of B in registers, one element of A at a time
};

struct ThreadTile : AsPublished {  // 03
  static constexpr Tile tile = tile_64;
  static constexpr Lanes lanes = whole_block;
  static constexpr int pad_a = 0, pad_b = 0;
  static constexpr Copy copy = Copy::run;
  static constexpr Operands operands = Operands::shared;
  static constexpr int k_steps = 4;         // in a row for the same outputs
  static constexpr int a_vector = 1;        // floats along k in one read of A
  static constexpr bool b_vector = false;   // B read 16 bytes at a time
  static constexpr bool b_along_k = false;  // B as [n][k + pad], too
  static constexpr bool accessor = false;   // reads of A through a function that copies rows
};
struct Fragments1 : ThreadTile {  // 03_1
  static constexpr Operands operands = Operands::registers;
  static constexpr int k_steps = 1;
};
struct OneOfA128 : ThreadTile {  // 03_2
  static constexpr Tile tile = tile_128;
  static constexpr Lanes lanes = whole_block_of_8;
  static constexpr int pad_a = 4, pad_b = 4;
  static constexpr Copy copy = Copy::vector;
  static constexpr Operands operands = Operands::one_of_a;
  static constexpr int k_steps = 1;
  static constexpr bool b_vector = true;
};
struct Padded : ThreadTile {  // 04
  static constexpr bool runtime_sizes = true;
  static constexpr int pad_a = 4, pad_b = 4;
  static constexpr Copy copy = Copy::vector;
};
struct RegistersFirst : Padded {  // 05
  static constexpr Operands operands = Operands::registers;
  static constexpr int a_vector = 4;
  static constexpr bool b_vector = true;
};
struct TwoKSteps : RegistersFirst {  // 07
  static constexpr bool runtime_sizes = false;
  static constexpr int k_steps = 2, a_vector = 2;
};
struct TwoKStepsRuntime : TwoKSteps {  // 07_1
  static constexpr bool runtime_sizes = true;
};
struct TwoKStepsAccessor : TwoKStepsRuntime {  // 07_2
  static constexpr bool accessor = true;
};
struct Wave8x8 : TwoKStepsRuntime {  // 08_1
  static constexpr Lanes lanes = wave_8x8;
  static constexpr int a_vector = 1;
};
struct Wave4x16 : Wave8x8 {  // 08_2
  static constexpr Lanes lanes = wave_4x16;
  static constexpr Operands operands = Operands::one_of_a;
};
struct WaveUnoptimised : Wave8x8 {  // 08_3
  static constexpr bool b_along_k = true;
  static constexpr int pad_b = 4;
  static constexpr bool b_vector = false;
};
struct WavePairs : Wave8x8 {  // 08_4
  static constexpr Lanes lanes = wave_pairs;
};
struct WaveQuarters : Wave8x8 {  // 09
  static constexpr Lanes lanes = wave_quarters;
  static constexpr bool b_vector = false;
};
struct CudaFloat4 : ThreadTile {  // 09_1
  static constexpr Tile tile = tile_128;
  static constexpr Lanes lanes = whole_block_of_8;
  static constexpr Copy copy = Copy::vector;
  static constexpr int k_steps = 1;
};

// -------------------------------------------- one buffer, A transposed, [k][m + pad]
// (transposed.cu)

enum class Copiers {
  all,     // 16 bytes of A and 16 of B each
  halves,  // one half of the threads A, the other B, 32 bytes each
  runs,    // neighbouring elements, one by one
};

struct Transposed : AsPublished {  // 03_3
  static constexpr Tile tile = tile_128;
  static constexpr Lanes lanes = whole_block_of_8;
  static constexpr int pad = 4;
  static constexpr Copiers copiers = Copiers::all;
  static constexpr int k_steps = 1;  // in registers first
};
struct TransposedHalves : Transposed {  // 03_4
  static constexpr Copiers copiers = Copiers::halves;
};
struct TransposedDeep : Transposed {  // 03_6
  static constexpr Tile tile = tile_128_deep;
  static constexpr Lanes lanes = wave_8x8_of_8;
  static constexpr Copiers copiers = Copiers::runs;
  static constexpr int k_steps = 4;
};
struct TransposedBounds : Transposed {  // 03_3, ours
  static constexpr bool bounds = true;
};

// --------------------------- A as [m][k + pad], reads between the FMAs (interleaved.cu, published)

enum class Reads {
  between,    // of the next two k-steps as soon as a register is free
  ahead,      // two sets of registers: of the next two k-steps during these
  gcn_ahead,  // the same in assembly, with counted waits
};

struct Interleaved : AsPublished {  // 07_3
  static constexpr Tile tile = tile_64;
  static constexpr int pad = 4;
  static constexpr int buffers = 1;
  static constexpr Reads reads = Reads::between;
};
struct InterleavedGcn : Interleaved {  // 07_4
  static constexpr int pad = 8, buffers = 2;
};
struct InterleavedAhead : InterleavedGcn {  // 07_5
  static constexpr bool bounds = true;
  static constexpr Reads reads = Reads::ahead;
};
struct InterleavedGcnAhead : InterleavedAhead {  // 07_6
  static constexpr Reads reads = Reads::gcn_ahead;
};
struct InterleavedGcnPad4 : InterleavedGcn {  // 07_8
  static constexpr int pad = 4;
};

// ------------------------------------------- two buffers, A transposed (double_buffer.cu): 03_5,
// ours

struct Published128 {  // 03_5
  // S2's kernel has none. Then hipcc saves registers into which a load is under way, and the rung
  // would be wrong: tools/amd_isa.py finds that.
  static constexpr bool bounds = true;
  static constexpr Tile tile = tile_128;
  static constexpr Lanes lanes = whole_block_of_8;
  static constexpr bool gcn_loads = true;     // from global memory in assembly, with counted waits
  static constexpr bool interleaved = false;  // stores of the next tile between FMAs, not after
};
struct Two64 {
  static constexpr bool bounds = true;
  static constexpr Tile tile = tile_64;
  static constexpr Lanes lanes = whole_block;
  static constexpr bool gcn_loads = false, interleaved = false;
};
struct Two64Interleaved : Two64 {
  static constexpr bool interleaved = true;
};
struct Two128 : Two64 {
  static constexpr Tile tile = tile_128;
};
struct Two128Gcn : Two128 {
  static constexpr bool gcn_loads = true;
};

// ------------------------------------------------- one buffer, A transposed (wave_tile.cu): ours

struct RowLanes {
  static constexpr bool bounds = true;
  static constexpr Tile tile = tile_64;
  static constexpr Lanes lanes = whole_block;
};
struct ZLanes : RowLanes {
  static constexpr Lanes lanes = wave_z;
};

KernelLaunch<Sgemm> naive, shared_tile, serial_buffers, copying_lanes, cuda_double_buffer,
    matrix_core;
template <class Form>
Status one_buffer(const Sgemm& problem, const Device&, Workspace, Stream stream);
template <class Form>
Status transposed(const Sgemm& problem, const Device&, Workspace, Stream stream);
template <class Form>
Status interleaved(const Sgemm& problem, const Device&, Workspace, Stream stream);
template <class Form>
Status double_buffer(const Sgemm& problem, const Device&, Workspace, Stream stream);
template <class Form>
Status wave_tile(const Sgemm& problem, const Device&, Workspace, Stream stream);

}  // namespace KW_TARGET::amd
