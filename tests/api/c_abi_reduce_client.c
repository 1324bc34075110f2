/* Checks of the C interface's reductions, written and compiled as C99. */
#include <string.h>

#include "c_abi_client.h"
#include "kernelwright/kernelwright.h"

#define REQUIRE(condition) \
  if (!(condition)) return #condition

static const float a[] = {1, -2, 3, 9, 4, 5, -6, 9}; /* 2 x 3, ld 4 */

/* Each of the four forms, and the workspace that it asks for. */
const char* c_abi_reduce(void) {
  const int64_t offsets[] = {0, 2, 2, 7};
  float rows[2], columns[3], two[2];
  int64_t place = -5;
  size_t bytes = 99;
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(kwReduceArray(handle, KW_REDUCE_MIN_MAX, KW_FLOAT32, 8, a, two) == KW_STATUS_OK);
  REQUIRE(two[0] == -6 && two[1] == 9);
  REQUIRE(kwReduceArray(handle, KW_REDUCE_ARGMAX, KW_FLOAT32, 8, a, &place) == KW_STATUS_OK);
  REQUIRE(place == 3);
  REQUIRE(kwReduceRows(handle, KW_ROW_MAJOR, KW_REDUCE_SUM, KW_FLOAT32, 2, 3, a, 4, rows) ==
          KW_STATUS_OK);
  REQUIRE(rows[0] == 2 && rows[1] == 3);
  REQUIRE(kwReduceColumns(handle, KW_ROW_MAJOR, KW_REDUCE_L1_NORM, KW_FLOAT32, 2, 3, a, 4,
                          columns) == KW_STATUS_OK);
  REQUIRE(columns[0] == 5 && columns[1] == 7 && columns[2] == 9);
  REQUIRE(kwReduceColumns(handle, KW_COL_MAJOR, KW_REDUCE_SUM, KW_FLOAT32, 3, 2, a, 4, rows) ==
          KW_STATUS_OK);
  REQUIRE(rows[0] == 2 && rows[1] == 3);
  REQUIRE(kwReduceSegments(handle, KW_REDUCE_SUM, KW_FLOAT32, 8, a, 3, offsets, columns) ==
          KW_STATUS_OK);
  REQUIRE(columns[0] == -1 && columns[1] == 0 && columns[2] == 15);
  REQUIRE(kwSynchronize(handle) == KW_STATUS_OK);

  REQUIRE(kwReduceArrayWorkspaceBytes(handle, KW_REDUCE_SUM, KW_FLOAT32, 8, &bytes) ==
          KW_STATUS_OK);
  REQUIRE(bytes == 0);
  REQUIRE(kwReduceArrayWorkspaceBytes(handle, KW_REDUCE_SUM, KW_FLOAT32, 100000, &bytes) ==
          KW_STATUS_OK);
  REQUIRE(bytes > 0);
  REQUIRE(kwReduceRowsWorkspaceBytes(handle, KW_ROW_MAJOR, KW_REDUCE_SUM, KW_FLOAT32, 2, 100000,
                                     100000, &bytes) == KW_STATUS_OK);
  REQUIRE(bytes > 0);
  REQUIRE(kwReduceColumnsWorkspaceBytes(handle, KW_ROW_MAJOR, KW_REDUCE_SUM, KW_FLOAT32, 100000, 2,
                                        2, &bytes) == KW_STATUS_OK);
  REQUIRE(bytes > 0);
  REQUIRE(kwReduceSegmentsWorkspaceBytes(handle, KW_REDUCE_SUM, KW_FLOAT32, 1000000, 2, &bytes) ==
          KW_STATUS_OK);
  REQUIRE(bytes > 0);
  kwDestroy(handle);
  return NULL;
}

const char* c_abi_reduce_options(void) {
  const double x[] = {1, 2, 3, 6};
  double variance = -1;
  kwDataType_t type = -1;
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  REQUIRE(kwReduceArray(handle, KW_REDUCE_VARIANCE, KW_FLOAT64, 4, x, &variance) == KW_STATUS_OK);
  REQUIRE(variance == 3.5);
  REQUIRE(kwSetVarianceCorrection(handle, 2) == KW_STATUS_OK);
  REQUIRE(kwReduceArray(handle, KW_REDUCE_VARIANCE, KW_FLOAT64, 4, x, &variance) == KW_STATUS_OK);
  REQUIRE(variance == 7);
  REQUIRE(kwSetVarianceCorrection(handle, -1) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "correction is -1") != NULL);
  REQUIRE(kwSetDeterminism(handle, 2) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "determinism is 2") != NULL);
  REQUIRE(kwSetDeterminism(handle, KW_DETERMINISM_ANY_DEVICE) == KW_STATUS_OK);
  /* What was refused changed nothing. */
  REQUIRE(kwReduceArray(handle, KW_REDUCE_VARIANCE, KW_FLOAT64, 4, x, &variance) == KW_STATUS_OK);
  REQUIRE(variance == 7);
  kwDestroy(handle);

  REQUIRE(kwReduceResultType(KW_REDUCE_SUM, KW_INT8, &type) == KW_STATUS_OK);
  REQUIRE(type == KW_INT64);
  REQUIRE(kwReduceResultType(KW_REDUCE_MEAN, KW_BFLOAT16, &type) == KW_STATUS_OK);
  REQUIRE(type == KW_FLOAT32);
  REQUIRE(kwReduceResultType(44, KW_INT8, &type) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(NULL), "op is 44") != NULL);
  REQUIRE(kwReduceResultType(KW_REDUCE_SUM, KW_INT8, NULL) == KW_STATUS_INVALID_ARGUMENT);
  return NULL;
}

/* One wrong argument at a time; the results stay as they are. */
const char* c_abi_reduce_errors(void) {
  static const struct {
    kwLayout_t layout;
    kwReduceOp_t op;
    kwDataType_t type;
    int64_t rows, cols, ld;
    const char* message;
  } cases[] = {
      {2, 0, 0, 2, 3, 4, "layout is 2"},        {0, 12, 0, 2, 3, 4, "op is 12"},
      {0, 0, -1, 2, 3, 4, "type is -1"},        {0, 0, 0, -2, 3, 4, "rows is -2"},
      {0, 0, 0, 2, -3, 4, "cols is -3"},        {0, 0, 0, 2, 3, 2, "ld is 2, smaller than the 3"},
      {0, 0, 0, 3, 3, INT64_MAX, "spans more"},
  };
  const int64_t offsets[] = {0, 3, 6};
  const float before[3] = {7, 8, 9};
  float out[3] = {7, 8, 9};
  size_t i, bytes = 5;
  kwHandle_t handle = NULL;
  REQUIRE(kwCreateCpu(&handle) == KW_STATUS_OK);
  for (i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const char* message = cases[i].message;
    if (kwReduceRows(handle, cases[i].layout, cases[i].op, cases[i].type, cases[i].rows,
                     cases[i].cols, a, cases[i].ld, out) != KW_STATUS_INVALID_ARGUMENT) {
      return message;
    }
    if (strstr(kwLastErrorMessage(handle), message) == NULL) return message;
    if (kwReduceColumnsWorkspaceBytes(handle, cases[i].layout, cases[i].op, cases[i].type,
                                      cases[i].rows, cases[i].cols, cases[i].ld,
                                      &bytes) != KW_STATUS_INVALID_ARGUMENT) {
      return message;
    }
    REQUIRE(bytes == 0);
  }
  REQUIRE(kwReduceArray(handle, 0, 0, -4, a, out) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "count is -4") != NULL);
  REQUIRE(kwReduceArray(handle, 0, 0, 4, NULL, out) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "data is null") != NULL);
  REQUIRE(kwReduceArray(handle, 0, 0, 4, a, NULL) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "out is null") != NULL);
  REQUIRE(kwReduceArray(handle, 0, 0, 3, out, out + 2) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "overlaps data") != NULL);
  REQUIRE(kwReduceSegments(handle, 0, 0, 6, a, 2, NULL, out) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "offsets is null") != NULL);
  REQUIRE(kwReduceSegments(handle, 0, 0, 6, a, -2, offsets, out) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(handle), "segments is -2") != NULL);
  REQUIRE(kwReduceArrayWorkspaceBytes(handle, 0, 0, 4, NULL) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(kwReduceArray(NULL, 0, 0, 4, a, out) == KW_STATUS_INVALID_ARGUMENT);
  REQUIRE(strstr(kwLastErrorMessage(NULL), "handle is null") != NULL);
  REQUIRE(memcmp(out, before, sizeof out) == 0);
  REQUIRE(kwReduceSegments(handle, 0, 0, 6, a, 2, offsets, out) == KW_STATUS_OK);
  REQUIRE(out[0] == 2 && out[1] == 18 && out[2] == 9);
  kwDestroy(handle);
  return NULL;
}
