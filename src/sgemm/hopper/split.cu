// The launch of the split pass (split.hpp), and the choice of the kernel that the split kernels
// fall back to.
#include "sgemm/hopper/split.hpp"

#include "sgemm/hopper/call.hpp"

namespace KW_TARGET::hopper {

Status launch_split_pass(SplitPass pass, const SplitParams& params, const Device& device,
                         Stream stream) {
  const gpu::LaunchConfig config = {
      .grid = dim3(split_blocks(pass, params.problem.batch, params.items, device) +
                   (weighs_terms(pass) ? term_blocks : 0)),
      .block = dim3(split_threads),
      .stream = stream,
      .overlap = true};
  if (params.problem.diagonal_apart) {
    return pass == SplitPass::bf16
               ? gpu::launch(split_pass<SplitPass::bf16, true>, config, params)
               : gpu::launch(split_pass<SplitPass::sampled_fp16, true>, config, params);
  }
  switch (pass) {
    case SplitPass::bf16: return gpu::launch(split_pass<SplitPass::bf16>, config, params);
    case SplitPass::sample: return gpu::launch(split_pass<SplitPass::sample>, config, params);
    case SplitPass::fp16: return gpu::launch(split_pass<SplitPass::fp16>, config, params);
    case SplitPass::sampled_fp16:
      return gpu::launch(split_pass<SplitPass::sampled_fp16>, config, params);
  }
  return Status::success();
}

}  // namespace KW_TARGET::hopper
