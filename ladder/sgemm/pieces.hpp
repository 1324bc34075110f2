// What r17 to r21 share: where the narrow pieces of A and B lie, the split pass that writes them,
// the copy of a tile's share into shared memory, and the way of wgmma's result to C.
//
// "Rows" are A's rows or B's columns: both operands run along k. Tensor cores read core matrices of
// 8 rows x 8 elements of 2 bytes, so a packed operand in the workspace is made of those, in the
// order in which they lie in shared memory later:
//
//   packed  [block of 64 rows][stage of 32 along k]
//   stage   [group of 8 rows][16 along k][piece][8 along k][8 rows][8 elements]
//
// Rows and k beyond the operand are zeros.
#pragma once

#include "device/bulk_copy.hpp"
#include "device/wgmma.hpp"
#include "rung.hpp"
#include "sgemm/split_arithmetic.hpp"
#include "sgemm/tile.hpp"

namespace KW_TARGET::pieces {

// What an element becomes (sgemm/split_arithmetic.hpp).
enum class Form {
  bf16_1,  // its nearest bfloat16
  bf16_3,  // three of them, whose sum it is
  fp16_2,  // two fp16 numbers, of the element times its row's power of two
};
constexpr int pieces_of(Form form) {
  return form == Form::bf16_1 ? 1 : form == Form::bf16_3 ? 3 : 2;
}

constexpr int block_rows = 64, stage_k = 32, warpgroup = 128;
constexpr int core_bytes = 128;
constexpr int group_bytes(int pieces) { return stage_k / 8 * pieces * core_bytes; }
constexpr int block_bytes(int pieces) { return block_rows / 8 * group_bytes(pieces); }

struct Image {
  char* data = nullptr;
  std::int64_t rows = 0, k = 0;
  std::int64_t blocks = 0, stages = 0;
  // fp16_2: the power of two by which a row is multiplied, and, of each of `slices` parts of k, the
  // largest size of its elements: [slice][row].
  int* scales = nullptr;
  std::uint32_t* sizes = nullptr;

  __device__ __forceinline__ char* stage(std::int64_t block, std::int64_t stage, int pieces) const {
    return data + (block * stages + stage) * block_bytes(pieces);
  }
};
constexpr int slices = 8;

struct Work {
  PlainSgemm problem;
  Image a, b;
};

// pieces.cu
std::size_t workspace_bytes(const Sgemm& problem, Form form);
// Launches the split pass; `work` is what the product is then launched with. Its k is loop_k().
Status prepare(const Sgemm& problem, Form form, const Workspace& workspace, Stream stream,
               Work* work);

// The split pass, then `kernel`.
inline Status launch_product(void (*kernel)(Work), Form form, const gpu::LaunchConfig& config,
                             const Sgemm& problem, const Workspace& workspace) {
  Work work;
  Status status = prepare(problem, form, workspace, config.stream, &work);
  return status.ok() ? gpu::launch(kernel, config, work) : status;
}

// A tile's share of one stage, as copy_stage fills it.
template <Form form, int BM, int BN>
struct Stage {
  alignas(128) char a[BM / block_rows * block_bytes(pieces_of(form))];
  alignas(128) char b[BN / block_rows * block_bytes(pieces_of(form))];
};

// For one thread: starts the copies of a stage of the tile, which arrive at `full`. What lies
// beyond the operand is not copied: it meets no element of C.
template <Form form, int BM, int BN>
__device__ __forceinline__ void copy_stage(const Work& work, TileOrigin tile, std::int64_t stage,
                                           Stage<form, BM, BN>& to, Mbarrier* full) {
  constexpr int pieces = pieces_of(form), a_blocks = BM / block_rows, b_blocks = BN / block_rows;
  constexpr unsigned bytes = block_bytes(pieces);
  const std::int64_t first_a = tile.row / block_rows, first_b = tile.col / block_rows;
  const std::int64_t left_a = work.a.blocks - first_a, left_b = work.b.blocks - first_b;
  const int here_a = left_a < a_blocks ? static_cast<int>(left_a) : a_blocks;
  const int here_b = left_b < b_blocks ? static_cast<int>(left_b) : b_blocks;
  mbarrier_arrive_expecting(full, static_cast<unsigned>(here_a + here_b) * bytes);
  for (int i = 0; i < here_a; ++i)
    bulk_copy(to.a + i * bytes, work.a.stage(first_a + i, stage, pieces), bytes, full);
  for (int i = 0; i < here_b; ++i)
    bulk_copy(to.b + i * bytes, work.b.stage(first_b + i, stage, pieces), bytes, full);
}

// A step of 16 along k of a stage in shared memory: products of its pieces, added to `acc`.
template <Form form, int N>
struct Step {
  static constexpr unsigned piece_bytes = 2 * core_bytes;
  WgmmaOperand a, b;

  // `half`: of A's blocks of 64 rows, which one.
  template <int BM>
  __device__ __forceinline__ Step(const Stage<form, BM, N>& stage, int k16, int half = 0)
      : a(wgmma_operand(stage.a + half * block_bytes(pieces_of(form)), core_bytes,
                        group_bytes(pieces_of(form)))),
        b(wgmma_operand(stage.b, core_bytes, group_bytes(pieces_of(form)))) {
    const unsigned bytes = static_cast<unsigned>(k16) * pieces_of(form) * piece_bytes;
    a = advance(a, bytes);
    b = advance(b, bytes);
  }
  // acc (+)= A's piece times B's; not `add`: acc begins anew.
  __device__ __forceinline__ void multiply(float (&acc)[N / 2], int a_piece, int b_piece,
                                           bool add = true) const {
    constexpr Half type = form == Form::fp16_2 ? Half::fp16 : Half::bf16;
    wgmma<type, N>(acc, advance(a, static_cast<unsigned>(a_piece) * piece_bytes),
                   advance(b, static_cast<unsigned>(b_piece) * piece_bytes), add);
  }
};

// Row and column of sums[0] of a thread of a warpgroup in its 64 x N product. sums[4 * i + 2 * r +
// c] lies 8 * r rows and 8 * i + c columns further.
__device__ __forceinline__ TileOrigin own_corner(TileOrigin tile, int thread) {
  return {tile.row + thread / 32 * 16 + thread % 32 / 4, tile.col + thread % 4 * 2};
}

template <int count>
__device__ __forceinline__ void store_sums(const PlainSgemm& p, TileOrigin own,
                                           const float (&sums)[count]) {
  const bool in_twos = p.ldc % 2 == 0 && reinterpret_cast<std::uintptr_t>(p.c) % 8 == 0;
#pragma unroll
  for (int i = 0; i < count; i += 2) {
    const std::int64_t row = own.row + i / 2 % 2 * 8, col = own.col + i / 4 * 8;
    if (in_twos && row < p.m && col + 1 < p.n) {
      store_row<false, 2>(p, row, col, &sums[i]);
    } else {
      store_row<true, 2>(p, row, col, &sums[i]);
    }
  }
}

}  // namespace KW_TARGET::pieces
