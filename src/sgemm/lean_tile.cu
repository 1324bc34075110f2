// lean_tile: products with a k of dozens to hundreds, whose tiles fill the SMs a few times: most of
// all those with sides of some hundreds or rows that are not aligned.
//
// Idea        As small_tile: a block computes one tile and is done, and while some of an SM's
//             blocks wait for operands or store, others multiply. But here nearly all instructions
//             are FFMAs: a thread has up to 12 x 8 outputs, stages lie k after k, so that one loop
//             does for every layout, and a copy is an addition and a cp.async. Nothing in the loop
//             waits for what it has just asked for (lean_loop.hpp), and what memory has no part in
//             is computed while the kernel before ends.
// Prediction  122 x 6815 x 214 TN: the vendor's kernel has the same tiles, threads and number of
//             instructions and issues in four of five cycles where the loop before did in two of
//             three: 13.5 us in place of 15.1. Measured: 13.5.
// Limits      The beginning and the end of blocks that all lie in one round; for 8 x 4 outputs a
//             tenth of all instructions are loads from shared memory.
// Order       One accumulator per output, k ascending: first what k is beyond whole stages.
#include <optional>

#include "sgemm/lean_loop.hpp"
#include "sgemm/lean_plan.hpp"
#include "sgemm/production.hpp"
#include "sgemm/start_by_ops.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace {

template <int row, Op op_a, Op op_b>
__global__ void __launch_bounds__(lean_tiles[row].config.threads(),
                                  lean_tiles[row].config.blocks_per_sm)
    lean_tile(__grid_constant__ const Sgemm all) {
  constexpr LeanTileConfig tile = lean_tiles[row].config;
  auto* const shared = gpu::dynamic_shared<float>();
  const auto tiles_n = static_cast<unsigned>(ceil_div(all.n, tile.bn()));
  const unsigned tiles = tiles_n * static_cast<unsigned>(ceil_div(all.m, tile.bm()));
  unsigned entry = all.batch == 1 ? 0 : blockIdx.x / tiles;
  const unsigned at = blockIdx.x - entry * tiles;
  unsigned tile_row = at / tiles_n, tile_col = at % tiles_n;
  const auto begin = [&] {
    wait_for_previous_kernel();
    let_next_kernel_start();
    return !exits_early(all);
  };
  // What else a plan for this entry reads may be the kernel's before, too.
  if (all.a_array != nullptr || all.alpha_at != nullptr || all.beta_at != nullptr)
    wait_for_previous_kernel();
  LeanSums<tile> acc = {};
  {
    const Sgemm p = entry_of(all, entry);
    const LeanOutputs<tile> out(p, tile_row, tile_col);
    if (!multiply_all<tile, op_a, op_b>(acc, shared, p, out, begin)) return;
  }
  compute_now(entry), compute_now(tile_row), compute_now(tile_col);
  const Sgemm p = stored_first(entry_of(all, entry));
  const LeanOutputs<tile> out(p, tile_row, tile_col);
  if (rows_aligned_16(p.c, p.ldc) && p.n % 4 == 0) {
    store_fours<tile>(p, out, acc);
  } else {
    async_wait<0>();
    __syncthreads();  // nobody reads operands any more
    p.beta == 0 ? store_neighbours<tile>(p, shared, out, acc)
                : store_rows<tile, true>(p, shared, out, acc);
  }
  if (!all.epilogue.any()) return;
  __syncthreads();  // all is stored
  finish_stored<4>(all, {entry, out.row, out.col, tile.bm(), tile.bn()},
                   static_cast<int>(threadIdx.x), tile.threads());
}

template <int row>
struct Row {
  static constexpr LeanTileConfig tile = lean_tiles[row].config;

  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
    if (!lean_tile_supports(tile, p, device)) return std::nullopt;
    const double us = predict_lean_us(lean_tiles[row], p, device);
    return Plan<Sgemm>{.time_us = us, .cost = us};
  }

  template <Op op_a, Op op_b>
  static Status start(const Sgemm& p, const Device& device, Stream stream) {
    using S = LeanShape<tile>;
    static_assert(sizeof(float) * tile.stages * S::stage == tile.shared_bytes());
    return gpu::launch(lean_tile<row, op_a, op_b>,
                       {.grid = dim3(static_cast<unsigned>(lean_tile_count(tile, p) * p.batch)),
                        .block = dim3(static_cast<unsigned>(tile.threads())),
                        .shared_bytes = lean_shared_bytes_asked(tile, p, device),
                        .stream = stream,
                        .overlap = true},
                       p);
  }
  static Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>&, Workspace,
                            Stream stream) {
    return start_by_ops<Row>(p, device, stream);
  }
  static Kernel<Sgemm> kernel() {
    return {.name = lean_tiles[row].name,
            .parent = nullptr,
            .idea = lean_tiles[row].idea,
            .role = Role::production,
            .math = Math::fp32,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace

KernelList<Sgemm> lean_tile_rows() {
  return kernels_of<lean_tiles>([](auto row) { return Row<row>::kernel(); });
}

}  // namespace KW_TARGET
