// Launches of the split kernels' pre-pass (split.hpp), and what they fall back on.
#include "sgemm/hopper/split.hpp"

#include <algorithm>

#include "sgemm/hopper/rows.hpp"

namespace KW_TARGET::hopper {

Status launch_prepare(Task task, const Preparation& all, const Device& device, Stream stream) {
  const gpu::LaunchConfig config = {.grid = dim3(prepare_blocks(task, all, device)),
                                    .block = dim3(prepare_threads),
                                    .stream = stream,
                                    .overlap = true};
  switch (task) {
    case Task::bf16: return gpu::launch(prepare<Task::bf16>, config, all);
    case Task::sample: return gpu::launch(prepare<Task::sample>, config, all);
    case Task::fp16: return gpu::launch(prepare<Task::fp16>, config, all);
  }
  return Status::success();
}

}  // namespace KW_TARGET::hopper
