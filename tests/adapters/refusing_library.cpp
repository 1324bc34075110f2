// In the place of libkernelwright: the library itself, but that it refuses the kwSsyrk of the
// number in KW_REFUSED, counted from 0. What is not defined here is found in the library, which
// this one is linked with.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "kernelwright/kernelwright.h"

extern "C" KW_API kwStatus_t kwSsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                                     int64_t n, int64_t k, const float* alpha, const float* a,
                                     int64_t lda, const float* beta, float* c, int64_t ldc) {
  static std::atomic<int> updates{0};
  const char* const refused = std::getenv("KW_REFUSED");
  if (refused != nullptr && updates++ == std::atoi(refused)) return KW_STATUS_UNSUPPORTED;
  static auto* const next = reinterpret_cast<decltype(&kwSsyrk)>(dlsym(RTLD_NEXT, "kwSsyrk"));
  return next(handle, layout, uplo, op, n, k, alpha, a, lda, beta, c, ldc);
}
