// What the files of cgemm's kernels give to registry.cu.
#pragma once

#include "cgemm/problem.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

KernelList<Cgemm> cgemm_real_rows();       // real_product.cu: plain FP32 and split
KernelList<Cgemm> cgemm_assembled_rows();  // assembled.cu
KernelList<Cgemm> cgemm_tile_rows();       // tile.cu: one per configuration
KernelList<Cgemm> cgemm_thin_rows();       // thin.cu
KernelList<Cgemm> cgemm_outer_rows();      // outer.cu: one per configuration
KernelList<Cgemm> cgemm_strip_rows();      // strip.cu
KernelList<Cgemm> cgemm_rank_one_rows();   // rank_one.cu: one per configuration
KernelList<Cgemm> cgemm_few_rows();        // few.cu: one per configuration
KernelList<Cgemm> cgemm_lean_rows();       // lean.cu: one per configuration
KernelList<Cgemm> cgemm_stream_rows();     // stream.cu: one per configuration
KernelList<Cgemm> cgemm_parts_rows();      // parts.cu: one per configuration
KernelList<Cgemm> cgemm_edge_rows();       // edge.cu: one per configuration
KernelList<Cgemm> cgemm_ragged_rows();     // ragged.cu

// registry.cu: those that multiply complex matrices as they are stored in one or two launches.
KernelList<Cgemm> cgemm_own();

}  // namespace KW_TARGET
