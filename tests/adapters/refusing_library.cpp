// In the place of libkernelwright: the library itself, but that it refuses the product of the
// number in KW_REFUSED, counted from 0. What is not defined here is found in the library, which
// this one is linked with.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "kernelwright/kernelwright.h"

extern "C" KW_API kwStatus_t kwSgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                     int64_t m, int64_t n, int64_t k, const float* alpha,
                                     const float* a, int64_t lda, const float* b, int64_t ldb,
                                     const float* beta, float* c, int64_t ldc) {
  static std::atomic<int> products{0};
  const char* const refused = std::getenv("KW_REFUSED");
  if (refused != nullptr && products++ == std::atoi(refused)) return KW_STATUS_UNSUPPORTED;
  static auto* const next = reinterpret_cast<decltype(&kwSgemm)>(dlsym(RTLD_NEXT, "kwSgemm"));
  return next(handle, layout, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
