// The rows of fp16x3: three products of two scaled fp16 pieces, for data whose rows and columns
// span no more than 2^27 but for a few elements; else bf16x6.
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
