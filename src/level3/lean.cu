// level3_lean: updates of a triangle with a k of some dozens to some hundreds, by the blocks of
// lean_tile.
//
// Idea        A block computes a square tile of the triangle and is done, and while some of a
//             multiprocessor's blocks wait for operands or store, others multiply, with little code
//             beside FFMAs. The second product of syr2k is more k of the same ring.
// Prediction  ssyr2k of 3677 with a k of 64, rows not aligned: 52 us, where level3_64x64w takes 72.
// Limits      Loads from shared memory for 8 x 4 outputs; where C is read too, the way to it.
// Order       k ascending, one accumulator an output.
#include <optional>

#include "level3/lean_plan.hpp"
#include "level3/production.hpp"
#include "level3/update_copies.hpp"
#include "level3/updates.hpp"
#include "sgemm/lean_block.hpp"
#include "sgemm/shape.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {
namespace level3_lean {

// The first product, and whether the one with A and B exchanged follows.
struct Params {
  Sgemm product;
  int products;
};

// Which tile of the triangle a block has: found anew where it is asked for, in place of registers
// that keep it.
struct TileOfBlock {
  unsigned row, col;

  __device__ __forceinline__ explicit TileOfBlock(const Sgemm& p) {
    int at = static_cast<int>(blockIdx.x);
    compute_now(at);
    const int line = triangle_row(at), other = at - triangle_tiles(line);
    const bool lower = p.triangle == Triangle::lower;
    row = static_cast<unsigned>(lower ? line : other);
    col = static_cast<unsigned>(lower ? other : line);
  }
};

// The ring of stages of one product or two, all but one of which are filled ahead. Both operands
// lie along k or both across it.
template <LeanTileConfig tile, bool along_k>
class UpdateRing {
  using S = LeanShape<tile>;
  using Copies = UpdateCopies<tile.threads(), tile.bm(), tile.bk, along_k>;
  static_assert(tile.bm() == tile.bn());

 public:
  __device__ __forceinline__ UpdateRing(float* shared, const Sgemm& p, const TileOfBlock& of)
      : shared_(shared),
        rows_(copies_of(p.a, p.lda, p.m, of.row, 0)),
        cols_(copies_of(p.b, p.ldb, p.m, of.col, S::bk * S::pitch_a)) {}
  // Starts the copies of the next stage, of `here` of k, to the place at `offset`; none where that
  // is 0.
  __device__ __forceinline__ void fill(int offset, int here) {
    if (here == S::bk) {
      rows_.start(shared_, offset);
      cols_.start(shared_, offset);
    } else if (here > 0) {
      rows_.start_last(shared_, offset, here);
      cols_.start_last(shared_, offset, here);
    }
    async_commit();
  }
  // The second product is next, with A and B exchanged.
  __device__ __forceinline__ void turn(const Sgemm& p) {
    const TileOfBlock of(p);
    rows_ = copies_of(p.b, p.ldb, p.m, of.row, 0);
    cols_ = copies_of(p.a, p.lda, p.m, of.col, S::bk * S::pitch_a);
  }
  // The places of the stages behind the one at `offset` and before it.
  __device__ static int behind(int offset) {
    return offset + S::stage < tile.stages * S::stage ? offset + S::stage : 0;
  }
  __device__ static int before(int offset) {
    return offset > 0 ? offset - S::stage : (tile.stages - 1) * S::stage;
  }

 private:
  // Of the lines of a row or column of tiles.
  __device__ __forceinline__ static Copies copies_of(const float* x, std::int64_t ld,
                                                     std::int64_t size, unsigned tiles, int to) {
    const std::int64_t first = tiles * std::int64_t{S::bm};
    return Copies(x + (along_k ? first * ld : first), ld, rows_aligned_16(x, ld),
                  static_cast<int>(size - first < S::bm ? size - first : S::bm), to);
  }

  float* const shared_;
  Copies rows_, cols_;
};

// Adds the products of a stage whose elements start at a and b, `depth` of k and zeros behind. A
// whole stage is a straight line of instructions; `fill` is called once the first k is asked for.
template <LeanTileConfig tile, class Fill>
__device__ __forceinline__ void multiply_stage(LeanSums<tile>& acc, const float* a, const float* b,
                                               int depth, const Fill& fill) {
  using S = LeanShape<tile>;
  LeanElements<tile> elements;
  elements.load(a, b, 0);
  fill();
  if (depth == S::bk) {
#pragma unroll
    for (int k = 0; k < S::bk; ++k) {
      if (k + 1 < S::bk) elements.load(a, b, k + 1);
      elements.multiply(acc, k);
    }
    return;
  }
  elements.multiply_some(acc, a, b, depth);
}

template <LeanTileConfig tile, bool along_k>
__device__ __forceinline__ void multiply_update(LeanSums<tile>& acc, float* shared,
                                                const Params& params) {
  using S = LeanShape<tile>;
  using Ring = UpdateRing<tile, along_k>;
  const LeanPlace<tile> place;
  int a = place.m, b = S::bk * S::pitch_a + place.n, stage = 0;
  compute_now(a), compute_now(b);  // kept in registers, not found anew for each stage
  const int k = static_cast<int>(params.product.k), each = ceil_div(k, S::bk);
  const int last = k - (each - 1) * S::bk, count = each * params.products;
  const auto depth_of = [=](int at) { return at + 1 == each || at + 1 == count ? last : S::bk; };
  Ring ring(shared, params.product, TileOfBlock(params.product));
  const auto fill = [&](int next, int offset) {
    if (next == each && next < count) ring.turn(params.product);
    ring.fill(offset, next < count ? depth_of(next) : 0);
  };
#pragma unroll 1
  for (int next = 0; next < tile.stages - 1; ++next) fill(next, next * S::stage);
#pragma unroll 1
  for (int at = 0; at < count; ++at, stage = Ring::behind(stage)) {
    async_wait<tile.stages - 2>();
    __syncthreads();  // this stage is here, and nobody reads the last one any more
    multiply_stage<tile>(acc, shared + a + stage, shared + b + stage, depth_of(at),
                         [&] { fill(at + tile.stages - 1, Ring::before(stage)); });
  }
}

// Of a tile on the diagonal what is of the triangle.
struct TriangleColumns {
  bool all, lower;
  __device__ __forceinline__ bool operator()(int row, int col) const {
    return all || (lower ? col <= row : row <= col);
  }
};

template <LeanTileConfig tile>
__device__ __forceinline__ LeanOutputs<tile> outputs_of(const Sgemm& p, const TileOfBlock& of) {
  return LeanOutputs<tile>(p, of.row, of.col);
}

// Asks for what the block reads of C in the end.
template <LeanTileConfig tile>
__device__ __forceinline__ void ask_for_c(const Sgemm& p, const LeanOutputs<tile>& out) {
  constexpr int line = 32, of_row = tile.bn() / line + 1;  // floats; the row may begin within one
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < out.rows * of_row; i += tile.threads()) {
    const int at = i % of_row * line, last = out.cols - 1;
    prefetch_line_to_l2(p.c + (out.row + i / of_row) * p.ldc + out.col + (at < last ? at : last));
  }
}

template <int index, bool along_k>
__global__ void __launch_bounds__(level3_leans[index].config.threads(),
                                  level3_leans[index].config.blocks_per_sm)
    level3_lean_kernel(__grid_constant__ const Params params) {
  constexpr LeanTileConfig tile = level3_leans[index].config;
  auto* const shared = gpu::dynamic_shared<float>();
  wait_for_previous_kernel();
  let_next_kernel_start();
  if (params.product.beta != 0 || params.product.beta_at != nullptr)
    ask_for_c<tile>(params.product, outputs_of<tile>(params.product, TileOfBlock(params.product)));
  LeanSums<tile> acc = {};
  if (reads_operands(params.product)) multiply_update<tile, along_k>(acc, shared, params);
  const Sgemm p = entry_of(params.product, 0);
  const TileOfBlock of(p);
  const LeanOutputs<tile> out = outputs_of<tile>(p, of);
  const bool at_diagonal = of.row == of.col, lower = p.triangle == Triangle::lower;
  if (!at_diagonal && rows_aligned_16(p.c, p.ldc) && p.n % 4 == 0) {
    store_fours<tile>(p, out, acc);
    return;
  }
  async_wait<0>();
  __syncthreads();  // nobody reads operands any more
  const TriangleColumns wanted{!at_diagonal, lower};
  p.beta == 0 ? store_rows<tile, false>(p, shared, out, acc, wanted)
              : store_rows<tile, true>(p, shared, out, acc, wanted);
}

template <int index>
struct Row {
  static constexpr Level3Lean tile = level3_leans[index];

  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (!level3_lean_supports(tile.config, p)) return std::nullopt;
    Plan<Level3> plan;
    plan.time_us = plan.cost = predict_level3_lean_us(tile, p, device);
    plan.min_workspace_bytes = 0;
    return plan;
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>&, Workspace,
                            Stream stream) {
    if (p.m == 0) return Status::success();
    const Params params{Updates(p).product[0], p.routine == Routine::syr2k ? 2 : 1};
    const gpu::LaunchConfig launch{
        .grid = dim3(static_cast<unsigned>(level3_lean_tiles(tile.config, p))),
        .block = dim3(static_cast<unsigned>(tile.config.threads())),
        .shared_bytes = level3_lean_shared_bytes(tile.config, p, device),
        .stream = stream,
        .overlap = true};
    return p.op_a == Op::none ? gpu::launch(level3_lean_kernel<index, true>, launch, params)
                              : gpu::launch(level3_lean_kernel<index, false>, launch, params);
  }
  static Kernel<Level3> kernel() {
    return {.name = tile.name,
            .parent = nullptr,
            .idea = tile.idea,
            .role = Role::production,
            .math = Math::fp32,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace level3_lean
}  // namespace

KernelList<Level3> level3_lean_rows() {
  return kernels_of<level3_leans>([](auto row) { return level3_lean::Row<row>::kernel(); });
}

}  // namespace KW_TARGET
