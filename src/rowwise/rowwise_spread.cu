// rowwise_spread: the launches of spread.hpp.
#include <algorithm>

#include "rowwise/gpu_kernels.hpp"
#include "rowwise/spread.hpp"

namespace KW_TARGET {
namespace {

using rowwise::NormTotal;
using rowwise::SoftmaxTotal;
using rowwise::Spread;

constexpr std::int64_t most_rows = ticket_count;  // of a launch: a ticket each
constexpr std::int64_t most_slices = std::int64_t{1}
                                     << 29;  // of a launch: two blocks each, and a lag
constexpr std::size_t total_bytes = std::max(sizeof(SoftmaxTotal), sizeof(NormTotal));
constexpr int ahead_per_sm = 2;  // slices that are read first, beside those of a row

struct Slices {
  std::int64_t elements;
  int count;  // of a row
};

// Slices of a few tiles each, smaller ones of few rows, so that all multiprocessors have one.
Slices slices_of(const Rowwise& p, const Device& device) {
  constexpr std::int64_t least_elements = spread_threads * rowwise::pack;
  const std::int64_t for_all = ceil_div(std::int64_t{device.sm_count}, p.rows);
  const std::int64_t by_tiles = ceil_div(p.cols, std::int64_t{spread_tile} * spread_tiles);
  const std::int64_t most =
      std::min<std::int64_t>(ceil_div(p.cols, least_elements), spread_most_slices);
  const std::int64_t wanted = std::min(std::max(by_tiles, for_all), most);
  const std::int64_t elements = ceil_div(ceil_div(p.cols, wanted), rowwise::pack) * rowwise::pack;
  return {elements, static_cast<int>(ceil_div(p.cols, elements))};
}

std::int64_t rows_of_launch(const Rowwise& p, int slices) {
  return std::min({p.rows, most_rows, most_slices / slices});
}

Spread make_spread(const Rowwise& p, const Device& device, const Workspace& workspace) {
  Spread s = {};
  const Slices slices = slices_of(p, device);
  s.slices = slices.count;
  s.slice_elements = slices.elements;
  s.lag = s.slices - 1 + std::int64_t{device.sm_count} * ahead_per_sm;
  s.tickets = workspace.tickets;
  s.merged = workspace.data;
  const auto rows = static_cast<std::size_t>(rows_of_launch(p, s.slices));
  s.totals = static_cast<char*>(workspace.data) + rows * total_bytes;
  return s;
}

}  // namespace

std::size_t rowwise_spread_workspace(const Rowwise& p, const Device& device) {
  if (p.rows == 0 || p.cols == 0) return 0;
  const int slices = slices_of(p, device).count;
  const auto rows = static_cast<std::size_t>(rows_of_launch(p, slices));
  return rows * (static_cast<std::size_t>(slices) + 1) * total_bytes;
}

Status rowwise_spread(const Rowwise& p, const Device& device, Workspace workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  Spread s = make_spread(p, device, workspace);
  const std::int64_t at_once = rows_of_launch(p, s.slices);
  for (s.first_row = 0; s.first_row < p.rows; s.first_row += at_once) {
    s.rows = std::min(at_once, p.rows - s.first_row);
    const auto blocks = static_cast<unsigned>(2 * (s.rows * s.slices + s.lag));
    const auto kernel = is_softmax(p.op) ? rowwise::spread_rows<true> : rowwise::spread_rows<false>;
    Status status = gpu::launch(kernel, {dim3(blocks), dim3(spread_threads), 0, stream}, p,
                                rowwise::format_of(p), s);
    if (!status.ok()) return status;
  }
  return Status::success();
}

}  // namespace KW_TARGET
