/* Checks of the C interface, written and compiled as C99. */
#include "c_abi_client.h"

#include <string.h>

#include "kernelwright/kernelwright.h"

#define REQUIRE(condition) \
  if (!(condition)) return #condition

static const float one = 1, zero = 0, two = 2, half = 0.5f;

/* C (2 x 2) = A (2 x 3) * B (3 x 2), and with A and B stored transposed. */
const char* c_abi_product(void) {
  const float a[] = {1, 2, 3, 4, 5, 6}, a_turned[] = {1, 4, 2, 5, 3, 6};
  const float b[] = {1, 0, 2, 1, 0, 3}, b_turned[] = {1, 2, 0, 0, 1, 3};
  const float want[] = {5, 11, 14, 23};
  float c[4];
  size_t bytes = 99;
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  memset(c, 0xFF, sizeof c);
  REQUIRE(kwSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 3, &one, a, 3, b, 2, &zero, c,
                  2) == KW_STATUS_OK);
  REQUIRE(kwSynchronize(handle) == KW_STATUS_OK);
  REQUIRE(memcmp(c, want, sizeof c) == 0);
  memset(c, 0xFF, sizeof c);
  REQUIRE(kwSgemm(handle, KW_ROW_MAJOR, KW_OP_TRANSPOSE, KW_OP_TRANSPOSE, 2, 2, 3, &one, a_turned,
                  2, b_turned, 3, &zero, c, 2) == KW_STATUS_OK);
  REQUIRE(memcmp(c, want, sizeof c) == 0);
  REQUIRE(kwSgemmWorkspaceBytes(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 3, &one, a, 3,
                                b, 2, &zero, c, 2, &bytes) == KW_STATUS_OK);
  REQUIRE(bytes == 0);
  kwDestroy(handle);
  return NULL;
}

/* The same product stored by columns, C = A * B + 2 * C. */
const char* c_abi_column_major_product(void) {
  const float a[] = {1, 4, 2, 5, 3, 6}, b[] = {1, 2, 0, 0, 1, 3};
  const float want[] = {7, 16, 13, 25};
  float c[] = {1, 1, 1, 1};
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(kwSgemm(handle, KW_COL_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 3, &one, a, 2, b, 3, &two, c,
                  2) == KW_STATUS_OK);
  REQUIRE(memcmp(c, want, sizeof c) == 0);
  kwDestroy(handle);
  return NULL;
}

const char* c_abi_scale_add(void) {
  const float a[] = {1, 2, -1, 3, 4, -1}, want[] = {2.5f, 4.5f, 9, 6.5f, 8.5f, 9};
  float b[] = {9, 9, 9, 9, 9, 9};
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(kwScaleAdd(handle, KW_ROW_MAJOR, 2, 2, &two, a, 3, &half, b, 3) == KW_STATUS_OK);
  REQUIRE(memcmp(b, want, sizeof b) == 0);
  REQUIRE(kwScaleAdd(handle, KW_COL_MAJOR, 2, 2, &two, a, 1, &half, b, 3) ==
          KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "lda is 1") != NULL);
  REQUIRE(kwScaleAdd(handle, KW_ROW_MAJOR, 2, 2, &two, a, 3, NULL, b, 3) ==
          KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "shift is null") != NULL);
  REQUIRE(memcmp(b, want, sizeof b) == 0);
  kwDestroy(handle);
  return NULL;
}

const char* c_abi_out_of_core(void) {
  const float a[] = {1, 4, 2, 5, 3, 6}, b[] = {1, 3, 5, 2, 4, 6}, want[] = {24, 30, 51, 66};
  float c[] = {1, 1, 1, 1};
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(kwSgemmOutOfCore(handle, KW_ROW_MAJOR, KW_OP_TRANSPOSE, KW_OP_TRANSPOSE, 2, 2, 3, &one, a,
                           2, b, 3, &two, c, 2, 1 << 16) == KW_STATUS_OK);
  REQUIRE(memcmp(c, want, sizeof c) == 0);
  REQUIRE(kwSgemmOutOfCore(handle, KW_ROW_MAJOR, KW_OP_TRANSPOSE, KW_OP_TRANSPOSE, 2, 2, 3, &one, a,
                           2, b, 3, &two, c, 2, 8) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "device_bytes is 8") != NULL);
  REQUIRE(kwSgemmOutOfCore(handle, KW_ROW_MAJOR, KW_OP_NONE, 7, 2, 2, 3, &one, a, 3, b, 2, &two, c,
                           2, 0) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "op_b is 7") != NULL);
  REQUIRE(kwSgemmOutOfCore(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 2, 2, 3, &one, a, 3, b, 2,
                           NULL, c, 2, 0) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "beta is null") != NULL);
  REQUIRE(memcmp(c, want, sizeof c) == 0);
  kwDestroy(handle);
  return NULL;
}

/* A 3 x 2 by 2 x 4 product over two ranks, whose columns of C are 2 and 2. */
const char* c_abi_distributed(void) {
  /* A, B and C are dealt out in columns, so each rank has one of A's. */
  float a[2][3] = {{1, 3, 5}, {2, 4, 6}}, b[2][4] = {{1, 5, 2, 6}, {3, 7, 4, 8}}, c[2][6];
  const float want[2][6] = {{5, 17, 11, 39, 17, 61}, {11, 23, 25, 53, 39, 83}};
  kwGroup_t group = NULL;
  kwDistribution of_a, of_b, of_c;
  kwDistributedMatrix pa[2], pb[2], pc[2];
  int64_t rows = 0, cols = 0;
  int rank;
  REQUIRE(kwGroupCreateCpu(&group, 1, 2, 20) == KW_STATUS_OK);
  REQUIRE(kwBlockDistribution(3, 2, 1, 2, &of_a) == KW_STATUS_OK);
  REQUIRE(kwBlockDistribution(2, 4, 1, 2, &of_b) == KW_STATUS_OK);
  REQUIRE(kwBlockDistribution(3, 4, 1, 2, &of_c) == KW_STATUS_OK);
  REQUIRE(kwLocalSize(&of_c, 1, 2, 1, &rows, &cols) == KW_STATUS_OK && rows == 3 && cols == 2);
  for (rank = 0; rank < 2; ++rank) {
    const kwDistributedMatrix in_a = {of_a, a[rank], 1, KW_ROW_MAJOR, KW_OP_NONE};
    const kwDistributedMatrix in_b = {of_b, b[rank], 2, KW_ROW_MAJOR, KW_OP_NONE};
    const kwDistributedMatrix in_c = {of_c, c[rank], 2, KW_ROW_MAJOR, KW_OP_NONE};
    pa[rank] = in_a;
    pb[rank] = in_b;
    pc[rank] = in_c;
  }
  REQUIRE(kwSgemmDistributedAll(group, KW_MATH_FP32, 0, 1, pa, pb, 0, pc) == KW_STATUS_OK);
  for (rank = 0; rank < 2; ++rank) REQUIRE(kwGroupSynchronize(group, rank) == KW_STATUS_OK);
  REQUIRE(memcmp(c, want, sizeof c) == 0);
  REQUIRE(kwSgemmDistributedAll(group, 7, 0, 1, pa, pb, 0, pc) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(NULL), "math is 7") != NULL);
  REQUIRE(kwSgemmDistributed(group, 2, KW_MATH_FP32, 0, 1, pa, pb, 0, pc) ==
          KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(NULL), "rank is 2") != NULL);
  REQUIRE(kwSgemmDistributedAll(group, KW_MATH_FP32, 0, 1, NULL, pb, 0, pc) ==
          KW_STATUS_INVALID_ARGUMENT);
  pa[1].ld = 0;
  REQUIRE(kwSgemmDistributedAll(group, KW_MATH_FP32, 0, 1, pa, pb, 0, pc) ==
          KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(kwGroupSynchronize(NULL, 0) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(kwGroupAbort(group, 0, "the test ends") == KW_STATUS_OK);
  pa[1].ld = 1;
  REQUIRE(kwSgemmDistributedAll(group, KW_MATH_FP32, 0, 1, pa, pb, 0, pc) ==
          KW_STATUS_DEVICE_ERROR);
  REQUIRE(strstr(kwLastErrorMessage(NULL), "the test ends") != NULL);
  kwGroupDestroy(group);
  REQUIRE(kwGroupCreateCpu(&group, 0, 2, 20) == KW_STATUS_INVALID_ARGUMENT && group == NULL);
  REQUIRE(kwGroupCreateGpus(&group, 1, 0, NULL, 20) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(kwGroupCreateCpu(NULL, 1, 1, 20) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(kwGroupJoinCpu(&group, 1, 1, 0, NULL, 20) == KW_STATUS_INVALID_ARGUMENT && group == NULL);
  REQUIRE(kwGroupJoinGpu(&group, 1, 1, 0, NULL, 0, 20) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(kwGroupJoinGpu(&group, 1, 1, 1, "c", 0, 20) != KW_STATUS_OK && group == NULL);
  REQUIRE(kwGroupJoinCpu(&group, 1, 1, 0, "c-abi-client", 20) == KW_STATUS_OK);
  REQUIRE(kwGroupCloseMemory(group, 0) == KW_STATUS_OK);
  REQUIRE(kwGroupCloseMemory(group, 1) == KW_STATUS_INVALID_ARGUMENT);
  kwGroupDestroy(group);
  kwGroupDestroy(NULL);
  return NULL;
}

/* One wrong argument at a time; C stays as it is. */
const char* c_abi_errors(void) {
  static const struct {
    kwLayout_t layout;
    kwOp_t op_a, op_b;
    int64_t m, n, k, lda, ldb, ldc;
    const char* message;
  } cases[] = {
      {7, 0, 0, 2, 2, 2, 2, 2, 2, "layout is 7"},
      {101, 0, 0, 2, 2, 2, 2, 2, 2, "layout is 101"},
      {0, 9, 0, 2, 2, 2, 2, 2, 2, "op_a is 9"},
      {0, 0, -3, 2, 2, 2, 2, 2, 2, "op_b is -3"},
      {0, 0, 0, -1, 2, 2, 2, 2, 2, "m is -1"},
      {0, 0, 0, 2, -2, 2, 2, 2, 2, "n is -2"},
      {0, 0, 0, 2, 2, -3, 2, 2, 2, "k is -3"},
      {0, 0, 0, 2, 2, 2, 1, 2, 2, "lda is 1, smaller than the 2 columns"},
      {0, 1, 0, 2, 2, 3, 1, 2, 2, "lda is 1, smaller than the 2 columns"},
      {1, 0, 0, 2, 2, 2, 2, 1, 2, "ldb is 1, smaller than the 2 rows"},
      {0, 0, 0, 2, 2, 2, 2, 2, -2, "ldc is -2, smaller than the 2 columns"},
  };
  const float a[16] = {1, 2, 3, 4}, b[16] = {5, 6, 7, 8};
  float c[4] = {1, 2, 3, 4};
  const float before[4] = {1, 2, 3, 4};
  size_t i;
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const kwStatus_t status =
        kwSgemm(handle, cases[i].layout, cases[i].op_a, cases[i].op_b, cases[i].m, cases[i].n,
                cases[i].k, &one, a, cases[i].lda, b, cases[i].ldb, &zero, c, cases[i].ldc);
    if (status != KW_STATUS_INVALID_ARGUMENT) return cases[i].message;
    if (strstr(kwLastErrorMessage(handle), cases[i].message) == NULL) return cases[i].message;
    if (memcmp(c, before, sizeof c) != 0) return "C was written";
  }
  REQUIRE(kwSgemm(handle, 0, 0, 0, 2, 2, 2, NULL, a, 2, b, 2, &zero, c, 2) ==
          KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "alpha is null") != NULL);
  REQUIRE(kwSgemm(handle, 0, 0, 0, 2, 2, 2, &one, a, 2, b, 2, NULL, c, 2) ==
          KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "beta is null") != NULL);
  REQUIRE(kwSgemm(handle, 0, 0, 0, 2, 2, 2, &one, NULL, 2, b, 2, &zero, c, 2) ==
          KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "a is null") != NULL);
  REQUIRE(kwSgemmWorkspaceBytes(handle, 0, 0, 0, 2, 2, 2, &one, a, 2, b, 2, &zero, c, 2, NULL) ==
          KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(memcmp(c, before, sizeof c) == 0);
  /* A success forgets the failure. */
  REQUIRE(kwSgemm(handle, 0, 0, 0, 2, 2, 2, &one, a, 2, b, 2, &zero, c, 2) == KW_STATUS_OK);
  REQUIRE(strcmp(kwLastErrorMessage(handle), "") == 0);
  kwDestroy(handle);
  return NULL;
}

const char* c_abi_handles(void) {
  kwHandle_t handle = NULL;
  float c = 3;
  REQUIRE(kwSynchronize(NULL) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(NULL), "handle is null") != NULL);
  REQUIRE(kwSgemm(NULL, 0, 0, 0, 1, 1, 0, &one, NULL, 1, NULL, 1, &zero, &c, 1) ==
          KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(c == 3);
  REQUIRE(kwCreateCpu(NULL) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(kwDeviceName(NULL) == NULL);
  kwDestroy(NULL);

  REQUIRE(kwCreateGpu(&handle, -1) == KW_STATUS_NO_DEVICE);
  REQUIRE(handle == NULL);
  REQUIRE(strlen(kwLastErrorMessage(NULL)) > 0);
  REQUIRE(kwCreateGpuOnStream(&handle, NULL, -1) == KW_STATUS_NO_DEVICE);

  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(strcmp(kwLastErrorMessage(NULL), "") == 0);
  REQUIRE(strcmp(kwDeviceKind(handle), "cpu") == 0);
  REQUIRE(strlen(kwDeviceName(handle)) > 0);
  REQUIRE(kwSetStream(handle, &c) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "stream") != NULL);
  REQUIRE(kwSetStream(handle, NULL) == KW_STATUS_OK);
  REQUIRE(kwSetWorkspace(handle, NULL, 4) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(kwSetWorkspace(handle, NULL, 0) == KW_STATUS_OK);
  kwDestroy(handle);

  REQUIRE(strcmp(kwStatusString(KW_STATUS_OK), "ok") == 0);
  REQUIRE(strcmp(kwStatusString(KW_STATUS_NO_DEVICE), "no_device") == 0);
  REQUIRE(strcmp(kwStatusString(1234), "unknown") == 0);
  REQUIRE(strchr(kwVersion(), '.') != NULL);
  return NULL;
}

const char* c_abi_math(void) {
  const float a[] = {2}, b[] = {3};
  float c[1];
  size_t bytes = 99;
  kwMath_t math = -1;
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(kwGetMath(handle, &math) == KW_STATUS_OK);
  REQUIRE(math == KW_MATH_FP32);
  REQUIRE(kwSetMath(handle, KW_MATH_FP32_SPLIT) == KW_STATUS_OK);
  REQUIRE(kwGetMath(handle, &math) == KW_STATUS_OK);
  REQUIRE(math == KW_MATH_FP32_SPLIT);
  /* A CPU computes it in FP32. */
  REQUIRE(kwSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 1, 1, 1, &one, a, 1, b, 1, &zero, c,
                  1) == KW_STATUS_OK);
  REQUIRE(c[0] == 6);
  REQUIRE(kwSgemmWorkspaceBytes(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 1, 1, 1, &one, a, 1,
                                b, 1, &zero, c, 1, &bytes) == KW_STATUS_OK);
  REQUIRE(bytes == 0);
  REQUIRE(kwSetMath(handle, 2) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "math is 2") != NULL);
  REQUIRE(kwGetMath(handle, NULL) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "math is null") != NULL);
  REQUIRE(kwGetMath(handle, &math) == KW_STATUS_OK);
  REQUIRE(math == KW_MATH_FP32_SPLIT);
  kwDestroy(handle);
  REQUIRE(kwSetMath(NULL, KW_MATH_FP32) == KW_STATUS_INVALID_ARGUMENT);
  return NULL;
}

/* A file that cannot be used leaves a handle that works. */
const char* c_abi_tune_cache(void) {
  const float a[] = {2}, b[] = {3};
  float c[1];
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(strstr(kwTuneCacheReport(handle), "tune cache") != NULL);
  REQUIRE(kwLoadTuneCache(handle, NULL) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "path is null") != NULL);
  REQUIRE(kwLoadTuneCache(handle, "/no/such/file") == KW_STATUS_UNUSABLE_FILE);
  REQUIRE(strstr(kwLastErrorMessage(handle), "/no/such/file") != NULL);
  REQUIRE(strstr(kwTuneCacheReport(handle), "does not exist") != NULL);
  REQUIRE(strcmp(kwStatusString(KW_STATUS_UNUSABLE_FILE), "unusable_file") == 0);
  REQUIRE(kwSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, 1, 1, 1, &one, a, 1, b, 1, &zero, c,
                  1) == KW_STATUS_OK);
  REQUIRE(c[0] == 6);
  REQUIRE(kwTuneCacheReport(NULL) == NULL);
  REQUIRE(kwLoadTuneCache(NULL, "/no/such/file") == KW_STATUS_INVALID_ARGUMENT);
  kwDestroy(handle);
  return NULL;
}
