// ctrsm_loop: a line of unknowns a thread. It takes every problem on every device and needs no
// workspace, and is chosen where nothing else is.
#include "ctrsm/loop.hpp"

#include <algorithm>

#include "arithmetic.hpp"
#include "ctrsm/production.hpp"

namespace KW_TARGET {
namespace {

constexpr unsigned loop_threads = 128;

__global__ void __launch_bounds__(loop_threads) ctrsm_loop_kernel(const Ctrsm call) {
  const Ctrsm p = ctrsm::with_scalar(call);
  const std::int64_t count = ctrsm::loop_items(p);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * loop_threads;
  for (std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * loop_threads + threadIdx.x;
       item < count; item += step)
    ctrsm::loop_item(p, item);
}

}  // namespace

Status ctrsm_loop_launch(const Ctrsm& p, const Device&, Workspace, Stream stream) {
  constexpr std::int64_t most_blocks = 1 << 20;
  const std::int64_t blocks = ceil_div(ctrsm::loop_items(p), std::int64_t{loop_threads});
  if (blocks == 0) return Status::success();
  return gpu::launch(ctrsm_loop_kernel,
                     {.grid = dim3(static_cast<unsigned>(std::min(blocks, most_blocks))),
                      .block = dim3(loop_threads),
                      .stream = stream},
                     p);
}

}  // namespace KW_TARGET
