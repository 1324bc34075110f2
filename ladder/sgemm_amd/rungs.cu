// The AMD ladder's table: one row an id of S2's table, in its order, each the structure of that
// id's kernel in S2's repository. Where a variant of ours is better, it is a row beside, "ours" in
// its name; amd_11 is ours too.
#include "rungs.hpp"

#include "sgemm/kernels.hpp"

namespace KW_TARGET {
namespace {

// The rungs teach the loop, not the addressing: one row-major product without transposes. Any size,
// any ld.
bool not_transposed(const Sgemm& p, const Device&) {
  return p.op_a == Op::none && p.op_b == Op::none && p.plain();
}

// Matrix instructions: gfx908 and gfx90a. Host SIMT models them, whatever its warps.
bool has_matrix_cores(const Sgemm& p, const Device& device) {
  const bool cdna =
      device.architecture.rfind("gfx908", 0) == 0 || device.architecture.rfind("gfx90a", 0) == 0;
  return not_transposed(p, device) && (cdna || device.kind == DeviceKind::host_simt);
}

}  // namespace

// clang-format off
KernelList<Sgemm> sgemm_amd_rungs() {
  using namespace amd;
  const auto rung = [](const char* name, const char* parent, KernelLaunch<Sgemm>* launch, const char* idea,
                       bool (*supports)(const Sgemm&, const Device&) = not_transposed) {
    return Kernel<Sgemm>{.name = name, .parent = parent, .idea = idea, .role = Role::rung, .math = Math::fp32,
                         .supports = supports, .workspace_bytes = no_workspace<Sgemm>, .launch = launch};
  };
  return {
      rung("amd_01_naive", nullptr, naive, "one thread per element, blocks of 32 along one dimension"),
      rung("amd_02_shared_tile", "amd_01_naive", shared_tile, "16x16 tiles in dynamic shared memory, sizes known at run time"),
      rung("amd_03_thread_tile", "amd_02_shared_tile", one_buffer<ThreadTile>, "64x64x16 block tile, 4x4 outputs per thread"),
      rung("amd_03_1_fragments", "amd_03_thread_tile", one_buffer<Fragments1>, "the elements of one k in registers"),
      rung("amd_03_2_one_of_a", "amd_03_thread_tile", one_buffer<OneOfA128>, "128x128x8; a row of B in registers, one element of A at a time"),
      rung("amd_03_3_transposed", "amd_03_2_one_of_a", transposed<Transposed>, "A transposed in shared memory, 16-byte reads"),
      rung("amd_03_3_ours_bounds", "amd_03_3_transposed", transposed<TransposedBounds>, "03_3 with __launch_bounds__(256)"),
      rung("amd_03_4_split_copy", "amd_03_3_transposed", transposed<TransposedHalves>, "half of the threads copies A, half B"),
      rung("amd_03_5_gcn_double_buffer", "amd_03_3_transposed", double_buffer<Published128>, "two buffers, loads and their waits in assembly"),
      rung("amd_03_6_four_k_steps", "amd_03_1_fragments", transposed<TransposedDeep>, "128x128x16, A transposed, four k-steps in registers first"),
      rung("amd_04_padded", "amd_03_thread_tile", one_buffer<Padded>, "padded rows, 16-byte copies"),
      rung("amd_05_registers_first", "amd_04_padded", one_buffer<RegistersFirst>, "four k-steps in registers first"),
      rung("amd_05_ours_transposed", "amd_05_registers_first", wave_tile<RowLanes>, "05 with A transposed, one k-step in registers first"),
      rung("amd_06_serial_buffers", "amd_05_registers_first", serial_buffers, "two buffers and two sets of registers, copies after the FMAs"),
      rung("amd_06_ours_two_buffers", "amd_05_ours_transposed", double_buffer<Two64>, "two buffers, the next tile's loads before the FMAs, plain C++"),
      rung("amd_06_ours_128x128x8", "amd_06_ours_two_buffers", double_buffer<Two128>, "the same with a tile of 128x128x8, 8x8 outputs per thread"),
      rung("amd_06_ours_gcn_128x128x8", "amd_06_ours_128x128x8", double_buffer<Two128Gcn>, "the same with loads and their waits in assembly"),
      rung("amd_07_two_k_steps", "amd_05_registers_first", one_buffer<TwoKSteps>, "two k-steps in registers first, sizes known when compiling"),
      rung("amd_07_1_runtime_sizes", "amd_07_two_k_steps", one_buffer<TwoKStepsRuntime>, "07 with the tile's sizes as arguments"),
      rung("amd_07_2_accessors", "amd_07_1_runtime_sizes", one_buffer<TwoKStepsAccessor>, "A read through a function that copies rows"),
      rung("amd_07_3_interleaved", "amd_07_two_k_steps", interleaved<Interleaved>, "k-loop unrolled, reads of shared memory between its FMAs"),
      rung("amd_07_3_ours_interleaved", "amd_06_ours_two_buffers", double_buffer<Two64Interleaved>, "the next tile's stores between the FMAs"),
      rung("amd_07_4_gcn_double_buffer", "amd_07_3_interleaved", interleaved<InterleavedGcn>, "two buffers, global loads and their waits in assembly"),
      rung("amd_07_5_fragments_ahead", "amd_07_4_gcn_double_buffer", interleaved<InterleavedAhead>, "two sets of registers: the next two k-steps read during these"),
      rung("amd_07_6_gcn_fragments_ahead", "amd_07_5_fragments_ahead", interleaved<InterleavedGcnAhead>, "the reads of shared memory in assembly, too"),
      rung("amd_07_7_copying_lanes", "amd_07_two_k_steps", copying_lanes, "512 threads: half of them copy, half compute"),
      rung("amd_07_8_padding_4", "amd_07_4_gcn_double_buffer", interleaved<InterleavedGcnPad4>, "07_4 with rows padded by 4 instead of 8"),
      rung("amd_08_1_wave_8x8", "amd_07_1_runtime_sizes", one_buffer<Wave8x8>, "8x8 lanes a wavefront"),
      rung("amd_08_2_wave_4x16", "amd_08_1_wave_8x8", one_buffer<Wave4x16>, "4x16 lanes a wavefront, one element of A at a time"),
      rung("amd_08_3_unoptimised", "amd_08_1_wave_8x8", one_buffer<WaveUnoptimised>, "8x8 lanes, B along k like A, scalar reads"),
      rung("amd_08_4_wave_pairs", "amd_08_2_wave_4x16", one_buffer<WavePairs>, "4x16 lanes, rows in pairs"),
      rung("amd_08_4_ours_z_of_zs", "amd_05_ours_transposed", wave_tile<ZLanes>, "A transposed, 8x8 lanes along a Z of Zs"),
      rung("amd_09_quarters", "amd_08_1_wave_8x8", one_buffer<WaveQuarters>, "8x8 lanes in pairs, a thread's outputs as four 2x2 pieces"),
      rung("amd_09_1_cuda_float4", "amd_09_quarters", one_buffer<CudaFloat4>, "the CUDA ladder's r05, moved over"),
      rung("amd_10_cuda_double_buffer", "amd_09_1_cuda_float4", cuda_double_buffer, "another CUDA kernel: two buffers, operands ahead"),
      rung("amd_11_matrix_core", "amd_06_ours_128x128x8", matrix_core, "FP32 matrix instructions, 32x32 outputs each", has_matrix_cores),
  };
}
// clang-format on

}  // namespace KW_TARGET
