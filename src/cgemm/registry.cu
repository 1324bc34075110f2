// The production kernels of Cgemm for GPUs, from which select.hpp chooses.
#include "cgemm/kernels.hpp"
#include "cgemm/production.hpp"

namespace KW_TARGET {

KernelList<Cgemm> cgemm_uncut() {
  KernelList<Cgemm> rows = cgemm_real_rows();
  for (const KernelList<Cgemm>& more :
       {cgemm_assembled_rows(), cgemm_tile_rows(), cgemm_stream_rows(), cgemm_parts_rows(),
        cgemm_edge_rows(), cgemm_thin_rows(), cgemm_outer_rows(), cgemm_strip_rows(),
        cgemm_rank_one_rows(), cgemm_lean_rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

KernelList<Cgemm> cgemm_production() {
  KernelList<Cgemm> rows = cgemm_uncut();
  const KernelList<Cgemm> ragged = cgemm_ragged_rows();
  rows.insert(rows.end(), ragged.begin(), ragged.end());
  return rows;
}

}  // namespace KW_TARGET
