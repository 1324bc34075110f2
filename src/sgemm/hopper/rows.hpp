// The split kernels as rows of the registry: one a tile of tuning.hpp. How a call is computed is in
// plan.hpp (decisions, times) and call.hpp (launches).
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "gpu/gpu.hpp"
#include "sgemm/hopper/call.hpp"
#include "sgemm/hopper/hopper_tile.hpp"
#include "sgemm/hopper/plan.hpp"
#include "sgemm/production.hpp"
#include "table_rows.hpp"

namespace KW_TARGET::hopper {

// Row `index` of the tiles of a scheme.
template <bool fp16, int index>
struct HopperKernel {
  static constexpr TileRow row = tile_row(fp16, index);
  static constexpr Tile tile = row.tile;
  static constexpr std::size_t shared_bytes = sizeof(Shared<scheme_of(fp16), tile>);

  static bool has_shape(const Sgemm& p) {
    // C must still be there for the kernel in plain fp32 (maker.hpp).
    if (tile.is_direct()) return p.is_full() && p.beta == 0 && p.beta_at == nullptr;
    return p.is_full() || (p.triangle != Triangle::none ? row.triangles : row.ranges.any());
  }
  static bool supports(const Sgemm& p, const Device& device) {
    const bool has_instructions =
        device.kind == DeviceKind::cuda
            ? device.compute_capability == 90
            : device.kind == DeviceKind::host_simt && device.warp_size == 32;
    return has_instructions && device.shared_bytes_per_block_optin >= shared_bytes && has_work(p) &&
           p.k >= scheme_of(fp16).min_k && p.only_if == nullptr && fits_ints(p) && has_shape(p);
  }
  static std::optional<Plan<Sgemm>> make_plan(const Sgemm& p, const Device& device) {
    if (!supports(p, device)) return std::nullopt;
    return Plan<Sgemm>{.time_us = predicted_us(row, p, device),
                       .cost = predicted_cost(row, p, device),
                       .workspace_bytes = whole_workspace(row, p, device),
                       .min_workspace_bytes = min_workspace_bytes(row, p, device)};
  }
  static void complete_plan(const Sgemm& p, const Device& device, Plan<Sgemm>& plan) {
    complete_call_plan(row, p, device, plan);
  }
  static const char* path_taken(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                                const PathWords& words) {
    switch (path_of(words[0] != 0, words[1])) {
      case Path::fp16x3: return row.name;
      case Path::bf16x6: return fp16 ? bf16x6_tiles[select_bf16x6_tile(p, device)].name : row.name;
      case Path::fp32: return p.diagonal_apart ? row.name : fallback_of(plan).kernel->name;
    }
    return row.name;
  }

  static Status launch_product(const ProductParams& params, Stream stream) {
    const gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(params.schedule.blocks)),
                                      .block = dim3(tile_threads(tile)),
                                      .shared_bytes = shared_bytes,
                                      .stream = stream,
                                      .overlap = true};
    const Sgemm& p = params.problem;
    if constexpr (row.triangles) {
      if (p.triangle != Triangle::none)
        return gpu::launch(hopper_triangle<fp16, index>, config, params);
    }
    if constexpr (row.ranges.any()) {
      if (p.k_range != KRange::all) return gpu::launch(hopper_range<fp16, index>, config, params);
    }
    ProductParams own = params;
    own.grid = TileGrid(ceil_div(p.m, tile.bm()), ceil_div(p.n, tile.bn), tile.strip_tiles());
    const bool finishes = p.beta_at != nullptr || p.beta != 0 || p.epilogue.any();
    return gpu::launch(finishes ? hopper_tile<fp16, index, true> : hopper_tile<fp16, index, false>,
                       config, own);
  }
  static Status launch_plan(const Sgemm& p, const Device& device, const Plan<Sgemm>& plan,
                            Workspace workspace, Stream stream) {
    return launch_call(row, launch_product, p, device, plan, workspace, stream);
  }

  static Kernel<Sgemm> kernel() {
    return {.name = row.name,
            .parent = nullptr,
            .idea = fp16 ? "tensor cores: three products of scaled fp16 pieces"
                         : "tensor cores: six products of bf16 pieces",
            .role = Role::production,
            .math = Math::fp32_split,
            .make_plan = make_plan,
            .complete_plan = complete_plan,
            .launch_plan = launch_plan,
            .path_taken = path_taken};
  }
};

}  // namespace KW_TARGET::hopper
