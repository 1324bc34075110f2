// The rungs' launch functions, one a file. rungs.cu makes the table of them.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET {

KernelLaunch<Sgemm> r01_naive_uncoalesced, r02_naive_coalesced, r03_shared_tile, r04_block_tile,
    r05_float4, r06_barrier_moved, r07_conflict_free, r08_float2_groups, r09_fake_double_buffer,
    r10_double_buffer, r11_warp_tile, r12_async_copy, r13_fma_order;

}  // namespace KW_TARGET
