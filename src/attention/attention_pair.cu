// attention_pair: attention in plain FP32 on Hopper, by pairs of warps.
//
// Idea    A thread that holds scores and sums of O has registers for 8 x 8 of each, and then shared
//         memory, at 4 loads of 16 bytes for 64 FFMAs, is much of what limits (attention_tile).
//         Here one warp of a pair has scores only and the other sums only, 8 x 16 a thread: 6 loads
//         for 128. The first turns its scores into weights and hands them over through shared
//         memory, a group of keys at a time; the second, on the same scheduler, multiplies
//         meanwhile, so exponentials run beside FFMAs. A third team of warps brings K, turned, and
//         V. Both teams run one text of the loop: where the two had loops of their own, a warp
//         waited for instructions in a sixth of its time.
//         Waits and branches around the loop are those of whole warps, and the compiler knows
//         (device/warp_wait.hpp): a turn then ends with one branch.
// Limits  Of the instructions 91 % are FFMAs; a block's first tile of weights and its last of
//         outputs have no other team beside them, and while the first warp of a pair makes weights
//         the second one has nothing left to multiply.
// Order   Keys ascending, one accumulator an element.
#include <algorithm>

#include "attention/configurations.hpp"
#include "attention/pair_merge.hpp"
#include "attention/production.hpp"
#include "device/arrival.hpp"
#include "device/overlap.hpp"

namespace KW_TARGET {
namespace {

using namespace attention;

struct PairAccess {
  bool v16, o16;  // rows on 16-byte boundaries
};

template <int index>
__global__ void __launch_bounds__(pair_threads, 1)
    attention_pair([[maybe_unused]] __grid_constant__ const Attention p,
                   [[maybe_unused]] __grid_constant__ const PairAccess access,
                   [[maybe_unused]] __grid_constant__ const PairSchedule schedule,
                   [[maybe_unused]] __grid_constant__ const Workspace workspace) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  wait_for_previous_kernel();
  if (p.only_if != nullptr && any_of_warp(*p.only_if == 0)) return;
  auto& shared = *gpu::dynamic_shared<typename PairParts<index>::Shared>();
  if (threadIdx.x == 0) {
    shared.task = pair_task<index>(p, schedule, blockIdx.x);
    shared.init_barriers();
  }
  __syncthreads();
  if (any_of_warp(shared.task.first_query >= shared.task.head.queries)) return;
  const int thread = static_cast<int>(threadIdx.x) % pair_team;
  const int team = static_cast<int>(threadIdx.x) / pair_team;
  if (any_of_warp(team == 0)) {
    setmaxnreg_dealloc<56>();
    if (thread < pair_team / 2)
      bring_keys<index>(shared, p, thread);
    else
      bring_values<index>(shared, p, thread - pair_team / 2, access.v16);
  } else {
    setmaxnreg_alloc<224>();
    const int multiplier = static_cast<int>(threadIdx.x) - pair_team;
    bring_queries<index>(shared, p, multiplier);
    PairTeam<index> own(shared, p, any_of_warp(team == 1));
    own.run();
    if (shared.task.cut_unit < 0) {
      own.store(access.o16);
      return;
    }
    auto* const all =
        static_cast<PairPartSums<index>*>(workspace.data) + shared.task.cut_unit * schedule.parts;
    own.store_part(all[shared.task.part]);
    if (arrives_last(
            shared.comes_last, static_cast<unsigned>(schedule.parts), multiplier == 0,
            [] { sync_some_threads<1, pair_mergers>(); },
            [&] { return workspace.tickets + shared.task.cut_unit; }))
      merge_pair_parts<index>(shared, all, schedule.parts, p, multiplier);
  }
#endif
}

std::size_t pair_shared_bytes(int config) {
  return with_config<pair_config_count>(config, [](auto index) {
    return sizeof(typename PairParts<decltype(index)::value>::Shared);
  });
}

std::size_t pair_part_bytes(int config) {
  return with_config<pair_config_count>(
      config, [](auto index) { return sizeof(PairPartSums<decltype(index)::value>); });
}

}  // namespace

std::optional<Plan<Attention>> attention_pair_make_plan(const Attention& p, const Device& device) {
  if (!has_hopper_instructions(device)) return std::nullopt;
  std::size_t shared_bytes[pair_config_count];
  for (int i = 0; i < pair_config_count; ++i) shared_bytes[i] = pair_shared_bytes(i);
  const PairSchedule schedule = choose_pairs(p, device, shared_bytes);
  if (schedule.config < 0) return std::nullopt;
  return attention_pair_plan_of(p, device, schedule);
}

Plan<Attention> attention_pair_plan_of(const Attention& p, const Device& device,
                                       PairSchedule schedule) {
  schedule.order = tile_order(p, p.keys * p.dim * 8);
  Plan<Attention> plan;
  plan.time_us = plan.cost = pair_time_us(p, device, schedule);
  if (schedule.parts > 1) {
    const std::int64_t cut = pair_units(p, pair_configs[schedule.config]) - schedule.whole;
    plan.workspace_bytes =
        static_cast<std::size_t>(cut * schedule.parts) * pair_part_bytes(schedule.config);
  }
  plan.min_workspace_bytes = 0;
  plan.data.set(schedule);
  return plan;
}

Status attention_pair_launch_plan(const Attention& p, const Device&, const Plan<Attention>& plan,
                                  Workspace workspace, Stream stream) {
  auto schedule = plan.data.get<PairSchedule>();
  if (workspace.bytes < plan.workspace_bytes) schedule.parts = 1;
  const PairAccess access{rows_aligned_16(p.v, p.v_strides, p.dim),
                          rows_aligned_16(p.o, p.o_strides, p.dim)};
  return with_config<pair_config_count>(schedule.config, [&](auto index) {
    constexpr int i = decltype(index)::value;
    return gpu::launch(attention_pair<i>,
                       {dim3(static_cast<unsigned>(pair_blocks(p, schedule))), dim3(pair_threads),
                        sizeof(typename PairParts<i>::Shared), stream, true},
                       p, access, schedule, workspace);
  });
}

}  // namespace KW_TARGET
