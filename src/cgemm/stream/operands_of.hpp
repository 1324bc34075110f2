// How the operands of a product lie, as the complex stream tiles see them. Made on the host.
#pragma once

#include <cstdint>

#include "cgemm/problem.hpp"
#include "cgemm/stream/access.hpp"

namespace KW_TARGET::complex_stream {

inline bool has_stream_instructions(const Device& device) {
  return device.kind == DeviceKind::host_simt
             ? device.warp_size == 32
             : device.kind == DeviceKind::cuda && device.compute_capability == 90;
}

inline bool begins_at_16(const Cgemm& p, const Complex* x, std::int64_t ld, std::int64_t stride) {
  return !p.by_pointers() && reinterpret_cast<std::uintptr_t>(x) % 16 == 0 && ld % 2 == 0 &&
         (p.batch == 1 || stride % 2 == 0);
}

inline Operands stream_operands_of(const Cgemm& p) {
  const auto pattern = [&](bool along_k, const Complex* x, std::int64_t ld, std::int64_t stride) {
    return along_k                          ? AccessPattern::along_k
           : begins_at_16(p, x, ld, stride) ? AccessPattern::along_i16
                                            : AccessPattern::along_i;
  };
  return {pattern(p.op_a == Op::none, p.a, p.lda, p.stride_a),
          pattern(p.op_b != Op::none, p.b, p.ldb, p.stride_b),
          begins_at_16(p, p.c, p.ldc, p.stride_c)};
}

}  // namespace KW_TARGET::complex_stream
