// The rows of fp16x3: three products of two scaled fp16 pieces, for data whose rows and columns lie
// between 2^-25 and 4 times the largest of a sample but for a few elements; else bf16x6.
#include "sgemm/hopper_rows.hpp"

namespace KW_TARGET {

KernelList<Sgemm> hopper_fp16x3_rows() {
  KernelList<Sgemm> rows;
  hopper::each_row<hopper::fp16x3_tiles>([&](auto row) {
    using Row = hopper::Row<true, row>;
    if (Row::is_here) rows.push_back(Row::kernel());
  });
  return rows;
}

}  // namespace KW_TARGET
