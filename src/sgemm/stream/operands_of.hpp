// What the host tells a launch of stream_tile's ring about a product's operands, and whether a
// device can run it.
#pragma once

#include "sgemm/stream/stage.hpp"

namespace KW_TARGET {

inline stream_tile::Operands stream_operands_of(const Sgemm& p) {
  using stream_tile::AccessPattern;
  const auto pattern = [&](bool along_k, const float* x, std::int64_t ld, std::int64_t stride) {
    if (along_k) return AccessPattern::along_k4;
    return batch_aligned_16(p, x, ld, stride) ? AccessPattern::along_i16 : AccessPattern::along_i4;
  };
  return {.a = pattern(p.op_a == Op::none, p.a, p.lda, p.stride_a),
          .b = pattern(p.op_b != Op::none, p.b, p.ldb, p.stride_b),
          .c16 = batch_aligned_16(p, p.c, p.ldc, p.stride_c),
          .mirrored = is_by_row(p.k_range) ? pattern(p.op_a != Op::none, p.a, p.lda, p.stride_a)
                                           : pattern(p.op_b == Op::none, p.b, p.ldb, p.stride_b)};
}

inline bool stream_has_instructions(const StreamTileConfig& config, const Device& device) {
  switch (device.kind) {
    case DeviceKind::host_simt: return device.warp_size == 32;
    case DeviceKind::cuda:
      return config.moves_registers() ? device.compute_capability == 90
                                      : device.compute_capability >= 80;
    default: return false;
  }
}

}  // namespace KW_TARGET
