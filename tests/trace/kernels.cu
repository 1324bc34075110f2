// See kernels.hpp.
#include "trace/kernels.hpp"

#include "device/async_copy.hpp"
#include "device/mbarrier.hpp"

namespace KW_TARGET::planted {
namespace {

constexpr int threads = 96;

template <Fault fault>
__global__ void write_and_read(const float* in, float* out) {
  __shared__ float part[threads];
  const unsigned tid = threadIdx.x;
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    part[tid] = in[tid] + static_cast<float>(round);
    if (fault != Fault::no_barrier) __syncthreads();
    sum += part[threads - 1 - tid];
    if (fault != Fault::no_second_barrier) __syncthreads();
  }
  out[tid] = sum;
}

template <bool has_barriers>
__global__ void warp_tree(const float* in, float* out) {
  __shared__ float part[64];
  const unsigned tid = threadIdx.x;
  part[tid] = in[tid];
  part[tid + 32] = in[tid + 32];
  __syncwarp();
  for (unsigned s = 32; s > 0; s /= 2) {
    const float other = part[tid + s];
    if (has_barriers) __syncwarp();
    part[tid] += other;
    if (has_barriers) __syncwarp();
  }
  if (tid == 0) *out = part[0];
}

template <bool all_arrive>
__global__ void producer_and_consumer(const float* in, float* out) {
  __shared__ float buffer[32];
  __shared__ Mbarrier full[2], empty;  // of each round its own: only the data can go wrong
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    mbarrier_init(&full[0], 32);
    mbarrier_init(&full[1], 32);
    mbarrier_init(&empty, all_arrive ? 32 : 1);
  }
  __syncthreads();
  for (unsigned round = 0; round < 2; ++round) {
    if (threadIdx.x < 32) {
      if (round > 0) mbarrier_wait(&empty, 0);
      buffer[lane] = in[round * 32 + lane];
      mbarrier_arrive(&full[round]);
    } else {
      mbarrier_wait(&full[round], 0);
      out[round * 32 + lane] = buffer[31 - lane];
      if (round == 0 && (all_arrive || lane == 0)) mbarrier_arrive(&empty);
    }
  }
}

template <bool wait_first>
__global__ void copy_and_read(const float* in, float* out) {
  __shared__ __align__(16) float part[4 * threads];
  const unsigned tid = threadIdx.x;
  async_copy<16>(&part[4 * tid], &in[4 * tid], 16);
  async_commit();
  if (wait_first) async_wait<0>();
  __syncthreads();
  const float other = part[4 * (threads - 1 - tid)];
  if (!wait_first) async_wait<0>();
  out[tid] = other;
}

__global__ void read_column(int pitch, const float* in, float* out) {
  __shared__ float s[32 * 33];
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = 0; i < 33; ++i) s[i * 32 + lane] = in[lane];
  __syncthreads();
  out[lane] = s[lane * pitch];
}

template <int Width>
__global__ void read_wide(const float* in, float* out) {
  using Vector =
      std::conditional_t<Width == 4, float4, std::conditional_t<Width == 2, float2, float>>;
  const Vector x = reinterpret_cast<const Vector*>(in)[threadIdx.x];
  reinterpret_cast<Vector*>(out)[threadIdx.x] = x;
}

__global__ void read_unevenly(const float* in, float* out) {
  float sum = 0;
  for (unsigned i = 0; i < threadIdx.x % 4; ++i) sum += in[i * 32 + threadIdx.x];
  out[threadIdx.x] = sum;
}

__global__ void read_in_halves(const float* in, float* out) {
  float sum = 0;
  for (unsigned half = 0; half < 2; ++half) {
    if (threadIdx.x / 16 == half) sum += in[threadIdx.x];
    __syncwarp();
  }
  out[threadIdx.x] = sum;
}

__global__ void add_to_one(float* out) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) *out = static_cast<float>(sum);
}

}  // namespace

Status rounds(Fault fault, const float* in, float* out) {
  const auto kernel = fault == Fault::none         ? write_and_read<Fault::none>
                      : fault == Fault::no_barrier ? write_and_read<Fault::no_barrier>
                                                   : write_and_read<Fault::no_second_barrier>;
  return gpu::launch(kernel, {dim3(2), dim3(threads)}, in, out);
}

Status last_warp(bool has_barriers, const float* in, float* out) {
  return gpu::launch(has_barriers ? warp_tree<true> : warp_tree<false>, {dim3(1), dim3(32)}, in,
                     out);
}

Status hand_over(bool all_arrive, const float* in, float* out) {
  return gpu::launch(all_arrive ? producer_and_consumer<true> : producer_and_consumer<false>,
                     {dim3(1), dim3(64)}, in, out);
}

Status copies(bool wait_first, const float* in, float* out) {
  return gpu::launch(wait_first ? copy_and_read<true> : copy_and_read<false>,
                     {dim3(1), dim3(threads)}, in, out);
}

Status column(int pitch, const float* in, float* out) {
  return gpu::launch(read_column, {dim3(1), dim3(32)}, pitch, in, out);
}

template <int Width>
Status wide(const float* in, int first, float* out) {
  return gpu::launch(read_wide<Width>, {dim3(1), dim3(32)}, in + first, out);
}
template Status wide<1>(const float*, int, float*);
template Status wide<2>(const float*, int, float*);
template Status wide<4>(const float*, int, float*);

Status uneven(const float* in, float* out) {
  return gpu::launch(read_unevenly, {dim3(1), dim3(32)}, in, out);
}

Status halves(const float* in, float* out) {
  return gpu::launch(read_in_halves, {dim3(1), dim3(32)}, in, out);
}

Status atomics(float* out) { return gpu::launch(add_to_one, {dim3(1), dim3(64)}, out); }

}  // namespace KW_TARGET::planted
