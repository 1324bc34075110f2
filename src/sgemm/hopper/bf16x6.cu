// The rows of bf16x6: six products of three bf16 pieces, for any finite data whose pieces hold it.
#include "sgemm/hopper/rows.hpp"

namespace KW_TARGET {
namespace hopper {

int select_bf16x6_tile(const Sgemm& problem, const Device& device) {
  int best = -1;
  each_row<bf16x6_tiles>([&](auto index) {
    if (HopperKernel<false, index>::supports(problem, device) &&
        (best < 0 || predicted_cost(bf16x6_tiles[index], problem, device) <
                         predicted_cost(bf16x6_tiles[best], problem, device)))
      best = index;
  });
  return best;
}

Status launch_bf16x6(int tile, const ProductParams& params, Stream stream) {
  Status status;
  each_row<bf16x6_tiles>([&](auto index) {
    if (tile != index) return;
    static_cast<void>(status = HopperKernel<false, index>::launch_product(params, stream));
  });
  return status;
}

}  // namespace hopper

KernelList<Sgemm> hopper_bf16x6_rows() {
  return kernels_of<hopper::bf16x6_tiles>(
      [](auto row) { return hopper::HopperKernel<false, row>::kernel(); });
}

}  // namespace KW_TARGET
