// One thread an element, over the matrix in steps of the grid: these copies are never timed.
#include "half_copies.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "arithmetic.hpp"
#include "gpu/gpu.hpp"

namespace kw::peers {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 4096;

__device__ __half narrowed(float value, __half) { return __float2half_rn(value); }
__device__ __nv_bfloat16 narrowed(float value, __nv_bfloat16) { return __float2bfloat16_rn(value); }
__device__ float widened(__half value) { return __half2float(value); }
__device__ float widened(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class Half>
__global__ void __launch_bounds__(threads)
    to_half_kernel(const float* from, std::int64_t elements, std::int64_t cols, std::int64_t ld,
                   Half* to) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < elements;
       i += step)
    to[i] = narrowed(from[i / cols * ld + i % cols], Half{});
}

template <class Half>
__global__ void __launch_bounds__(threads)
    from_half_kernel(const Half* from, std::int64_t elements, std::int64_t cols, float* to,
                     std::int64_t ld) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < elements;
       i += step)
    to[i / cols * ld + i % cols] = widened(from[i]);
}

on_cuda::gpu::LaunchConfig grid_of(std::int64_t elements, Stream stream) {
  const auto blocks = static_cast<unsigned>(std::min(ceil_div(elements, threads), most_blocks));
  return {dim3(blocks), dim3(threads), 0, stream};
}

template <class Half>
Status to(const float* from, std::int64_t rows, std::int64_t cols, std::int64_t ld, void* into,
          Stream stream) {
  return on_cuda::gpu::launch(to_half_kernel<Half>, grid_of(rows * cols, stream), from, rows * cols,
                              cols, ld, static_cast<Half*>(into));
}

template <class Half>
Status back(const void* from, std::int64_t rows, std::int64_t cols, float* into, std::int64_t ld,
            Stream stream) {
  return on_cuda::gpu::launch(from_half_kernel<Half>, grid_of(rows * cols, stream),
                              static_cast<const Half*>(from), rows * cols, cols, into, ld);
}

}  // namespace

Status to_half(HalfType type, const float* from, std::int64_t rows, std::int64_t cols,
               std::int64_t ld, void* into, Stream stream) {
  return type == HalfType::fp16 ? to<__half>(from, rows, cols, ld, into, stream)
                                : to<__nv_bfloat16>(from, rows, cols, ld, into, stream);
}

Status from_half(HalfType type, const void* from, std::int64_t rows, std::int64_t cols, float* into,
                 std::int64_t ld, Stream stream) {
  return type == HalfType::fp16 ? back<__half>(from, rows, cols, into, ld, stream)
                                : back<__nv_bfloat16>(from, rows, cols, into, ld, stream);
}

}  // namespace kw::peers
