/* Checks of the C interface's batched products and pointer modes, written and compiled as C99. */
#include <string.h>

#include "c_abi_client.h"
#include "kernelwright/kernelwright.h"

#define REQUIRE(condition) \
  if (!(condition)) return #condition

static const float one = 1, zero = 0, two = 2;
/* Two 2 x 2 matrices, and twice the one that exchanges rows; row-major or column-major alike. */
static const float a[] = {1, 2, 3, 4, 5, 6, 7, 8}, exchange[] = {0, 1, 1, 0};
static const float want[] = {2, 1, 4, 3, 6, 5, 8, 7};

const char* c_abi_strided_batched(void) {
  float c[9];
  size_t bytes = 99;
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  memset(c, 0xFF, sizeof c);
  c[8] = 7;
  REQUIRE(kwSgemmStridedBatched(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_TRANSPOSE, 2, 2, 2, &one, a,
                                2, 4, exchange, 2, 0, &zero, c, 2, 4, 2) == KW_STATUS_OK);
  REQUIRE(kwSynchronize(handle) == KW_STATUS_OK);
  REQUIRE(memcmp(c, want, sizeof want) == 0);
  REQUIRE(c[8] == 7);
  /* The exchange from the left is that of a column-major matrix's rows. */
  memset(c, 0xFF, sizeof want);
  REQUIRE(kwSgemmStridedBatched(handle, KW_COL_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2, &one,
                                exchange, 2, 0, a, 2, 4, &zero, c, 2, 4, 2) == KW_STATUS_OK);
  REQUIRE(memcmp(c, want, sizeof want) == 0);
  REQUIRE(kwSgemmStridedBatchedWorkspaceBytes(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2,
                                              &one, a, 2, 4, exchange, 2, 0, &zero, c, 2, 4, 2,
                                              &bytes) == KW_STATUS_OK);
  REQUIRE(bytes == 0);
  kwDestroy(handle);
  return NULL;
}

const char* c_abi_pointer_batched(void) {
  float c[8];
  const float *from[2], *by[2];
  float* to[2];
  size_t bytes = 99;
  kwHandle_t handle = NULL;
  from[0] = a + 4;
  from[1] = a;
  by[0] = by[1] = exchange;
  to[0] = c + 4;
  to[1] = c;
  memset(c, 0xFF, sizeof c);
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(kwSgemmBatched(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2, &one, from, 2, by,
                         2, &zero, (float* const*)to, 2, 2) == KW_STATUS_OK);
  REQUIRE(memcmp(c, want, sizeof c) == 0);
  REQUIRE(kwSgemmBatchedWorkspaceBytes(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2, &one,
                                       from, 2, by, 2, &zero, (float* const*)to, 2, 2,
                                       &bytes) == KW_STATUS_OK);
  REQUIRE(bytes == 0);
  kwDestroy(handle);
  return NULL;
}

/* On the CPU the device's memory is the host's. */
const char* c_abi_pointer_mode(void) {
  float c[4] = {1, 1, 1, 1};
  const float twice_and_added[] = {5, 3, 9, 7};
  kwPointerMode_t mode = -1;
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(kwGetPointerMode(handle, &mode) == KW_STATUS_OK);
  REQUIRE(mode == KW_POINTER_MODE_HOST);
  REQUIRE(kwSetPointerMode(handle, KW_POINTER_MODE_DEVICE) == KW_STATUS_OK);
  REQUIRE(kwGetPointerMode(handle, &mode) == KW_STATUS_OK);
  REQUIRE(mode == KW_POINTER_MODE_DEVICE);
  REQUIRE(kwSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2, &two, a, 2, exchange, 2,
                  &one, c, 2) == KW_STATUS_OK);
  REQUIRE(memcmp(c, twice_and_added, sizeof c) == 0);
  REQUIRE(kwSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2, NULL, a, 2, exchange, 2,
                  &one, c, 2) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "alpha is null") != NULL);
  REQUIRE(strstr(kwLastErrorMessage(handle), "device") != NULL);
  /* Where alpha lies on the device, nobody knows here that A is not read. */
  REQUIRE(kwSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2, &zero, NULL, 2, exchange,
                  2, &one, c, 2) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "a is null") != NULL);
  /* scale and shift stay in host memory. */
  REQUIRE(kwScaleAdd(handle, KW_ROW_MAJOR, 2, 2, &two, c, 2, &one, c, 2) == KW_STATUS_OK);
  REQUIRE(c[0] == 11 && c[3] == 15);
  REQUIRE(kwSetPointerMode(handle, 2) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "mode is 2") != NULL);
  REQUIRE(kwGetPointerMode(handle, NULL) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(kwGetPointerMode(handle, &mode) == KW_STATUS_OK);
  REQUIRE(mode == KW_POINTER_MODE_DEVICE);
  kwDestroy(handle);
  REQUIRE(kwSetPointerMode(NULL, KW_POINTER_MODE_HOST) == KW_STATUS_INVALID_ARGUMENT);
  return NULL;
}

const char* c_abi_batched_errors(void) {
  float c[8] = {1, 2, 3, 4, 5, 6, 7, 8}, before[8];
  const float *from[2], *by[2];
  float* to[2];
  size_t bytes = 99;
  kwHandle_t handle = NULL;
  memcpy(before, c, sizeof c);
  from[0] = from[1] = a;
  by[0] = by[1] = exchange;
  to[0] = c;
  to[1] = c + 4;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
#define STRIDED(m, stride_a, stride_c, batch, a, beta)                                     \
  kwSgemmStridedBatched(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, m, 2, 2, &one, a, 2, \
                        stride_a, exchange, 2, 0, beta, c, 2, stride_c, batch)
  REQUIRE(STRIDED(2, 4, 4, -1, a, &zero) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "batch is -1") != NULL);
  REQUIRE(STRIDED(2, -4, 4, 2, a, &zero) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "stride_a is -4") != NULL);
  REQUIRE(STRIDED(2, 4, 3, 2, a, &zero) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "stride_c is 3") != NULL);
  REQUIRE(STRIDED(-2, 4, 4, 2, a, &zero) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "m is -2") != NULL);
  REQUIRE(STRIDED(2, 4, 4, 2, NULL, &zero) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "a is null") != NULL);
  REQUIRE(STRIDED(2, 4, 4, 2, a, NULL) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "beta is null") != NULL);
  REQUIRE(kwSgemmBatched(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2, &one, NULL, 2, by,
                         2, &zero, (float* const*)to, 2, 2) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "a is null") != NULL);
  REQUIRE(kwSgemmBatched(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2, &one, from, 2, by,
                         2, &zero, NULL, 2, 2) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "c is null") != NULL);
  REQUIRE(kwSgemmBatchedWorkspaceBytes(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2, &one,
                                       from, 1, by, 2, &zero, (float* const*)to, 2, 2,
                                       &bytes) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(bytes == 0);
  REQUIRE(strstr(kwLastErrorMessage(handle), "lda is 1") != NULL);
  REQUIRE(kwSgemmStridedBatchedWorkspaceBytes(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 2,
                                              &one, a, 2, 4, exchange, 2, 0, &zero, c, 2, 4, 2,
                                              NULL) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(memcmp(c, before, sizeof c) == 0);
  REQUIRE(STRIDED(2, 4, 4, 0, NULL, &zero) == KW_STATUS_OK);
  REQUIRE(memcmp(c, before, sizeof c) == 0);
#undef STRIDED
  kwDestroy(handle);
  return NULL;
}
