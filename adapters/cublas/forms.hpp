// The parameters of cuBLAS's and cuSOLVER's functions, a form of the table of symbols each, as
// NVIDIA's public documentation has them; sizes are of type `Int`. And the same names as arguments.
#pragma once

#include "abi.hpp"

#define KW_PARAMETERS_sgemm(Int)                                                                \
  Handle handle, Enum op_a, Enum op_b, Int m, Int n, Int k, const float *alpha, const float *a, \
      Int lda, const float *b, Int ldb, const float *beta, float *c, Int ldc
#define KW_ARGUMENTS_sgemm handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

#define KW_PARAMETERS_sgemm_ex(Int)                                                            \
  Handle handle, Enum op_a, Enum op_b, Int m, Int n, Int k, const float *alpha, const void *a, \
      Enum type_a, Int lda, const void *b, Enum type_b, Int ldb, const float *beta, void *c,   \
      Enum type_c, Int ldc
#define KW_ARGUMENTS_sgemm_ex \
  handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc

#define KW_PARAMETERS_gemm_ex(Int)                                                            \
  Handle handle, Enum op_a, Enum op_b, Int m, Int n, Int k, const void *alpha, const void *a, \
      Enum type_a, Int lda, const void *b, Enum type_b, Int ldb, const void *beta, void *c,   \
      Enum type_c, Int ldc, Enum compute, Enum algorithm
#define KW_ARGUMENTS_gemm_ex KW_ARGUMENTS_sgemm_ex, compute, algorithm

#define KW_PARAMETERS_batched(Int)                                                       \
  Handle handle, Enum op_a, Enum op_b, Int m, Int n, Int k, const float *alpha,          \
      const float *const *a, Int lda, const float *const *b, Int ldb, const float *beta, \
      float *const *c, Int ldc, Int batch
#define KW_ARGUMENTS_batched KW_ARGUMENTS_sgemm, batch

#define KW_PARAMETERS_batched_ex(Int)                                                         \
  Handle handle, Enum op_a, Enum op_b, Int m, Int n, Int k, const void *alpha,                \
      const void *const *a, Enum type_a, Int lda, const void *const *b, Enum type_b, Int ldb, \
      const void *beta, void *const *c, Enum type_c, Int ldc, Int batch, Enum compute,        \
      Enum algorithm
#define KW_ARGUMENTS_batched_ex KW_ARGUMENTS_sgemm_ex, batch, compute, algorithm

#define KW_PARAMETERS_strided(Int)                                                                 \
  Handle handle, Enum op_a, Enum op_b, Int m, Int n, Int k, const float *alpha, const float *a,    \
      Int lda, long long stride_a, const float *b, Int ldb, long long stride_b, const float *beta, \
      float *c, Int ldc, long long stride_c, Int batch
#define KW_ARGUMENTS_strided                                                                      \
  handle, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, \
      batch

#define KW_PARAMETERS_strided_ex(Int)                                                          \
  Handle handle, Enum op_a, Enum op_b, Int m, Int n, Int k, const void *alpha, const void *a,  \
      Enum type_a, Int lda, long long stride_a, const void *b, Enum type_b, Int ldb,           \
      long long stride_b, const void *beta, void *c, Enum type_c, Int ldc, long long stride_c, \
      Int batch, Enum compute, Enum algorithm
#define KW_ARGUMENTS_strided_ex                                                                    \
  handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, \
      type_c, ldc, stride_c, batch, compute, algorithm

#define KW_PARAMETERS_grouped(Int)                                                             \
  Handle handle, const Enum *op_a, const Enum *op_b, const Int *m, const Int *n, const Int *k, \
      const float *alpha, const float *const *a, const Int *lda, const float *const *b,        \
      const Int *ldb, const float *beta, float *const *c, const Int *ldc, Int groups,          \
      const Int *group_size
#define KW_ARGUMENTS_grouped KW_ARGUMENTS_sgemm, groups, group_size

#define KW_PARAMETERS_grouped_ex(Int)                                                             \
  Handle handle, const Enum *op_a, const Enum *op_b, const Int *m, const Int *n, const Int *k,    \
      const void *alpha, const void *const *a, Enum type_a, const Int *lda, const void *const *b, \
      Enum type_b, const Int *ldb, const void *beta, void *const *c, Enum type_c, const Int *ldc, \
      Int groups, const Int *group_size, Enum compute
#define KW_ARGUMENTS_grouped_ex KW_ARGUMENTS_sgemm_ex, groups, group_size, compute

// Pointers to complex numbers, which are pointers all the same.
#define KW_PARAMETERS_cgemm(Int) KW_PARAMETERS_sgemm(Int)
#define KW_ARGUMENTS_cgemm KW_ARGUMENTS_sgemm
#define KW_PARAMETERS_cgemm_batched(Int) KW_PARAMETERS_batched(Int)
#define KW_ARGUMENTS_cgemm_batched KW_ARGUMENTS_batched
#define KW_PARAMETERS_cgemm_strided(Int) KW_PARAMETERS_strided(Int)
#define KW_ARGUMENTS_cgemm_strided KW_ARGUMENTS_strided

#define KW_PARAMETERS_syrk(Int)                                                                   \
  Handle handle, Enum fill, Enum op_a, Int n, Int k, const float *alpha, const float *a, Int lda, \
      const float *beta, float *c, Int ldc
#define KW_ARGUMENTS_syrk handle, fill, op_a, n, k, alpha, a, lda, beta, c, ldc

#define KW_PARAMETERS_csyrk(Int) KW_PARAMETERS_syrk(Int)
#define KW_ARGUMENTS_csyrk KW_ARGUMENTS_syrk
// Its scalars are real.
#define KW_PARAMETERS_cherk(Int) KW_PARAMETERS_syrk(Int)
#define KW_ARGUMENTS_cherk KW_ARGUMENTS_syrk

#define KW_PARAMETERS_syrkx(Int)                                                                  \
  Handle handle, Enum fill, Enum op_a, Int n, Int k, const float *alpha, const float *a, Int lda, \
      const float *b, Int ldb, const float *beta, float *c, Int ldc
#define KW_ARGUMENTS_syrkx handle, fill, op_a, n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define KW_PARAMETERS_syr2k(Int) KW_PARAMETERS_syrkx(Int)
#define KW_ARGUMENTS_syr2k KW_ARGUMENTS_syrkx

#define KW_PARAMETERS_symm(Int)                                                                   \
  Handle handle, Enum side, Enum fill, Int m, Int n, const float *alpha, const float *a, Int lda, \
      const float *b, Int ldb, const float *beta, float *c, Int ldc
#define KW_ARGUMENTS_symm handle, side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc

#define KW_PARAMETERS_trmm(Int)                                                                    \
  Handle handle, Enum side, Enum fill, Enum op_a, Enum diagonal, Int m, Int n, const float *alpha, \
      const float *a, Int lda, const float *b, Int ldb, float *c, Int ldc
#define KW_ARGUMENTS_trmm handle, side, fill, op_a, diagonal, m, n, alpha, a, lda, b, ldb, c, ldc

#define KW_PARAMETERS_trsm(Int)                                                                    \
  Handle handle, Enum side, Enum fill, Enum op_a, Enum diagonal, Int m, Int n, const float *alpha, \
      const float *a, Int lda, float *b, Int ldb
#define KW_ARGUMENTS_trsm handle, side, fill, op_a, diagonal, m, n, alpha, a, lda, b, ldb

#define KW_PARAMETERS_ctrsm(Int) KW_PARAMETERS_trsm(Int)
#define KW_ARGUMENTS_ctrsm KW_ARGUMENTS_trsm

#define KW_PARAMETERS_lt_matmul(Int)                                                           \
  Handle handle, void *description, const void *alpha, const void *a, void *a_layout,          \
      const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d, \
      void *d_layout, const void *algorithm, void *workspace, std::size_t workspace_bytes,     \
      Stream stream
#define KW_ARGUMENTS_lt_matmul                                                                     \
  handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algorithm, \
      workspace, workspace_bytes, stream

// Of cuSOLVER.
#define KW_PARAMETERS_potrf(Int)                                                              \
  Handle handle, Enum fill, Int n, float *a, Int lda, float *workspace, Int workspace_floats, \
      int *info
#define KW_ARGUMENTS_potrf handle, fill, n, a, lda, workspace, workspace_floats, info
#define KW_PARAMETERS_potrf_size(Int) \
  Handle handle, Enum fill, Int n, float *a, Int lda, int *workspace_floats
#define KW_PARAMETERS_xpotrf(Int)                                                              \
  Handle handle, void *options, Enum fill, Int n, Enum type_a, void *a, Int lda, Enum compute, \
      void *on_device, std::size_t device_bytes, void *on_host, std::size_t host_bytes, int *info
#define KW_ARGUMENTS_xpotrf                                                                        \
  handle, options, fill, n, type_a, a, lda, compute, on_device, device_bytes, on_host, host_bytes, \
      info
#define KW_PARAMETERS_xpotrf_size(Int)                                                 \
  Handle handle, void *options, Enum fill, Int n, Enum type_a, const void *a, Int lda, \
      Enum compute, std::size_t *device_bytes, std::size_t *host_bytes

#define KW_PARAMETERS_destroy(Int) Handle handle
#define KW_ARGUMENTS_destroy handle
