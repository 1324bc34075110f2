/* Sums of segments of different lengths, and the smallest and the largest number, from C on the
 * CPU. On a GPU the arrays lie in device memory and the handle comes from kwCreateGpu; the rest is
 * the same. */
#include <stdio.h>

#include "kernelwright/kernelwright.h"

enum { COUNT = 1000, SEGMENTS = 3 };

int main(void) {
  static int8_t numbers[COUNT];
  const int64_t offsets[SEGMENTS + 1] = {0, 10, 10, COUNT};
  int64_t sums[SEGMENTS];
  int8_t extremes[2];
  kwHandle_t handle = NULL;
  int i;
  for (i = 0; i < COUNT; ++i) numbers[i] = (int8_t)(i % 100);
  if (kwCreateCpu(&handle) != KW_STATUS_OK) {
    fprintf(stderr, "%s\n", kwLastErrorMessage(NULL));
    return 1;
  }
  /* Sums of integers are int64; kwReduceResultType tells. */
  if (kwReduceSegments(handle, KW_REDUCE_SUM, KW_INT8, COUNT, numbers, SEGMENTS, offsets, sums) !=
          KW_STATUS_OK ||
      kwReduceArray(handle, KW_REDUCE_MIN_MAX, KW_INT8, COUNT, numbers, extremes) != KW_STATUS_OK ||
      kwSynchronize(handle) != KW_STATUS_OK) {
    fprintf(stderr, "%s\n", kwLastErrorMessage(handle));
    kwDestroy(handle);
    return 1;
  }
  kwDestroy(handle);
  for (i = 0; i < SEGMENTS; ++i) printf("segment %d: sum %ld\n", i, (long)sums[i]);
  printf("numbers from %d to %d\n", extremes[0], extremes[1]);
  return sums[0] == 45 && sums[1] == 0 && sums[2] == 49455 && extremes[0] == 0 && extremes[1] == 99
             ? 0
             : 1;
}
