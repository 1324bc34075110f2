/* C = A * B from C, on the CPU. On a GPU the matrices lie in device memory and the handle comes
 * from kwCreateGpu; the rest is the same. */
#include <stdio.h>

#include "kernelwright/kernelwright.h"

enum { M = 30, N = 20, K = 10 };

int main(void) {
  static float a[M * K], b[K * N], c[M * N];
  const float alpha = 1, beta = 0;
  kwHandle_t handle = NULL;
  int i;
  for (i = 0; i < M * K; ++i) a[i] = 0.5f;
  for (i = 0; i < K * N; ++i) b[i] = 2.0f;
  if (kwCreateCpu(&handle) != KW_STATUS_OK) {
    fprintf(stderr, "%s\n", kwLastErrorMessage(NULL));
    return 1;
  }
  if (kwSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, M, N, K, &alpha, a, K, b, N, &beta, c,
              N) != KW_STATUS_OK ||
      kwSynchronize(handle) != KW_STATUS_OK) {
    fprintf(stderr, "%s\n", kwLastErrorMessage(handle));
    kwDestroy(handle);
    return 1;
  }
  printf("%s: C[0][0] = %g, expected %d\n", kwDeviceName(handle), c[0], K);
  kwDestroy(handle);
  for (i = 0; i < M * N; ++i) {
    if (c[i] != (float)K) return 1;
  }
  return 0;
}
