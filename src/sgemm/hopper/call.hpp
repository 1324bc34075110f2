// The way of a call through the split kernels. launch_call is where a call of Math::fp32_split
// enters; it launches a chain of kernels on the stream, some of which find out on the device that
// the data do not need them and exit early (select_path.hpp):
//
//   bf16x6             split pass   product  |                             |  fp32 fallback
//   fp16x3   (sample)  split pass   product  |  product in bf16, of pieces |  fp32 fallback
//                                            |  that the first one wrote:  |
//                                            |  too many outliers          |
//
// Where the workspace is too small for the whole call, launch_call enters again for sub-problems
// one after the other.
#pragma once

#include "gpu/gpu.hpp"
#include "kernel.hpp"
#include "sgemm/hopper/params.hpp"
#include "sgemm/hopper/plan.hpp"
#include "sgemm/one_launch.hpp"
#include "sgemm/tile.hpp"
#include "text.hpp"

namespace KW_TARGET::hopper {

// One launch of the split pass (split.cu).
Status launch_split_pass(SplitPass pass, const SplitParams& params, const Device& device,
                         Stream stream);

// One launch of the product with one tile, by the schedule of its parameters.
using LaunchProduct = Status(const ProductParams& params, Stream stream);
// Which row of bf16x6_tiles is predicted to take the shortest time, and a launch with that tile
// (bf16x6.cu).
int select_bf16x6_tile(const Sgemm& problem, const Device& device);
Status launch_bf16x6(int tile, const ProductParams& params, Stream stream);

// The kernel in plain fp32 that takes over where the pieces do not hold the data. There is none for
// a triangle whose zeros are not stored, of which that needs a copy: whoever has set diagonal_apart
// launches it, where Control::takes_fp32 at the workspace's beginning says so.
inline const Choice<Sgemm>& fallback_of(const Plan<Sgemm>& plan) { return plan.parts[0]; }

// Adds to a plan what its launches need: the CallPlan, and the fallback with its workspace.
inline void complete_call_plan(const TileRow& row, const Sgemm& p, const Device& device,
                               Plan<Sgemm>& plan) {
  CallPlan call(row, p, device);
  if (row.fp16) {
    call.second_tile = select_bf16x6_tile(p, device);
    call.second_schedule = product_schedule(bf16x6_tiles[call.second_tile], p, device);
  }
  plan.data.set(call);
  plan.workspace_bytes = call.layout.end;
  if (p.diagonal_apart) return;
  plan.parts = {select_in_one_launch(p, device)};
  plan.workspace_bytes = call.layout.end + fallback_of(plan).plan.workspace_bytes;
}

// What the launches of a call are given.
struct CallParams {
  SplitParams split;
  ProductParams product;

  CallParams(bool fp16, const Sgemm& p, const CallPlan& plan, const Workspace& workspace,
             const Device& device)
      : product{p, PackedLayout(p.m, p.k), PackedLayout(p.n, p.k)} {
    char* const base = static_cast<char*>(workspace.data);
    const auto ints = [&](std::size_t at) { return reinterpret_cast<int*>(base + at); };
    product.packed_a = base + plan.layout.packed_a;
    product.packed_b = base + plan.layout.packed_b;
    product.scales_a = ints(plan.layout.scales_a);
    product.scales_b = ints(plan.layout.scales_b);
    product.control = reinterpret_cast<Control*>(base);
    product.split_k_sums = reinterpret_cast<float*>(base + plan.layout.split_k_sums);
    product.tickets = workspace.tickets;
    product.outlier_totals = reinterpret_cast<OutlierTotals*>(
        workspace.tickets + ticket_count - sizeof(OutlierTotals) / sizeof(unsigned));
    product.most_outlier_ns = static_cast<unsigned long long>(plan.most_outlier_ns);
    const auto lists = [&](int operand, std::size_t at,
                           const PackedLayout& layout) -> OutlierLists {
      const unsigned segments = operand == 0 ? plan.split.a : plan.split.b;
      const std::int64_t first = outlier_list_offset(p.batch * layout.blocks * segments);
      return {reinterpret_cast<unsigned*>(base + at), reinterpret_cast<Outlier*>(base + at + first),
              static_cast<unsigned>(layout.blocks), segments,
              static_cast<unsigned long long>(plan.outlier_ns[operand])};
    };
    product.outliers_a = lists(0, plan.layout.outliers_a, product.a);
    product.outliers_b = lists(1, plan.layout.outliers_b, product.b);
    product.schedule = plan.schedule;

    split = {
        .problem = p,
        .sources = {{product.a, p.op_a == Op::none, batch_aligned_16(p, p.a, p.lda, p.stride_a),
                     base + plan.layout.packed_a, ints(plan.layout.scales_a)},
                    {product.b, p.op_b != Op::none, batch_aligned_16(p, p.b, p.ldb, p.stride_b),
                     base + plan.layout.packed_b, ints(plan.layout.scales_b)}},
        .items = {split_items(product.a, plan.split.a), split_items(product.b, plan.split.b)},
        .control = product.control,
        .outliers = {product.outliers_a, product.outliers_b},
        .outlier_totals = product.outlier_totals};
    product.second_split = split;
    product.range_blocks = static_cast<int>(
        split_blocks(split_pass_of(fp16, plan.split), p.batch, split.items, device));
  }
};

// Makes the launches in order, as long as they succeed.
template <class... Launch>
Status launch_in_order(Launch... launch) {
  Status status;
  static_cast<void>(((status = launch()).ok() && ...));
  return status;
}

// The launches of a whole call. From the first product on their blocks take the SMs that the launch
// before leaves; there they wait for the first product, which says whether they are selected.
inline Status launch_chain(bool fp16, LaunchProduct* launch_product, const Sgemm& p,
                           const CallPlan& plan, const Choice<Sgemm>* fallback,
                           const Device& device, const Workspace& workspace, Stream stream) {
  CallParams call(fp16, p, plan, workspace, device);
  const auto concurrent = [&](bool overlaps_previous) {
    Sgemm problem = p;
    problem.overlaps_previous = overlaps_previous;
    problem.next_overlaps = true;
    return problem;
  };
  const auto split = [&](SplitPass pass) {
    return [&, pass] { return launch_split_pass(pass, call.split, device, stream); };
  };
  const auto product = [&] {
    call.product.problem = concurrent(false);
    return launch_product(call.product, stream);
  };
  const auto second_product = [&] {
    call.product.problem = concurrent(true);
    call.product.schedule = plan.second_schedule;
    return launch_bf16x6(plan.second_tile, call.product, stream);
  };
  const auto fp32 = [&] {
    if (fallback == nullptr) return Status::success();
    const std::size_t end = plan.layout.end;
    const Workspace rest{static_cast<char*>(workspace.data) + end, workspace.bytes - end,
                         workspace.tickets};
    Sgemm problem = p;
    problem.only_if = &call.product.control->takes_fp32;
    return launch_planned(*fallback, problem, device, rest, stream);
  };
  if (!fp16) return launch_in_order(split(SplitPass::bf16), product, fp32);
  if (!plan.split.samples_apart)
    return launch_in_order(split(SplitPass::sampled_fp16), product, second_product, fp32);
  return launch_in_order(split(SplitPass::sample), split(SplitPass::fp16), product, second_product,
                         fp32);
}

// A call enters the split path here, with a complete plan.
inline Status launch_call(const TileRow& row, LaunchProduct* launch_product, const Sgemm& p,
                          const Device& device, const Plan<Sgemm>& plan, const Workspace& workspace,
                          Stream stream) {
  const auto call = plan.data.get<CallPlan>();
  if (plan.workspace_bytes <= workspace.bytes)
    return launch_chain(row.fp16, launch_product, p, call,
                        p.diagonal_apart ? nullptr : &fallback_of(plan), device, workspace, stream);
  if (call.layout.end <= workspace.bytes) {
    const Choice<Sgemm> smaller =
        select_in_one_launch(p, device, workspace.bytes - call.layout.end);
    return launch_chain(row.fp16, launch_product, p, call, &smaller, device, workspace, stream);
  }
  const SubProblems parts = sub_problems(p);
  if (parts.count == 0) {
    return Status::failure(StatusCode::workspace_too_small,
                           text("the split kernels need a larger workspace: ", call.layout.end,
                                " bytes for ", p.m, " x ", p.n, " x ", p.k, ", given ",
                                workspace.bytes, "; give more, or a smaller batch"),
                           "workspace");
  }
  for (int i = 0; i < parts.count; ++i) {
    Plan<Sgemm> own;
    complete_call_plan(row, parts.part[i], device, own);
    const Status status =
        launch_call(row, launch_product, parts.part[i], device, own, workspace, stream);
    if (!status.ok()) return status;
  }
  return Status::success();
}

}  // namespace KW_TARGET::hopper
