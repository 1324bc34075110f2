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
  KW_STATUS_INTERNAL_ERROR = 7,
  KW_STATUS_UNUSABLE_FILE = 8
};

typedef int32_t kwLayout_t;
enum {
  KW_ROW_MAJOR = 0, /* element (i, j) at data[i * ld + j] */
  KW_COL_MAJOR = 1  /* element (i, j) at data[i + j * ld] */
};

typedef int32_t kwOp_t;
enum {
  KW_OP_NONE = 0,
  KW_OP_TRANSPOSE = 1,
  KW_OP_CONJUGATE_TRANSPOSE = 2 /* of complex matrices only */
};

/* One device, one stream of work on it, and the scratch memory of the calls made there. */
typedef struct kwContext* kwHandle_t;

/* Where creation fails, *handle is null and kwLastErrorMessage(NULL) says why. */
KW_API kwStatus_t kwCreateCpu(kwHandle_t* handle);
KW_API kwStatus_t kwCreateGpu(kwHandle_t* handle, int ordinal);
/* `stream` is a cudaStream_t or hipStream_t of that GPU that outlives the handle's use of it; null
 * is the default stream. Waits once for the stream, which must not be capturing yet. */
KW_API kwStatus_t kwCreateGpuOnStream(kwHandle_t* handle, void* stream, int ordinal);
/* A null handle is fine. Call kwSynchronize first where results matter. */
KW_API void kwDestroy(kwHandle_t handle);

/* Nothing waits: the caller orders what is in flight on the old stream before what follows. */
KW_API kwStatus_t kwSetStream(kwHandle_t handle, void* stream);
/* Waits until the work of all calls so far is done. */
KW_API kwStatus_t kwSynchronize(kwHandle_t handle);
/* Later calls take their scratch memory from here: device memory, 256-byte aligned. A product that
 * would take more makes do with what there is; a reduction that needs more fails. (null, 0) returns
 * to the handle's own workspace, which grows by an allocation in a call that needs more, as far as
 * the device has memory. */
KW_API kwStatus_t kwSetWorkspace(kwHandle_t handle, void* data, size_t bytes);

/* The handle's own workspace has at least `bytes` from now on, so that calls which take no more
 * allocate nothing. Allocates, and waits as an allocation does: not while a stream captures.
 * KW_STATUS_OUT_OF_MEMORY where the device has no more; the workspace is then as large as can be.
 * A workspace that was set (kwSetWorkspace) stays in use. */
KW_API kwStatus_t kwReserveWorkspace(kwHandle_t handle, size_t bytes);
/* The handle's own workspace grows to no more than `bytes`: products make do with that, and a
 * reduction that needs more fails with KW_STATUS_WORKSPACE_TOO_SMALL. What it has already, it
 * keeps. SIZE_MAX: no limit, as in a new handle. With a limit of what was reserved no product of
 * this handle allocates, whatever its size, so that any may be captured. */
KW_API kwStatus_t kwSetWorkspaceLimit(kwHandle_t handle, size_t bytes);

/* Later products of the shapes in this file, which `kernelwright tune` wrote, use the kernels that
 * were measured fastest; in place of what was loaded before. A new handle loads the file that the
 * environment variable KERNELWRIGHT_TUNE_CACHE names. KW_STATUS_UNUSABLE_FILE where the file is
 * missing, damaged, or of another device, driver or library version: the handle then chooses by
 * its own rule. */
KW_API kwStatus_t kwLoadTuneCache(kwHandle_t handle, const char* path);
/* A sentence: which file is used, or why none is. Valid until the next kwLoadTuneCache on this
 * handle; null for a null handle. */
KW_API const char* kwTuneCacheReport(kwHandle_t handle);

/* Where alpha and beta of a product lie: in host memory, read before the call returns, or in the
 * memory of the handle's device, read when the call's work runs there. */
typedef int32_t kwPointerMode_t;
enum { KW_POINTER_MODE_HOST = 0, KW_POINTER_MODE_DEVICE = 1 };
/* For later products of this handle; KW_POINTER_MODE_HOST where never called. */
KW_API kwStatus_t kwSetPointerMode(kwHandle_t handle, kwPointerMode_t mode);
KW_API kwStatus_t kwGetPointerMode(kwHandle_t handle, kwPointerMode_t* mode);

/* The arithmetic of a product.
 * - KW_MATH_FP32: IEEE single precision, every product and sum rounded once, or fused.
 * - KW_MATH_FP32_SPLIT: no less accurate (docs/accuracy.md has the rule and what was measured), by
 * sums of products of narrower pieces where that is faster; FP32 elsewhere. Infinities, NaN,
 * subnormals and overflows are FP32's. The device looks at the data and chooses; the host does not
 * wait. It takes more workspace, about 6 bytes an element of A and B, and works in slices with
 * less. */
typedef int32_t kwMath_t;
enum { KW_MATH_FP32 = 0, KW_MATH_FP32_SPLIT = 1 };
/* For later products of this handle; KW_MATH_FP32 where never called. */
KW_API kwStatus_t kwSetMath(kwHandle_t handle, kwMath_t math);
KW_API kwStatus_t kwGetMath(kwHandle_t handle, kwMath_t* math);

/* What a product adds to an element and applies to it before it stores it:
 * C = activation(alpha * op(A) * op(B) + beta * source + bias). epilogue.hpp has the formulas. */
typedef int32_t kwActivation_t;
enum {
  KW_ACTIVATION_NONE = 0,
  KW_ACTIVATION_RELU = 1,
  KW_ACTIVATION_GELU_TANH = 2,
  KW_ACTIVATION_GELU_ERF = 3
};
typedef int32_t kwBiasOf_t;
enum {
  KW_BIAS_OF_ROWS = 0,   /* one element for each row of C */
  KW_BIAS_OF_COLUMNS = 1 /* one element for each column of C */
};
typedef struct kwEpilogue {
  const float* bias; /* in the device's memory; null: none */
  kwBiasOf_t bias_of;
  int64_t stride_bias; /* floats from an entry's vector to the next one's; 0: all share one */
  kwActivation_t activation;
  const float* source; /* what beta multiplies, in C's layout and size; null: C itself */
  int64_t ld_source;
  int64_t stride_source; /* of a batch by strides; by pointers there is no source */
} kwEpilogue;
/* For later products of this handle and their plans; null: none, as in a new handle. The struct is
 * copied, the arrays are read by the products. What is wrong in it, the products say. */
KW_API kwStatus_t kwSetEpilogue(kwHandle_t handle, const kwEpilogue* epilogue);

/* C = alpha * op(A) * op(B) + beta * C; op(A) is m x k, op(B) is k x n, C is m x n, all three
 * stored in `layout`, in the memory of the handle's device. beta == 0: C is not read. alpha == 0 or
 * k == 0: A and B are not read; they may be null where that is known, by k or by an alpha in host
 * memory. sgemm.hpp has the whole contract. */
KW_API kwStatus_t kwSgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                          int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda,
                          const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc);

/* Workspace that the same call of kwSgemm has use for: with less it may take a slower way. */
KW_API kwStatus_t kwSgemmWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                        kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                        const float* alpha, const float* a, int64_t lda,
                                        const float* b, int64_t ldb, const float* beta, float* c,
                                        int64_t ldc, size_t* bytes);

/* `batch` products of one shape: the matrices of entry i begin i * stride_a, i * stride_b and
 * i * stride_c elements after `a`, `b` and `c`. Strides are 0 or more; 0 gives all entries the same
 * input. No element of an entry's C may be one of another's or of A or B. */
KW_API kwStatus_t kwSgemmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                        kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                        const float* alpha, const float* a, int64_t lda,
                                        int64_t stride_a, const float* b, int64_t ldb,
                                        int64_t stride_b, const float* beta, float* c, int64_t ldc,
                                        int64_t stride_c, int64_t batch);
/* Workspace that the same call of kwSgemmStridedBatched has use for. */
KW_API kwStatus_t kwSgemmStridedBatchedWorkspaceBytes(
    kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m, int64_t n, int64_t k,
    const float* alpha, const float* a, int64_t lda, int64_t stride_a, const float* b, int64_t ldb,
    int64_t stride_b, const float* beta, float* c, int64_t ldc, int64_t stride_c, int64_t batch,
    size_t* bytes);

/* `batch` products of one shape, anywhere: `a`, `b` and `c` are arrays of `batch` pointers in the
 * memory of the handle's device, read when the call's work runs. Only the device can check them. */
KW_API kwStatus_t kwSgemmBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                 int64_t m, int64_t n, int64_t k, const float* alpha,
                                 const float* const* a, int64_t lda, const float* const* b,
                                 int64_t ldb, const float* beta, float* const* c, int64_t ldc,
                                 int64_t batch);
/* Workspace that the same call of kwSgemmBatched takes. */
KW_API kwStatus_t kwSgemmBatchedWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                               kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                               const float* alpha, const float* const* a,
                                               int64_t lda, const float* const* b, int64_t ldb,
                                               const float* beta, float* const* c, int64_t ldc,
                                               int64_t batch, size_t* bytes);

/* How a product would be computed. */
typedef struct kwSgemmPlan {
  const char* kernel; /* the kernel's name, of static storage; null where there is nothing to do */
  double time_us; /* predicted, on the device alone; infinite where nothing is predicted (CPU) */
  size_t workspace_bytes; /* that the call would take of the handle's workspace or the caller's */
} kwSgemmPlan;
/* How the same call of kwSgemm would be computed: in the handle's arithmetic, pointer mode and
 * workspace, by the address of no matrix but its alignment. Neither allocates nor waits nor reads
 * memory of the device, so it may be asked while a stream captures. Some microseconds of host time
 * at the first time; the handle keeps the plans of its recent products, and the call itself then
 * takes the plan that was made here. */
KW_API kwStatus_t kwPlanSgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                              int64_t m, int64_t n, int64_t k, const float* alpha, const float* a,
                              int64_t lda, const float* b, int64_t ldb, const float* beta, float* c,
                              int64_t ldc, kwSgemmPlan* plan);
/* The same of kwSgemmStridedBatched. */
KW_API kwStatus_t kwPlanSgemmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                            kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                            const float* alpha, const float* a, int64_t lda,
                                            int64_t stride_a, const float* b, int64_t ldb,
                                            int64_t stride_b, const float* beta, float* c,
                                            int64_t ldc, int64_t stride_c, int64_t batch,
                                            kwSgemmPlan* plan);
/* The same of kwSgemmBatched. */
KW_API kwStatus_t kwPlanSgemmBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                     int64_t m, int64_t n, int64_t k, const float* alpha,
                                     const float* const* a, int64_t lda, const float* const* b,
                                     int64_t ldb, const float* beta, float* const* c, int64_t ldc,
                                     int64_t batch, kwSgemmPlan* plan);

/* Level 3 beside the product; level3.hpp has the whole contract. All matrices are stored in
 * `layout`. Of a triangle the other side is never read or written. Arithmetic and pointer mode are
 * the handle's (kwSetMath, kwSetPointerMode), its epilogue is not used. */
typedef int32_t kwUplo_t;
enum { KW_LOWER = 0, KW_UPPER = 1 };
typedef int32_t kwSide_t;
enum { KW_LEFT = 0, KW_RIGHT = 1 };
typedef int32_t kwDiag_t;
enum { KW_NON_UNIT = 0, KW_UNIT = 1 };

/* C = alpha op(A) op(A)^T + beta C of one triangle; op(A) is n x k, C n x n. */
KW_API kwStatus_t kwSsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                          int64_t k, const float* alpha, const float* a, int64_t lda,
                          const float* beta, float* c, int64_t ldc);
/* C = alpha op(A) op(B)^T + beta C of one triangle; op(A) and op(B) are n x k. */
KW_API kwStatus_t kwSsyrkx(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                           int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda,
                           const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc);
/* C = alpha (op(A) op(B)^T + op(B) op(A)^T) + beta C of one triangle. */
KW_API kwStatus_t kwSsyr2k(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                           int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda,
                           const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc);
/* C = alpha A B + beta C (KW_LEFT) or alpha B A + beta C, C m x n, A symmetric, of which the
 * triangle `uplo` is read. */
KW_API kwStatus_t kwSsymm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                          int64_t m, int64_t n, const float* alpha, const float* a, int64_t lda,
                          const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc);
/* C = alpha op(A) B (KW_LEFT) or alpha B op(A), C m x n, A triangular; C may be B. */
KW_API kwStatus_t kwStrmm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                          kwOp_t op, kwDiag_t diag, int64_t m, int64_t n, const float* alpha,
                          const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
                          int64_t ldc);
/* B = alpha op(A)^-1 B (KW_LEFT) or alpha B op(A)^-1, B m x n, A triangular. */
KW_API kwStatus_t kwStrsm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                          kwOp_t op, kwDiag_t diag, int64_t m, int64_t n, const float* alpha,
                          const float* a, int64_t lda, float* b, int64_t ldb);
/* `batch` systems of one shape, stride_a and stride_b elements apart; stride_a may be 0. */
KW_API kwStatus_t kwStrsmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwSide_t side,
                                        kwUplo_t uplo, kwOp_t op, kwDiag_t diag, int64_t m,
                                        int64_t n, const float* alpha, const float* a, int64_t lda,
                                        int64_t stride_a, float* b, int64_t ldb, int64_t stride_b,
                                        int64_t batch);
/* A = L L^T (KW_LOWER) or U^T U, A n x n, symmetric positive definite: one triangle is read and
 * becomes L or U. *info, in the device's memory (of a CPU handle: in the host's), becomes 0, or the
 * order of the first leading minor that is not positive. */
KW_API kwStatus_t kwSpotrf(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, int64_t n, float* a,
                           int64_t lda, int* info);
/* How the same call would be computed, as kwPlanSgemm; its workspace_bytes are those that the call
 * has use for within the handle's limit. */
KW_API kwStatus_t kwPlanSsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                              int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda,
                              const float* beta, float* c, int64_t ldc, kwSgemmPlan* plan);
KW_API kwStatus_t kwPlanSsyrkx(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                               int64_t n, int64_t k, const float* alpha, const float* a,
                               int64_t lda, const float* b, int64_t ldb, const float* beta,
                               float* c, int64_t ldc, kwSgemmPlan* plan);
KW_API kwStatus_t kwPlanSsyr2k(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                               int64_t n, int64_t k, const float* alpha, const float* a,
                               int64_t lda, const float* b, int64_t ldb, const float* beta,
                               float* c, int64_t ldc, kwSgemmPlan* plan);
KW_API kwStatus_t kwPlanSsymm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                              int64_t m, int64_t n, const float* alpha, const float* a, int64_t lda,
                              const float* b, int64_t ldb, const float* beta, float* c, int64_t ldc,
                              kwSgemmPlan* plan);
KW_API kwStatus_t kwPlanStrmm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                              kwOp_t op, kwDiag_t diag, int64_t m, int64_t n, const float* alpha,
                              const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
                              int64_t ldc, kwSgemmPlan* plan);
KW_API kwStatus_t kwPlanStrsm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                              kwOp_t op, kwDiag_t diag, int64_t m, int64_t n, const float* alpha,
                              const float* a, int64_t lda, float* b, int64_t ldb,
                              kwSgemmPlan* plan);
KW_API kwStatus_t kwPlanStrsmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwSide_t side,
                                            kwUplo_t uplo, kwOp_t op, kwDiag_t diag, int64_t m,
                                            int64_t n, const float* alpha, const float* a,
                                            int64_t lda, int64_t stride_a, float* b, int64_t ldb,
                                            int64_t stride_b, int64_t batch, kwSgemmPlan* plan);
KW_API kwStatus_t kwPlanSpotrf(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, int64_t n,
                               float* a, int64_t lda, int* info, kwSgemmPlan* plan);
/* A complex number, as cuComplex and C's float _Complex lie in memory. */
typedef struct kwComplex {
  float re, im;
} kwComplex;

/* Complex products: as the functions above whose names have an S in place of the C, of complex
 * matrices at multiples of 8 bytes, counted in complex elements, with KW_OP_CONJUGATE_TRANSPOSE; in
 * the handle's arithmetic and pointer mode, and without its epilogue. cgemm.hpp has the whole
 * contract. */
KW_API kwStatus_t kwCgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m,
                          int64_t n, int64_t k, const kwComplex* alpha, const kwComplex* a,
                          int64_t lda, const kwComplex* b, int64_t ldb, const kwComplex* beta,
                          kwComplex* c, int64_t ldc);
KW_API kwStatus_t kwCgemmWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                        kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                        const kwComplex* alpha, const kwComplex* a, int64_t lda,
                                        const kwComplex* b, int64_t ldb, const kwComplex* beta,
                                        kwComplex* c, int64_t ldc, size_t* bytes);
KW_API kwStatus_t kwPlanCgemm(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                              int64_t m, int64_t n, int64_t k, const kwComplex* alpha,
                              const kwComplex* a, int64_t lda, const kwComplex* b, int64_t ldb,
                              const kwComplex* beta, kwComplex* c, int64_t ldc, kwSgemmPlan* plan);
KW_API kwStatus_t kwCgemmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                        kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                        const kwComplex* alpha, const kwComplex* a, int64_t lda,
                                        int64_t stride_a, const kwComplex* b, int64_t ldb,
                                        int64_t stride_b, const kwComplex* beta, kwComplex* c,
                                        int64_t ldc, int64_t stride_c, int64_t batch);
KW_API kwStatus_t kwCgemmStridedBatchedWorkspaceBytes(
    kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b, int64_t m, int64_t n, int64_t k,
    const kwComplex* alpha, const kwComplex* a, int64_t lda, int64_t stride_a, const kwComplex* b,
    int64_t ldb, int64_t stride_b, const kwComplex* beta, kwComplex* c, int64_t ldc,
    int64_t stride_c, int64_t batch, size_t* bytes);
KW_API kwStatus_t kwPlanCgemmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                            kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                            const kwComplex* alpha, const kwComplex* a, int64_t lda,
                                            int64_t stride_a, const kwComplex* b, int64_t ldb,
                                            int64_t stride_b, const kwComplex* beta, kwComplex* c,
                                            int64_t ldc, int64_t stride_c, int64_t batch,
                                            kwSgemmPlan* plan);
KW_API kwStatus_t kwCgemmBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                 int64_t m, int64_t n, int64_t k, const kwComplex* alpha,
                                 const kwComplex* const* a, int64_t lda, const kwComplex* const* b,
                                 int64_t ldb, const kwComplex* beta, kwComplex* const* c,
                                 int64_t ldc, int64_t batch);
KW_API kwStatus_t kwCgemmBatchedWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a,
                                               kwOp_t op_b, int64_t m, int64_t n, int64_t k,
                                               const kwComplex* alpha, const kwComplex* const* a,
                                               int64_t lda, const kwComplex* const* b, int64_t ldb,
                                               const kwComplex* beta, kwComplex* const* c,
                                               int64_t ldc, int64_t batch, size_t* bytes);
KW_API kwStatus_t kwPlanCgemmBatched(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                     int64_t m, int64_t n, int64_t k, const kwComplex* alpha,
                                     const kwComplex* const* a, int64_t lda,
                                     const kwComplex* const* b, int64_t ldb, const kwComplex* beta,
                                     kwComplex* const* c, int64_t ldc, int64_t batch,
                                     kwSgemmPlan* plan);

/* C = alpha op(A) op(A)^T + beta C of one triangle of a complex C, of which the other one is
 * neither read nor written; op(A) is n x k, op KW_OP_NONE or KW_OP_TRANSPOSE. */
KW_API kwStatus_t kwCsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                          int64_t k, const kwComplex* alpha, const kwComplex* a, int64_t lda,
                          const kwComplex* beta, kwComplex* c, int64_t ldc);
KW_API kwStatus_t kwCsyrkWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo,
                                        kwOp_t op, int64_t n, int64_t k, const kwComplex* alpha,
                                        const kwComplex* a, int64_t lda, const kwComplex* beta,
                                        kwComplex* c, int64_t ldc, size_t* bytes);
KW_API kwStatus_t kwPlanCsyrk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                              int64_t n, int64_t k, const kwComplex* alpha, const kwComplex* a,
                              int64_t lda, const kwComplex* beta, kwComplex* c, int64_t ldc,
                              kwSgemmPlan* plan);
/* C = alpha op(A) op(A)^H + beta C likewise, of a Hermitian C: its diagonal is real, and the
 * imaginary parts there are not read and become 0. alpha and beta are floats; op is KW_OP_NONE or
 * KW_OP_CONJUGATE_TRANSPOSE. */
KW_API kwStatus_t kwCherk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op, int64_t n,
                          int64_t k, const float* alpha, const kwComplex* a, int64_t lda,
                          const float* beta, kwComplex* c, int64_t ldc);
KW_API kwStatus_t kwCherkWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo,
                                        kwOp_t op, int64_t n, int64_t k, const float* alpha,
                                        const kwComplex* a, int64_t lda, const float* beta,
                                        kwComplex* c, int64_t ldc, size_t* bytes);
KW_API kwStatus_t kwPlanCherk(kwHandle_t handle, kwLayout_t layout, kwUplo_t uplo, kwOp_t op,
                              int64_t n, int64_t k, const float* alpha, const kwComplex* a,
                              int64_t lda, const float* beta, kwComplex* c, int64_t ldc,
                              kwSgemmPlan* plan);

/* B = alpha op(A)^-1 B (KW_LEFT) or alpha B op(A)^-1, B m x n, A complex and triangular, op any of
 * the three. */
KW_API kwStatus_t kwCtrsm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                          kwOp_t op, kwDiag_t diag, int64_t m, int64_t n, const kwComplex* alpha,
                          const kwComplex* a, int64_t lda, kwComplex* b, int64_t ldb);
KW_API kwStatus_t kwCtrsmWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwSide_t side,
                                        kwUplo_t uplo, kwOp_t op, kwDiag_t diag, int64_t m,
                                        int64_t n, const kwComplex* alpha, const kwComplex* a,
                                        int64_t lda, kwComplex* b, int64_t ldb, size_t* bytes);
KW_API kwStatus_t kwPlanCtrsm(kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo,
                              kwOp_t op, kwDiag_t diag, int64_t m, int64_t n,
                              const kwComplex* alpha, const kwComplex* a, int64_t lda, kwComplex* b,
                              int64_t ldb, kwSgemmPlan* plan);
/* `batch` systems of one shape, stride_a and stride_b complex elements apart; stride_a may be 0. */
KW_API kwStatus_t kwCtrsmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwSide_t side,
                                        kwUplo_t uplo, kwOp_t op, kwDiag_t diag, int64_t m,
                                        int64_t n, const kwComplex* alpha, const kwComplex* a,
                                        int64_t lda, int64_t stride_a, kwComplex* b, int64_t ldb,
                                        int64_t stride_b, int64_t batch);
KW_API kwStatus_t kwCtrsmStridedBatchedWorkspaceBytes(
    kwHandle_t handle, kwLayout_t layout, kwSide_t side, kwUplo_t uplo, kwOp_t op, kwDiag_t diag,
    int64_t m, int64_t n, const kwComplex* alpha, const kwComplex* a, int64_t lda, int64_t stride_a,
    kwComplex* b, int64_t ldb, int64_t stride_b, int64_t batch, size_t* bytes);
KW_API kwStatus_t kwPlanCtrsmStridedBatched(kwHandle_t handle, kwLayout_t layout, kwSide_t side,
                                            kwUplo_t uplo, kwOp_t op, kwDiag_t diag, int64_t m,
                                            int64_t n, const kwComplex* alpha, const kwComplex* a,
                                            int64_t lda, int64_t stride_a, kwComplex* b,
                                            int64_t ldb, int64_t stride_b, int64_t batch,
                                            kwSgemmPlan* plan);

/* C = alpha op(A) op(B) + beta C of matrices in host memory, of any kind and size: tiles of them go
 * through the device, of whose memory the call takes at most device_bytes (0: three quarters)
 * beside the handle's workspace. In the handle's arithmetic, without its epilogue; alpha and beta
 * lie in host memory, whatever the pointer mode. Returns when C is written. After
 * KW_STATUS_DEVICE_ERROR parts of C may have been. out_of_core.hpp has the whole contract. */
KW_API kwStatus_t kwSgemmOutOfCore(kwHandle_t handle, kwLayout_t layout, kwOp_t op_a, kwOp_t op_b,
                                   int64_t m, int64_t n, int64_t k, const float* alpha,
                                   const float* a, int64_t lda, const float* b, int64_t ldb,
                                   const float* beta, float* c, int64_t ldc, size_t device_bytes);

/* One product over several devices of this host; distributed.hpp has the whole contract. A group
 * is a grid of p x q ranks, rank r in row r / q and column r % q, each with a device of its own. Of
 * a failed function kwLastErrorMessage(NULL) has the sentence, on the thread that called. */
typedef struct kwGroup* kwGroup_t;
/* Every rank computes on this machine's CPU. Where creation fails, *group is null. time_limit_s:
 * how long a rank waits for the others, in seconds. */
KW_API kwStatus_t kwGroupCreateCpu(kwGroup_t* group, int p, int q, double time_limit_s);
/* Rank r computes on GPU ordinals[r], or on GPU r where ordinals is null. */
KW_API kwStatus_t kwGroupCreateGpus(kwGroup_t* group, int p, int q, const int* ordinals,
                                    double time_limit_s);
/* This process is one rank, and finds the others by `name` (Group::join_cpu, Group::join_gpu). All
 * functions that take a rank then take its own. */
KW_API kwStatus_t kwGroupJoinCpu(kwGroup_t* group, int p, int q, int rank, const char* name,
                                 double time_limit_s);
KW_API kwStatus_t kwGroupJoinGpu(kwGroup_t* group, int p, int q, int rank, const char* name,
                                 int ordinal, double time_limit_s);
/* Closes the memory of other processes that calls have opened. Before memory that calls have read
 * is freed, every rank calls kwGroupSynchronize, then this. */
KW_API kwStatus_t kwGroupCloseMemory(kwGroup_t group, int rank);
/* A null group is fine. Call kwGroupSynchronize first where results matter. */
KW_API void kwGroupDestroy(kwGroup_t group);
/* The stream on which a rank's calls are ordered, as kwSetStream has it. */
KW_API kwStatus_t kwGroupSetStream(kwGroup_t group, int rank, void* stream);
/* Waits until the rank's work is done, no longer than the time limit. */
KW_API kwStatus_t kwGroupSynchronize(kwGroup_t group, int rank);
/* All ranks that wait, and all later calls, fail with this reason. By any thread. */
KW_API kwStatus_t kwGroupAbort(kwGroup_t group, int rank, const char* reason);

/* How a matrix, as it is stored, is dealt out: block (i, j) of block_rows x block_cols elements
 * belongs to the rank in row (i + first_row) % p and column (j + first_col) % q of the grid. Of a
 * ScaLAPACK descriptor, in this order: M_, N_, MB_, NB_, RSRC_, CSRC_; LLD_ is the part's ld, its
 * layout column-major, the BLACS grid of row-major order. */
typedef struct kwDistribution {
  int64_t rows, cols;             /* of the whole matrix */
  int64_t block_rows, block_cols; /* 1 or more */
  int32_t first_row, first_col;
} kwDistribution;
/* A rank's own part: its blocks together, in the memory of its device. Of A and B it is read. */
typedef struct kwDistributedMatrix {
  kwDistribution whole;
  float* data;
  int64_t ld;
  kwLayout_t layout; /* the same on all ranks */
  kwOp_t op;         /* none of C */
} kwDistributedMatrix;
/* One block a rank, all of one size but those at the edges. */
KW_API kwStatus_t kwBlockDistribution(int64_t rows, int64_t cols, int p, int q,
                                      kwDistribution* distribution);
/* Rows and columns of a rank's part. */
KW_API kwStatus_t kwLocalSize(const kwDistribution* distribution, int p, int q, int rank,
                              int64_t* rows, int64_t* cols);
/* C = alpha op(A) op(B) + beta C: the part of `rank`, which calls from a thread of its own; all
 * pass the same but for data and ld. panel_k: the most of k that is copied at a time; 0 chooses.
 * Results are there after kwGroupSynchronize, or in the stream's own order. */
KW_API kwStatus_t kwSgemmDistributed(kwGroup_t group, int rank, kwMath_t math, int64_t panel_k,
                                     float alpha, const kwDistributedMatrix* a,
                                     const kwDistributedMatrix* b, float beta,
                                     const kwDistributedMatrix* c);
/* All ranks, each in a thread that ends with the call: a, b and c have an entry a rank. */
KW_API kwStatus_t kwSgemmDistributedAll(kwGroup_t group, kwMath_t math, int64_t panel_k,
                                        float alpha, const kwDistributedMatrix* a,
                                        const kwDistributedMatrix* b, float beta,
                                        const kwDistributedMatrix* c);

/* B = scale * A + shift, elementwise, both m x n in `layout`; B may be A itself. scale == 0: A is
 * not read and may be null. scale and shift lie in host memory, whatever the pointer mode. */
KW_API kwStatus_t kwScaleAdd(kwHandle_t handle, kwLayout_t layout, int64_t m, int64_t n,
                             const float* scale, const float* a, int64_t lda, const float* shift,
                             float* b, int64_t ldb);

/* Attention, forward: O = softmax(scale * Q K^T + mask) V for every head of every entry of a batch.
 * attention.hpp has the whole contract: causal rules, NaN and Inf, queries that see no key (zeros).
 * Element (b, h, t, d) of an operand is at data[b * batch + h * head + t * row + d] by its strides,
 * which count elements; of the mask, with key s in place of d, a stride of 0 shares it. */
typedef struct kwHeadStrides {
  int64_t batch, head, row;
} kwHeadStrides;
typedef int32_t kwCausal_t;
enum {
  KW_CAUSAL_NONE = 0,
  KW_CAUSAL_FROM_START = 1, /* query t sees keys 0 to t */
  KW_CAUSAL_FROM_END = 2    /* query t sees keys 0 to t + keys - queries */
};
typedef struct kwAttentionProblem {
  int64_t batch, heads, kv_heads, queries, keys, dim; /* dim: 1 to 256 */
  const float* q;                                     /* [batch, heads, queries, dim] */
  kwHeadStrides q_strides;
  const float* k; /* [batch, kv_heads, keys, dim] */
  kwHeadStrides k_strides;
  const float* v; /* likewise */
  kwHeadStrides v_strides;
  float* o; /* as q */
  kwHeadStrides o_strides;
  float scale; /* as it is: no default */
  kwCausal_t causal;
  const float* mask; /* null: none; [batch, heads, queries, keys] */
  kwHeadStrides mask_strides;
  /* Null, or device memory with batch + 1 entries: an entry's own first row and length; queries and
   * keys are then the most that an entry has. */
  const int64_t* query_offsets;
  const int64_t* key_offsets;
} kwAttentionProblem;
/* In the handle's arithmetic (kwSetMath). */
KW_API kwStatus_t kwAttention(kwHandle_t handle, const kwAttentionProblem* problem);
/* Workspace that the same call takes; with less it takes a slower way. */
KW_API kwStatus_t kwAttentionWorkspaceBytes(kwHandle_t handle, const kwAttentionProblem* problem,
                                            size_t* bytes);

/* Reductions: many numbers to one, or to one a row, a column or a segment. reduce.hpp has the whole
 * contract; in short:
 * - Results: one a sequence, in order, dense, in the memory of the handle's device, of the type
 * that kwReduceResultType tells; min_max writes two, smallest and largest, next to each other.
 * `out` shares no byte with what is read.
 * - Sums of float32 are carried in double, of float16 and bfloat16 in float and then double, of
 * integers exactly (int64 results modulo 2^64).
 * - A NaN among the elements makes every result NaN; argmin and argmax give the first one's index.
 * - argmin and argmax give the lowest index of equals; min and max order -0 below +0.
 * - Of nothing, sums and norms are 0, mean and variance NaN, min and max the type's largest and
 * smallest value (infinities where it has them), argmin and argmax -1.
 * - A result depends on the elements and their order alone, not on alignment, device, stream or
 * number of threads. */
typedef int32_t kwReduceOp_t;
enum {
  KW_REDUCE_SUM = 0,
  KW_REDUCE_MEAN = 1,
  KW_REDUCE_MIN = 2,
  KW_REDUCE_MAX = 3,
  KW_REDUCE_ARGMIN = 4,
  KW_REDUCE_ARGMAX = 5,
  KW_REDUCE_SUM_OF_SQUARES = 6,
  KW_REDUCE_L1_NORM = 7,  /* sum of absolute values */
  KW_REDUCE_L2_NORM = 8,  /* square root of the sum of squares */
  KW_REDUCE_MAX_NORM = 9, /* largest absolute value */
  KW_REDUCE_VARIANCE = 10,
  KW_REDUCE_MIN_MAX = 11
};

typedef int32_t kwDataType_t;
enum {
  KW_FLOAT32 = 0,
  KW_FLOAT64 = 1,
  KW_FLOAT16 = 2,  /* IEEE 754 binary16 */
  KW_BFLOAT16 = 3, /* the upper half of a binary32 */
  KW_INT8 = 4,
  KW_INT32 = 5,
  KW_INT64 = 6
};

typedef int32_t kwDeterminism_t;
enum {
  KW_DETERMINISM_RUN_TO_RUN = 0, /* same elements, device and version: same bits; the default */
  KW_DETERMINISM_ANY_DEVICE = 1  /* the same bits also on every GPU and on the CPU */
};

/* For later reductions of this handle. This version keeps the stronger promise in both cases. */
KW_API kwStatus_t kwSetDeterminism(kwHandle_t handle, kwDeterminism_t determinism);
/* For later variances of this handle: they divide by the number of elements less this, 0 or more
 * (0, the default: population; 1: sample). Of no more elements than this the variance is NaN. */
KW_API kwStatus_t kwSetVarianceCorrection(kwHandle_t handle, int64_t correction);

/* `count` elements, one after the other, to one result. */
KW_API kwStatus_t kwReduceArray(kwHandle_t handle, kwReduceOp_t op, kwDataType_t type,
                                int64_t count, const void* data, void* out);
/* Each row of a rows x cols matrix to one result: `rows` results. ld counts elements. */
KW_API kwStatus_t kwReduceRows(kwHandle_t handle, kwLayout_t layout, kwReduceOp_t op,
                               kwDataType_t type, int64_t rows, int64_t cols, const void* data,
                               int64_t ld, void* out);
/* Each column to one result: `cols` results. */
KW_API kwStatus_t kwReduceColumns(kwHandle_t handle, kwLayout_t layout, kwReduceOp_t op,
                                  kwDataType_t type, int64_t rows, int64_t cols, const void* data,
                                  int64_t ld, void* out);
/* Elements offsets[i] .. offsets[i + 1] - 1 of `count` to one result, for each i < segments.
 * `offsets` lies in device memory, has segments + 1 entries that do not descend and stay within
 * 0 .. count. What breaks this is not reported: elements outside of the array are left out. */
KW_API kwStatus_t kwReduceSegments(kwHandle_t handle, kwReduceOp_t op, kwDataType_t type,
                                   int64_t count, const void* data, int64_t segments,
                                   const int64_t* offsets, void* out);

/* Workspace that the call of the same name takes; the arrays need not exist yet. */
KW_API kwStatus_t kwReduceArrayWorkspaceBytes(kwHandle_t handle, kwReduceOp_t op, kwDataType_t type,
                                              int64_t count, size_t* bytes);
KW_API kwStatus_t kwReduceRowsWorkspaceBytes(kwHandle_t handle, kwLayout_t layout, kwReduceOp_t op,
                                             kwDataType_t type, int64_t rows, int64_t cols,
                                             int64_t ld, size_t* bytes);
KW_API kwStatus_t kwReduceColumnsWorkspaceBytes(kwHandle_t handle, kwLayout_t layout,
                                                kwReduceOp_t op, kwDataType_t type, int64_t rows,
                                                int64_t cols, int64_t ld, size_t* bytes);
KW_API kwStatus_t kwReduceSegmentsWorkspaceBytes(kwHandle_t handle, kwReduceOp_t op,
                                                 kwDataType_t type, int64_t count, int64_t segments,
                                                 size_t* bytes);

/* The type of op's results over elements of `type`:
 * - argmin, argmax: int64
 * - min, max, min_max: the input's
 * - max_norm: the input's; of integers int64
 * - mean, l2_norm, variance: float32; of float64 and integers float64
 * - sum, sum_of_squares, l1_norm: float32; of float64 float64; of integers int64
 *
 * No handle: after a failure kwLastErrorMessage(NULL) has the sentence. */
KW_API kwStatus_t kwReduceResultType(kwReduceOp_t op, kwDataType_t type, kwDataType_t* result);

/* Row-wise operations: each row of a matrix to a row of another, after bias and residual were
 * added; rowwise.hpp has formulas, errors and the rules for NaN. All arrays have one type: float32,
 * float16 or bfloat16. */
typedef int32_t kwRowwiseOp_t;
enum {
  KW_ROWWISE_SOFTMAX = 0,
  KW_ROWWISE_LOG_SOFTMAX = 1,
  KW_ROWWISE_LAYER_NORM = 2,
  KW_ROWWISE_RMS_NORM = 3,
  KW_ROWWISE_MAP = 4 /* an activation, or with an index an embedding */
};
typedef int32_t kwRowActivation_t;
enum {
  KW_ROW_ACTIVATION_NONE = 0,
  KW_ROW_ACTIVATION_RELU = 1,
  KW_ROW_ACTIVATION_GELU_TANH = 2,
  KW_ROW_ACTIVATION_GELU_ERF = 3,
  KW_ROW_ACTIVATION_SILU = 4
};
/* What is null or 0 is left out; strides that are 0 are those of dense arrays. */
typedef struct kwRowwiseOptions {
  const void* gamma; /* of norms, as is beta: a row's number of elements */
  const void* beta;
  float epsilon;                /* of norms: 0 where nothing else is set */
  kwRowActivation_t activation; /* of KW_ROWWISE_MAP */
  const void* bias;             /* a row's number of elements */
  const void* residual;
  int64_t ld_residual;
  int64_t residual_rows;         /* row i adds residual row i mod this */
  const int64_t* residual_index; /* row i adds residual row residual_index[i] */
  void* sum;                     /* x + bias + residual is written there */
  int64_t ld_sum;
  const int64_t* index; /* row i is x's row index[i], of x_rows */
  int64_t x_rows;
  int64_t step_x, step_y; /* elements from one of a row to the next one; 0: 1 */
} kwRowwiseOptions;
/* y = op of each row of x, both rows x cols; `options` may be null. y may be x. */
KW_API kwStatus_t kwRowwise(kwHandle_t handle, kwRowwiseOp_t op, kwDataType_t type, int64_t rows,
                            int64_t cols, const void* x, int64_t ldx, void* y, int64_t ldy,
                            const kwRowwiseOptions* options);
/* Workspace that the same call takes; the arrays need not exist yet. */
KW_API kwStatus_t kwRowwiseWorkspaceBytes(kwHandle_t handle, kwRowwiseOp_t op, kwDataType_t type,
                                          int64_t rows, int64_t cols, const void* x, int64_t ldx,
                                          void* y, int64_t ldy, const kwRowwiseOptions* options,
                                          size_t* bytes);

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
