// rowwise_ring: the plans and launches of ring.hpp.
#include "gpu/gpu.hpp"
#include "rowwise/gpu_kernels.hpp"
#include "rowwise/ring_choice.hpp"

namespace KW_TARGET {
namespace {

Plan<Rowwise> plan_with(const RingPlan& ring) {
  Plan<Rowwise> plan;
  plan.workspace_bytes = rowwise::given_bytes_of(ring);
  plan.data.set(ring);
  return plan;
}

template <bool softmax, class T>
Status launch_ring(const Rowwise& p, const RingPlan& plan, Workspace workspace, Stream stream) {
  const gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(rowwise::grid_of(plan))),
                                    .block = dim3(rowwise::ring_block_threads<softmax>),
                                    .shared_bytes = rowwise::shared_bytes_of(plan, p.type),
                                    .stream = stream,
                                    .overlap = true,
                                    .together = true};
  return gpu::launch(rowwise::ring_rows<softmax, T>, config, p, plan, workspace.tickets,
                     static_cast<rowwise::WarpFound*>(workspace.data));
}

}  // namespace

std::optional<Plan<Rowwise>> rowwise_ring_make_plan(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || !rowwise::is_plain(p) || p.rows == 0) return {};
  const std::int64_t bytes = p.row_bytes();
  if (bytes < ring_least_bytes || p.cols > ring_most_columns) return {};
  const std::optional<RingPlan> ring = rowwise::RingChoice(p, device).best();
  if (!ring) return {};
  return plan_with(*ring);
}

std::optional<Plan<Rowwise>> rowwise_ring_plan_of(const Rowwise& p, const Device& device, int first,
                                                  int rest) {
  const rowwise::RingChoice choice(p, device);
  if (!choice.is_possible(first) || !choice.is_possible(rest)) return {};
  const std::optional<RingPlan> ring = choice.plan(first, rest);
  if (!ring) return {};
  return plan_with(*ring);
}

Status rowwise_ring_launch_plan(const Rowwise& p, const Device&, const Plan<Rowwise>& plan,
                                Workspace workspace, Stream stream) {
  const auto ring = plan.data.get<RingPlan>();
  const auto run = [&](auto element) {
    using T = decltype(element);
    return is_softmax(p.op) ? launch_ring<true, T>(p, ring, workspace, stream)
                            : launch_ring<false, T>(p, ring, workspace, stream);
  };
  if (p.type == DataType::float32) return run(float{});
  return p.type == DataType::float16 ? run(float16{}) : run(bfloat16{});
}

}  // namespace KW_TARGET
