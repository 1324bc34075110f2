// FP32 products on Hopper's tensor cores, out of the pieces that the split pass wrote.
//
// Idea     A float is a sum of three bf16 or, scaled, two fp16 numbers, and tensor cores multiply
//          those exactly. A warp an operand keeps a ring of stages in shared memory full by bulk
//          copies; two warpgroups multiply (wgmma). Tensor cores round their sums towards zero, so
//          every window along k starts from zero and is then added to FP32 sums in registers, with
//          ordinary rounding ("promotion"). While one warpgroup adds, the other multiplies.
// Limits   The tensor cores' rate over the number of products: 128 (bf16x6) and 250 TFLOP/s
//          (fp16x3) at the clocks that 700 W leave.
// Method   Ootomo and Yokota 2022 (error-corrected products, sums outside the tensor core); Henry,
//          Tang, Heinecke 2019 (bf16x3 splits and which products count).
//
// The kernel is at the end of this file; its parts: scheduler.hpp (which tiles, which stages; of a
// triangle, or where k has a range, shaped_scheduler.hpp and epilogue_triangle.hpp),
// pipeline.hpp (the ring), producer.hpp, consumer.hpp with accumulators.hpp, lead.hpp (warpgroups
// half a window apart), totals.hpp (sums of sums), split_k.hpp (sums of several blocks),
// unscale.hpp (fp16x3's scales), outlier_products.hpp (what its pieces cannot hold), epilogue.hpp
// (to C).
#pragma once

#include "device/overlap.hpp"
#include "sgemm/finish.hpp"
#include "sgemm/hopper/consumer.hpp"
#include "sgemm/hopper/epilogue.hpp"
#include "sgemm/hopper/epilogue_triangle.hpp"
#include "sgemm/hopper/lead.hpp"
#include "sgemm/hopper/maker.hpp"
#include "sgemm/hopper/pipeline.hpp"
#include "sgemm/hopper/producer.hpp"
#include "sgemm/hopper/scheduler.hpp"
#include "sgemm/hopper/select_path.hpp"
#include "sgemm/hopper/shaped_scheduler.hpp"
#include "sgemm/hopper/split.hpp"
#include "sgemm/hopper/split_k.hpp"
#include "sgemm/hopper/totals.hpp"
#include "sgemm/hopper/tuning.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

// The path on which a kernel computes the product.
constexpr Path path_of_scheme(const Scheme& scheme) {
  return scheme.fp16 ? Path::fp16x3 : Path::bf16x6;
}

// The path of the product, for the consumers, `tid` among them; the producers learn from shared
// memory whether this kernel computes it. The first product selects it and writes it to the
// workspace, where the launches after it read it.
template <Scheme scheme, Tile tile>
__device__ __forceinline__ Path selected_path(Shared<scheme, tile>& shared,
                                              const ProductParams& params, int tid) {
  Control& control = *params.control;
  const bool is_first = !params.problem.overlaps_previous, writes = tid == 0 && blockIdx.x == 0;
  OutlierTotals outliers = {};
  if constexpr (scheme.fp16) outliers = *params.outlier_totals;
  const bool fits_fp16 =
      scheme.fp16 && outliers.unlisted == 0 && outliers.ns <= params.most_outlier_ns;
  Path path;
  float drift;
  if (is_first) {
    const SelectedPath first = select_path<consumer_threads, tile.begins_soon()>(
        params.problem, control, params.range_blocks, !fits_fp16,
        scheme.fp16 ? tile.drift() : Drift{}, tid, [] { sync_consumers(); });
    path = first.path, drift = first.drift;
    if (tile.is_direct() && tid == 0)
      shared.other_range = tile.direct == Direct::a ? first.b : first.a;
    if (writes) {
      // Makers of other blocks may have set it, which the split pass has cleared.
      if (!tile.is_direct() || path == Path::fp32) control.takes_fp32 = path == Path::fp32 ? 1 : 0;
      control.outlier_count = path == Path::bf16x6 ? too_many : outliers.count;
      control.drift = drift;
    }
  } else {
    wait_for_previous_kernel();
    path = path_of(control.takes_fp32 != 0, control.outlier_count);
    drift = control.drift;
    if (writes) *params.outlier_totals = {};  // all of the first product's blocks have read it
  }
  const bool selected = path == path_of_scheme(scheme);
  if (tid == 0) {
    shared.selected = selected;
    mbarrier_arrive(&shared.path_selected);
  }
  if constexpr (scheme.fp16) {
    if (!selected) return path;
    if (tid == 0) shared.has_outliers = outliers.count != 0, shared.drift = drift;
    sync_consumers();
  }
  return path;
}

// The products over a block's stages of a tile. Warpgroups with rows of their own add to their
// totals by turns, so that tensor cores have the other one's products meanwhile.
template <Scheme scheme, Tile tile>
__device__ __forceinline__ void multiply_run(Consumer<scheme, tile>& consumer,
                                             Pipeline<scheme, tile>& pipeline,
                                             Shared<scheme, tile>& shared,
                                             const ProductParams& params, int stages, int group,
                                             int thread, int row, int lane) {
  if constexpr (has_totals(scheme, tile)) {
    consumer.multiply(pipeline, stages, group, row, lane);
  } else {
    constexpr int most = stages_per_total(scheme, tile);
    const bool is_long = stages > most;
    int some = !is_long ? stages : tile.shares_rows || group == 0 ? most : most / 2;
    bool parts = keeps_lead(scheme, tile) && stages >= least_led_stages, are_first = true;
    for (int left = stages;;) {
      const int now = parts ? stages_before_lead(tile) : some;
      consumer.multiply(pipeline, now, group, row, lane);
      left -= now;
      if constexpr (keeps_lead(scheme, tile)) {
        if (parts) {
          keep_lead<window_clocks(scheme, tile)>(shared.begun[thread / warp_lanes], group == 0);
          some -= now;
          parts = false;
          continue;
        }
      }
      if (!is_long) break;
      Totals<tile> totals(params, group * warpgroup + thread);
      if (left == 0) {
        totals.join(consumer.sums());
        break;
      }
      totals.add(consumer.sums(), are_first);
      are_first = false;
      some = min(left, most);
    }
  }
}

template <Scheme scheme, Tile tile, class Scheduler, bool finishes>
__device__ __forceinline__ void consume(Shared<scheme, tile>& shared, const ProductParams& params,
                                        bool is_second) {
  const int group = any_of_warp(is_second) ? 1 : 0;
  const int thread = static_cast<int>(threadIdx.x) % warpgroup;
  const int row = tile.shares_rows ? 0 : group * 64 * tile.m64_blocks;
  // The remainder of an unsigned number: that of a signed one takes four instructions, and where
  // registers are short the compiler computes it anew in each window.
  const int warp = thread / warp_lanes, lane = static_cast<int>(threadIdx.x % warp_lanes);
  [[maybe_unused]] auto& scales =
      shared.scales[scheme.fp16 ? group * warpgroup / warp_lanes + warp : 0];
  const int column = tile.shares_rows ? group * tile.own_columns() : 0;
  Consumer<scheme, tile> consumer;
  Pipeline<scheme, tile> pipeline(shared);
  for (Scheduler scheduler(params); scheduler.has_work(); scheduler.next()) {
    const OutputTile output = scheduler.output_tile();
    consumer.clear();
    if constexpr (finishes) {
      if (reads_source(params.problem))
        ask_for_source(params.problem, output.entry, output.i0, output.j0, tile.bm(), tile.bn,
                       group * warpgroup + thread, consumer_threads);
    }
    if constexpr (scheme.fp16)
      scales.fetch(params, output.entry, output.i0 + row + warp * 16, output.j0 + column, lane);
    multiply_run(consumer, pipeline, shared, params, scheduler.stages(), group, thread, row, lane);

    const auto end_tile = [&](float(&sums)[tile.m64_blocks][tile.own_columns() / 2]) {
      if (!scheduler.is_whole() &&
          !reduce_parts(shared, params, scheduler.work(), group, sums, thread)) {
        if constexpr (scheme.fp16) scales.wait();
        return;
      }
      const auto own =
          output_fragment<tile.m64_blocks, tile.own_columns()>(output, row, column, thread, sums);
      if constexpr (scheme.fp16) {
        scales.wait();
        unscale<Scheduler::has_ranges>(params, own, scales, shared.has_outliers);
      }
      if constexpr (Scheduler::has_diagonal) {
        store_of_triangle(params, own, is_on_diagonal(params.problem, output, tile.bm()));
      } else {
        store<finishes>(params, own);
      }
    };
    auto& sums = consumer.result(shared.drift);
    if constexpr (tile.shares_rows) {
      float half[tile.m64_blocks][tile.own_columns() / 2];
      reduce_warpgroups(shared, sums, half, group, thread);
      end_tile(half);
    } else {
      end_tile(sums);
    }
  }
}

// The pieces for the next launch, which computes the product where fp16x3 cannot. Here all blocks
// know that and the SMs have nothing else to do; a split pass of its own would be one launch more
// in every call. For the consumers, `tid` among them.
template <bool triangular>
__device__ __forceinline__ void write_bf16_pieces(const ProductParams& params, int tid) {
  static_assert(consumer_threads == split_threads);
  SizeRange ranges[2];  // known before
  split_operands<SplitPass::bf16, triangular>(params.second_split, blockIdx.x, gridDim.x, tid,
                                              ranges);
}

// Whether this launch is one behind the product that selects the path, and does not compute. Then
// its blocks end before all else that a block begins with, which is fetched cold: whoever waits for
// the call waits for them.
template <Scheme scheme>
__device__ __forceinline__ bool ends_early(const ProductParams& params) {
  if (!params.problem.overlaps_previous) return false;
  if (params.problem.next_overlaps) let_next_kernel_start();
  wait_for_previous_kernel();
  const Control& control = *params.control;
  if (path_of(control.takes_fp32 != 0, control.outlier_count) == path_of_scheme(scheme))
    return false;
  // All of the first product's blocks have read it.
  if (blockIdx.x == 0 && threadIdx.x == 0) *params.outlier_totals = {};
  return true;
}

// What a kernel does, by the way through its tiles.
template <Scheme scheme, Tile tile, class Scheduler, bool finishes>
__device__ __forceinline__ void multiply_tiles([[maybe_unused]] const ProductParams& params) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (!scheme.fp16) {
    if (any_of_warp(ends_early<scheme>(params))) return;
  }
  auto& shared = *gpu::dynamic_shared<Shared<scheme, tile>>();
  if (threadIdx.x == 0) shared.init_barriers();
  __syncthreads();
  begin_concurrent(params.problem);
  const int tid = static_cast<int>(threadIdx.x) - producer_threads(tile);
  if (tid < 0) {
    if constexpr (tile.is_direct()) {
      setmaxnreg_dealloc<48>();
      make<scheme, tile, Scheduler>(shared, params);
    } else {
      setmaxnreg_dealloc<40>();
      const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
      if (warp == 0) produce<true, scheme, tile, Scheduler>(shared, params);
      if (warp == 1) produce<false, scheme, tile, Scheduler>(shared, params);
    }
  } else {
    setmaxnreg_alloc<tile.is_direct() ? 208 : 232>();
    const Path path = selected_path(shared, params, tid);
    if (path == path_of_scheme(scheme))
      consume<scheme, tile, Scheduler, finishes>(shared, params, tid >= warpgroup);
    if (scheme.fp16 && path == Path::bf16x6) write_bf16_pieces<Scheduler::has_ranges>(params, tid);
  }
  end_concurrent(params.problem);
  let_next_kernel_start();
#endif
}

// `row` of the scheme's table of tiles. `finishes`: an instance for calls that read C or have an
// epilogue; what it takes would make the others slower.
template <bool fp16, int row, bool finishes>
__global__ __launch_bounds__(tile_threads(tile_row(fp16, row).tile),
                             1) void hopper_tile(const ProductParams params) {
  constexpr Tile tile = tile_row(fp16, row).tile;
  multiply_tiles<scheme_of(fp16), tile, TileScheduler<tile>, finishes>(params);
}

// The same for problems that are not full.
template <bool fp16, int row>
__global__ __launch_bounds__(tile_threads(tile_row(fp16, row).tile),
                             1) void hopper_triangle(const ProductParams params) {
  constexpr Tile tile = tile_row(fp16, row).tile;
  multiply_tiles<scheme_of(fp16), tile, TriangleScheduler<tile>, true>(params);
}
template <bool fp16, int row>
__global__ __launch_bounds__(tile_threads(tile_row(fp16, row).tile),
                             1) void hopper_range(const ProductParams params) {
  constexpr Tile tile = tile_row(fp16, row).tile;
  multiply_tiles<scheme_of(fp16), tile, RangeScheduler<tile>, true>(params);
}

}  // namespace KW_TARGET::hopper
