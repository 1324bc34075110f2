/* The C interface: the same library as the C++ headers, behind a handle and status codes.
 *
 * Every function that returns kwStatus_t returns KW_STATUS_OK or says why not;
 * kwLastErrorMessage gives the sentence. After KW_STATUS_INVALID_ARGUMENT,
 * KW_STATUS_UNSUPPORTED and KW_STATUS_WORKSPACE_TOO_SMALL nothing was written.
 * Distinct handles may be used at the same time; one handle by one thread at a time. */
#ifndef KERNELWRIGHT_KERNELWRIGHT_H
#define KERNELWRIGHT_KERNELWRIGHT_H

#include <stddef.h>
#include <stdint.h>

#include "kernelwright/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t kwStatus_t;
enum {
  KW_STATUS_OK = 0,
  KW_STATUS_INVALID_ARGUMENT = 1,
  KW_STATUS_UNSUPPORTED = 2,
  KW_STATUS_NO_DEVICE = 3,
  KW_STATUS_OUT_OF_MEMORY = 4,
  KW_STATUS_WORKSPACE_TOO_SMALL = 5,
  KW_STATUS_DEVICE_ERROR = 6,
  KW_STATUS_INTERNAL_ERROR = 7
};

typedef int32_t kwLayout_t;
enum {
  KW_ROW_MAJOR = 0, /* element (i, j) at data[i * ld + j] */
  KW_COL_MAJOR = 1  /* element (i, j) at data[i + j * ld] */
};

typedef int32_t kwOp_t;
enum { KW_OP_NONE = 0, KW_OP_TRANSPOSE = 1 };

/* One device, one stream of work on it, and the scratch memory of the calls made there. */
typedef struct kwContext* kwHandle_t;

/* Where creation fails, *handle is null and kwLastErrorMessage(NULL) says why. */
KW_API kwStatus_t kwCreateCpu(kwHandle_t* handle);
KW_API kwStatus_t kwCreateGpu(kwHandle_t* handle, int ordinal);
/* `stream` is a cudaStream_t or hipStream_t of that GPU that outlives the handle's use of it; null
 * is the default stream. */
KW_API kwStatus_t kwCreateGpuOnStream(kwHandle_t* handle, void* stream, int ordinal);
/* A null handle is fine. Call kwSynchronize first where results matter. */
KW_API void kwDestroy(kwHandle_t handle);

KW_API kwStatus_t kwSetStream(kwHandle_t handle, void* stream);
/* Waits until the work of all calls so far is done. */
KW_API kwStatus_t kwSynchronize(kwHandle_t handle);
/* Later calls take their scratch memory from here: device memory, 256-byte aligned. (null, 0)
 * returns to the handle's own workspace, which grows by an allocation in a call that needs more. */
KW_API kwStatus_t kwSetWorkspace(kwHandle_t handle, void* data, size_t bytes);

/* C = alpha * op(A) * op(B) + beta * C; op(A) is m x k, op(B) is k x n, C is m x n, all three
 * stored in `layout`. alpha and beta are read from host memory before the call returns; the
 * matrices lie in the memory of the handle's device. beta == 0: C is not read. alpha == 0 or k ==
 * 0: A and B are not read and may be null. */
KW_API kwStatus_t kwSgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                          int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda,
                          const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc);

/* Workspace that the same call of kwSgemm takes. */
KW_API kwStatus_t kwSgemmWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                        kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                        const float* alpha, const float* a, int64_t lda,
                                        const float* b, int64_t ldb, const float* beta, float* c,
                                        int64_t ldc, size_t* bytes);

/* B = scale * A + shift, elementwise, both m x n in `layout`; B may be A itself. scale == 0: A is
 * not read and may be null. */
KW_API kwStatus_t kwScaleAdd(kwHandle_t handle, kwLayout_t layout, int64_t m, int64_t n,
                             const float* scale, const float* a, int64_t lda, const float* shift,
                             float* b, int64_t ldb);

/* "cpu", "cuda" or "hip"; null for a null handle. */
KW_API const char* kwDeviceKind(kwHandle_t handle);
KW_API const char* kwDeviceName(kwHandle_t handle);

/* Short name of a code, for example "invalid_argument". Never null. */
KW_API const char* kwStatusString(kwStatus_t status);
/* What went wrong in the last call on this handle, empty after a success; with a null handle, in
 * this thread's last call that had no handle to keep it. Valid until the next such call. Never
 * null. */
KW_API const char* kwLastErrorMessage(kwHandle_t handle);
/* "major.minor.patch". Never null. */
KW_API const char* kwVersion(void);

#ifdef __cplusplus
}
#endif

#endif
