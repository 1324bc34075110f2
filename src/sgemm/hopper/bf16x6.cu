// The rows of bf16x6: six products of three bf16 pieces, for any finite data whose pieces hold it.
#include "sgemm/hopper/rows.hpp"

namespace KW_TARGET {
namespace hopper {

const TileRow& select_bf16x6_tile(const Sgemm& problem, const Device& device) {
  const TileRow* best = nullptr;
  each_row<bf16x6_tiles>([&](auto index) {
    constexpr const TileRow& candidate = bf16x6_tiles[index];
    if (HopperKernel<false, index>::supports(problem, device) &&
        (best == nullptr || predicted_cost(candidate, false, problem, device) <
                                predicted_cost(*best, false, problem, device)))
      best = &candidate;
  });
  return *best;
}

Status launch_bf16x6(const ProductParams& params, const Device& device, Stream stream) {
  const TileRow& best = select_bf16x6_tile(params.problem, device);
  Status status;
  each_row<bf16x6_tiles>([&](auto index) {
    if (&best != &bf16x6_tiles[index]) return;
    static_cast<void>(status = HopperKernel<false, index>::launch_product(params, device, stream));
  });
  return status;
}

}  // namespace hopper

KernelList<Sgemm> hopper_bf16x6_rows() {
  KernelList<Sgemm> rows;
  hopper::each_row<hopper::bf16x6_tiles>(
      [&](auto index) { rows.push_back(hopper::HopperKernel<false, index>::kernel()); });
  return rows;
}

}  // namespace KW_TARGET
