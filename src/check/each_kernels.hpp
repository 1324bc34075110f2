// Function objects applied to every element, on a GPU: one kernel that does just that, one that
// also merges what the objects find.
#pragma once

#include "check/tools.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET::check {

using kw::check::Partial;
using kw::check::partial_count;

constexpr int threads = 256;

template <class Each>
__global__ void for_each(Each each) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       i < each.size(); i += step) {
    each(i);
  }
}

// One finding a block, merged in a fixed order.
template <class Judge>
__global__ void judge_all(Judge judge, Partial* partials) {
  __shared__ Partial shared[threads];
  Partial found = kw::check::empty_partial();
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       i < judge.size(); i += step) {
    judge(i, found);
  }
  shared[threadIdx.x] = found;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) {
      merge(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = shared[0];
}

inline gpu::LaunchConfig grid_of(std::int64_t blocks, Stream stream) {
  return {dim3(static_cast<unsigned>(blocks)), dim3(threads), 0, stream};
}

template <class Each>
Status run_each(const Each& each, Stream stream) {
  const std::int64_t blocks = ceil_div(each.size(), threads);
  return gpu::launch(for_each<Each>, grid_of(blocks < 8192 ? blocks : 8192, stream), each);
}

template <class Judge>
Status run_judge(const Judge& judge, Partial* partials, Stream stream) {
  return gpu::launch(judge_all<Judge>, grid_of(partial_count, stream), judge, partials);
}

}  // namespace KW_TARGET::check
