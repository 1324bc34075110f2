// rowwise_shared: the launches of shared_rows.hpp.
#include <algorithm>
#include <optional>

#include "rowwise/gpu_kernels.hpp"
#include "rowwise/packs.hpp"
#include "rowwise/shared_rows.hpp"

namespace KW_TARGET {
namespace {

struct SharedCut {
  int blocks, tiles, slice_elements;
};

constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;

// The smallest cluster whose blocks leave room for a second one on a multiprocessor, else the
// smallest that holds the row.
std::optional<SharedCut> cut_of(const Rowwise& p, const Device& device) {
  // As stream_tile has it: where device code with clusters is sure to run.
  const int largest = device.compute_capability == 90 ? shared_most_blocks : 1;
  for (const std::size_t share :
       {device.shared_bytes_per_sm / 2 - 1024, device.shared_bytes_per_block_optin}) {
    for (int blocks = 1; blocks <= largest; blocks *= 2) {
      const std::int64_t wanted = ceil_div(p.cols, std::int64_t{blocks});
      const std::int64_t elements = ceil_div(wanted, rowwise::pack) * rowwise::pack;
      const std::int64_t tiles = ceil_div(elements, shared_tile);
      if (tiles > shared_most_tiles) continue;
      if (rowwise::shared_row_bytes(static_cast<int>(tiles)) > share) continue;
      // Each block has an element at least.
      if ((blocks - 1) * elements >= p.cols || p.rows > most_blocks / blocks) continue;
      return SharedCut{blocks, static_cast<int>(tiles), static_cast<int>(elements)};
    }
  }
  return std::nullopt;
}

}  // namespace

bool rowwise_shared_supports(const Rowwise& p, const Device& device) {
  if (p.op == RowwiseOp::map) return false;
  // Hopper has other kernels for these.
  if (device.compute_capability == 90 && rowwise::is_plain(p)) return false;
  return p.cols == 0 || p.rows == 0 || cut_of(p, device).has_value();
}

Status rowwise_shared(const Rowwise& p, const Device& device, Workspace, Stream stream) {
  if (p.rows == 0 || p.cols == 0) return Status::success();
  const SharedCut cut = *cut_of(p, device);
  const auto kernel =
      is_softmax(p.op) ? rowwise::rows_in_shared<true> : rowwise::rows_in_shared<false>;
  const auto blocks = static_cast<unsigned>(p.rows * cut.blocks);
  return gpu::launch(kernel,
                     {.grid = dim3(blocks),
                      .block = dim3(shared_threads),
                      .shared_bytes = rowwise::shared_row_bytes(cut.tiles),
                      .stream = stream,
                      .cluster = cut.blocks},
                     p, rowwise::format_of(p), cut.blocks, cut.slice_elements);
}

}  // namespace KW_TARGET
