// thin: products with m <= 16 or n <= 16. They take little more time than reading the wide operand
// once; the rest of the kernel is arranged around that (thin_plan.hpp says which operand that is,
// and how a product is cut).
//
// Idea    A step of a thread is 4 rows x 4 k of the wide operand, four 16-byte loads, or where rows
//         are few 1 x 16 or 1 x 8, so that more threads share the work. Two steps are under way,
//         from before the first barrier on. The narrow operand is copied to shared memory past the
//         registers, [j][k], where four k are one load whether the wide operand is contiguous along
//         k or along its rows. Threads of a block that share rows add up through their warp's
//         lanes, then through shared memory. Where there are too few rows to fill the device,
//         blocks share them too, each with a part of k, and the last block to arrive adds up the
//         parts.
// Lines   that do not start on a 16-byte boundary are read 4 bytes a load, or, where they are rows,
//         from the boundary before on, whichever is predicted to be quicker: a block then takes
//         every fourth row, in which boundaries lie alike, and the narrow operand in shared memory
//         begins as far before.
// L2      keeps of an operand that it cannot hold whole the steps that the plan names, and gives up
//         the others first: the next call finds these there (all but the widest instances).
// Placing Blocks begin while the previous kernel ends. Where there is room for some of them beside
//         that kernel's, shared memory keeps a multiprocessor from taking more than lie on it
//         evenly. Of operands that L2 holds in part blocks begin after it: they lie as in the call
//         before, and find in their half of L2 what they left there.
// Limits  The device's memory bandwidth; where all is in L2 and small, the latency of two or three
//         accesses one after the other.
// Order   In a thread k ascending, the products of a step or of some apart where that costs no
//         time; then over the lanes, the threads along k and the parts, each in an order that
//         follows from the plan. The same bits for the same inputs on the same kind of device.

#include "device/overlap.hpp"
#include "sgemm/production.hpp"
#include "sgemm/thin_block.hpp"
#include "sgemm/thin_choice.hpp"
#include "table_rows.hpp"

namespace KW_TARGET {
namespace thin {

template <int row, bool along_k, ThinLoads loads>
__global__ void __launch_bounds__(thin_configs[row].threads,
                                  thin_configs[row].blocks_per_sm(along_k))
    thin(__grid_constant__ const Sgemm all, const ThinPlan plan, const Workspace workspace) {
  // A chunk of the narrow operand, later sums.
  alignas(16) __shared__ float shared[thin_configs[row].shared_floats()];
  __shared__ bool is_last;
  compute<row, along_k, loads>(all, plan, workspace, blockIdx.x, shared, is_last);
  end_concurrent(all);
}

}  // namespace thin

namespace {

using ThinKernel = void (*)(Sgemm, ThinPlan, Workspace);

template <int row, bool along_k>
ThinKernel instance(const ThinPlan& plan) {
  // A thread with one row has nothing to read four of where lines are one k of all rows.
  if constexpr (along_k || thin_configs[row].rows == 4)
    if (plan.loads == ThinLoads::vector) return thin::thin<row, along_k, ThinLoads::vector>;
  if constexpr (along_k)
    if (plan.loads == ThinLoads::shifted) return thin::thin<row, along_k, ThinLoads::shifted>;
  if constexpr (!along_k || thin_configs[row].reads_short_lines())
    return thin::thin<row, along_k, ThinLoads::single>;
  else
    return nullptr;
}

ThinKernel instance_of(const ThinPlan& plan) {
  constexpr auto along_k = of_each_row<thin_configs>([](auto row) { return &instance<row, true>; });
  constexpr auto along_rows =
      of_each_row<thin_configs>([](auto row) { return &instance<row, false>; });
  return (plan.along_k ? along_k : along_rows)[static_cast<std::size_t>(plan.config)](plan);
}

}  // namespace

std::optional<Plan<Sgemm>> thin_make_plan(const Sgemm& problem, const Device& device) {
  if (!is_thin(problem) || !problem.is_full()) return std::nullopt;
  const ThinPlan own = thin_plan(problem, device);
  if (!thin_counts(problem, own)) return std::nullopt;
  const double us = predict_us(own, problem, device);
  Plan<Sgemm> plan = {
      .time_us = us, .cost = us, .workspace_bytes = own.workspace_bytes(problem.batch)};
  plan.data.set(own);
  return plan;
}

Status thin_launch_plan(const Sgemm& problem, const Device& device, const Plan<Sgemm>& planned,
                        Workspace workspace, Stream stream) {
  if (problem.m == 0 || problem.n == 0) return Status::success();
  const auto plan = planned.data.get<ThinPlan>();
  const ThinKernel kernel = instance_of(plan);
  const auto blocks = static_cast<unsigned>(plan.blocks(problem.batch));
  const bool is_alone = !problem.overlaps_previous && !problem.next_overlaps;
  return gpu::launch(kernel,
                     {.grid = dim3(blocks),
                      .block = dim3(static_cast<unsigned>(plan.threads())),
                      .shared_bytes = is_alone ? thin_apart_bytes(plan, problem, device) : 0,
                      .stream = stream,
                      .overlap = plan.begins_early || problem.overlaps_previous},
                     problem, plan, workspace);
}

}  // namespace KW_TARGET
