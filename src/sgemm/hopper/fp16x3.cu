// The rows of fp16x3: three products of two scaled fp16 pieces, for data whose rows and columns lie
// between 2^-25 and 4 times the largest of a sample but for a few elements; else bf16x6.
#include "sgemm/hopper/rows.hpp"

namespace KW_TARGET {

KernelList<Sgemm> hopper_fp16x3_rows() {
  return kernels_of<hopper::fp16x3_tiles>(
      [](auto row) { return hopper::HopperKernel<true, row>::kernel(); });
}

}  // namespace KW_TARGET
