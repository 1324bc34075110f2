// The rows of bf16x6: six products of three bf16 pieces, for any finite data whose pieces hold it.
#include "sgemm/hopper/rows.hpp"

namespace KW_TARGET {
namespace hopper {

int select_bf16x6_tile(const Sgemm& problem, const Device& device) {
  constexpr auto supports =
      of_each_row<bf16x6_tiles>([](auto row) { return &HopperKernel<false, row>::supports; });
  int best = -1;
  for (int tile = 0; tile < static_cast<int>(supports.size()); ++tile) {
    if (bf16x6_tiles[tile].tile.is_direct()) continue;
    if (supports[static_cast<std::size_t>(tile)](problem, device) &&
        (best < 0 || predicted_cost(bf16x6_tiles[tile], problem, device) <
                         predicted_cost(bf16x6_tiles[best], problem, device)))
      best = tile;
  }
  return best;
}

Status launch_bf16x6(int tile, const ProductParams& params, Stream stream) {
  constexpr auto launches =
      of_each_row<bf16x6_tiles>([](auto row) { return &HopperKernel<false, row>::launch_product; });
  return launches[static_cast<std::size_t>(tile)](params, stream);
}

}  // namespace hopper

KernelList<Sgemm> hopper_bf16x6_rows() {
  return kernels_of<hopper::bf16x6_tiles>(
      [](auto row) { return hopper::HopperKernel<false, row>::kernel(); });
}

}  // namespace KW_TARGET
