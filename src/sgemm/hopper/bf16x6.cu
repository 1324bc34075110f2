// The rows of bf16x6: six products of three bf16 pieces, for any finite data whose pieces hold it.
#include "sgemm/hopper/rows.hpp"

namespace KW_TARGET {
namespace hopper {

const TileRow& bf16x6_row(const Sgemm& problem, const Device& device) {
  const TileRow* best = nullptr;
  each_row<bf16x6_tiles>([&](auto row) {
    constexpr const TileRow& candidate = bf16x6_tiles[row];
    if (Row<false, row>::supports(problem, device) &&
        (best == nullptr || predicted_us(candidate, false, problem, device) <
                                predicted_us(*best, false, problem, device)))
      best = &candidate;
  });
  return *best;
}

Status launch_bf16x6(const Work& work, const Device& device, Stream stream) {
  const TileRow& best = bf16x6_row(work.problem, device);
  Status status;
  each_row<bf16x6_tiles>([&](auto row) {
    if (&best != &bf16x6_tiles[row]) return;
    static_cast<void>(status = launch_tile<false, row>(work, device, stream));
  });
  return status;
}

}  // namespace hopper

KernelList<Sgemm> hopper_bf16x6_rows() {
  KernelList<Sgemm> rows;
  hopper::each_row<hopper::bf16x6_tiles>(
      [&](auto row) { rows.push_back(hopper::Row<false, row>::kernel()); });
  return rows;
}

}  // namespace KW_TARGET
