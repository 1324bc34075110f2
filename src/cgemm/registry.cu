// The production kernels of Cgemm for GPUs, from which select.hpp chooses.
#include "cgemm/kernels.hpp"
#include "cgemm/production.hpp"

namespace KW_TARGET {

namespace {

void add(KernelList<Cgemm>& rows, const KernelList<Cgemm>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace

KernelList<Cgemm> cgemm_own() {
  KernelList<Cgemm> rows = cgemm_tile_rows();
  for (const KernelList<Cgemm>& more : {cgemm_stream_rows(), cgemm_parts_rows(), cgemm_edge_rows(),
                                        cgemm_thin_rows(), cgemm_outer_rows(), cgemm_strip_rows(),
                                        cgemm_rank_one_rows(), cgemm_few_rows(), cgemm_lean_rows()})
    add(rows, more);
  return rows;
}

KernelList<Cgemm> cgemm_production() {
  KernelList<Cgemm> rows = cgemm_real_rows();
  for (const KernelList<Cgemm>& more : {cgemm_assembled_rows(), cgemm_own(), cgemm_ragged_rows()})
    add(rows, more);
  return rows;
}

}  // namespace KW_TARGET
