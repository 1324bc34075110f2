/* Two products in one call, each of matrices wherever they are, with alpha and beta in the device's
 * memory: from C, on the CPU. On a GPU all arrays, the pointers' included, lie in device memory and
 * the handle comes from kwCreateGpu; the rest is the same. */
#include <stdio.h>

#include "kernelwright/kernelwright.h"

enum { SIZE = 4, BATCH = 2 };

int main(void) {
  static float first[SIZE * SIZE], second[SIZE * SIZE], shared[SIZE * SIZE];
  static float results[BATCH][SIZE * SIZE];
  const float* const a[BATCH] = {first, second};
  const float* const b[BATCH] = {shared, shared};
  float* const c[BATCH] = {results[1], results[0]}; /* in any order */
  const float scalars[2] = {0.5f, 0};
  size_t bytes = 0;
  kwHandle_t handle = NULL;
  int i;
  for (i = 0; i < SIZE * SIZE; ++i) {
    first[i] = 1;
    second[i] = 3;
    shared[i] = 2;
  }
  if (kwCreateCpu(&handle) != KW_STATUS_OK) {
    fprintf(stderr, "%s\n", kwLastErrorMessage(NULL));
    return 1;
  }
  if (kwSetPointerMode(handle, KW_POINTER_MODE_DEVICE) != KW_STATUS_OK ||
      kwSgemmBatchedWorkspaceBytes(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, SIZE, SIZE, SIZE,
                                   &scalars[0], a, SIZE, b, SIZE, &scalars[1], c, SIZE, BATCH,
                                   &bytes) != KW_STATUS_OK ||
      kwSgemmBatched(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, SIZE, SIZE, SIZE, &scalars[0], a,
                     SIZE, b, SIZE, &scalars[1], c, SIZE, BATCH) != KW_STATUS_OK ||
      kwSynchronize(handle) != KW_STATUS_OK) {
    fprintf(stderr, "%s\n", kwLastErrorMessage(handle));
    kwDestroy(handle);
    return 1;
  }
  printf("%s: %g and %g, expected %d and %d; %d bytes of workspace\n", kwDeviceName(handle),
         results[1][0], results[0][0], SIZE, 3 * SIZE, (int)bytes);
  kwDestroy(handle);
  for (i = 0; i < SIZE * SIZE; ++i) {
    if (results[1][i] != SIZE || results[0][i] != 3 * SIZE) return 1;
  }
  return 0;
}
