// level3_lean: updates of a triangle with a k of some dozens to some hundreds, by the blocks of
// lean_tile.
//
// Idea        A block computes a square tile of the triangle and is done, and while some of a
//             multiprocessor's blocks wait for operands or store, others multiply, with little code
//             beside FFMAs. The second product of syr2k follows the first in the same sums. Tiles
//             that are left over when all multiprocessors have had as many as they hold are cut
//             along k (sgemm/tile_cut.hpp), for one alone would wait for each of its stages.
// Prediction  ssyrk of 2273 with a k of 371: 666 tiles of 64 x 64, 660 of which run at a time, so
//             that six more take a fifth of the time of all; cut, 54 us in place of 66.
// Limits      Loads from shared memory for 8 x 4 outputs; where C is read too, the way to it.
// Order       k ascending, one accumulator an output: first what k is beyond whole stages. Parts of
//             a tile from the first to the last.
#include <optional>

#include "level3/lean_plan.hpp"
#include "level3/production.hpp"
#include "level3/updates.hpp"
#include "sgemm/cut_sums.hpp"
#include "sgemm/lean_loop.hpp"
#include "sgemm/shape.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {
namespace level3_lean {

struct Params {
  LeanUpdate update;
  TileCut cut;
  Workspace workspace;
};

// What a block has to do: found anew where it is asked for, in place of registers that keep it.
template <LeanTileConfig config>
struct UpdateWork : CutWork {
  unsigned row, col;  // of the tile, in tiles

  __device__ __forceinline__ explicit UpdateWork(const Params& params)
      : CutWork(params.cut, this_block()) {
    const TileIndex at = lean_update_tiles(config, params.update.product).tile(tile, 1);
    row = static_cast<unsigned>(at.row), col = static_cast<unsigned>(at.col);
  }

 private:
  __device__ __forceinline__ static int this_block() {
    int block = static_cast<int>(blockIdx.x);
    compute_now(block);
    return block;
  }
};

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

// The part of a product along k that a block adds up.
template <LeanTileConfig tile, bool along_k>
__device__ __forceinline__ Sgemm part_of(const Sgemm& all, const TileCut& cut,
                                         const UpdateWork<tile>& work) {
  Sgemm p = all;
  if (work.cut_tile < 0) return p;
  const PartOfK k(static_cast<int>(p.k), tile.bk, cut.parts, work.part);
  p.a += along_k ? k.first : k.first * p.lda;
  p.b += along_k ? k.first : k.first * p.ldb;
  p.k = k.count;
  return p;
}

// Adds up what a block has of the products.
template <LeanTileConfig tile, bool along_k>
__device__ __forceinline__ void multiply_update(LeanSums<tile>& acc, float* shared,
                                                const Params& params) {
  constexpr Op op_a = along_k ? Op::none : Op::transpose, op_b = along_k ? Op::transpose : Op::none;
  const UpdateWork<tile> work(params);
  Sgemm p = entry_of(params.update.product, 0);
  if (p.k > 0) p = part_of<tile, along_k>(p, params.cut, work);
  const LeanOutputs<tile> out(p, work.row, work.col);
  const auto begin = [&] {
    wait_for_previous_kernel();
    let_next_kernel_start();
    if (p.beta != 0) ask_for_c<tile>(p, out);
    return true;
  };
  multiply_all<tile, op_a, op_b>(acc, shared, p, out, begin);
  if (params.update.products == 1) return;
  const float* const a = p.a;
  const std::int64_t lda = p.lda;
  p.a = p.b, p.lda = p.ldb, p.b = a, p.ldb = lda;
  async_wait<0>();
  __syncthreads();  // nobody reads the first product's operands any more
  multiply_all<tile, op_a, op_b>(acc, shared, p, out, [] { return true; });
}

// Of a tile on the diagonal what is of the triangle.
struct TriangleColumns {
  bool all, lower;
  __device__ __forceinline__ bool operator()(int row, int col) const {
    return all || (lower ? col <= row : row <= col);
  }
};

template <int index, bool along_k>
__global__ void __launch_bounds__(level3_leans[index].config.threads(),
                                  level3_leans[index].config.blocks_per_sm)
    level3_lean_kernel(__grid_constant__ const Params params) {
  constexpr LeanTileConfig tile = level3_leans[index].config;
  auto* const shared = gpu::dynamic_shared<float>();
  // What a plan reads may be the kernel's before, too.
  const Sgemm& all = params.update.product;
  if (all.alpha_at != nullptr || all.beta_at != nullptr) wait_for_previous_kernel();
  LeanSums<tile> acc = {};
  multiply_update<tile, along_k>(acc, shared, params);
  const UpdateWork<tile> of(params);
  if (of.cut_tile >= 0) {
    auto& sums = reinterpret_cast<float(&)[tile.tm * tile.tn]>(acc);
    constexpr int room = tile.bm() * tile.bn();
    if (!add_cut_sums<tile.threads(), room>(sums, params.cut, of, params.workspace)) return;
  }
  const Sgemm p = entry_of(all, 0);
  const LeanOutputs<tile> out(p, of.row, of.col);
  const bool at_diagonal = of.row == of.col, lower = p.triangle == Triangle::lower;
  if (!at_diagonal && rows_aligned_16(p.c, p.ldc) && p.n % 4 == 0) {
    store_fours<tile>(p, out, acc);
    return;
  }
  async_wait<0>();
  __syncthreads();  // nobody reads operands any more
  const TriangleColumns wanted{!at_diagonal, lower};
  if (p.beta != 0)
    store_rows<tile, true>(p, shared, out, acc, wanted);
  else if (at_diagonal)
    store_rows<tile, false>(p, shared, out, acc, wanted);
  else
    store_neighbours<tile>(p, shared, out, acc);
}

template <int index, bool along_k>
Status start(const LeanUpdate& update, const TileCut& cut, const Device& device,
             const Workspace& workspace, Stream stream) {
  constexpr LeanTileConfig tile = level3_leans[index].config;
  return gpu::launch(level3_lean_kernel<index, along_k>,
                     {.grid = dim3(static_cast<unsigned>(cut.blocks())),
                      .block = dim3(static_cast<unsigned>(tile.threads())),
                      .shared_bytes = lean_update_shared_bytes(tile, cut, device),
                      .stream = stream,
                      .overlap = true},
                     Params{update, cut, workspace});
}

// A row of each of the two lists.
template <int index>
struct Row {
  static constexpr Level3Lean tile = level3_leans[index];

  template <class Problem>
  static std::optional<Plan<Problem>> plan_of(const LeanUpdate& update, const Device& device) {
    if (!lean_update_supports(tile.config, update)) return std::nullopt;
    const PlannedUpdate own = plan_lean_update(tile, update, device);
    Plan<Problem> plan;
    plan.time_us = plan.cost = own.us;
    plan.workspace_bytes = own.cut.workspace_bytes(tile.config.bm() * tile.config.bn());
    plan.min_workspace_bytes = 0;  // with whole tiles
    plan.data.set(own.cut);
    return plan;
  }
  template <class Problem>
  static Status launch(const LeanUpdate& update, const Device& device, const Plan<Problem>& plan,
                       const Workspace& workspace, Stream stream) {
    if (update.product.m == 0 || update.product.n == 0) return Status::success();
    auto cut = plan.data.template get<TileCut>();
    if (workspace.bytes < plan.workspace_bytes) cut = {.tiles = cut.tiles};
    return update.product.op_a == Op::none
               ? start<index, true>(update, cut, device, workspace, stream)
               : start<index, false>(update, cut, device, workspace, stream);
  }

  // Of updates as level 3 has them.
  static LeanUpdate update_of(const Level3& p) {
    const Updates updates(p);
    return {updates.product[0], updates.count};
  }
  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (!p.updates_triangle()) return std::nullopt;
    return plan_of<Level3>(update_of(p), device);
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    return launch(update_of(p), device, plan, workspace, stream);
  }
  // Of products of which a triangle is wanted.
  static std::optional<Plan<Sgemm>> plan_product(const Sgemm& p, const Device& device) {
    return plan_of<Sgemm>({p}, device);
  }
  static Status launch_product(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                               Workspace workspace, Stream stream) {
    return launch({p}, device, plan, workspace, stream);
  }

  template <class Problem>
  static Kernel<Problem> named() {
    return {.name = tile.name,
            .parent = nullptr,
            .idea = tile.idea,
            .role = Role::production,
            .math = Math::fp32};
  }
  static Kernel<Level3> kernel() {
    Kernel<Level3> row = named<Level3>();
    row.make_plan = make_plan, row.launch_plan = launch_plan;
    return row;
  }
  static Kernel<Sgemm> product_kernel() {
    Kernel<Sgemm> row = named<Sgemm>();
    row.make_plan = plan_product, row.launch_plan = launch_product;
    return row;
  }
};

}  // namespace level3_lean
}  // namespace

KernelList<Level3> level3_lean_rows() {
  return kernels_of<level3_leans>([](auto row) { return level3_lean::Row<row>::kernel(); });
}
KernelList<Sgemm> level3_lean_products() {
  return kernels_of<level3_leans>([](auto row) { return level3_lean::Row<row>::product_kernel(); });
}

}  // namespace KW_TARGET
