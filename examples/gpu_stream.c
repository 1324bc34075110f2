/* C = A * B on a GPU, from C: matrices in device memory, the product on a stream of the caller's
 * between a copy there and a copy back. Without a GPU it says so and ends with 0. */
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "kernelwright/kernelwright.h"

enum { M = 300, N = 200, K = 100 };

static float a[M * K], b[K * N], c[M * N];

static int cuda_failed(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return 0;
  fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  return 1;
}

static int kw_failed(kwStatus_t status, kwHandle_t handle) {
  if (status == KW_STATUS_OK) return 0;
  fprintf(stderr, "%s: %s\n", kwStatusString(status), kwLastErrorMessage(handle));
  return 1;
}

/* Each of these is put on the stream and runs after the one before; nothing waits until the end. */
static int multiply(kwHandle_t handle, cudaStream_t stream, float* on_a, float* on_b, float* on_c) {
  const float alpha = 1, beta = 0;
  return cuda_failed(cudaMemcpyAsync(on_a, a, sizeof a, cudaMemcpyHostToDevice, stream),
                     "copy of A") ||
         cuda_failed(cudaMemcpyAsync(on_b, b, sizeof b, cudaMemcpyHostToDevice, stream),
                     "copy of B") ||
         kw_failed(kwSgemm(handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, M, N, K, &alpha, on_a, K,
                           on_b, N, &beta, on_c, N),
                   handle) ||
         cuda_failed(cudaMemcpyAsync(c, on_c, sizeof c, cudaMemcpyDeviceToHost, stream),
                     "copy of C") ||
         kw_failed(kwSynchronize(handle), handle);
}

static int wrong_entries(void) {
  int i, j, wrong = 0;
  for (i = 0; i < M; ++i) {
    for (j = 0; j < N; ++j) {
      if (c[i * N + j] != (float)(i % 7 * (j % 5) * K)) ++wrong;
    }
  }
  return wrong;
}

int main(void) {
  int devices = 0, i, failed;
  cudaStream_t stream = NULL;
  float *on_a = NULL, *on_b = NULL, *on_c = NULL;
  kwHandle_t handle = NULL;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    printf("gpu_stream: no NVIDIA GPU here, nothing computed\n");
    return 0;
  }
  for (i = 0; i < M * K; ++i) a[i] = (float)(i / K % 7);
  for (i = 0; i < K * N; ++i) b[i] = (float)(i % N % 5);

  failed = cuda_failed(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                       "cudaStreamCreateWithFlags") ||
           cuda_failed(cudaMalloc((void**)&on_a, sizeof a), "cudaMalloc of A") ||
           cuda_failed(cudaMalloc((void**)&on_b, sizeof b), "cudaMalloc of B") ||
           cuda_failed(cudaMalloc((void**)&on_c, sizeof c), "cudaMalloc of C") ||
           kw_failed(kwCreateGpuOnStream(&handle, stream, 0), NULL) ||
           multiply(handle, stream, on_a, on_b, on_c);
  if (!failed) {
    printf("%s: C[1][1] = %g, expected %d\n", kwDeviceName(handle), c[N + 1], K);
    failed = wrong_entries() != 0;
  }
  kwDestroy(handle);
  cudaFree(on_a);
  cudaFree(on_b);
  cudaFree(on_c);
  if (stream != NULL) cudaStreamDestroy(stream);
  return failed;
}
