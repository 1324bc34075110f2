// The production kernels of Cgemm for GPUs, from which select.hpp chooses.
#include "cgemm/kernels.hpp"
#include "cgemm/production.hpp"

namespace KW_TARGET {

KernelList<Cgemm> cgemm_production() {
  KernelList<Cgemm> rows = cgemm_real_rows();
  const KernelList<Cgemm> tiles = cgemm_tile_rows();
  rows.insert(rows.end(), tiles.begin(), tiles.end());
  return rows;
}

}  // namespace KW_TARGET
