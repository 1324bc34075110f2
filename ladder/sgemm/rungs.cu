// The ladder's table: one row a rung, in the order of the walk. A new rung is one file, its name in
// rungs.hpp and one row here.
#include "rungs.hpp"

#include "sgemm/kernels.hpp"

namespace KW_TARGET {
namespace {

// The rungs teach the loop, not the addressing: one row-major product without transposes. Any size,
// any ld.
bool not_transposed(const Sgemm& p, const Device&) {
  return p.op_a == Op::none && p.op_b == Op::none && p.plain();
}

// cp.async exists from sm_80 on; host SIMT models it. AMD's GPUs run such a rung with plain copies.
bool not_transposed_sm80(const Sgemm& p, const Device& device) {
  return not_transposed(p, device) &&
         (device.compute_capability >= 80 || device.kind == DeviceKind::hip);
}

// What sm_90a adds: registers that move between warpgroups, the warpgroup's matrix instruction.
// Host SIMT models both for warps of 32.
bool not_transposed_sm90a(const Sgemm& p, const Device& device) {
  const bool has_sm90a = device.kind == DeviceKind::host_simt ? device.warp_size == 32
                                                              : device.compute_capability == 90;
  return not_transposed(p, device) && has_sm90a;
}

}  // namespace

// clang-format off
KernelList<Sgemm> sgemm_rungs() {
  const auto rung = [](const char* name, const char* parent, KernelLaunch<Sgemm>* launch, const char* idea,
                       bool (*supports)(const Sgemm&, const Device&) = not_transposed,
                       std::size_t (*workspace_bytes)(const Sgemm&, const Device&) = no_workspace<Sgemm>) {
    return Kernel<Sgemm>{.name = name, .parent = parent, .idea = idea, .role = Role::rung, .math = Math::fp32,
                         .supports = supports, .workspace_bytes = workspace_bytes, .launch = launch};
  };
  const auto tensor = [](const char* name, const char* parent, KernelLaunch<Sgemm>* launch, const char* idea,
                         std::size_t (*workspace_bytes)(const Sgemm&, const Device&),
                         double (*extra_error)(const Sgemm&) = nullptr) {
    return Kernel<Sgemm>{.name = name, .parent = parent, .idea = idea, .role = Role::rung, .math = Math::fp32_split,
                         .supports = not_transposed_sm90a, .workspace_bytes = workspace_bytes, .launch = launch,
                         .extra_error = extra_error};
  };
  KernelList<Sgemm> rows = {
      rung("r01_naive_uncoalesced", nullptr, r01_naive_uncoalesced, "one thread per element, a warp down a column"),
      rung("r02_naive_coalesced", "r01_naive_uncoalesced", r02_naive_coalesced, "one thread per element, a warp along a row"),
      rung("s5_shared_uncoalesced", "r01_naive_uncoalesced", s5_shared_uncoalesced, "r03's tiles, a warp down a column"),
      rung("r03_shared_tile", "r02_naive_coalesced", r03_shared_tile, "32x32 tiles of A and B in shared memory"),
      rung("r04_block_tile", "r03_shared_tile", r04_block_tile, "128x128x8 block tile, 8x8 outputs per thread in registers"),
      rung("r05_float4", "r04_block_tile", r05_float4, "16-byte loads and stores"),
      rung("r06_barrier_moved", "r05_float4", r06_barrier_moved, "second barrier at the loop's head, none after the last tile"),
      rung("r07_conflict_free", "r06_barrier_moved", r07_conflict_free, "A transposed in shared memory, four 4x4 quarters 64 apart"),
      rung("r08_float2_groups", "r06_barrier_moved", r08_float2_groups, "A transposed, 2x2 groups 32 apart, 8-byte fragments"),
      rung("r09_fake_double_buffer", "r07_conflict_free", r09_fake_double_buffer, "two buffers, but stored before the compute"),
      rung("r10_double_buffer", "r09_fake_double_buffer", r10_double_buffer, "loads issued before the compute, stored after it"),
      rung("r11_warp_tile", "r10_double_buffer", r11_warp_tile, "a warp covers 64x32 instead of 16x128"),
      rung("r12_async_copy", "r11_warp_tile", r12_async_copy, "cp.async into three stages, no registers in between", not_transposed_sm80),
      rung("r13_fma_order", "r12_async_copy", r13_fma_order, "the FMAs of a k-step in a zigzag: neighbours share an operand", not_transposed_sm80),
  };
  if constexpr (gpu::has_nvidia_kernels) {
    const KernelList<Sgemm> nvidia = {
        rung("r14_big_thread_tile", "r13_fma_order", r14_big_thread_tile, "128x256 tile, 8x16 outputs per thread, the next step's fragments on their way", not_transposed_sm80),
        rung("r15_warp_specialised", "r14_big_thread_tile", r15_warp_specialised, "four warps copy, eight multiply, mbarriers between", not_transposed_sm90a),
        rung("r16_stream_k", "r15_warp_specialised", r16_stream_k, "the steps along k of all tiles, shared evenly among the SMs", not_transposed_sm90a, r16_workspace_bytes),
        tensor("r17_one_wgmma", "r16_stream_k", r17_one_wgmma, "tensor cores, one product of bfloat16: fast and wrong", r17_workspace_bytes, r17_extra_error),
        tensor("r18_bf16x6", "r17_one_wgmma", r18_bf16x6, "six products of three bfloat16 pieces, one accumulator: it drifts", r18_workspace_bytes, r18_extra_error),
        tensor("r19_promotion", "r18_bf16x6", r19_promotion, "a window of 32 along k, the sum of windows in FP32", r19_workspace_bytes),
        tensor("r20_specialised", "r19_promotion", r20_specialised, "a thread that copies, two warpgroups that multiply, a grid that stays", r20_workspace_bytes),
        tensor("r21_fp16x3", "r20_specialised", r21_fp16x3, "three products of scaled fp16 pieces", r21_workspace_bytes, r21_extra_error),
    };
    rows.insert(rows.end(), nvidia.begin(), nvidia.end());
  }
  return rows;
}
// clang-format on

}  // namespace KW_TARGET
