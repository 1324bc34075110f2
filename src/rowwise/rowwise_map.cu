// rowwise_map: the launches of map.hpp.
#include <algorithm>
#include <limits>

#include "rowwise/gpu_kernels.hpp"
#include "rowwise/map.hpp"

namespace KW_TARGET {

Status rowwise_map(const Rowwise& p, const Device&, Workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const std::int64_t lanes = ceil_div(p.cols + rowwise::most_skip(p), rowwise::map_values);
  const std::int64_t at_once = std::numeric_limits<std::int32_t>::max() / lanes;
  for (std::int64_t first = 0; first < p.rows; first += at_once) {
    const std::int64_t rows = std::min(at_once, p.rows - first);
    const auto blocks = static_cast<unsigned>(ceil_div(rows * lanes, rowwise::map_threads));
    Status status = gpu::launch(
        rowwise::map_rows, {dim3(blocks), dim3(rowwise::map_threads), 0, stream}, p,
        rowwise::format_of(p), first, static_cast<unsigned>(rows), static_cast<unsigned>(lanes));
    if (!status.ok()) return status;
  }
  return Status::success();
}

}  // namespace KW_TARGET
