// The rows of stream_tile: one a configuration of tuning.hpp's table.
#include "sgemm/stream/stream_tile.hpp"

#include <iterator>
#include <limits>
#include <utility>

#include "sgemm/production.hpp"
#include "sgemm/stream/plan.hpp"

namespace KW_TARGET {
namespace {

using stream_tile::Operands;
using stream_tile::Walk;

Operands operands_of(const Sgemm& p) {
  const auto walk = [&](bool along_k, const float* x, std::int64_t ld, std::int64_t stride) {
    if (along_k) return Walk::along_k4;
    return batch_aligned_16(p, x, ld, stride) ? Walk::along_i16 : Walk::along_i4;
  };
  return {walk(p.op_a == Op::none, p.a, p.lda, p.stride_a),
          walk(p.op_b != Op::none, p.b, p.ldb, p.stride_b),
          batch_aligned_16(p, p.c, p.ldc, p.stride_c)};
}

bool has_instructions(const StreamTileConfig& config, const Device& device) {
  switch (device.kind) {
    case DeviceKind::host_simt: return device.warp_size == 32;
    case DeviceKind::cuda:
      return config.moves_registers() ? device.compute_capability == 90
                                      : device.compute_capability >= 80;
    default: return false;
  }
}

template <int row>
struct Row {
  static constexpr StreamTile tile = stream_tiles[row];
  using Shared = stream_tile::Shared<tile.config>;

  static bool supports(const Sgemm& p, const Device& device) {
    return has_instructions(tile.config, device) &&
           device.shared_bytes_per_block_optin >= sizeof(Shared) &&
           plan_stream_tile(tile, p, device).us < std::numeric_limits<double>::infinity();
  }
  static std::size_t workspace_bytes(const Sgemm& p, const Device& device) {
    return stream_workspace_bytes(tile, plan_stream_tile(tile, p, device).schedule);
  }
  static double predicted_us(const Sgemm& p, const Device& device) {
    return plan_stream_tile(tile, p, device).us;
  }
  static Status launch(const Sgemm& p, const Device& device, Workspace workspace, Stream stream) {
    const StreamSchedule schedule = plan_stream_tile(tile, p, device).schedule;
    return gpu::launch(stream_tile::stream_tile<row>,
                       {.grid = dim3(static_cast<unsigned>(schedule.blocks)),
                        .block = dim3(static_cast<unsigned>(tile.config.threads())),
                        .shared_bytes = sizeof(Shared),
                        .stream = stream,
                        .overlap = true},
                       p, operands_of(p), schedule, workspace);
  }
  static Kernel<Sgemm> kernel() {
    return {.name = tile.name,
            .parent = nullptr,
            .idea = tile.idea,
            .role = Role::production,
            .math = Math::fp32,
            .supports = supports,
            .workspace_bytes = workspace_bytes,
            .launch = launch,
            .predicted_us = predicted_us};
  }
};

}  // namespace

KernelList<Sgemm> stream_tile_rows() {
  return []<int... row>(std::integer_sequence<int, row...>) {
    return KernelList<Sgemm>{Row<row>::kernel()...};
  }
  (std::make_integer_sequence<int, static_cast<int>(std::size(stream_tiles))>());
}

}  // namespace KW_TARGET
