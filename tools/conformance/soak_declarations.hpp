// What soak.cpp calls of CUDA's runtime and of cuBLAS: declarations of the project's own, so that
// no header of NVIDIA's is needed.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
using Status = int;
int cudaMalloc(void**, std::size_t);
int cudaMemcpy(void*, const void*, std::size_t, int);
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaMemGetInfo(std::size_t*, std::size_t*);
int cudaDeviceSynchronize();
int cudaStreamCreateWithFlags(void**, unsigned);
int cudaStreamDestroy(void*);
int cudaStreamSynchronize(void*);
int cudaStreamBeginCapture(void*, int);
int cudaStreamEndCapture(void*, void**);
int cudaGraphInstantiate(void**, void*, unsigned long long);
int cudaGraphLaunch(void*, void*);
int cudaGraphExecDestroy(void*);
int cudaGraphDestroy(void*);
Status cublasCreate_v2(void**);
Status cublasDestroy_v2(void*);
Status cublasSetStream_v2(void*, void*);
Status cublasSetPointerMode_v2(void*, int);
Status cublasSetWorkspace_v2(void*, void*, std::size_t);
Status cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                      int, const float*, float*, int);
Status cublasSgemm_v2_64(void*, int, int, std::int64_t, std::int64_t, std::int64_t, const float*,
                         const float*, std::int64_t, const float*, std::int64_t, const float*,
                         float*, std::int64_t);
Status cublasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int, const void*,
                    int, int, const void*, void*, int, int, int, int);
Status cublasSgemmStridedBatched(void*, int, int, int, int, int, const float*, const float*, int,
                                 long long, const float*, int, long long, const float*, float*, int,
                                 long long, int);
Status cublasSgemmBatched(void*, int, int, int, int, int, const float*, const float* const*, int,
                          const float* const*, int, const float*, float* const*, int, int);
Status cublasSgemmGroupedBatched(void*, const int*, const int*, const int*, const int*, const int*,
                                 const float*, const float* const*, const int*, const float* const*,
                                 const int*, const float*, float* const*, const int*, int,
                                 const int*);
Status cublasLtCreate(void**);
Status cublasLtDestroy(void*);
Status cublasLtMatmulDescCreate(void**, int, int);
Status cublasLtMatmulDescDestroy(void*);
Status cublasLtMatmulDescSetAttribute(void*, int, const void*, std::size_t);
Status cublasLtMatrixLayoutCreate(void**, int, std::uint64_t, std::uint64_t, std::int64_t);
Status cublasLtMatrixLayoutDestroy(void*);
Status cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*,
                      const void*, const void*, void*, void*, void*, const void*, void*,
                      std::size_t, void*);
}

constexpr int type_f32 = 0, compute_32f = 68, algo_default = -1, on_device = 1;
constexpr int to_device = 1, to_host = 2, within_device = 3;
constexpr unsigned non_blocking = 1;
constexpr int thread_local_mode = 1;  // of a capture
constexpr int attribute_op_a = 3, attribute_op_b = 4, attribute_epilogue = 7, attribute_bias = 8;
constexpr int epilogue_bias = 4;
