// The FP32 matrix instruction of CDNA, v_mfma_f32_32x32x2f32 (gfx908, gfx90a), and a model of it
// for all other compilers. Of a wavefront's lanes
//   lane l brings      A[l % 32][l / 32] and B[l / 32][l % 32], of 32 x 2 and 2 x 32
//   lane l's sum e is  D[8 * (e / 4) + 4 * (l / 32) + e % 4][l % 32], of 32 x 32
// as the builtin's register layout has it ("CDNA1 Instruction Set Architecture", matrix arithmetic;
// ROCm's amd_matrix_instruction_calculator prints it).
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET::mfma {

constexpr int size = 32, k_steps = 2, lanes = 64;
constexpr int sums = size * size / lanes;  // a lane's

__device__ __forceinline__ int row_of(int e, int lane) {
  return 8 * (e / 4) + 4 * (lane / size) + e % 4;
}
__device__ __forceinline__ int col_of(int lane) { return lane % size; }

#if defined(__gfx908__) || defined(__gfx90a__)
struct Sums {
  using Vector = float __attribute__((ext_vector_type(sums)));
  Vector data;
  __device__ __forceinline__ float of(int e) const { return data[e]; }
};

template <int waves>
__device__ __forceinline__ void multiply(Sums& d, float a, float b) {
  d.data = __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, d.data, 0, 0, 0);
}
#else
struct Sums {
  float data[sums];
  __device__ __forceinline__ float of(int e) const { return data[e]; }
};

// All threads of a block of `waves` wavefronts call it together: what the lanes bring passes
// through shared memory.
template <int waves>
__device__ __forceinline__ void multiply(Sums& d, float a, float b) {
  __shared__ float brought[waves][2][lanes];
  const int thread = static_cast<int>(threadIdx.x), wave = thread / lanes, lane = thread % lanes;
  __syncthreads();  // nobody reads what the call before has left
  brought[wave][0][lane] = a;
  brought[wave][1][lane] = b;
  __syncthreads();
  for (int e = 0; e < sums; ++e)
    for (int k = 0; k < k_steps; ++k)
      d.data[e] = fmaf(brought[wave][0][k * size + row_of(e, lane)],
                       brought[wave][1][k * size + col_of(lane)], d.data[e]);
}
#endif

}  // namespace KW_TARGET::mfma
