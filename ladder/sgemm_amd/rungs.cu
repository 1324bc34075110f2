// The AMD ladder's table: one row an id of S2's table, in its order, and four rows that repeat one
// of them with the tile 128x128x8. amd_09_1 and amd_10 are the CUDA ladder's kernels, moved over
// unchanged.
#include "rungs.hpp"

#include "../sgemm/rungs.hpp"
#include "sgemm/kernels.hpp"

namespace KW_TARGET {
namespace {

// The rungs teach the loop, not the addressing: one row-major product without transposes. Any size,
// any ld.
bool not_transposed(const Sgemm& p, const Device&) {
  return p.op_a == Op::none && p.op_b == Op::none && p.plain();
}

}  // namespace

// clang-format off
KernelList<Sgemm> sgemm_amd_rungs() {
  using namespace amd;
  const auto rung = [](const char* name, const char* parent, KernelLaunch<Sgemm>* launch, const char* idea) {
    return Kernel<Sgemm>{.name = name, .parent = parent, .idea = idea, .role = Role::rung, .math = Math::fp32,
                         .supports = not_transposed, .workspace_bytes = no_workspace<Sgemm>, .launch = launch};
  };
  return {
      rung("amd_01_naive", nullptr, naive, "one thread per element, blocks along one dimension"),
      rung("amd_02_shared_tile", "amd_01_naive", shared_tile, "tiles in dynamic shared memory, sizes known at run time"),
      rung("amd_03_thread_tile", "amd_02_shared_tile", thread_tile<Operands::shared>, "64x64x16 block tile, 4x4 outputs per thread"),
      rung("amd_03_1_fragments", "amd_03_thread_tile", thread_tile<Operands::registers>, "the elements of one k in registers"),
      rung("amd_03_2_one_of_a", "amd_03_thread_tile", thread_tile<Operands::one_of_a>, "a row of B in registers, one element of A at a time"),
      rung("amd_03_3_transposed", "amd_03_1_fragments", transposed<Copiers::all>, "A transposed in shared memory, 16-byte loads"),
      rung("amd_03_4_split_copy", "amd_03_3_transposed", transposed<Copiers::halves>, "half of the threads copies A, half B"),
      rung("amd_03_5_gcn_double_buffer", "amd_03_3_transposed", double_buffer<GcnUnpadded>, "two buffers, loads and their waits in assembly"),
      rung("amd_03_6_gcn_fragments", "amd_03_5_gcn_double_buffer", double_buffer<GcnUnpaddedAhead>, "fragments ahead in assembly as well"),
      rung("amd_04_padded", "amd_03_3_transposed", padded<ReadWhereUsed>, "padded rows, 16-byte reads where they are used"),
      rung("amd_05_registers_first", "amd_04_padded", padded<RegistersFirst>, "a k-step's fragments in registers first"),
      rung("amd_05_128x128x8", "amd_05_registers_first", padded<RegistersFirst128>, "05 with a tile of 128x128x8, 8x8 outputs per thread"),
      rung("amd_06_plain_double_buffer", "amd_05_registers_first", double_buffer<Plain>, "two buffers in plain C++"),
      rung("amd_06_128x128x8", "amd_06_plain_double_buffer", double_buffer<Plain128>, "06 with a tile of 128x128x8, 8x8 outputs per thread"),
      rung("amd_06_gcn_128x128x8", "amd_06_128x128x8", double_buffer<Gcn128>, "the same with loads and their waits in assembly"),
      rung("amd_07_two_k_steps", "amd_05_registers_first", padded<TwoKSteps>, "fragments of two k-steps in registers first"),
      rung("amd_07_1_shared_arrays", "amd_07_two_k_steps", padded<TwoKStepsArray>, "shared memory as arrays of two dimensions"),
      rung("amd_07_2_accessors", "amd_07_two_k_steps", padded<TwoKStepsAccessor>, "shared memory through an accessor"),
      rung("amd_07_3_interleaved", "amd_06_plain_double_buffer", double_buffer<Interleaved>, "k-loop unrolled, the next tile's stores between its FMAs"),
      rung("amd_07_4_gcn_interleaved", "amd_07_3_interleaved", double_buffer<GcnInterleaved>, "loads and their waits in assembly"),
      rung("amd_07_5_fragments_ahead", "amd_07_3_interleaved", double_buffer<Ahead>, "the next k-step's fragments before the FMAs, plain C++"),
      rung("amd_07_6_gcn_fragments_ahead", "amd_07_5_fragments_ahead", double_buffer<GcnAhead>, "loads and fragments ahead in assembly"),
      rung("amd_07_7_wave_tile", "amd_07_3_interleaved", double_buffer<Interleaved8x8>, "a wavefront covers 32x32 outputs"),
      rung("amd_07_8_a_padded", "amd_07_4_gcn_interleaved", double_buffer<GcnInterleavedAPadded>, "07_4 with padding in A's rows only"),
      rung("amd_08_1_wave_8x8", "amd_05_registers_first", wave_tile<Square>, "one buffer, 8x8 lanes a wavefront"),
      rung("amd_08_1_128x128x8", "amd_08_1_wave_8x8", wave_tile<Square128>, "08_1 with a tile of 128x128x8, 8x8 outputs per thread"),
      rung("amd_08_2_wave_4x16", "amd_08_1_wave_8x8", wave_tile<Flat>, "4x16 lanes a wavefront"),
      rung("amd_08_3_unoptimised", "amd_08_1_wave_8x8", wave_tile<Unoptimised>, "8x8 lanes without padding, vector reads, unrolling"),
      rung("amd_08_4_z_order", "amd_08_1_wave_8x8", wave_tile<ZOrder>, "8x8 lanes along a Z of Zs"),
      rung("amd_09_quarters", "amd_08_1_wave_8x8", wave_tile<Quarters>, "8x8 lanes, a thread's outputs as four 2x2 pieces"),
      rung("amd_09_1_cuda_conflict_free", "amd_09_quarters", r07_conflict_free, "the CUDA ladder's r07 unchanged"),
      rung("amd_10_cuda_double_buffer", "amd_09_1_cuda_conflict_free", r10_double_buffer, "the CUDA ladder's r10 unchanged"),
  };
}
// clang-format on

}  // namespace KW_TARGET
