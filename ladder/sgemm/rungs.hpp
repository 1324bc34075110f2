// The rungs' launch functions, one a file. rungs.cu makes the table of them.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET {

KernelLaunch<Sgemm> r01_naive_uncoalesced, r02_naive_coalesced, r03_shared_tile, r04_block_tile,
    r05_float4, r06_barrier_moved, r07_conflict_free, r08_float2_groups, r09_fake_double_buffer,
    r10_double_buffer, r11_warp_tile, r12_async_copy, r13_fma_order, r14_big_thread_tile,
    r15_warp_specialised, r16_stream_k, r17_one_wgmma, r18_bf16x6, r19_promotion, r20_specialised,
    r21_fp16x3, s5_shared_uncoalesced;

// Columns of the rows that need scratch memory, or are less exact than FP32.
std::size_t r16_workspace_bytes(const Sgemm& problem, const Device& device);
std::size_t r17_workspace_bytes(const Sgemm& problem, const Device& device);
std::size_t r18_workspace_bytes(const Sgemm& problem, const Device& device);
std::size_t r19_workspace_bytes(const Sgemm& problem, const Device& device);
std::size_t r20_workspace_bytes(const Sgemm& problem, const Device& device);
std::size_t r21_workspace_bytes(const Sgemm& problem, const Device& device);
double r17_extra_error(const Sgemm& problem);
double r18_extra_error(const Sgemm& problem);
double r21_extra_error(const Sgemm& problem);

}  // namespace KW_TARGET
