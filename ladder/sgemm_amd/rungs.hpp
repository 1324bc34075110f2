// The rungs' launch functions, one or a family a file, and the parameters by which the members of a
// family differ. rungs.cu makes the table of them.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET::amd {

// A block's outputs and its step along k; a thread's outputs. Both tiles are work for 256 threads.
struct Tile {
  int bm, bn, bk, tm, tn;
};
constexpr Tile tile_64{.bm = 64, .bn = 64, .bk = 16, .tm = 4, .tn = 4};
constexpr Tile tile_128{.bm = 128, .bn = 128, .bk = 8, .tm = 8, .tn = 8};
constexpr int threads = 256;

// How threads stand over the tile: each m x n consecutive ones cover a rectangle of it, a thread in
// pieces of `piece` x `piece` outputs that are spread over the rectangle. 64 of them are a
// wavefront on GFX9, two warps on NVIDIA.
struct Lanes {
  int m, n;
  int piece = 4;
  bool z_order = false;  // 8x8 only: along a Z of Zs instead of row by row
};
constexpr Lanes whole_block{.m = 16, .n = 16};
constexpr Lanes wave_8x8{.m = 8, .n = 8}, wave_4x16{.m = 4, .n = 16};
constexpr Lanes wave_z{.m = 8, .n = 8, .z_order = true}, wave_quarters{.m = 8, .n = 8, .piece = 2};

// Where the operands of a k-step come from in the text.
enum class Operands {
  shared,     // each FMA names its elements in shared memory
  registers,  // those of one k in registers first
  one_of_a,   // a row of B in registers, one element of A at a time
};

// Who copies a tile.
enum class Copiers { all, halves };  // halves: one half of the threads A, the other B

// How the text addresses shared memory.
enum class Access { flat, array, accessor };

// The forms of a family are types: nvcc has no way to give a kernel a value of class type as a
// template argument.
struct RegistersFirst {
  static constexpr Tile tile = tile_64;
  static constexpr int k_steps = 1;  // along k whose fragments are read before their FMAs
  static constexpr Access access = Access::flat;
};
struct RegistersFirst128 : RegistersFirst {
  static constexpr Tile tile = tile_128;
};
struct ReadWhereUsed : RegistersFirst {
  static constexpr int k_steps = 0;
};
struct TwoKSteps : RegistersFirst {
  static constexpr int k_steps = 2;
};
struct TwoKStepsArray : TwoKSteps {
  static constexpr Access access = Access::array;
};
struct TwoKStepsAccessor : TwoKSteps {
  static constexpr Access access = Access::accessor;
};

// How fragments come from shared memory into registers.
enum class Fragments {
  direct,     // those of a k-step, then its FMAs
  ahead,      // those of the next k-step before the FMAs of this one
  gcn_ahead,  // the same in assembly, with counted waits
};

struct Plain {
  static constexpr Tile tile = tile_64;
  static constexpr Lanes lanes = whole_block;
  static constexpr int pad_a = 4, pad_b = 4;
  static constexpr bool gcn_loads = false;    // from global memory in assembly, with counted waits
  static constexpr bool interleaved = false;  // stores of the next tile between FMAs, not after
  static constexpr Fragments fragments = Fragments::direct;
};
struct Plain128 : Plain {
  static constexpr Tile tile = tile_128;
};
struct Gcn128 : Plain128 {
  static constexpr bool gcn_loads = true;
};
struct GcnUnpadded : Plain {
  static constexpr int pad_a = 0, pad_b = 0;
  static constexpr bool gcn_loads = true;
};
struct GcnUnpaddedAhead : GcnUnpadded {
  static constexpr Fragments fragments = Fragments::gcn_ahead;
};
struct Interleaved : Plain {
  static constexpr bool interleaved = true;
};
struct GcnInterleaved : Interleaved {
  static constexpr bool gcn_loads = true;
};
struct Ahead : Interleaved {
  static constexpr Fragments fragments = Fragments::ahead;
};
struct GcnAhead : GcnInterleaved {
  static constexpr Fragments fragments = Fragments::gcn_ahead;
};
struct Interleaved8x8 : Interleaved {
  static constexpr Lanes lanes = wave_8x8;
};
struct GcnInterleavedAPadded : GcnInterleaved {
  static constexpr int pad_b = 0;
};

struct Square {
  static constexpr Tile tile = tile_64;
  static constexpr Lanes lanes = wave_8x8;
  static constexpr bool optimised = true;  // padded, vector reads, unrolled
};
struct Square128 : Square {
  static constexpr Tile tile = tile_128;
};
struct Flat : Square {
  static constexpr Lanes lanes = wave_4x16;
};
struct Unoptimised : Square {
  static constexpr bool optimised = false;
};
struct ZOrder : Square {
  static constexpr Lanes lanes = wave_z;
};
struct Quarters : Square {
  static constexpr Lanes lanes = wave_quarters;
};

KernelLaunch<Sgemm> naive, shared_tile;
template <Operands operands>
Status thread_tile(const Sgemm& problem, const Device&, Workspace, Stream stream);
template <Copiers copiers>
Status transposed(const Sgemm& problem, const Device&, Workspace, Stream stream);
template <class Form>
Status padded(const Sgemm& problem, const Device&, Workspace, Stream stream);
template <class Form>
Status double_buffer(const Sgemm& problem, const Device&, Workspace, Stream stream);
template <class Form>
Status wave_tile(const Sgemm& problem, const Device&, Workspace, Stream stream);

}  // namespace KW_TARGET::amd
