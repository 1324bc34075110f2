// The GPU kernels that compute attention.
#include "attention/kernels.hpp"
#include "attention/production.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

KernelList<Attention> attention_fp32() {
  KernelList<Attention> rows = {{.name = "attention_cut",
                                 .parent = nullptr,
                                 .idea = "keys cut over the device, parts merged by the last block",
                                 .role = Role::production,
                                 .math = Math::fp32,
                                 .make_plan = attention_cut_make_plan,
                                 .launch_plan = attention_cut_launch_plan}};
  if constexpr (gpu::has_nvidia_kernels) {
    rows.push_back({.name = "attention_rows",
                    .parent = nullptr,
                    .idea = "rows of heads that share K and V, up to 64 a block, whole rows a warp",
                    .role = Role::production,
                    .math = Math::fp32,
                    .make_plan = attention_rows_make_plan,
                    .launch_plan = attention_rows_launch_plan});
    rows.push_back({.name = "attention_tile",
                    .parent = nullptr,
                    .idea = "register tiles, weights stay in a warp, K and V by cp.async",
                    .role = Role::production,
                    .math = Math::fp32,
                    .make_plan = attention_tile_make_plan,
                    .launch_plan = attention_tile_launch_plan});
    rows.push_back({.name = "attention_pair",
                    .parent = nullptr,
                    .idea = "pairs of warps, one with scores and one with sums, 8 x 16 a thread",
                    .role = Role::production,
                    .math = Math::fp32,
                    .make_plan = attention_pair_make_plan,
                    .launch_plan = attention_pair_launch_plan});
  }
  return rows;
}

KernelList<Attention> attention_production() {
  KernelList<Attention> rows = attention_fp32();
  if constexpr (gpu::has_nvidia_kernels) {
    rows.push_back(
        {.name = "attention_split",
         .parent = nullptr,
         .idea = "both products from fp16 pieces on tensor cores, FP32 where they do not hold",
         .role = Role::production,
         .math = Math::fp32_split,
         .make_plan = attention_split_make_plan,
         .complete_plan = attention_split_complete_plan,
         .launch_plan = attention_split_launch_plan,
         .path_taken = attention_split_path});
  }
  return rows;
}

}  // namespace KW_TARGET
