// rowwise_ring: the launches of ring.hpp.
#include "gpu/launch_together.hpp"
#include "rowwise/gpu_kernels.hpp"
#include "rowwise/ring_choice.hpp"

namespace KW_TARGET {
namespace {

template <bool softmax, class T>
Status launch_ring(const Rowwise& p, const RingPlan& plan, Workspace workspace,
                   Stream stream) {
  const gpu::LaunchConfig config = {
      .grid = dim3(static_cast<unsigned>(rowwise::grid_of(plan))),
      .block = dim3(rowwise::ring_block_threads),
      .shared_bytes = rowwise::shared_bytes_of(plan, p.type),
      .stream = stream};
  return gpu::launch_together(rowwise::ring_rows<softmax, T>, config, p, plan, workspace.tickets,
                              static_cast<rowwise::WarpFound*>(workspace.data));
}

}  // namespace

bool rowwise_ring_supports(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || !rowwise::is_plain(p)) return false;
  const std::int64_t bytes = p.cols * static_cast<std::int64_t>(size_of(p.type));
  return bytes >= ring_least_bytes && p.rows > 0 &&
         rowwise::RingChoice(p, device).best().has_value();
}

std::size_t rowwise_ring_workspace(const Rowwise& p, const Device& device) {
  if (p.rows == 0 || p.cols == 0) return 0;
  const auto plan = rowwise::RingChoice(p, device).best();
  return plan ? rowwise::given_bytes_of(*plan) : 0;
}

Status rowwise_ring(const Rowwise& p, const Device& device, Workspace workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const RingPlan plan = *rowwise::RingChoice(p, device).best();
  const auto run = [&](auto element) {
    using T = decltype(element);
    return is_softmax(p.op) ? launch_ring<true, T>(p, plan, workspace, stream)
                            : launch_ring<false, T>(p, plan, workspace, stream);
  };
  if (p.type == DataType::float32) return run(float{});
  return p.type == DataType::float16 ? run(float16{}) : run(bfloat16{});
}

}  // namespace KW_TARGET
