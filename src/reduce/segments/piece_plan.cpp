// Which segments reduce_pieces_kernel takes, by their number and mean length, and how many are a
// unit.
#include "reduce/segments/piece_plan.hpp"

#include <algorithm>
#include <iterator>

#include "arithmetic.hpp"

namespace kw {
namespace {

// Elements of a segment in the mean. Shorter ones of eight bytes do as well in tiles, whose lanes
// have as many elements each; of longer ones of four a ring holds fewer than a warp has lanes.
struct PieceLengths {
  int element_bytes;
  double least_mean, most_mean;
};
// Measured on an H200 (results/h200/explored-reduce-pieces.txt, before and after): sum of float64
// of 1 to 32 takes 111.8 us in tiles and 113.4 in pieces, of 50 each 77.3 and 75.9, of int64 of 0
// to 116 131.8 and 163.1; of float32 of 64 each 111.1 and 127.6, of 50 83.4 and 81.9.
constexpr PieceLengths piece_lengths[] = {{2, 6, 64}, {4, 6, 56}, {8, 32, 52}};

struct PieceTuning {
  // Segments for each warp. With fewer some have a unit more than others: 95 a warp of 1 to 32
  // float32 take 10.1 us in tiles and 11.0 in pieces, 190 uneven float64 112 and 88.
  std::int64_t least_a_warp = 160, many_a_warp = 1024;
  int least_capability = 90;  // with a copy engine
  int warp_size = 32;
};
constexpr PieceTuning piece_tuning;
constexpr int piece_line = 128, piece_ends = 144;

bool is_of_pieces(double mean, int element_bytes) {
  return std::any_of(std::begin(piece_lengths), std::end(piece_lengths), [=](const auto& of) {
    return of.element_bytes == element_bytes && mean >= of.least_mean && mean <= of.most_mean;
  });
}

}  // namespace

PiecePlan plan_pieces(const Reduce& p, const PieceElement& element, const Device& device) {
  PiecePlan plan;
  if (p.shape != ReduceShape::segments || p.segments == 0) return plan;
  const double mean = static_cast<double>(p.cols) / static_cast<double>(p.segments);
  const std::int64_t warps = std::int64_t{device.sm_count} * element.blocks_an_sm * piece_warps;
  const bool fits = is_of_pieces(mean, element.bytes) &&
                    p.segments >= piece_tuning.least_a_warp * warps &&
                    device.compute_capability >= piece_tuning.least_capability &&
                    device.warp_size == piece_tuning.warp_size;
  if (!fits) return plan;
  const std::size_t of_block =
      std::min(device.shared_bytes_per_sm / static_cast<unsigned>(element.blocks_an_sm),
               device.shared_bytes_per_block_optin + 1024) -
      1024;
  plan.warp_bytes = static_cast<int>(of_block / piece_warps) / piece_line * piece_line;
  plan.ring_bytes = plan.warp_bytes - element.beside_bytes;
  plan.room = (plan.ring_bytes - piece_ends) / element.bytes;
  plan.most = std::min(element.most, plan.room);
  if (plan.most < most_of_batch) return plan;
  plan.blocks_an_sm = element.blocks_an_sm;
  plan.each = most_of_batch;
  if (p.segments >= piece_tuning.many_a_warp * warps) plan.each *= 2;
  return plan;
}

}  // namespace kw
