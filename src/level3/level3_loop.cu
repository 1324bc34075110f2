// level3_loop: an element of C, or a line of it, a thread. It takes every problem on every device
// and needs no workspace, and is chosen where nothing else is.
#include <algorithm>

#include "gpu/gpu.hpp"
#include "level3/loop.hpp"
#include "level3/production.hpp"

namespace KW_TARGET {
namespace {

constexpr unsigned threads = 128;

__global__ void __launch_bounds__(threads) level3_loop_kernel(const Level3 call) {
  const Level3 p = level3::with_scalars(call);
  const std::int64_t count = level3::loop_items(p);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
       item < count; item += step)
    level3::loop_item(p, item);
}

}  // namespace

bool level3_loop_supports(const Level3& p, const Device&) { return !p.factors(); }

Status level3_loop_launch(const Level3& p, const Device&, Workspace, Stream stream) {
  constexpr std::int64_t most_blocks = 1 << 20;
  const std::int64_t blocks = ceil_div(level3::loop_items(p), std::int64_t{threads});
  if (blocks == 0) return Status::success();
  return gpu::launch(level3_loop_kernel,
                     {.grid = dim3(static_cast<unsigned>(std::min(blocks, most_blocks))),
                      .block = dim3(threads),
                      .stream = stream},
                     p);
}

}  // namespace KW_TARGET
