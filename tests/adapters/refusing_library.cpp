// In the place of libkernelwright: the library itself, but that it refuses the kwSsyrk or
// kwSgemmBatched of the number in KW_REFUSED, counted from 0. What is not defined here is found in
// the library, which this one is linked with.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "kernelwright/kernelwright.h"

namespace {

bool is_refused() {
  static std::atomic<int> calls{0};
  const char* const refused = std::getenv("KW_REFUSED");
  return refused != nullptr && calls++ == std::atoi(refused);
}

}  // namespace

extern "C" KW_API kwStatus_t kwSsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                                     int64_t n, int64_t k, const float* alpha, const float* a,
                                     int64_t lda, const float* beta, float* c, int64_t ldc) {
  if (is_refused()) return KW_STATUS_UNSUPPORTED;
  static auto* const next = reinterpret_cast<decltype(&kwSsyrk)>(dlsym(RTLD_NEXT, "kwSsyrk"));
  return next(handle, layout, uplo, op, n, k, alpha, a, lda, beta, c, ldc);
}

extern "C" KW_API kwStatus_t kwSgemmBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                            kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                            const float* alpha, const float* const* a, int64_t lda,
                                            const float* const* b, int64_t ldb, const float* beta,
                                            float* const* c, int64_t ldc, int64_t batch) {
  if (is_refused()) return KW_STATUS_UNSUPPORTED;
  static auto* const next =
      reinterpret_cast<decltype(&kwSgemmBatched)>(dlsym(RTLD_NEXT, "kwSgemmBatched"));
  return next(handle, layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch);
}
