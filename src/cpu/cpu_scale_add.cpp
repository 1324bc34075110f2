// cpu_scale_add: B = scale * A + shift, one fused multiply-add an element, in vectors where this
// CPU has the instruction.
#include <algorithm>
#include <cmath>

#include "cpu/kernels.hpp"

namespace kw::cpu {

namespace {

using RowFunction = void (*)(float scale, const float* a, float shift, float* b,
                             std::int64_t count);

void plain_row(float scale, const float* a, float shift, float* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) b[i] = std::fma(scale, a[i], shift);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void fma_row(float scale, const float* a, float shift, float* b,
                                                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) b[i] = __builtin_fmaf(scale, a[i], shift);
}

RowFunction row_function() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? fma_row : plain_row;
}
#else
RowFunction row_function() { return plain_row; }
#endif

}  // namespace

Status cpu_scale_add(const ScaleAdd& p, const Device&, Workspace, Stream) {
  const RowFunction row = row_function();
  for (std::int64_t i = 0; i < p.rows; ++i) {
    if (p.scale == 0) {
      std::fill_n(p.b + i * p.ldb, p.cols, p.shift);
    } else {
      row(p.scale, p.a + i * p.lda, p.shift, p.b + i * p.ldb, p.cols);
    }
  }
  return Status::success();
}

}  // namespace kw::cpu
