// Which segments reduce_pieces_kernel takes, by their number and mean length, and how many are a
// unit.
#include "reduce/segments/piece_plan.hpp"

#include <algorithm>
#include <iterator>

#include "arithmetic.hpp"

namespace kw {
namespace {

// Elements of a segment in the mean, and segments for each warp. Shorter ones of eight bytes do as
// well in tiles, whose lanes have as many elements each; of longer ones of four a ring holds fewer
// than a warp has lanes.
struct PieceRange {
  int element_bytes;
  double least_mean, most_mean;
  std::int64_t least_a_warp;
};
// Measured on an H200. The means (results/h200/explored-reduce-pieces.txt, before and after): sum
// of float64 of 1 to 32 takes 111.8 us in tiles and 113.4 in pieces, of 50 each 77.3 and 75.9, of
// int64 of 0 to 116 131.8 and 163.1; of float32 of 64 each 111.1 and 127.6, of 50 83.4 and 81.9.
// The segments for each warp (results/h200/explored-reduce-fewer-pieces.txt): 68 of uneven float32
// take 26.2 and 23.3 us, 79 of 1 to 32 int32 8.4 and 8.7; 100 of 37 float64 each 24.1 and 32.3.
constexpr PieceRange piece_ranges[] = {{2, 6, 64, 18}, {4, 6, 56, 18}, {8, 32, 52, 160}};

struct PieceTuning {
  // With fewer segments for each warp a unit has half as many, so that more warps have one.
  std::int64_t whole_units_a_warp = 24, many_a_warp = 1024;
  int least_capability = 90;  // with a copy engine
  int warp_size = 32;
};
constexpr PieceTuning piece_tuning;
constexpr int piece_line = 128, piece_ends = 144;

bool is_of_pieces(double mean, int element_bytes, std::int64_t segments, std::int64_t warps) {
  return std::any_of(std::begin(piece_ranges), std::end(piece_ranges), [=](const auto& of) {
    return of.element_bytes == element_bytes && mean >= of.least_mean && mean <= of.most_mean &&
           segments >= of.least_a_warp * warps;
  });
}

}  // namespace

PiecePlan plan_pieces(const Reduce& p, const PieceElement& element, const Device& device) {
  PiecePlan plan;
  if (p.shape != ReduceShape::segments || p.segments == 0) return plan;
  const double mean = static_cast<double>(p.cols) / static_cast<double>(p.segments);
  const std::int64_t warps = std::int64_t{device.sm_count} * element.blocks_an_sm * piece_warps;
  const bool fits = is_of_pieces(mean, element.bytes, p.segments, warps) &&
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
  if (p.segments < piece_tuning.whole_units_a_warp * warps) plan.each /= 2;
  if (p.segments >= piece_tuning.many_a_warp * warps) plan.each *= 2;
  return plan;
}

}  // namespace kw
