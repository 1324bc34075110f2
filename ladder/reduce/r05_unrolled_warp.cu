// r05: the last six steps belong to one warp and need no barrier.
//
// Idea        From s = 32 on only the first warp has work. Seven warps leave, and the one that
//             stays orders its lanes by __syncwarp, which costs next to nothing. The loop is
//             unrolled for them and the guard tid < s dropped: lanes beyond s add what nobody will
//             read: last_warp, in steps.hpp.
// Prediction  Six of eight barriers and loop turns go for all warps: 61 slots a warp and 30 more
//             for the first of eight, for two warps' worth: 33 us at 2^25. The wait falls with the
//             barriers, by as much as it did on S4's A100 (244 to 167 us): 97 us by SMs and clock,
//             102 us with the launches, 0.78 ms at 2^28.
// Limits      A load, a wait, a short tree: blocks of so little work that starting them shows.
// Original    S4's v4, 167.10 us on an A100, which does without any synchronisation:
//               volatile float* v = sdata;
//               v[tid] += v[tid + 32]; v[tid] += v[tid + 16]; ... v[tid] += v[tid + 1];
//             This holds where the lanes of a warp run in lockstep, line by line. Since Volta every
//             lane has its own program counter, and volatile orders the accesses of one lane, not
//             those of two. Lane 0 may come to its second line, which reads v[16], before lane 16
//             has done its first (the sum lacks elements) or when lane 16 is past its second (it
//             has some twice). So: read, __syncwarp, write, __syncwarp. Host SIMT runs lanes in
//             random order and catches the published form at once.
#include "rung.hpp"
#include "steps.hpp"

namespace KW_TARGET {
namespace {

__global__ void __launch_bounds__(block_size)
    unrolled_warp(const float* data, std::int64_t n, float* sums) {
  __shared__ float part[block_size];
  const unsigned tid = threadIdx.x;
  const std::int64_t i = std::int64_t{blockIdx.x} * (2 * blockDim.x) + tid;
  part[tid] = load(data, i, n) + load(data, i + blockDim.x, n);
  __syncthreads();

  for (unsigned s = blockDim.x / 2; s > 32; s /= 2) {
    if (tid < s) part[tid] += part[tid + s];
    __syncthreads();
  }
  if (tid < static_cast<unsigned>(warpSize)) last_warp(part, tid);
  if (tid == 0) sums[blockIdx.x] = positive_zero(part[0]);
}

}  // namespace

Status r05_unrolled_warp(const Reduce& problem, const Device& device, Workspace workspace,
                         Stream stream) {
  return sum_in_launches(unrolled_warp, two_elements, problem, device, workspace, stream);
}

}  // namespace KW_TARGET
