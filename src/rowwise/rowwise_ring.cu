// rowwise_ring: the plans and launches of ring.hpp.
#include <algorithm>

#include "gpu/clusters_at_once.hpp"
#include "gpu/gpu.hpp"
#include "rowwise/gpu_kernels.hpp"
#include "rowwise/ring_choice.hpp"

namespace KW_TARGET {
namespace {

// Where no cluster runs, a plan of clusters becomes one that wants workspace.
Plan<Rowwise> plan_with(const rowwise::RingChoice& choice, const RingPlan& ring) {
  Plan<Rowwise> plan;
  const std::optional<RingPlan> through_memory =
      ring.letters_begin > 0 ? choice.best_through_memory() : ring;
  if (through_memory) plan.workspace_bytes = rowwise::given_bytes_of(*through_memory);
  plan.data.set(ring);
  return plan;
}

template <bool softmax, class T, int groups>
Status launch_groups(const Rowwise& p, const RingPlan& plan, Workspace workspace, Stream stream) {
  const gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(rowwise::grid_of(plan))),
                                    .block = dim3(rowwise::ring_block_threads<softmax, groups>),
                                    .shared_bytes = rowwise::shared_bytes_of(plan, p),
                                    .stream = stream,
                                    .overlap = true,
                                    .together = true};
  return gpu::launch(rowwise::ring_rows<softmax, T, false, groups>, config, p, plan,
                     workspace.tickets, static_cast<rowwise::WarpFound*>(workspace.data));
}
template <bool softmax, class T>
Status launch_through_memory(const Rowwise& p, const RingPlan& plan, Workspace workspace,
                             Stream stream) {
  if constexpr (ring_has_groups(softmax, sizeof(T)))
    if (plan.groups > 1) return launch_groups<softmax, T, ring_groups>(p, plan, workspace, stream);
  return launch_groups<softmax, T, 1>(p, plan, workspace, stream);
}

// Of teams that are clusters as many as run at once.
template <bool softmax, class T>
Status launch_ring(const Rowwise& p, const Device& device, RingPlan plan, Workspace workspace,
                   Stream stream) {
  if (plan.letters_begin == 0) return launch_through_memory<softmax, T>(p, plan, workspace, stream);
  const auto kernel = rowwise::ring_rows<softmax, T, true, 1>;
  gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(plan.blocks)),
                              .block = dim3(rowwise::ring_block_threads<softmax, 1>),
                              .shared_bytes = rowwise::shared_bytes_of(plan, p),
                              .stream = stream,
                              .overlap = true,
                              .cluster = plan.blocks};
  int clusters = 0;
  Status asked =
      gpu::clusters_at_once(reinterpret_cast<const void*>(kernel), config, false, &clusters);
  if (!asked.ok()) return asked;
  if (clusters == 0) {
    const std::optional<RingPlan> other = rowwise::RingChoice(p, device).best_through_memory();
    if (!other) return Status::failure(StatusCode::device_error, "no cluster fits the device");
    return launch_through_memory<softmax, T>(p, *other, workspace, stream);
  }
  plan.teams = static_cast<int>(std::min<std::int64_t>(clusters, p.rows));
  config.grid = dim3(static_cast<unsigned>(rowwise::grid_of(plan)));
  return gpu::launch(kernel, config, p, plan, static_cast<unsigned*>(nullptr),
                     static_cast<rowwise::WarpFound*>(nullptr));
}

}  // namespace

std::optional<Plan<Rowwise>> rowwise_ring_make_plan(const Rowwise& p, const Device& device) {
  if (device.compute_capability != 90 || !rowwise::is_plain(p) || p.rows == 0) return {};
  const std::int64_t bytes = p.row_bytes();
  if (bytes < ring_least_bytes || p.cols > ring_most_columns) return {};
  const rowwise::RingChoice choice(p, device);
  const std::optional<RingPlan> ring = choice.best();
  if (!ring) return {};
  return plan_with(choice, *ring);
}

std::optional<Plan<Rowwise>> rowwise_ring_plan_of(const Rowwise& p, const Device& device,
                                                  int blocks, bool clusters, bool groups) {
  const rowwise::RingChoice choice(p, device);
  const bool has_groups = groups && ring_has_groups(is_softmax(p.op), size_of(p.type));
  const std::optional<RingPlan> ring =
      clusters ? choice.plan_of_clusters(blocks)
               : choice.plan_through_memory(blocks, has_groups ? ring_groups : 1);
  if (!ring) return {};
  return plan_with(choice, *ring);
}

Status rowwise_ring_launch_plan(const Rowwise& p, const Device& device, const Plan<Rowwise>& plan,
                                Workspace workspace, Stream stream) {
  const auto ring = plan.data.get<RingPlan>();
  const auto run = [&](auto element) {
    using T = decltype(element);
    return is_softmax(p.op) ? launch_ring<true, T>(p, device, ring, workspace, stream)
                            : launch_ring<false, T>(p, device, ring, workspace, stream);
  };
  if (p.type == DataType::float32) return run(float{});
  return p.type == DataType::float16 ? run(float16{}) : run(bfloat16{});
}

}  // namespace KW_TARGET
