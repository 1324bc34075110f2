// A library of a program that is linked with cuBLAS: one product, and which cuBLAS answered.
#include "abi.hpp"
#include "forms.hpp"

using namespace kw::cublas;

extern "C" {
Status cublasSgemm_v2(KW_PARAMETERS_sgemm(int));
int cublasCreate_v2(void** handle);
int cublasDestroy_v2(void* handle);
const char* stand_in_version();
long stand_in_calls(const char* symbol);

// 2 x 3 times 3 x 2 of ones: each element 3. Returns the sum of C, negative for a failure.
float plugin_multiply() {
  float a[6], b[6], c[4] = {};
  for (float& value : a) value = 1;
  for (float& value : b) value = 1;
  const float one = 1, zero = 0;
  void* handle = nullptr;
  if (cublasCreate_v2(&handle) != 0) return -1;
  const Status status = cublasSgemm_v2(handle, 0, 0, 2, 2, 3, &one, a, 2, b, 3, &zero, c, 2);
  if (cublasDestroy_v2(handle) != 0 || status != 0) return -2;
  return c[0] + c[1] + c[2] + c[3];
}
long plugin_forwarded() { return stand_in_calls("cublasSgemm_v2"); }
const char* plugin_version() { return stand_in_version(); }
}
