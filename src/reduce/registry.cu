// The GPU kernels that compute Reduce: one a shape.
#include "gpu/gpu.hpp"
#include "reduce/gpu_kernels.hpp"
#include "reduce/kernels.hpp"

namespace KW_TARGET {
namespace {

template <ReduceShape shape>
bool has_shape(const Reduce& p, const Device&) {
  return p.shape == shape;
}

}  // namespace

KernelList<Reduce> reduce_production() {
  return {
      {"reduce_array", nullptr, "one launch, one block per chunk, totals by mailbox",
       Role::production, Math::fp32, has_shape<ReduceShape::whole>, no_workspace<Reduce>,
       reduce_array},
      {"reduce_rows", nullptr, "lanes share short rows, warps share long ones", Role::production,
       Math::fp32, has_shape<ReduceShape::rows>, reduce_rows_workspace, reduce_rows},
      {"reduce_columns", nullptr, "whole rows of a strip of columns, eight a block",
       Role::production, Math::fp32, has_shape<ReduceShape::columns>, reduce_columns_workspace,
       reduce_columns},
      {"reduce_segments", nullptr,
       "short ones side by side, chunks of long ones shared by all warps", Role::production,
       Math::fp32, has_shape<ReduceShape::segments>, reduce_segments_workspace, reduce_segments},
  };
}

}  // namespace KW_TARGET
